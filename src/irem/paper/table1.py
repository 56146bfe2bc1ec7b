"""Table 1: five methods on six tasks, on problems like those of training and on harder ones."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from irem import tasks
from irem.descent import EnergyUnchanged, FixedStep
from irem.evaluation.tables import (
    Entry,
    Table,
    measured,
    number,
    printed,
    with_spread,
)
from irem.paper.cells import (
    DIFFICULTIES,
    DifficultyCell,
    Spread,
    indexed_by_difficulty,
    lowest_error,
    spread,
)
from irem.paper.experiment import Experiment, Section, method_name
from irem.paper.study import PAPER_METHODS, PAPER_TASKS, Study, num_parameters
from irem.tasks import AbstractTask, Difficulty
from irem.training import Run, method_settings

# Same and harder difficulty, by task and method.
_PRINTED = {
    "edge-copy": {
        "feedforward": (0.3016, 0.3124),
        "recurrent": (0.3015, 0.3113),
        "programmatic": (0.3053, 0.4409),
        "iterative-feedforward": (0.6163, 0.6498),
        "irem": (0.0019, 0.0019),
    },
    "connected-components": {
        "feedforward": (0.1796, 0.3460),
        "recurrent": (0.1794, 0.2766),
        "programmatic": (0.2338, 3.1381),
        "iterative-feedforward": (0.4908, 1.2064),
        "irem": (0.1424, 0.2171),
    },
    "shortest-path": {
        "feedforward": (0.1233, 1.4089),
        "recurrent": (0.1259, 0.1083),
        "programmatic": (0.1375, 0.1290),
        "iterative-feedforward": (0.4588, 0.7688),
        "irem": (0.0274, 0.0464),
    },
    "addition": {
        "feedforward": (0.0448, 0.7029),
        "recurrent": (0.3610, 2.6133),
        "programmatic": (0.0111, 0.3446),
        "iterative-feedforward": (0.0144, 0.1577),
        "irem": (0.0003, 0.0021),
    },
    "matrix-completion": {
        "feedforward": (0.0203, 0.2720),
        "recurrent": (0.0266, 0.3285),
        "programmatic": (0.0203, 0.2637),
        "iterative-feedforward": (0.0253, 0.2102),
        "irem": (0.0183, 0.2074),
    },
    "matrix-inverse": {
        "feedforward": (0.0112, 0.2150),
        "recurrent": (0.0109, 0.2123),
        "programmatic": (0.0124, 0.2209),
        "iterative-feedforward": (0.0270, 0.5250),
        "irem": (0.0108, 0.2083),
    },
}

PAPER_TABLE1: Mapping[tuple[str, str, str], float] = MappingProxyType(
    {
        (task, method, difficulty): value
        for task, methods in _PRINTED.items()
        for method, pair in methods.items()
        for difficulty, value in zip(DIFFICULTIES, pair, strict=True)
    }
)
"""Errors of the paper's Table 1, by task, method and difficulty."""

# A fixed step of the trained size until the energy has not changed for some steps; at most as many
# steps as the released program takes.
_PAPER_DESCENT = {
    "step": FixedStep(),
    "halt": EnergyUnchanged(rtol=1e-4),
    "max_steps": 80,
}

# At most this much above the paper's number counts as reached.
_REACHED = 1.1


def is_paper_task(task: AbstractTask) -> bool:
    """Return whether a task is one of the paper's six, with the settings of the paper."""
    if task.name not in PAPER_TASKS or type(task) is not tasks.TASKS[task.name]:
        return False
    return task.settings() == tasks.get(task.name).settings()


