"""Answers, and what is known of them: many are checked at the same time."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from irem.descent import Reason, Solution
from irem.serve.models import ServedModel, cropped
from irem.serve.stacks import alike, filled_up, shapes, stacked
from irem.verdicts import Verdict


@dataclasses.dataclass(frozen=True)
class Answer:
    """An answer, and what is known of it.

    Arguments:
        y: The answer.
        solution: How it was found; `y` is not part of it.
        verdict: What the check says.
        residual: By how much the answer misses what it should satisfy; NaN where it is not known.
        steps: The steps of all tries.
        expected_error: The error to expect; `None` where the model is not calibrated.
    """

    y: np.ndarray
    solution: Solution
    verdict: Verdict | None
    residual: float
    steps: int
    expected_error: float | None = None

    @property
    def verified(self) -> bool | None:
        """Whether the answer was checked and holds; `None` where nothing checks it."""
        if self.verdict is None or self.verdict == Verdict.UNCHECKED:
            return None
        return self.verdict == Verdict.VERIFIED

    @property
    def energy(self) -> float:
        """Its energy."""
        return float(np.asarray(self.solution.energy))

    @property
    def answered(self) -> bool:
        """Whether there is an answer at all, as `Solution.answered` says."""
        flat = self.solution.reason == Reason.FLAT and not self.verified
        return bool(np.isfinite(self.energy)) and not flat


def judge(
    model: ServedModel, batches: Sequence[PyTree], solutions: Sequence[Solution]
) -> list[Answer]:
    """Check the ends of descents.

    Arguments:
        model: The model.
        batches: The problems, each a batch of one.
        solutions: How their descents ended.
    """
    found: dict[int, Answer] = {}
    for places in alike([shapes(batch) for batch in batches]):
        shape = model.answer_shape(batches[places[0]])
        some = [solutions[i] for i in places]
        ys = np.stack([cropped(np.asarray(solution.y), shape) for solution in some])
        verdicts, residuals = _checked(model, [batches[i] for i in places], ys, some)
        for place, y, known, verdict, residual in zip(
            places, ys, some, verdicts, residuals, strict=True
        ):
            found[place] = Answer(y, known, verdict, residual, int(np.asarray(known.steps)))
    return [found[i] for i in range(len(batches))]


def _checked(
    model: ServedModel, batches: Sequence[PyTree], ys: np.ndarray, solutions: Sequence[Solution]
) -> tuple[list[Verdict | None], list[float]]:
    """Return the verdicts on some answers of the same shape, and the residuals."""
    if model.task is None:
        return [None] * len(ys), [np.nan] * len(ys)
    check = model.task.check(stacked(batches), ys)
    finite = np.isfinite([float(np.asarray(s.energy)) for s in solutions])
    verdicts = np.where(finite, check.verdict, Verdict.FAILED).tolist()
    return [Verdict(v) for v in verdicts], np.asarray(check.residual, float).tolist()


def better(old: Answer, new: Answer) -> Answer:
    """Return the answer with the smaller residual, with the steps of both."""
    improved = new.residual < old.residual and new.answered
    return dataclasses.replace(new if improved else old, steps=old.steps + new.steps)


def lowest(solutions: Sequence[Solution]) -> Solution:
    """Return the solution of lowest energy; an energy that is NaN is not low."""
    energies = np.array([s.energy for s in solutions], float)
    return solutions[int(np.argmin(np.where(np.isnan(energies), np.inf, energies)))]


def with_expected_errors(model: ServedModel, answers: Sequence[Answer]) -> list[Answer]:
    """Return answers with the errors to expect of them, where the model is calibrated."""
    if model.calibration is None:
        return list(answers)
    found: dict[int, Answer] = {}
    for places in alike([answer.y.shape for answer in answers]):
        some = [answers[i] for i in places]
        together = _together([some[i] for i in filled_up(len(some))])
        expected = model.calibration.expected_error(together).tolist()
        for place, error in zip(places, expected, strict=False):
            found[place] = dataclasses.replace(answers[place], expected_error=error)
    return [found[i] for i in range(len(answers))]


def _together(answers: Sequence[Answer]) -> Solution:
    """Return what is known of several answers of the same shape as one solution."""
    known = stacked(
        [jax.tree.map(lambda leaf: np.asarray(leaf)[None], _fields(a)) for a in answers]
    )
    together = object.__new__(Solution)
    for name in vars(answers[0].solution):
        value = known.get(name)
        object.__setattr__(together, name, None if value is None else jnp.asarray(value))
    return together


def _fields(answer: Answer) -> dict[str, Any]:
    """Return what is known of an answer, by the names of a solution."""
    changes = {
        "y": answer.y,
        "verdict": np.asarray(answer.verdict, np.int32),
        "residual": np.asarray(answer.residual, np.float32),
        "steps": np.asarray(answer.steps, np.int32),
    }
    fields = {**vars(answer.solution), **changes}
    return {name: value for name, value in fields.items() if value is not None}
