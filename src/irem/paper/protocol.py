"""What the released program's way of scoring changes: the smallest test error during training."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np

from irem.evaluation.scores import score
from irem.evaluation.tables import Entry, Table, measured, number, printed, with_spread
from irem.keys import training_keys
from irem.methods import build_methods
from irem.paper.cells import DIFFICULTIES, DifficultyCell, Spread, spread
from irem.paper.experiment import Experiment
from irem.paper.study import Study
from irem.paper.table1 import printed_mse
from irem.tasks import AbstractTask
from irem.training import Training, init, run_chunk, unstack


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProtocolCell(DifficultyCell):
    """The smallest error on the test problems while training.

    Arguments:
        last: The error after the last iteration.
        iterations: After which iterations errors were measured.
        mse_by_iteration: Then, the error of every seed.
    """

    last: Spread
    iterations: tuple[int, ...]
    mse_by_iteration: tuple[tuple[float | None, ...], ...]


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is measured.

    Arguments:
        task: On which task; addition is where the paper's number is not reached.
        evaluations: How often the test problems are answered during training.
    """

    task: str = "addition"
    evaluations: int = 10


SETTINGS = Settings()


def run(study: Study, settings: Settings = SETTINGS) -> list[ProtocolCell]:
    """Return IREM's error at the end of training, and the smallest one before it.

    The released program answers the test problems again and again while it trains, and reports
    the smallest error, for each difficulty by itself. No other experiment here does.
    """
    task = study.tasks[settings.task]
    make = lambda: _measure(study, task, settings.evaluations)  # noqa: E731
    return study.cells("protocol", task.name, [ProtocolCell], make)


def _measure(study: Study, task: AbstractTask, evaluations: int) -> list[ProtocolCell]:
    recipe, seeds = study.recipe(task), study.scale.seeds
    keys, iterations = training_keys(0, seeds), recipe.length("iterations")
    training = Training(
        task,
        recipe.component("optimiser").transformation(iterations),
        recipe.component("replay"),
        recipe.component("average"),
        recipe.length("batch_size"),
    )
    methods = build_methods(task, recipe.method_settings(), keys=keys)
    states = eqx.filter_vmap(lambda m, k: init(training, m, k))(methods, keys)
    chunk = iterations // evaluations
    errors = {difficulty: [] for difficulty in DIFFICULTIES}
    for _ in range(evaluations):
        states, _ = run_chunk(training, states, chunk)
        models: Any = unstack(states.method, seeds)
        for difficulty, found in errors.items():
            test_set, key = study.test_set(task, difficulty)
            found.append(score(models, test_set, key=key).mse_by_model)
    measured_at = tuple((k + 1) * chunk for k in range(evaluations))
    return [_cell(study, task, d, tuple(found), measured_at) for d, found in errors.items()]


def _cell(
    study: Study,
    task: AbstractTask,
    difficulty: str,
    errors: tuple[tuple[float, ...], ...],
    iterations: tuple[int, ...],
) -> ProtocolCell:
    test_set, _ = study.test_set(task, difficulty)
    return ProtocolCell(
        task=task.name,
        method="irem",
        difficulty=difficulty,
        **vars(spread(np.min(errors, axis=0))),
        last=spread(errors[-1]),
        iterations=iterations,
        mse_by_iteration=errors,
        paper=printed_mse("irem", task, difficulty),
        trivial=test_set.floors[0],
        best=test_set.floors[1],
        **study.origin(),
    )


def table(cells: Sequence[ProtocolCell], file: str) -> Table:
    """The error at the end of training beside the smallest one before it."""
    rows = [
        (
            Entry(cell.task),
            Entry(cell.difficulty),
            Entry(with_spread(cell.last), f"{file}: cells[{index}].last"),
            measured(cell, file, index),
            Entry(printed(cell.paper)),
            Entry(number(cell.trivial)),
            Entry(number(cell.best)),
        )
        for index, cell in enumerate(cells)
    ]
    header = ("task", "difficulty", "after training", "smallest on test problems", "paper")
    return Table((*header, "trivial", "best"), tuple(rows))


EXPERIMENT = Experiment(
    name="protocol",
    title="What choosing on test problems changes",
    explanation=(
        "IREM's error after the last iteration, which is what this project reports, and the "
        "smallest error on the test problems of ten evaluations during training, which is how "
        "the released program scores."
    ),
    run=run,
    kinds=(ProtocolCell,),
    table=table,
)