def printed_mse(method: str, task: AbstractTask, difficulty: Difficulty) -> float | None:
    """Return the number of Table 1 for a method on this very task, if the paper prints one.

    Arguments:
        method: A name of `irem.methods.METHODS`; an energy of one's own stands for `irem`.
        task: The task; for other settings of it the paper prints nothing.
        difficulty: `same` or `harder`.
    """
    if not is_paper_task(task):
        return None
    return PAPER_TABLE1.get((task.name, method, str(difficulty)))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Table1Cell(DifficultyCell):
    """The error of one method on one task and difficulty.

    Arguments:
        best_problems: On how many problems `best` was taken.
        problems: Test problems.
        sem: Standard error of the mean over problems.
        steps_mean: Mean number of steps taken.
        converged: Share of descents that ended in a minimum; `None` for a baseline.
        parameters: How many numbers of a model are trained.
        method_settings: All settings of the method.
        train_seconds: Of all seeds together; `None` where training was interrupted.
        last_loss_by_seed: Training loss of the last chunk of iterations.
        skipped_updates: Updates that were not finite, over all seeds.
        run: Folder of the models within the study.
        also: Errors of the same models that answer in another way.
        iterations: Updates of training; early results do not name it.
    """

    best_problems: int
    problems: int
    sem: float | None
    steps_mean: float
    converged: float | None
    parameters: int
    method_settings: Mapping[str, Any]
    train_seconds: float | None
    last_loss_by_seed: tuple[float | None, ...]
    skipped_updates: int
    run: str
    also: Mapping[str, Spread]
    iterations: int | None = None


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a table like Table 1 has.

    Arguments:
        experiment: Name of the experiment.
        methods: Its methods.
        aggregate: How graph networks join messages; by default their mean.
        times: How many times longer training is than that of the scale.
    """

    experiment: str = "table1"
    methods: tuple[str, ...] = PAPER_METHODS
    aggregate: str | None = None
    times: int = 1


SETTINGS = Settings()


def run(study: Study, settings: Settings = SETTINGS) -> list[Table1Cell]:
    """Return the cells of Table 1; every method takes the mean of messages on graphs."""
    return method_cells(study, list(study.tasks), settings)


def method_cells(study: Study, task_names: Sequence[str], settings: Settings) -> list[Table1Cell]:
    """Return a cell for every task, method and difficulty."""
    return [
        cell
        for task in task_names
        for method in settings.methods
        for cell in study.cells(
            settings.experiment,
            f"{task}-{method}",
            [Table1Cell],
            lambda t=task, m=method: _measure(study, study.tasks[t], m, settings),
        )
    ]


def _measure(study: Study, task: AbstractTask, method: str, settings: Settings) -> list[Table1Cell]:
    """Train, and evaluate on both difficulties."""
    aggregate, times = settings.aggregate, settings.times
    label = f"{task.name}-{method}" + (f"-{aggregate}" if aggregate else "")
    label += "" if times == 1 else f"-{times}-times"
    iterations = study.scale.budget(task).longer(times).iterations
    recipe = study.recipe(task, method, aggregate).override({"iterations": iterations})
    run, seconds = study.trained(task, recipe, label)
    cells = []
    for difficulty in DIFFICULTIES:
        found = study.score(run, difficulty)
        cells.append(
            Table1Cell(
                task=found.task,
                method=method,
                difficulty=difficulty,
                **vars(spread(found.mse_by_model)),
                paper=printed_mse(method, task, difficulty),
                trivial=found.trivial_mse,
                best=found.oracle_mse,
                best_problems=found.oracle_problems,
                problems=found.problems,
                sem=found.mse_sem,
                steps_mean=found.steps_mean,
                converged=found.converged,
                iterations=run.iteration,
                parameters=num_parameters(run.models[0]),
                method_settings=method_settings(run.settings),
                train_seconds=seconds,
                last_loss_by_seed=tuple(float(v) for v in run.history.loss[-1]),
                skipped_updates=int(run.history.skipped.sum()),
                run=f"models/{label}",
                also=answer_otherwise(study, run, method, difficulty),
                **study.origin(),
            )
        )
    return cells


def answer_otherwise(study: Study, run: Run, method: str, difficulty: str) -> dict[str, Spread]:
    """Return errors of the same models that answer in another way."""
    if method == "irem":
        fixed = study.score(run, difficulty, **_PAPER_DESCENT)
        return {"fixed step": spread(fixed.mse_by_model)}
    if method == "programmatic":
        models = tuple(dataclasses.replace(model, halting="expected") for model in run.models)
        expected = study.score(dataclasses.replace(run, models=models), difficulty)
        return {"expected halting": spread(expected.mse_by_model)}
    return {}


def table(cells: Sequence[Table1Cell], file: str) -> Table:
    """Tasks and methods down, difficulties and their floors across; the lowest error is strong."""
    rows = []
    for (task, method), levels in indexed_by_difficulty(cells, "task", "method").items():
        row = [Entry(task), Entry(method_name(method))]
        for level in DIFFICULTIES:
            row += _entries(cells, levels.get(level), file)
        _, first = next(iter(levels.values()))
        row.append(Entry(f"{first.parameters:,}"))
        rows.append(tuple(row))
    across = [
        (level, f"paper, {level}", f"trivial, {level}", f"best, {level}") for level in DIFFICULTIES
    ]
    return Table(("task", "method", *across[0], *across[1], "parameters"), tuple(rows))


def _entries(
    cells: Sequence[Table1Cell], found: tuple[int, Table1Cell] | None, file: str
) -> list[Entry]:
    """Error, printed error and floors of a cell with its index; empty where it is missing."""
    if found is None:
        return [Entry("")] * 4
    index, cell = found
    strong = cell.error == lowest_error(cells, cell)
    floors = [Entry(number(cell.trivial)), Entry(number(cell.best))]
    return [measured(cell, file, index, strong=strong), Entry(printed(cell.paper)), *floors]


def irem_table(cells: Sequence[Table1Cell], file: str) -> Table:
    """IREM alone: one row for each task and difficulty."""
    rows = []
    for index, cell in enumerate(cells):
        if cell.method != "irem":
            continue
        baselines = [c for c in cells if c.place == cell.place and c.method != "irem"]
        best = min(baselines, key=lambda c: c.error) if baselines else None
        rows.append(
            (
                Entry(cell.task),
                Entry(cell.difficulty),
                measured(cell, file, index, strong=best is None or cell.error < best.error),
                Entry(printed(cell.paper)),
                Entry("" if best is None else f"{with_spread(best)} ({best.method})"),
                Entry(number(cell.trivial)),
                Entry(number(cell.best)),
                Entry(f"{cell.steps_mean:.0f}"),
            )
        )
    header = ("task", "difficulty", "irem", "IREM in the paper", "best baseline", "trivial")
    return Table((*header, "best possible", "steps"), tuple(rows))


def comparison(cells: Sequence[DifficultyCell], file: str) -> Table:
    """Cell by cell against the paper: the ratio, and what it means."""
    rows = []
    for index, cell in enumerate(cells):
        if not cell.paper:
            continue
        ratio = cell.error / cell.paper
        rows.append(
            (
                Entry(cell.task),
                Entry(cell.difficulty),
                Entry(method_name(cell.method)),
                measured(cell, file, index),
                Entry(printed(cell.paper)),
                Entry(f"{ratio:.2f}"),
                Entry(_verdict(cell.method, ratio)),
                Entry(_rank(cells, cell)),
            )
        )
    header = ("task", "difficulty", "method", "here", "paper", "ratio", "verdict")
    return Table((*header, "rank here/paper"), tuple(rows), labels=3)


def contradictions(cells: Sequence[DifficultyCell], file: str) -> Table:
    """Pairs of methods whose order here is not the paper's, with the range over seeds of both."""
    rows = []
    for pair in itertools.permutations(enumerate(cells), 2):
        one, other = (cell for _, cell in pair)
        if one.place != other.place or one.paper is None or other.paper is None:
            continue
        if one.paper < other.paper and one.error > other.error:
            row = [Entry(one.task), Entry(one.difficulty)]
            for index, cell in pair:
                row += [Entry(method_name(cell.method)), Entry(printed(cell.paper))]
                row.append(Entry(_range(cell), f"{file}: cells[{index}].mse_by_seed"))
            rows.append(tuple(row))
    better, worse = ("better in the paper", "paper", "here"), ("better here", "paper", "here")
    return Table(("task", "difficulty", *better, *worse), tuple(rows))


