"""Appendix B: what a scratchpad does to the error, at an equal number of parameters."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np

from irem.evaluation.curves import RECORDED_STEPS
from irem.evaluation.landscapes import descents
from irem.evaluation.tables import Entry, Table, measured, number, printed, with_spread
from irem.formats import Graphs
from irem.keys import fresh_key
from irem.methods import AbstractMethod, build_method, describe_method
from irem.paper.cells import DIFFICULTIES, DifficultyCell, Spread, lowest_error, spread
from irem.paper.experiment import Experiment
from irem.paper.study import Study, num_parameters
from irem.paper.table1 import printed_mse
from irem.tasks import AbstractTask
from irem.training import Recipe, Run


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stopped(Spread):
    """The error after a chosen number of steps.

    Arguments:
        max_steps: That number.
    """

    max_steps: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScratchpadCell(DifficultyCell):
    """The error with a scratchpad of one size.

    Arguments:
        scratchpad: How many numbers it has, beside the answer or beside every node; 0 for none.
        steps_mean: Mean number of steps taken.
        converged: Share of descents that ended in a minimum.
        stopped: The error after a number of steps that was chosen on validation problems.
        width: Width of the network.
        parameters: How many numbers of a model are trained.
        train_seconds: Of all seeds together; `None` where training was interrupted.
        run: Folder of the models within the study.
    """

    scratchpad: int
    steps_mean: float
    converged: float | None
    stopped: Stopped
    width: int
    parameters: int
    train_seconds: float | None
    run: str


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is measured.

    Arguments:
        vector_size: Numbers of the scratchpad of a problem of a fixed size.
        node_size: Numbers of the scratchpad of every node of a graph.
        recorded_steps: Among how many numbers of steps the best one is chosen.
        changes: What differs from the paper's recipes, as `Recipe.override` takes it.
    """

    vector_size: int = 128
    node_size: int = 16
    recorded_steps: int = RECORDED_STEPS
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def size(self, task: AbstractTask) -> int:
        """Return the size of the scratchpad for a task."""
        return self.node_size if isinstance(task.format, Graphs) else self.vector_size


SETTINGS = Settings()


def run(study: Study, settings: Settings = SETTINGS) -> list[ScratchpadCell]:
    """Return errors on both difficulties of IREM without a scratchpad and with one.

    The networks with a scratchpad are narrower, so that they have no more parameters than those
    without, whose models are those of Table 1.
    """
    return [
        cell
        for task in study.tasks.values()
        for size in (0, settings.size(task))
        for cell in study.cells(
            "scratchpad",
            f"{task.name}-{size}",
            [ScratchpadCell],
            lambda t=task, s=size: _measure(study, t, s, settings),
        )
    ]


def _measure(
    study: Study, task: AbstractTask, size: int, settings: Settings
) -> list[ScratchpadCell]:
    recipe = study.recipe(task).override(settings.changes)
    if size:
        recipe = with_scratchpad(task, recipe, size)
    label = f"{task.name}-irem" + (f"-scratchpad-{size}" if size else "")
    run, seconds = study.trained(task, recipe, label)
    chosen = choose_steps(run, study.scale.problems, settings.recorded_steps)
    cells = []
    for difficulty in DIFFICULTIES:
        found = study.score(run, difficulty)
        stopped = study.score(run, difficulty, max_steps=chosen)
        cells.append(
            ScratchpadCell(
                task=task.name,
                method="irem",
                scratchpad=size,
                difficulty=difficulty,
                **vars(spread(found.mse_by_model)),
                paper=printed_mse("irem", task, difficulty),
                trivial=found.trivial_mse,
                best=found.oracle_mse,
                steps_mean=found.steps_mean,
                converged=found.converged,
                stopped=Stopped(**vars(spread(stopped.mse_by_model)), max_steps=chosen),
                width=run.settings["energy"]["width"],
                parameters=num_parameters(run.models[0]),
                train_seconds=seconds,
                run=f"models/{label}",
                **study.origin(),
            )
        )
    return cells


def choose_steps(run: Run, problems: int, most: int) -> int:
    """Return the number of steps with the smallest error on validation problems.

    The loss leaves open where the descent of a scratchpad converges, so a descent until the energy
    stops changing may pass the answer.

    Arguments:
        run: The models.
        problems: How many problems like those of training are answered.
        most: Largest number of steps.
    """
    key_problems, key_guesses = jax.random.split(fresh_key(0, "validate"))
    batch = run.task.batch(key_problems, problems, "same")
    recorded = [descents(model, batch, most, key=key_guesses) for model in run.models]
    errors = np.mean([found.errors.mean(0) for found in recorded], axis=0)[1:]
    return 1 + int(np.argmin(np.where(np.isfinite(errors), errors, np.inf)))


def with_scratchpad(task: AbstractTask, recipe: Recipe, size: int) -> Recipe:
    """Return a recipe with a scratchpad and the widest energy that has no more parameters."""
    plain = _shapes(task, recipe)
    width, most = describe_method(plain)["energy"]["width"], _count(plain)
    narrower = range(width, 0, -2 if isinstance(task.format, Graphs) else -1)  # GINE's is even
    sizes = ({"energy.width": w, "energy.scratch": size} for w in narrower)
    candidates = (recipe.override(changes) for changes in sizes)
    return next(c for c in candidates if _count(_shapes(task, c)) <= most)


def _shapes(task: AbstractTask, recipe: Recipe) -> AbstractMethod:
    """A method with shapes in place of its arrays."""
    build = lambda key: build_method(task, recipe.method_settings(), key=key)  # noqa: E731
    return eqx.filter_eval_shape(build, jax.random.key(0))


def _count(shapes: AbstractMethod) -> int:
    arrays = [s for s in jax.tree.leaves(shapes) if isinstance(s, jax.ShapeDtypeStruct)]
    return sum(array.size for array in arrays)


def table(cells: Sequence[ScratchpadCell], file: str) -> Table:
    """Tasks and sizes of the scratchpad down; errors at the end and after a chosen step count."""
    rows = []
    for index, cell in enumerate(cells):
        early = cell.stopped
        lowest = min(c.stopped.error for c in cells if c.place == cell.place)
        rows.append(
            (
                Entry(cell.task),
                Entry(cell.difficulty),
                Entry(str(cell.scratchpad)),
                measured(cell, file, index, strong=cell.error == lowest_error(cells, cell)),
                Entry(f"{cell.steps_mean:.0f}"),
                Entry(with_spread(early), f"{file}: cells[{index}].stopped", early.error == lowest),
                Entry(str(early.max_steps)),
                Entry(printed(cell.paper)),
                Entry(number(cell.trivial)),
                Entry(number(cell.best)),
                Entry(str(cell.width)),
                Entry(f"{cell.parameters:,}"),
            )
        )
    errors = ("error", "steps", "error after chosen steps", "those steps")
    header = ("task", "difficulty", "scratchpad", *errors, "IREM in the paper", "trivial", "best")
    return Table((*header, "width", "parameters"), tuple(rows))


EXPERIMENT = Experiment(
    name="scratchpad",
    title="Appendix B: a scratchpad beside the answer",
    explanation=(
        "IREM without a scratchpad, as in Table 1, and with one that descends along with the "
        "answer: so many numbers beside every answer or, for graphs, beside every node. Its "
        "network is narrower, for at most as many parameters. The first error is where the energy "
        "stops changing or after 500 steps; the second after the number of steps that is best on "
        "validation problems like those of training. The paper describes the scratchpad and prints "
        "no error for it; its error without one is shown."
    ),
    run=run,
    kinds=(ScratchpadCell,),
    table=table,
)
