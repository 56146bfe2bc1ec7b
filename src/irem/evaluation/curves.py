"""The numbers behind the figures: errors and steps by difficulty, errors of single entries."""

import dataclasses
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from irem.checks import count
from irem.descent import Energy, Step, default_max_steps, solve
from irem.errors import InputError
from irem.evaluation.landscapes import Plane, descents, energy_by_distance, plane
from irem.evaluation.scores import problem_errors
from irem.problem import Problem
from irem.tasks import AbstractTask, Difficulty

RECORDED_STEPS = 100
"""Step budget of descents whose every answer is kept."""

_BINS = 10  # of candidates, in what is printed


@dataclasses.dataclass(frozen=True)
class Curves:
    """Errors against steps, by label.

    Arguments:
        errors: Descents x steps, model after model; step 0 is the first guess. Steps that no
            descent of any label took are left out.
        trivial: Error of the predictor that learns nothing, on the same problems.
    """

    errors: dict[str, np.ndarray]
    trivial: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """The means as plain values for JSON."""
        return {
            "mse_by_step": {label: e.mean(0).tolist() for label, e in self.errors.items()},
            "trivial_mse": self.trivial,
        }


@dataclasses.dataclass(frozen=True)
class Heights:
    """By label, distances of candidates from the truth and their energies above the minimum."""

    points: dict[str, tuple[np.ndarray, np.ndarray]]

    def as_dict(self) -> dict[str, Any]:
        """Medians over tenths of the candidates, nearest first, and how well the two agree."""
        points = self.points.items()
        return {
            "distance": {label: _medians(d, d) for label, (d, _) in points},
            "energy_above_minimum": {label: _medians(d, h) for label, (d, h) in points},
            "rank_correlation": {label: _rank_correlation(d, h) for label, (d, h) in points},
            "below_minimum": {label: float(np.mean(h < 0)) for label, (_, h) in points},
        }


@dataclasses.dataclass(frozen=True)
class Elements:
    """Squared errors of every entry of one answer, entries x steps, the largest first error first.

    Steps that were not taken are left out.
    """

    errors: np.ndarray

    def as_dict(self) -> dict[str, Any]:
        """Mean, and 5 and 95 % of the entries, after every step."""
        low, high = np.percentile(self.errors, [5, 95], axis=0)
        return {
            "elements": self.errors.shape[0],
            "mse_by_step": self.errors.mean(0).tolist(),
            "low_by_step": low.tolist(),
            "high_by_step": high.tolist(),
        }


@dataclasses.dataclass(frozen=True)
class Effort:
    """By label, the steps that every descent took, and the share that ended in a minimum.

    `max_steps` is the budget, the largest of all labels.
    """

    steps: dict[str, np.ndarray]
    converged: dict[str, float]
    max_steps: int

    def as_dict(self) -> dict[str, Any]:
        """Mean, and 5 and 95 % of the descents."""
        bands = {label: np.percentile(s, [5, 95]) for label, s in self.steps.items()}
        return {
            "steps_mean": {label: float(s.mean()) for label, s in self.steps.items()},
            "steps_low": {label: float(low) for label, (low, _) in bands.items()},
            "steps_high": {label: float(high) for label, (_, high) in bands.items()},
            "converged": self.converged,
        }


def sizes(task: AbstractTask) -> tuple[Difficulty, ...]:
    """Return the sizes of problems from those of training on, where the task has sizes."""
    if not task.sizes:
        raise InputError(
            f"Errors by size need graphs, and the problems of '{task.name}' have one size; "
            "`error-by-step` compares its difficulties."
        )
    return task.sizes[1:]


def difficulties(task: AbstractTask) -> tuple[Difficulty, ...]:
    """Return the difficulties that every task has."""
    del task
    return ("same", "harder")


def ladder(task: AbstractTask) -> tuple[Difficulty, ...]:
    """Return problems that grow harder: by size where the task has sizes, else by difficulty."""
    return task.sizes or difficulties(task)


def error_curves(
    models: Sequence[Energy],
    task: AbstractTask,
    levels: Sequence[Difficulty],
    *,
    problems: int = 100,
    max_steps: int = RECORDED_STEPS,
    step: Step | float | str | None = None,
    on_batch: Callable[[int], None] | None = None,
    key: PRNGKeyArray,
) -> Curves:
    """Error after every step, for every difficulty and all models.

    Arguments:
        models: Trained models; each answers all problems.
        task: Where the problems come from.
        levels: Which of them: names, or numbers of nodes.
        problems: How many of each.
        max_steps: Step budget of every descent.
        step: The step rule; by default as in `irem.solve`.
        on_batch: As in `irem.solve`.
        key: Source of problems and first guesses.
    """
    errors, trivial = {}, {}
    for level, batch, key_guesses in _batches(task, levels, problems, key):
        options = {"step": step, "on_batch": on_batch, "key": key_guesses}
        walks = [descents(model, batch, max_steps, **options) for model in models]
        # A problem without an answer has no error that looks like one.
        found = [np.where(np.isfinite(w.energies), w.errors, np.nan) for w in walks]
        errors[label_of(level)] = np.concatenate(found)
        trivial[label_of(level)] = float(problem_errors(task.trivial(batch.x), batch).mean())
    length = max(_steps_taken(e) for e in errors.values()) + 1
    return Curves({label: e[:, :length] for label, e in errors.items()}, trivial)


