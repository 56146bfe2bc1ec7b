"""When a descent stops."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from irem.checks import count, positive
from irem.descent.points import Move, Point, rounding
from irem.descent.solution import RUNNING, Reason
from irem.errors import InputError

Verdict = Int[Array, ""]
"""A `Reason` to stop, or `RUNNING`."""


class AbstractHalt(eqx.Module):
    """A rule that decides after every step whether a minimum has been reached."""

    @abc.abstractmethod
    def init(self, point: Point) -> PyTree[Array]:
        """Return the memory of the rule at the first guess."""

    @abc.abstractmethod
    def __call__(
        self, state: PyTree[Array], before: Point, after: Point, move: Move
    ) -> tuple[PyTree[Array], Verdict]:
        """Decide after one step.

        Arguments:
            state: The memory of the rule.
            before: The point from which the step was tried.
            after: The point of the descent now: `move.trial` if it was accepted, else `before`.
            move: The step.

        Returns:
            The new memory, and the `Reason` to stop or `RUNNING`.
        """

    def __or__(self, other: "AbstractHalt") -> "AnyOf":
        """Stop as soon as one of the two rules does."""
        return AnyOf((self, other))


class EnergyMemory(eqx.Module):
    """Memory of `EnergyUnchanged`: the first energy, and the steps in a row without a change."""

    first_energy: Float[Array, ""]
    unchanged_steps: Int[Array, ""]


class EnergyUnchanged(AbstractHalt):
    r"""Stop once the energy has not changed for `patience` steps in a row (Algorithm 2).

    A step leaves the energy unchanged if neither the change it made nor the decrease that the slope
    promised is more than $\mathrm{rtol} \cdot |E_0 - E_t| + \epsilon\,|E_t|$: a share of the whole
    decrease so far, which does not depend on the scale or the offset of a learned energy, plus the
    effect of rounding ($\epsilon$ is eight units in the last place). The promise tells a minimum
    from a step that jumps across a valley between two points of the same energy. For a fixed step
    shorter than that of training the tolerance is smaller in proportion, so that shorter steps do
    not end a descent earlier.

    Arguments:
        patience: How many such steps in a row.
        rtol: Share of the decrease so far that counts as no change.
    """

    patience: int = 3
    rtol: float = 1e-6

    def __check_init__(self) -> None:
        """Refuse a rule that would stop at once."""
        count("patience", self.patience)
        positive("rtol", self.rtol)

    def init(self, point: Point) -> EnergyMemory:
        """Remember the first energy."""
        return EnergyMemory(point.energy, jnp.zeros((), jnp.int32))

    def __call__(
        self, state: EnergyMemory, before: Point, after: Point, move: Move
    ) -> tuple[EnergyMemory, Verdict]:
        """Count the step if it left the energy unchanged."""
        descent = jnp.abs(state.first_energy - after.energy)
        tolerance = self.rtol * move.share * descent + rounding(after.energy)
        change = jnp.abs(after.energy - before.energy)
        unchanged = jnp.maximum(change, move.promised) <= tolerance
        unchanged_steps = jnp.where(unchanged, state.unchanged_steps + 1, 0)
        stop = unchanged_steps >= self.patience
        verdict = jnp.where(stop, Reason.ENERGY_UNCHANGED, RUNNING)
        return EnergyMemory(state.first_energy, unchanged_steps), verdict


class GradientSmall(AbstractHalt):
    r"""Stop once $\|\nabla E\| \le \mathrm{rtol}\,\|\nabla E_0\| + \mathrm{atol}$.

    Arguments:
        rtol: Share of the gradient at the first guess.
        atol: Norm that is small in any case.
    """

    rtol: float = 1e-4
    atol: float = 0.0

    def __check_init__(self) -> None:
        """Refuse a rule that would never stop, or at once."""
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if not 0 <= value < float("inf"):
                raise InputError(f"`{name}` must be 0 or more, got {value}.")
        if self.rtol == self.atol == 0:
            raise InputError("`rtol` and `atol` are both 0: such a descent would never stop.")

    def init(self, point: Point) -> Float[Array, ""]:
        """Remember the first norm."""
        return _norm(point)

    def __call__(
        self, state: Float[Array, ""], before: Point, after: Point, move: Move
    ) -> tuple[Float[Array, ""], Verdict]:
        """Compare the norm with the first one."""
        del before, move
        small = _norm(after) <= self.rtol * state + self.atol
        return state, jnp.where(small, Reason.GRADIENT_SMALL, RUNNING)


class AnyOf(AbstractHalt):
    """Stop as soon as one of several rules does, for its reason; `a | b` means the same.

    Arguments:
        rules: The rules; the first one to stop names the reason.
    """

    rules: tuple[AbstractHalt, ...]

    def __check_init__(self) -> None:
        """Refuse no rules at all."""
        if not self.rules:
            raise InputError("`AnyOf` needs at least one halting rule.")

    def init(self, point: Point) -> tuple[PyTree[Array], ...]:
        """Return the memories of all rules."""
        return tuple(rule.init(point) for rule in self.rules)

    def __call__(
        self, state: tuple[PyTree[Array], ...], before: Point, after: Point, move: Move
    ) -> tuple[tuple[PyTree[Array], ...], Verdict]:
        """Return the reason of the first rule that stops."""
        verdict = jnp.asarray(RUNNING)
        memories = []
        for rule, memory in zip(self.rules, state, strict=True):
            memory, reason = rule(memory, before, after, move)
            memories.append(memory)
            verdict = jnp.where(verdict == RUNNING, reason, verdict)
        return tuple(memories), verdict


def reason_to_stop(
    verdict: Verdict, trial_is_finite: Bool[Array, ""], out_of_steps: Bool[Array, ""]
) -> Verdict:
    """Return why a descent stops after a step, or `RUNNING`; the halting rule comes first."""
    # If even the shortest steps lead to an energy that is not finite, there is no minimum.
    no_minimum = (verdict != RUNNING) & ~trial_is_finite
    verdict = jnp.where(no_minimum, Reason.NOT_FINITE, verdict)
    return jnp.where((verdict == RUNNING) & out_of_steps, Reason.BUDGET, verdict)


def is_minimum(reason: Verdict) -> Bool[Array, ""]:
    """Return whether a descent that stopped for this reason found a minimum."""
    return jnp.any(reason == jnp.array([r for r in Reason if r.is_minimum]))


def _norm(point: Point) -> Float[Array, ""]:
    return jnp.linalg.norm(jnp.ravel(point.gradient))
