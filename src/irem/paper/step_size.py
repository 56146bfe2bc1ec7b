"""Table 3: the step size of training, on addition."""

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from irem.evaluation.tables import Entry, Table, measured, number, printed
from irem.paper.cells import DIFFICULTIES, DifficultyCell, spread
from irem.paper.experiment import Experiment
from irem.paper.study import Study
from irem.tasks import AbstractTask

PAPER_STEP_SIZE: Mapping[int, tuple[float, float]] = MappingProxyType(
    {
        10: (0.0003, 0.0021),
        30: (0.0003, 0.0020),
        100: (0.0003, 0.0021),
        300: (0.0004, 0.0023),
        1000: (0.0004, 0.0025),
    }
)
"""Table 3: errors on addition, same and harder, by the step size of training."""

# That of all other experiments, whose models are those of Table 1.
_USUAL = 100


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepSizeCell(DifficultyCell):
    """The error after training with one step size.

    Arguments:
        step_size: The step size of training.
        steps_mean: Mean number of steps of inference.
        run: Folder of the models within the study.
    """

    step_size: int
    steps_mean: float
    run: str


def run(
    study: Study, printed: Mapping[int, tuple[float, float]] = PAPER_STEP_SIZE
) -> list[StepSizeCell]:
    """Return errors on both difficulties for every step size of `printed`."""
    task = study.tasks["addition"]
    return [
        cell
        for size, paper in printed.items()
        for cell in study.cells(
            "step-size",
            str(size),
            [StepSizeCell],
            lambda s=size, p=paper: _measure(study, task, s, p),
        )
    ]


def _measure(
    study: Study, task: AbstractTask, size: int, printed: tuple[float, float]
) -> list[StepSizeCell]:
    recipe = study.recipe(task).override({"method.step_size": float(size)})
    label = f"{task.name}-irem" + ("" if size == _USUAL else f"-step-{size}")
    run, _ = study.trained(task, recipe, label)
    cells = []
    for difficulty, paper in zip(DIFFICULTIES, printed, strict=True):
        found = study.score(run, difficulty)
        cells.append(
            StepSizeCell(
                task=task.name,
                method="irem",
                step_size=size,
                difficulty=difficulty,
                **vars(spread(found.mse_by_model)),
                paper=paper,
                trivial=found.trivial_mse,
                best=found.oracle_mse,
                steps_mean=found.steps_mean,
                run=f"models/{label}",
                **study.origin(),
            )
        )
    return cells


def table(cells: Sequence[StepSizeCell], file: str) -> Table:
    """Step sizes and difficulties down."""
    rows = [
        (
            Entry(str(cell.step_size)),
            Entry(cell.difficulty),
            measured(cell, file, index),
            Entry(printed(cell.paper)),
            Entry(number(cell.trivial)),
            Entry(number(cell.best)),
            Entry(f"{cell.steps_mean:.0f}"),
        )
        for index, cell in enumerate(cells)
    ]
    header = ("step size", "difficulty", "error", "paper", "trivial", "best", "steps")
    return Table(header, tuple(rows))


EXPERIMENT = Experiment(
    name="step-size",
    title="Table 3: the step size of training",
    explanation="IREM on addition, trained with steps of another size.",
    run=run,
    kinds=(StepSizeCell,),
    table=table,
)
