"""What every ingredient of training for many steps is worth, on minimal Sudokus."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import numpy as np

from irem.evaluation.tables import Entry, Table
from irem.methods import IREM, LastSteps
from irem.paper.cells import Cell
from irem.paper.experiment import Experiment, Result
from irem.paper.puzzles import begun, listed, right_answers, walked
from irem.paper.study import Study
from irem.tasks.sudoku import Sudoku
from irem.training import BEST, Recipe

WHOLE = "whole"
"""The variant that the others are compared with."""

VARIANTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        WHOLE: {},
        "last step alone": {"gradient.k": 1},
        "always 5 steps": {"gradient.name": "last-steps", "gradient.k": 3},
        "no average of the weights": {"average.name": "none"},
        "no weight decay": {"optimiser.weight_decay": 0.0},
        "no scratchpad": {"energy.scratch": 0},
        "no replay": {"replay.name": "none"},
        "noise on the way": {"gradient.noise": 0.1},
        "term for fixed points": {"gradient.fixed_point": 0.1},
    }
)
"""Changes of the recipe `best` of Sudoku, as `Recipe.override` takes them."""

_SMALL = {"energy.width": 16, "energy.layers": 2}
_SOLVED = "solved after {} steps, %"


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingCell(Cell):
    """How many minimal Sudokus one variant of the training solves.

    Arguments:
        variant: Its name.
        seeds: How many models were trained.
        iterations: Updates of training.
        batch_size: Fresh puzzles in an iteration.
        training_puzzles: How many puzzles the training draws from.
        training_sha256: The hash of their givens.
        puzzles: How many puzzles were tested.
        steps: Numbers of steps of one descent.
        solved: How many puzzles are solved at each, by seed.
        final_loss: Mean loss of the last chunk of iterations, by seed.
        run: Folder of the models within the study.
    """

    variant: str
    seeds: int
    iterations: int
    batch_size: int
    training_puzzles: int
    training_sha256: str
    puzzles: int
    steps: tuple[int, ...]
    solved: tuple[tuple[int, ...], ...]
    final_loss: tuple[float | None, ...]
    run: str

    @property
    def percent(self) -> np.ndarray:
        """The share of puzzles that is solved, by number of steps and seed."""
        return 100 * np.array(self.solved) / self.puzzles


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is trained and measured, before the share of the scale.

    Arguments:
        variants: Names of `VARIANTS`.
        seeds: Most models of every variant.
        iterations: Updates of training.
        batch_size: Fresh puzzles in an iteration.
        warm_up: Over how many iterations the learning rate rises.
        puzzles: How many puzzles are tested.
        steps: Numbers of steps at which puzzles are counted.
        changes: What differs from the recipe `best` in every variant.
    """

    variants: tuple[str, ...] = tuple(VARIANTS)
    seeds: int = 3
    iterations: int = 600
    batch_size: int = 32
    warm_up: int = 100
    puzzles: int = 512
    steps: tuple[int, ...] = (16, 64)
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def scaled(self, share: float) -> "Settings":
        """Return the settings with a share of iterations and puzzles, and small models."""
        part = lambda value: max(round(share * value), 1)  # noqa: E731
        small = {} if share == 1 else _SMALL
        return dataclasses.replace(
            self,
            iterations=part(self.iterations),
            warm_up=part(self.warm_up),
            puzzles=part(self.puzzles),
            batch_size=self.batch_size if share == 1 else max(self.batch_size // 4, 1),
            changes={**small, **self.changes},
        )


SETTINGS = Settings()


def run(study: Study, settings: Settings = SETTINGS) -> list[TrainingCell]:
    """Return how many puzzles every variant of the training solves."""
    of = settings.scaled(study.scale.formulas)
    path = study.training_puzzles
    task = Sudoku(puzzles=None if path is None else str(path))
    givens = np.asarray(task.banks[task.training].puzzles)
    known = {
        "training_puzzles": len(givens),
        "training_sha256": hashlib.sha256(givens.tobytes()).hexdigest(),
    }
    return [
        cell
        for variant in of.variants
        for cell in study.cells(
            "puzzle-training",
            variant.replace(" ", "-"),
            [TrainingCell],
            lambda v=variant: [measure(study, task, v, of, known)],
            settings={**known, **dataclasses.asdict(dataclasses.replace(of, variants=(variant,)))},
        )
    ]


def recipe_of(variant: str, settings: Settings) -> Recipe:
    """Return the recipe of a variant."""
    lengths = {
        "iterations": settings.iterations,
        "batch_size": settings.batch_size,
        "optimiser.warm_up": settings.warm_up,
    }
    recipe = Recipe.named("sudoku", BEST).override({**lengths, **settings.changes})
    return recipe.override(VARIANTS[variant])


def measure(
    study: Study, task: Sudoku, variant: str, settings: Settings, known: Mapping[str, Any]
) -> TrainingCell:
    """Train the models of a variant, and count the puzzles that they solve.

    Arguments:
        study: Where the models are kept.
        task: The puzzles.
        variant: A name of `VARIANTS`.
        settings: What is trained and measured.
        known: Number and hash of the puzzles of training.
    """
    recipe, seeds = recipe_of(variant, settings), min(study.scale.seeds, settings.seeds)
    label = f"sudoku-{variant.replace(' ', '-')}"
    run, _ = study.trained(task, recipe, label, seeds=seeds)
    counts = [count_solved(model, settings) for model in run.models]
    return TrainingCell(
        task="sudoku",
        method="irem",
        paper=None,
        variant=variant,
        seeds=seeds,
        iterations=run.iteration,
        batch_size=settings.batch_size,
        **known,
        puzzles=settings.puzzles,
        steps=settings.steps,
        solved=tuple(zip(*counts, strict=True)),
        final_loss=tuple(map(float, run.history.loss[-1])),
        run=f"models/{label}",
        **study.origin(),
    )


def count_solved(model: Any, settings: Settings) -> tuple[int, ...]:
    """Return how many minimal puzzles one descent has solved after some numbers of steps."""
    grids = listed("minimal", settings.puzzles)
    x, _ = model.format.as_batch(grids)
    # How a model was trained is part of its compiled programs, and does not matter here.
    alike = IREM(model.energy, gradient=LastSteps(), num_steps=1, step_size=model.step_size)
    points, before, solved = begun(alike, x, jax.random.key(0)), 0, []
    for steps in settings.steps:
        points, _, answers = walked(alike, x, points, steps - before)
        solved.append(int(right_answers(grids, answers).sum()))
        before = steps
    return tuple(solved)


def table(cells: Sequence[TrainingCell], file: str) -> Table:
    """Variants down; the share of puzzles solved, and its difference from that of `whole`."""
    steps = cells[0].steps if cells else ()
    whole = next((cell for cell in cells if cell.variant == WHOLE), None)
    rows = []
    for index, cell in enumerate(cells):
        place = f"{file}: cells[{index}]"
        difference = ""
        if whole is not None and cell is not whole:
            difference = f"{cell.percent[-1].mean() - whole.percent[-1].mean():+.1f}"
        shown = [*map(_with_spread, cell.percent), difference, f"{cell.iterations:,}"]
        rows.append((Entry(cell.variant), *(Entry(text, place) for text in shown)))
    header = ("training", *(_SOLVED.format(n) for n in steps), "difference", "iterations")
    return Table(header, tuple(rows), labels=1)


def _with_spread(percent: np.ndarray) -> str:
    """Mean and standard deviation over seeds."""
    spread = f" ± {np.std(percent, ddof=1):.1f}" if len(percent) > 1 else ""
    return f"{np.mean(percent):.1f}{spread}"


def _describe(result: Result) -> str:
    cells = [cell for cell in result.cells if isinstance(cell, TrainingCell)]
    first = cells[0]
    return (
        f"{result.file}: {first.seeds} seeds, {first.puzzles} minimal puzzles that come with irem; "
        f"{first.iterations} iterations of {first.batch_size} puzzles out of "
        f"{first.training_puzzles:,}; {result.origin}"
    )


EXPERIMENT = Experiment(
    name="puzzle-training",
    title="What every ingredient of training for many steps is worth",
    explanation=(
        "The recipe of Sudoku as it is (whole), and with one thing changed at a time, for as many "
        "iterations of as many fresh puzzles. Without replay an iteration has only those, with it "
        "as many again. A puzzle counts if one descent has solved it, by all rules and givens. "
        "Mean and standard deviation are over seeds, the difference is that of the last number of "
        "steps from whole. Nothing was chosen on these puzzles."
    ),
    run=run,
    kinds=(TrainingCell,),
    table=table,
    describe=_describe,
)
