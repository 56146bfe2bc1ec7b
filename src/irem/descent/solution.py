"""The result of `solve`."""

import enum

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from irem.metrics import rounded
from irem.verdicts import Verdict


class Reason(enum.IntEnum):
    """Why a descent stopped."""

    ENERGY_UNCHANGED = 0
    """The energy stopped changing, and its slope predicts no further decrease: a minimum."""
    BUDGET = 1
    """All steps were spent and the energy was still changing."""
    NOT_FINITE = 2
    """The next step leads where the energy is NaN or infinite; the answer is the last point before
    it, which is finite unless the first guess is not."""
    GRADIENT_SMALL = 3
    """The gradient almost vanished: a minimum."""
    FLAT = 4
    """The energy never changed from that of the first guess, which may not be a minimum."""
    STALLED = 5
    """No step lowers the energy any more, but its gradient is not small: not a minimum."""
    REFUSED = 6
    """The problem is outside the domain of the model: there is no answer, and `y` is NaN."""
    HOLDS = 7
    """The answer, rounded to 0 and 1, passes the check of its task: no further step is needed."""

    @property
    def label(self) -> str:
        """The reason as it is printed."""
        return self.name.lower().replace("_", "-")

    @property
    def is_minimum(self) -> bool:
        """Whether a descent that stopped for this reason found a minimum, or what holds."""
        return self in (Reason.ENERGY_UNCHANGED, Reason.GRADIENT_SMALL, Reason.HOLDS)


RUNNING = -1
"""The value in place of a `Reason` while a descent has not stopped."""


class Trajectory(eqx.Module):
    """The answer after every step, and its energy where there is one.

    Both have `num_steps + 1` entries along their first axis (the second one of a batch). Index 0 is
    the first guess, index `t` the answer after `t` steps were tried; a step that was rejected
    repeats the answer before it. Where a problem stopped early its last answer is repeated.
    """

    ys: Float[Array, "..."]
    energies: Float[Array, "..."] | None = None


_UNDECIDED = 0.25
"""An entry that is farther than this from both 0 and 1 is not decided."""


class Solution(eqx.Module):
    """Answers, and how they were found. In a batch every field has a leading axis of problems.

    The answers of a baseline, which has no energy, have `None` for every field about descents.

    Arguments:
        y: The answer.
        energy: Its energy.
        steps: Number of steps tried, each one evaluation of the gradient; 0 means that `y` is the
            first guess. For a baseline, the number of steps that it took.
        converged: Whether the answer is a minimum, as far as the halting rule can tell, or holds.
        reason: Why the descent stopped, as a number of `Reason`.
        first_energy: Energy of the first guess.
        gradient_norm: Norm of the gradient at the answer.
        trajectory: The answer after every step, if asked for.
        spread: With several starts: how much their answers differ, as the root of the mean squared
            distance from the mean of the answers, over entries and starts.
        answers: If several were asked for: answers that differ, the one of lowest energy first, and
            NaN where no more were found.
        answer_energies: Their energies.
        expected_error: With a calibration: the mean squared error to expect of the answer.
        verdict: Of a model that knows its task: what a check of the answer says, as a number of
            `irem.Verdict`.
        residual: By how much the answer misses what it should satisfy, in relative terms.
    """

    y: Float[Array, "..."]
    energy: Float[Array, "..."] | None
    steps: Int[Array, "..."]
    converged: Bool[Array, "..."] | None = None
    reason: Int[Array, "..."] | None = None
    first_energy: Float[Array, "..."] | None = None
    gradient_norm: Float[Array, "..."] | None = None
    trajectory: Trajectory | None = None
    spread: Float[Array, "..."] | None = None
    answers: Float[Array, "..."] | None = None
    answer_energies: Float[Array, "..."] | None = None
    expected_error: Float[Array, "..."] | None = None
    verdict: Int[Array, "..."] | None = None
    residual: Float[Array, "..."] | None = None

    @property
    def verified(self) -> Bool[Array, "..."] | None:
        """Whether the answer was checked and holds; `None` where nothing checks answers.

        An answer that cannot be checked is not verified: `verdict` tells it from one that failed.
        """
        return None if self.verdict is None else self.verdict == Verdict.VERIFIED

    @property
    def answered(self) -> Bool[Array, "..."]:
        """Whether there is an answer at all; only then does `y` mean anything.

        There is none where the energy (of a baseline, an entry) is not finite, where the problem
        was refused, and where the energy never changed, unless a check verifies the first guess.
        """
        finite = self._of_problems(jnp.isfinite(self.y if self.energy is None else self.energy))
        if self.reason is None:
            return finite
        flat = self.reason == Reason.FLAT
        if self.verified is not None:
            flat = flat & ~self.verified
        return finite & ~flat & (self.reason != Reason.REFUSED)

    @property
    def rounded(self) -> Float[Array, "..."]:
        """The answer of a problem about 0 and 1: 1 where `y` is at least one half, else 0."""
        return rounded(self.y)

    @property
    def decided(self) -> Bool[Array, "..."]:
        """Whether every entry of an answer lies within 0.25 of 0 or 1; a NaN does not.

        Pairs of padded nodes are entries as well, and keep the value of the first guess.
        """
        return self._of_problems(jnp.abs(self.y - self.rounded) <= _UNDECIDED)

    def reasons(self) -> dict[str, int]:
        """Return how many problems stopped for each reason; none did for any of a baseline's."""
        reason = np.atleast_1d([] if self.reason is None else np.asarray(self.reason))
        return {r.label: int((reason == r).sum()) for r in Reason}

    def _of_problems(self, entries: Bool[Array, "..."]) -> Bool[Array, "..."]:
        """Return for every problem whether all its entries are true."""
        return entries.all(axis=tuple(range(jnp.ndim(self.steps), entries.ndim)))