def _range(cell: Spread) -> str:
    """Smallest and largest error of a seed."""
    seeds = [value for value in cell.mse_by_seed if value is not None]
    if not seeds or len(seeds) < len(cell.mse_by_seed):
        return "not finite"
    return f"{number(min(seeds), 4)} to {number(max(seeds), 4)}"


def _verdict(method: str, ratio: float) -> str:
    if method == "irem":
        return "reached" if ratio <= _REACHED else "not reached"
    if ratio > _REACHED:
        return "worse than printed"
    return "better than printed" if ratio < 1 / _REACHED else "as printed"


def _rank(cells: Sequence[DifficultyCell], cell: DifficultyCell) -> str:
    """Place among the methods, here and in the paper; 1 is the smallest error."""
    others = [other for other in cells if other.place == cell.place]
    here = sum(other.error < cell.error for other in others)
    paper = sum((other.paper or 0) < (cell.paper or 0) for other in others)
    return f"{here + 1}/{paper + 1}"


def _sections(cells: Sequence[Table1Cell]) -> list[Section]:
    """Comparisons with the printed table, unless the tasks are not the paper's; deviations."""
    deviations = Section("What differs from the paper's text", points=DEVIATIONS)
    if all(cell.paper is None for cell in cells):
        return [deviations]
    file = "table1.json"
    return [
        Section("Cell by cell against the paper", _VERDICTS, comparison(cells, file)),
        Section("Where the order is not the paper's", _ORDER, contradictions(cells, file)),
        deviations,
    ]


