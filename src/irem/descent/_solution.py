"""What a descent returns."""

import enum

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Int


class Reason(enum.IntEnum):
    """Why a descent stopped."""

    ENERGY_UNCHANGED = 0
    """The energy stopped changing: the halting rule saw a minimum."""
    BUDGET = 1
    """All steps were spent and the energy was still changing."""
    NOT_FINITE = 2
    """The next step left the numbers; the answer is the last finite one."""

    @property
    def label(self) -> str:
        """The reason as it is printed."""
        return self.name.lower().replace("_", "-")


class Trajectory(eqx.Module):
    """Every answer on the way, and its energy.

    Both have `num_steps + 1` entries along their first axis (the second one of a batch). Index 0 is
    the first guess, index `t` the answer after `t` steps. Where a problem stopped early its last
    answer is repeated.
    """

    ys: Float[Array, "..."]
    energies: Float[Array, "..."]


class Solution(eqx.Module):
    """Answers, and how they were found. In a batch every field has a leading axis of problems.

    Arguments:
        y: The answer.
        energy: Its energy.
        steps: Number of steps taken; 0 means that `y` is the first guess.
        converged: Whether the halting rule, not the budget, ended the descent.
        reason: Why the descent stopped, as a number of `Reason`.
        trajectory: Every answer on the way, if asked for.
    """

    y: Float[Array, "..."]
    energy: Float[Array, "..."]
    steps: Int[Array, "..."]
    converged: Bool[Array, "..."]
    reason: Int[Array, "..."]
    trajectory: Trajectory | None = None

    def reasons(self) -> dict[str, int]:
        """How many problems stopped for which reason."""
        reason = np.atleast_1d(np.asarray(self.reason))
        return {r.label: int((reason == r).sum()) for r in Reason}
