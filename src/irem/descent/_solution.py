"""What a descent returns."""

import enum

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from irem._problem import rounded


class Reason(enum.IntEnum):
    """Why a descent stopped."""

    ENERGY_UNCHANGED = 0
    """The energy stopped changing, and its slope promised no further fall: a minimum."""
    BUDGET = 1
    """All steps were spent and the energy was still changing."""
    NOT_FINITE = 2
    """The next step left the numbers; the answer is the last finite one."""
    GRADIENT_SMALL = 3
    """The gradient all but vanished: a minimum."""
    FLAT = 4
    """The landscape is flat at the first guess: nowhere to go, and perhaps not a minimum."""

    @property
    def label(self) -> str:
        """The reason as it is printed."""
        return self.name.lower().replace("_", "-")

    @property
    def is_minimum(self) -> bool:
        """Whether a descent that stopped for this reason found a minimum."""
        return self in (Reason.ENERGY_UNCHANGED, Reason.GRADIENT_SMALL)


RUNNING = -1
"""In place of a reason: the descent goes on."""


class Trajectory(eqx.Module):
    """Every answer on the way, and its energy if the answers have one.

    Both have `num_steps + 1` entries along their first axis (the second one of a batch). Index 0 is
    the first guess, index `t` the answer after `t` steps were tried; a step that was rejected
    repeats the answer before it. Where a problem stopped early its last answer is repeated.
    """

    ys: Float[Array, "..."]
    energies: Float[Array, "..."] | None = None


_UNDECIDED = 0.25
"""What is farther from both 0 and 1 than this is neither."""


class Solution(eqx.Module):
    """Answers, and how they were found. In a batch every field has a leading axis of problems.

    Arguments:
        y: The answer.
        energy: Its energy.
        steps: Number of steps tried, each one evaluation of the gradient; 0 means that `y` is the
            first guess.
        converged: Whether the answer is a minimum, as far as the halting rule can tell.
        reason: Why the descent stopped, as a number of `Reason`.
        first_energy: Energy of the first guess.
        gradient_norm: Norm of the gradient at the answer.
        trajectory: Every answer on the way, if asked for.
        spread: With several starts: how far their answers lie apart, as the root of the mean
            squared distance from the mean of the answers, over entries and starts.
        expected_error: With a calibration: the mean squared error to expect of the answer.
    """

    y: Float[Array, "..."]
    energy: Float[Array, "..."]
    steps: Int[Array, "..."]
    converged: Bool[Array, "..."]
    reason: Int[Array, "..."]
    first_energy: Float[Array, "..."]
    gradient_norm: Float[Array, "..."]
    trajectory: Trajectory | None = None
    spread: Float[Array, "..."] | None = None
    expected_error: Float[Array, "..."] | None = None

    @property
    def rounded(self) -> Float[Array, "..."]:
        """The answer where 0 or 1 is asked for: 1 where `y` is at least one half, else 0."""
        return rounded(self.y)

    @property
    def decided(self) -> Bool[Array, "..."]:
        """Whether every entry of an answer lies within 0.25 of 0 or 1; a NaN does not.

        Pairs of padded nodes are entries as well, and stay where they were guessed.
        """
        near = jnp.abs(self.y - self.rounded) <= _UNDECIDED
        return near.all(axis=tuple(range(jnp.ndim(self.steps), near.ndim)))

    def reasons(self) -> dict[str, int]:
        """How many problems stopped for which reason."""
        reason = np.atleast_1d(np.asarray(self.reason))
        return {r.label: int((reason == r).sum()) for r in Reason}