_ORDER = (
    "Every pair of methods whose order here is not the paper's, with the smallest and the largest "
    "error of a seed of both."
)
_VERDICTS = (
    "Ratio is this error over the printed one. IREM's cell is reached at a ratio of at most 1.1; a "
    "baseline's is as printed within that factor either way. The rank among the five methods, 1 "
    "for the smallest error, is given as here/paper."
)

DEVIATIONS: tuple[str, ...] = (
    "Problems are drawn as the released program draws them.",
    "Graphs take the mean of messages in all methods; GINE has their sum.",
    "GINE's energy has the released program's hidden layer before its last one, and swish.",
    "The recurrent network has 304 units for vectors and 96 for graphs, for about as many "
    "parameters as the others; the appendix prints 196 and 128.",
    "PonderNet and iterative feedforward have 500 units for vectors, not 512, for the same reason.",
    "PonderNet is that of Banino et al.; the state between its steps is the last answer.",
    "Iterative feedforward undoes a diffusion of five steps, is told the level of noise, gives the "
    "clean answer, weighs all levels the same and does not scale the answers.",
    "Recurrent networks are trained by the error of their last step.",
    "Baselines train on fresh problems alone; IREM has as many replayed ones beside them.",
    "Inference adapts its steps and stops by itself; the paper has a fixed step.",
)
"""Where Table 1 departs from the paper, in the order of the documentation."""

EXPERIMENT = Experiment(
    name="table1",
    title="Table 1: five methods, six tasks",
    explanation=(
        "Elementwise mean squared error on fresh problems, mean and standard deviation over seeds. "
        "Trivial is a predictor that learns nothing, best the exact answer or, for completion, the "
        "Bayes estimate of the first 200 problems. Graphs have 10 nodes (same) and 15 (harder); "
        "all methods take the mean of messages. No test problem chose a checkpoint, a step count "
        "or a step size."
    ),
    run=run,
    kinds=(Table1Cell,),
    table=table,
    sections=_sections,
)
