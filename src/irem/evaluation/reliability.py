"""How far the expected error of an answer can be trusted."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from irem.checks import count
from irem.descent import Energy, Solution, solve
from irem.evaluation.scores import problem_errors, standard_error
from irem.tasks import AbstractTask, Difficulty
from irem.training.calibration import Calibration

COVERAGES = tuple(round(0.1 * k, 1) for k in range(1, 11))
"""Shares of the problems that are answered, in a risk-coverage curve."""


def calibrate(
    model: Energy,
    task: AbstractTask,
    *,
    difficulties: Sequence[Difficulty] | None = None,
    problems: int = 1000,
    on_batch: Callable[[int], None] | None = None,
    key: PRNGKeyArray,
) -> Calibration:
    """Learn, on validation problems, which error to expect of an answer from how it was found.

    Arguments:
        model: A trained model.
        task: Where the validation problems come from.
        difficulties: Which of them; by default `task.calibration_difficulties`.
        problems: How many of each.
        on_batch: As in `irem.solve`.
        key: Source of problems and first guesses.

    Example:
        `irem.calibrate(model, task, key=other_key).annotate(irem.solve(model, x, key=key))`
        has `Solution.expected_error` filled in.
    """
    count("problems", problems)
    if difficulties is None:
        difficulties = task.calibration_difficulties
    solutions, errors = zip(
        *(
            _answers(model, task, d, problems, on_batch, jax.random.fold_in(key, i))
            for i, d in enumerate(difficulties)
        ),
        strict=True,
    )
    return Calibration.fit(solutions, errors)


@dataclasses.dataclass(frozen=True)
class Trust:
    """How well expected errors tell good answers from bad ones, on fresh problems.

    Arguments:
        difficulty: Which problems, or `both` for same and harder together.
        problems: How many.
        mse: Mean error of all answers.
        mse_sem: Its standard error over problems.
        expected: Mean expected error of the answers that have one.
        unfamiliar: Share of problems unlike the validation problems.
        rank_correlation: Spearman's, of the expected with the true error.
        variation: Standard deviation of the error over its mean: what there is to tell apart.
        risk: Mean error of the share of answers that is expected to be best, by coverage.
        best_risk: The same if the true errors were known.
        abstaining: Mean error of what is left without the worst tenth by expected error.
        abstaining_sem: Its standard error over problems.
    """

    difficulty: Difficulty
    problems: int
    mse: float
    mse_sem: float
    expected: float
    unfamiliar: float
    rank_correlation: float
    variation: float
    risk: tuple[float, ...]
    best_risk: tuple[float, ...]
    abstaining: float
    abstaining_sem: float

    def as_dict(self) -> dict[str, Any]:
        """The fields as plain values for JSON."""
        return {**dataclasses.asdict(self), "coverage": COVERAGES}


def trust(
    model: Energy,
    task: AbstractTask,
    calibration: Calibration,
    difficulties: Sequence[Difficulty] = ("same", "harder"),
    *,
    problems: int = 1000,
    on_batch: Callable[[int], None] | None = None,
    key: PRNGKeyArray,
) -> list[Trust]:
    """Measure a calibration on fresh problems, for every difficulty and for all together."""
    count("problems", problems)
    errors, expected = {}, {}
    for i, difficulty in enumerate(difficulties):
        own_key = jax.random.fold_in(key, i)
        solution, true = _answers(model, task, difficulty, problems, on_batch, own_key)
        errors[difficulty], expected[difficulty] = true, calibration.expected_error(solution)
    if len(errors) > 1:
        together = "both" if len(errors) == 2 else "all"
        errors[together], expected[together] = (
            np.concatenate(list(part.values())) for part in (errors, expected)
        )
    return [_measure(d, errors[d], expected[d]) for d in errors]


def _measure(difficulty: Difficulty, errors: np.ndarray, expected: np.ndarray) -> Trust:
    known = np.isfinite(expected)
    constant = not known.any() or np.ptp(expected[known]) == 0 or np.ptp(errors) == 0
    # Problems without an expected error rank behind all others.
    from scipy import stats  # noqa: PLC0415  (half a second that only a report should cost)

    ranks = stats.rankdata(expected), stats.rankdata(errors)
    correlation = 0.0 if constant else np.corrcoef(*ranks)[0, 1]
    risk = lambda by, share: float(_best(errors, by, share).mean())  # noqa: E731
    return Trust(
        difficulty=difficulty,
        problems=len(errors),
        mse=float(errors.mean()),
        mse_sem=standard_error(errors),
        expected=float(expected[known].mean()) if known.any() else float("inf"),
        unfamiliar=float((~known).mean()),
        rank_correlation=float(correlation),
        variation=float(errors.std() / errors.mean()) if errors.mean() > 0 else 0.0,
        risk=tuple(risk(expected, share) for share in COVERAGES),
        best_risk=tuple(risk(errors, share) for share in COVERAGES),
        abstaining=risk(expected, 0.9),
        abstaining_sem=standard_error(_best(errors, expected, 0.9)),
    )


def _best(errors: np.ndarray, ranking: np.ndarray, share: float) -> np.ndarray:
    """Errors of the share of answers that `ranking` puts first."""
    return errors[np.argsort(ranking, kind="stable")[: max(1, round(share * len(errors)))]]


def _answers(
    model: Energy,
    task: AbstractTask,
    difficulty: Difficulty,
    problems: int,
    on_batch: Callable[[int], None] | None,
    key: PRNGKeyArray,
) -> tuple[Solution, np.ndarray]:
    """Answers to fresh problems, and their errors."""
    key_problems, key_guesses = jax.random.split(key)
    batch = task.batch(key_problems, problems, difficulty)
    solution = solve(model, batch.x, key=key_guesses, on_batch=on_batch)
    return solution, problem_errors(solution.y, batch)
