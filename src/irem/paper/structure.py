"""Beyond the paper: energies that use the structure of each task."""

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import numpy as np

from irem.evaluation.composition import compose
from irem.evaluation.landscapes import descents
from irem.evaluation.scores import draw, score
from irem.evaluation.tables import Entry, Table, measured, number, printed
from irem.formats import Graphs
from irem.keys import fresh_key
from irem.paper.cells import DIFFICULTIES, DifficultyCell, spread
from irem.paper.composition import PAPER_COMPOSITIONS, error_of_zero
from irem.paper.experiment import Experiment, Result
from irem.paper.study import Study, num_parameters
from irem.paper.table1 import printed_mse
from irem.tasks import AbstractTask, Difficulty
from irem.training import BEST, Recipe, Run

# Of the steps whose errors are kept, those in the table: as many as in training, ten times and a
# hundred times as many.
_SHOWN = ("5", "50", "500")

# By task, the problems of other sizes and kinds that are measured, as changes of its settings.
_OTHER_PROBLEMS: Mapping[str, Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "matrix-inverse": {"30 x 30": {"size": 30}},
        "matrix-completion": {
            "30 x 15": {"size": 30, "columns": 15},
            "30% given": {"given": 0.3},
        },
    }
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StructureCell(DifficultyCell):
    """The error of the recipe `best` of a task.

    Arguments:
        problems: Test problems.
        energy: Settings of the energy.
        iterations: Updates of training.
        parameters: How many numbers of a model are trained.
        train_seconds: Of all seeds together; `None` where training was interrupted.
        skipped_updates: Updates that were not finite, over all seeds.
        run: Folder of the models within the study.
    """

    problems: int
    energy: Mapping[str, Any]
    iterations: int
    parameters: int
    train_seconds: float | None
    skipped_updates: int
    run: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class DescentCell(StructureCell):
    """An error with what is known about the descents.

    Arguments:
        steps_mean: Mean number of steps taken.
        converged: Share of descents that ended in a minimum.
        entries_right: Where answers are 0 or 1, the share of entries that are right after rounding.
        exact: Likewise the share of problems whose every entry is right.
        walked: On how many problems `error_by_step` was taken.
        error_by_step: The error after some numbers of steps.
    """

    steps_mean: float
    converged: float | None
    entries_right: float | None
    exact: float | None
    walked: int
    error_by_step: Mapping[str, float | None]


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is measured.

    Arguments:
        steps: Steps after which errors are kept; training has five.
        operations: Nested additions.
        larger_graphs: Numbers of nodes beyond those of the paper.
        recorded_share: Share of the test problems whose error is kept after every step.
        large_share: Share of the test problems of each larger graph.
        seeds: Most models of every task.
        changes: What differs from the recipes `best`, as `Recipe.override` takes it.
    """

    steps: tuple[int, ...] = (5, 10, 20, 50, 100, 500)
    operations: int = 10
    larger_graphs: tuple[int, ...] = (30, 60)
    recorded_share: float = 0.1
    large_share: float = 0.2
    seeds: int = 3
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)


SETTINGS = Settings()


def best_recipe(task: AbstractTask, share: float, changes: Mapping[str, Any]) -> Recipe:
    """Return the recipe `best` of a task with a share of its iterations.

    Arguments:
        task: The task.
        share: Of the iterations; there is at least one.
        changes: What differs from the recipe, as `Recipe.override` takes it.
    """
    recipe = Recipe.named(task.name, BEST).override(changes)
    return recipe.override({"iterations": max(round(share * recipe.length("iterations")), 1)})


def run(study: Study, settings: Settings = SETTINGS) -> list[StructureCell]:
    """Return errors of the recipes `best`: same, harder, and beyond what the paper asks."""
    return [
        cell
        for name, task in study.tasks.items()
        for cell in study.cells(
            "structure",
            name,
            [StructureCell, DescentCell],
            lambda t=task: measure(study, t, settings),
        )
    ]


def train_best(study: Study, task: AbstractTask, settings: Settings) -> tuple[Run, float | None]:
    """Return the models of a task, and the seconds of their training."""
    recipe = best_recipe(task, study.scale.structure, settings.changes)
    seeds = min(study.scale.seeds, settings.seeds)
    return study.trained(task, recipe, f"{task.name}-structure", seeds=seeds)


def measure(study: Study, task: AbstractTask, settings: Settings) -> list[StructureCell]:
    """Return the cells of one task."""
    run, seconds = train_best(study, task, settings)
    about = {
        "task": task.name,
        "method": "irem",
        "energy": run.settings["energy"],
        "iterations": run.iteration,
        "parameters": num_parameters(run.models[0]),
        "train_seconds": seconds,
        "skipped_updates": int(run.history.skipped.sum()),
        "run": f"models/{task.name}-structure",
        **study.origin(),
    }
    cells: list[StructureCell] = [
        _measure_case(study.scale.problems, run, case, settings, about)
        for case in cases(task, settings)
    ]
    if task.name == "addition":
        cells.append(_compose(study.scale.problems, run, settings.operations, about))
    return cells


Case = tuple[str, AbstractTask, Difficulty]
"""What is measured: a name, and where its problems come from."""


def cases(task: AbstractTask, settings: Settings = SETTINGS) -> list[Case]:
    """Return the problems that are measured for a task."""
    found: list[Case] = [(d, task, d) for d in DIFFICULTIES]
    if isinstance(task.format, Graphs):
        found += [(f"{n} nodes", task, n) for n in settings.larger_graphs]
    others = _OTHER_PROBLEMS.get(task.name, {})
    return found + [(n, dataclasses.replace(task, **c), "same") for n, c in others.items()]


def _measure_case(
    some: int, run: Run, case: Case, settings: Settings, about: Mapping[str, Any]
) -> DescentCell:
    name, task, difficulty = case
    share = settings.large_share if isinstance(difficulty, int) else 1.0
    problems, walked = (max(int(s * some), 1) for s in (share, settings.recorded_share))
    test_set, key = draw(task, difficulty, problems, fresh_key(0, "evaluate"))
    found = score(run, test_set, key=key)
    return DescentCell(
        **about,
        difficulty=name,
        **vars(spread(found.mse_by_model)),
        problems=problems,
        paper=printed_mse("irem", task, difficulty),
        trivial=found.trivial_mse,
        best=found.oracle_mse,
        steps_mean=found.steps_mean,
        converged=found.converged,
        entries_right=found.entries_right,
        exact=found.exact,
        walked=walked,
        error_by_step=errors_by_step(run, task, difficulty, walked, settings.steps),
    )


def errors_by_step(
    run: Run, task: AbstractTask, difficulty: Difficulty, problems: int, steps: Sequence[int]
) -> dict[str, float]:
    """Return the error after some step counts, the mean over models and problems.

    A descent that has stopped stays where it is.
    """
    key_problems, key_guesses = jax.random.split(fresh_key(0, "steps"))
    batch = task.batch(key_problems, problems, difficulty)
    recorded = [descents(model, batch, steps[-1], key=key_guesses) for model in run.models]
    errors = np.mean([found.errors.mean(0) for found in recorded], axis=0)
    return {str(t): float(errors[t]) for t in steps}


def _compose(problems: int, run: Run, operations: int, about: Mapping[str, Any]) -> StructureCell:
    options = {"problems": problems, "key": fresh_key(0, "compose")}
    errors = [compose(model, run.task, operations, **options)[-1] for model in run.models]
    return StructureCell(
        **about,
        difficulty=f"{operations} nested",
        **vars(spread(errors)),
        problems=problems,
        paper=PAPER_COMPOSITIONS["irem"].get(operations),
        trivial=error_of_zero(operations),
        best=0.0,
    )


def table(cells: Sequence[StructureCell], file: str) -> Table:
    """Tasks and difficulties down; the error, its floors, and what more steps do to it."""
    descended = [cell for cell in cells if isinstance(cell, DescentCell)]
    shown = [t for t in _SHOWN if any(t in cell.error_by_step for cell in descended)]
    rows = []
    for index, cell in enumerate(cells):
        about_descents = [""] * (3 + len(shown))
        if isinstance(cell, DescentCell):
            shares = (cell.entries_right, cell.exact)
            by_step = (cell.error_by_step.get(t) for t in shown)
            about_descents = [f"{cell.steps_mean:.0f}"]
            about_descents += ["" if s is None else f"{100 * s:.2f} %" for s in shares]
            about_descents += [number(error) for error in by_step]
        rows.append(
            (
                Entry(cell.task),
                Entry(cell.difficulty),
                measured(cell, file, index),
                Entry(printed(cell.paper)),
                Entry(number(cell.trivial)),
                Entry(number(cell.best)),
                *map(Entry, about_descents),
            )
        )
    header = ("task", "problems", "error", "IREM in the paper", "trivial", "best", "steps")
    header += ("entries right", "all right")
    return Table((*header, *(f"after {t}" for t in shown)), tuple(rows), labels=2)


def _describe(result: Result) -> str:
    cells = [cell for cell in result.cells if isinstance(cell, StructureCell)]
    most = max(cell.problems for cell in cells)
    return (
        f"{result.file}: {cells[0].seeds} seeds, at most {most} test problems, fewer of large "
        f"graphs; {result.origin}"
    )


EXPERIMENT = Experiment(
    name="structure",
    title="Beyond the paper: energies that see structure",
    explanation=(
        "IREM with energies on pairs and on tables, trained on the problems of same alone (graphs "
        "of 2 to 10 nodes). The error is that of default inference; trivial and best are its "
        "floors. The last columns have the error of some problems (walked, in the cells) after so "
        "many steps: training has five. Every cell names its device."
    ),
    run=run,
    kinds=(StructureCell, DescentCell),
    table=table,
    describe=_describe,
)