def heights(
    models: Sequence[Energy],
    task: AbstractTask,
    levels: Sequence[Difficulty],
    *,
    problems: int = 100,
    max_steps: int | None = None,
    step: Step | float | str | None = None,
    on_batch: Callable[[int], None] | None = None,
    key: PRNGKeyArray,
) -> Heights:
    """Energies of perturbed answers above the minimum; arguments as in `error_curves`."""
    points = {}
    for level, batch, key_guesses in _batches(task, levels, problems, key):
        options = {"max_steps": max_steps, "step": step, "on_batch": on_batch, "key": key_guesses}
        pairs = [energy_by_distance(model, batch, **options) for model in models]
        distance, height = (np.concatenate(part) for part in zip(*pairs, strict=True))
        points[label_of(level)] = (distance, height)
    return Heights(points)


def steps_spent(
    models: Sequence[Energy],
    task: AbstractTask,
    levels: Sequence[Difficulty],
    *,
    problems: int = 100,
    max_steps: int | None = None,
    step: Step | float | str | None = None,
    on_batch: Callable[[int], None] | None = None,
    key: PRNGKeyArray,
) -> Effort:
    """Steps until every descent stops by itself; arguments as in `error_curves`."""
    steps, converged, budget = {}, {}, max_steps or 0
    for level, batch, key_guesses in _batches(task, levels, problems, key):
        options = {"max_steps": max_steps, "step": step, "on_batch": on_batch, "key": key_guesses}
        if max_steps is None:
            budget = max(budget, default_max_steps(models[0], batch.x))
        solutions = [solve(model, batch.x, **options) for model in models]
        steps[label_of(level)] = np.concatenate([np.asarray(s.steps) for s in solutions])
        converged[label_of(level)] = float(np.mean([np.asarray(s.converged) for s in solutions]))
    return Effort(steps, converged, budget)


def element_errors(
    model: Energy,
    task: AbstractTask,
    difficulty: Difficulty = "harder",
    *,
    max_steps: int = RECORDED_STEPS,
    step: Step | float | str | None = None,
    key: PRNGKeyArray,
) -> Elements:
    """Squared error of every entry after every step of one descent."""
    key_problem, key_guess = jax.random.split(key)
    batch = task.batch(key_problem, 1, difficulty)
    options = {"max_steps": max_steps, "step": step, "key": key_guess}
    solution = solve(model, batch.x, **options, trajectory=True)
    assert solution.trajectory is not None
    ys = np.asarray(solution.trajectory.ys[0], np.float64)
    errors = np.square(ys - np.asarray(batch.y)).reshape(len(ys), -1).T
    errors = errors[np.argsort(-errors[:, 0], kind="stable")]
    return Elements(errors[:, : _steps_taken(errors) + 1])


def problem_plane(
    model: Energy,
    task: AbstractTask,
    difficulty: Difficulty = "harder",
    *,
    max_steps: int = RECORDED_STEPS,
    step: Step | float | str | None = None,
    key: PRNGKeyArray,
) -> Plane:
    """The plane of `plane` for one fresh problem."""
    key_problem, key_guesses = jax.random.split(key)
    x = jax.tree.map(operator.itemgetter(0), task.batch(key_problem, 1, difficulty).x)
    return plane(model, x, max_steps=max_steps, step=step, key=key_guesses)


def _batches(
    task: AbstractTask, levels: Sequence[Difficulty], problems: int, key: PRNGKeyArray
) -> Sequence[tuple[Difficulty, Problem, PRNGKeyArray]]:
    """Fresh problems of every difficulty, and where their first guesses are drawn from."""
    count("problems", problems)
    key_problems, key_guesses = jax.random.split(key)
    return [(level, task.batch(key_problems, problems, level), key_guesses) for level in levels]


def label_of(level: Difficulty) -> str:
    """Return what a difficulty is called in figures."""
    return level if isinstance(level, str) else f"{level} nodes"


def _steps_taken(errors: np.ndarray) -> int:
    """The last step, along the last axis, that changed anything; at least 1."""
    changes = np.flatnonzero(np.any(np.nan_to_num(np.diff(errors, axis=-1)) != 0, axis=0))
    return int(changes[-1]) + 1 if changes.size else 1


def _medians(distance: np.ndarray, values: np.ndarray) -> list[float]:
    """Medians of `values` over candidates of about the same distance."""
    parts = np.array_split(np.argsort(distance), min(_BINS, distance.size))
    return [float(np.median(values[part])) for part in parts]


def _rank_correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's: 1 where a larger distance always means a higher energy."""
    one, other = (np.argsort(np.argsort(values)) for values in (first, second))
    return float(np.corrcoef(one, other)[0, 1])
