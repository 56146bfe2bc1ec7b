"""How well trained models answer fresh problems."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from irem.checks import count
from irem.descent import (
    AbstractHalt,
    Baseline,
    Energy,
    Reason,
    Solution,
    Step,
    default_max_steps,
    solve,
)
from irem.metrics import rounded
from irem.problem import Problem
from irem.tasks import AbstractTask, Difficulty
from irem.training import Run

Answering = Energy | Baseline
"""Whatever can be asked: an energy, a trained model, a baseline."""

_SHARES = ("entries_right", "exact", "trivial_entries_right", "trivial_exact")


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Errors on fresh problems, beside the floors.

    Arguments:
        task: Name of the task.
        difficulty: A name, or a number of nodes.
        problems: How many problems were answered by each model.
        max_steps: Step budget of every descent; `None` for a baseline, which has its own.
        mse: Elementwise mean squared error, the mean over models.
        mse_sem: Standard error of `mse` over problems, as `standard_error` returns it.
        mse_by_model: The error of each model.
        steps_mean: Mean number of steps taken.
        converged: Share of descents that ended in a minimum; `None` for a baseline.
        reasons: How many descents ended for which reason.
        trivial_mse: Error of the predictor that learns nothing, on the same problems.
        oracle_mse: Error of the best possible answer, on the same problems.
        oracle_problems: On how many of them `oracle_mse` was taken.
        entries_right: Where answers are 0 or 1: the share of entries that are right after rounding,
            the mean over problems and models.
        exact: Likewise the share of problems whose every entry is right.
        trivial_entries_right: `entries_right` of the predictor that learns nothing.
        trivial_exact: `exact` of the predictor that learns nothing.
    """

    task: str
    difficulty: Difficulty
    problems: int
    max_steps: int | None
    mse: float
    mse_sem: float
    mse_by_model: tuple[float, ...]
    steps_mean: float
    converged: float | None
    reasons: dict[str, int]
    trivial_mse: float
    oracle_mse: float
    oracle_problems: int
    entries_right: float | None = None
    exact: float | None = None
    trivial_entries_right: float | None = None
    trivial_exact: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values; shares of right answers only where they exist."""
        left_out = _SHARES if self.exact is None else ()
        fields = dataclasses.asdict(self)
        return {name: value for name, value in fields.items() if name not in left_out}


def evaluate(
    models: Run | Answering | Sequence[Answering],
    task: AbstractTask,
    difficulty: Difficulty = "same",
    *,
    problems: int = 1000,
    max_steps: int | None = None,
    step: Step | float | str | None = None,
    halt: AbstractHalt | None = None,
    on_batch: Callable[[int], None] | None = None,
    key: PRNGKeyArray,
) -> Evaluation:
    """Answer fresh problems with every model and measure the error.

    Arguments:
        models: A run, a trained model, or several models.
        task: Where the problems come from.
        difficulty: Which of them.
        problems: How many.
        max_steps: Step budget of every descent; by default as in `irem.solve`.
        step: The step rule; by default as in `irem.solve`.
        halt: When to stop; by default `EnergyUnchanged()`.
        on_batch: As in `irem.solve`; every model answers all problems.
        key: Source of problems and first guesses.
    """
    count("problems", problems)
    test_set, key_guesses = draw(task, difficulty, problems, key)
    walk = {"step": step, "halt": halt, "max_steps": max_steps, "on_batch": on_batch}
    return score(models, test_set, **walk, key=key_guesses)


@dataclasses.dataclass(frozen=True)
class TestSet:
    """Fresh problems of one difficulty with their floors, as `floors` returns them."""

    task: AbstractTask
    difficulty: Difficulty
    batch: Problem
    floors: tuple[float, float, int]


def draw(
    task: AbstractTask, difficulty: Difficulty, problems: int, key: PRNGKeyArray
) -> tuple[TestSet, PRNGKeyArray]:
    """Return fresh problems, and the key of first guesses."""
    key_problems, key_guesses = jax.random.split(key)
    batch = task.batch(key_problems, problems, difficulty)
    return TestSet(task, difficulty, batch, floors(task, batch)), key_guesses


def score(
    models: Run | Answering | Sequence[Answering],
    test_set: TestSet,
    *,
    step: Step | float | str | None = None,
    halt: AbstractHalt | None = None,
    max_steps: int | None = None,
    on_batch: Callable[[int], None] | None = None,
    key: PRNGKeyArray,
) -> Evaluation:
    """Evaluate on problems that were drawn before."""
    walk = {"step": step, "halt": halt, "max_steps": max_steps, "on_batch": on_batch}
    found = [solve(model, test_set.batch.x, **walk, key=key) for model in _as_models(models)]
    if max_steps is None:
        max_steps = default_max_steps(_as_models(models)[0], test_set.batch.x)
    return summarise(test_set, found, max_steps)


def summarise(test_set: TestSet, found: Sequence[Solution], max_steps: int) -> Evaluation:
    """Evaluate answers that were found before, one solution for each model."""
    task, batch = test_set.task, test_set.batch
    # A problem without an answer has no error that looks like one.
    errors = np.stack([np.where(f.answered, problem_errors(f.y, batch), np.nan) for f in found])
    problems = errors.shape[1]
    reasons = [np.asarray(f.reason) for f in found if f.reason is not None]
    reason = np.concatenate(reasons) if reasons else np.zeros(0, int)
    minima = [r for r in Reason if r.is_minimum]
    trivial_mse, oracle_mse, oracle_problems = test_set.floors
    return Evaluation(
        task=task.name,
        difficulty=test_set.difficulty,
        problems=problems,
        max_steps=max_steps if reasons else None,
        mse=float(errors.mean()),
        mse_sem=standard_error(errors.mean(0)),
        mse_by_model=tuple(float(e) for e in errors.mean(1)),
        steps_mean=float(np.mean([f.steps for f in found])),
        converged=float(np.isin(reason, minima).mean()) if reasons else None,
        reasons={r.label: int((reason == r).sum()) for r in Reason},
        trivial_mse=trivial_mse,
        oracle_mse=oracle_mse,
        oracle_problems=oracle_problems,
        **(_shares(task, batch, found) if task.binary else {}),
    )


def floors(task: AbstractTask, batch: Problem) -> tuple[float, float, int]:
    """Return the errors of the trivial and the best answer, and on how many problems the best."""
    count = min(task.oracle_problems or batch.y.shape[0], batch.y.shape[0])
    first = jax.tree.map(lambda leaf: leaf[:count], batch)
    trivial = problem_errors(jax.jit(task.trivial)(batch.x), batch).mean()
    return float(trivial), float(problem_errors(jax.jit(task.oracle)(first.x), first).mean()), count


def problem_errors(y: jax.Array | np.ndarray, batch: Problem) -> np.ndarray:
    """Return the mean squared error of each problem over its real entries."""
    # In NumPy: a program for every operation and shape would be compiled for nothing.
    square = np.square(np.asarray(y) - np.asarray(batch.y))
    mask = np.ones(square.shape, bool) if batch.mask is None else np.asarray(batch.mask)
    axes = tuple(range(1, square.ndim))
    return np.where(mask, square, 0).sum(axes).astype(np.float64) / mask.sum(axes)


def standard_error(errors: np.ndarray) -> float:
    """Return the standard error of the mean of the errors of problems; NaN for a single problem.

    That is the spread of the mean over bootstrap samples of the problems, in closed form. Where few
    problems have nearly all of the error, it is of the size of the mean: then only more problems
    tell the mean.

    Examples:
        >>> standard_error(np.array([1.0, 3.0]))
        1.0
    """
    problems = len(errors)
    return float(np.std(errors, ddof=1) / np.sqrt(problems)) if problems > 1 else float("nan")


def _shares(task: AbstractTask, batch: Problem, found: Sequence[Solution]) -> dict[str, float]:
    """What is right after rounding, for the answers that were found and for the trivial one."""
    # The squared error of a bit is 1 where it is wrong; a missing answer is wrong throughout.
    wrong = np.stack(
        [np.where(f.answered, problem_errors(rounded(f.y), batch), 1.0) for f in found]
    )
    trivial = problem_errors(rounded(jax.jit(task.trivial)(batch.x)), batch)
    return {
        "entries_right": float(1 - wrong.mean()),
        "exact": float((wrong == 0).mean()),
        "trivial_entries_right": float(1 - trivial.mean()),
        "trivial_exact": float((trivial == 0).mean()),
    }


def _as_models(models: Run | Answering | Sequence[Answering]) -> Sequence[Any]:
    if isinstance(models, Run):
        return models.models
    return models if isinstance(models, Sequence) else [models]
