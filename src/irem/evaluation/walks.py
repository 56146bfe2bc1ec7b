"""One descent, step by step: what is drawn of an answer that forms."""

import dataclasses
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray, PyTree

from irem.descent import Energy, Step, default_max_steps, solve
from irem.errors import InputError
from irem.evaluation.answers import one_of
from irem.formats import AbstractFormat
from irem.problem import Problem
from irem.tasks import AbstractTask, Difficulty

FRAMES = 40
"""At most so many moments of a descent are kept."""

# Changes below this share of the largest entry are not seen in a drawing.
_STILL = 0.02


@dataclasses.dataclass(frozen=True)
class Walk:
    """The answer to one problem after some numbers of steps.

    Arguments:
        format: What the problem looks like.
        x: The problem.
        y: The right answer, as the task knows it.
        steps: The numbers of steps; 0 is the first guess.
        answers: The answer after each of them.
        energies: Its energy.
        verified: Whether the last one passes the check of its task; `None` where there is none.
    """

    format: AbstractFormat
    x: PyTree
    y: np.ndarray
    steps: tuple[int, ...]
    answers: np.ndarray
    energies: np.ndarray
    verified: bool | None

    @staticmethod
    def of(
        format_: AbstractFormat,
        problem: Problem,
        ys: np.ndarray,
        energies: np.ndarray,
        verified: bool | None = None,
    ) -> "Walk":
        """Return the walk of a descent whose answer is known after every step.

        Arguments:
            format_: What the problem looks like.
            problem: The problem, with its right answer.
            ys: The answer after every step.
            energies: Its energy.
            verified: Whether the last one passes its check.
        """
        places = moments(_last_change(ys) + 1, FRAMES)
        return Walk(
            format=format_,
            x=problem.x,
            y=np.asarray(problem.y),
            steps=tuple(places.tolist()),
            answers=ys[places],
            energies=energies[places],
            verified=verified,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return steps, energies and the verdict as plain values."""
        return {
            "steps": list(self.steps),
            "energies": self.energies.tolist(),
            "verified": self.verified,
        }

    def thinned(self, frames: int) -> "Walk":
        """Return the walk at no more than so many moments, both ends among them."""
        places = moments(len(self.steps), frames)
        return dataclasses.replace(
            self,
            steps=tuple(self.steps[i] for i in places),
            answers=self.answers[places],
            energies=self.energies[places],
        )


def walk(
    model: Energy,
    task: AbstractTask,
    *,
    difficulty: Difficulty = "same",
    max_steps: int | None = None,
    step: Step | float | str | None = None,
    key: PRNGKeyArray,
) -> Walk:
    """Descend on one fresh problem and keep the answer on the way down, until it stands still.

    Arguments:
        model: What answers it.
        task: Where the problem comes from.
        difficulty: Which problem to draw.
        max_steps: Step budget; by default that of the model.
        step: How a step is taken; by default as the model says.
        key: Where the problem and the first guess are drawn from.
    """
    key_problem, key_guess = jax.random.split(key)
    problem = task.batch(key_problem, 1, difficulty)
    budget = default_max_steps(model, problem.x) if max_steps is None else max_steps
    options = {"step": step, "max_steps": budget, "trajectory": True}
    found = solve(model, problem.x, key=key_guess, **options)
    assert found.trajectory is not None
    assert found.trajectory.energies is not None
    ys, energies = np.asarray(found.trajectory.ys[0]), np.asarray(found.trajectory.energies[0])
    if not np.isfinite(ys).all():
        raise InputError("The descent left the finite numbers; take a smaller --step.")
    verified = None if found.verified is None else bool(found.verified[0])
    return Walk.of(model.format, one_of(problem), ys, energies, verified)


def moments(count: int, frames: int) -> np.ndarray:
    """Return at most so many of the first whole numbers, the first and the last among them.

    Early ones are closer together, since answers change most in the first steps.

    Examples:
        >>> moments(4, 10).tolist(), moments(101, 5).tolist()
        ([0, 1, 2, 3], [0, 6, 25, 56, 100])
    """
    if count <= frames:
        return np.arange(count)
    return np.unique(np.rint((count - 1) * np.linspace(0, 1, frames) ** 2).astype(int))


def _last_change(ys: np.ndarray) -> int:
    """The first step after which no entry differs visibly from the end."""
    scale = max(float(np.abs(ys[-1]).max()), _STILL)
    far = np.abs(ys - ys[-1]).reshape(len(ys), -1).max(axis=1) > _STILL * scale
    return min(int(np.flatnonzero(far).max(initial=-1)) + 1, len(ys) - 1)
