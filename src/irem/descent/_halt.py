"""When a descent is over."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from irem._checks import count, positive
from irem._errors import InputError
from irem.descent._solution import RUNNING, Reason
from irem.descent._step import Move, Point, rounding

Verdict = Int[Array, ""]


class AbstractHalt(eqx.Module):
    """A rule that watches a descent and says when a minimum has been reached."""

    @abc.abstractmethod
    def init(self, point: Point) -> PyTree[Array]:
        """What the rule remembers, at the first guess."""

    @abc.abstractmethod
    def __call__(
        self, state: PyTree[Array], before: Point, after: Point, move: Move
    ) -> tuple[PyTree[Array], Verdict]:
        """Look at one step.

        Arguments:
            state: What the rule remembers.
            before: Where the step was tried from.
            after: Where the descent is now: at `move.trial`, or still at `before`.
            move: The step.

        Returns:
            The new memory, and the `Reason` to stop or `RUNNING`.
        """

    def __or__(self, other: "AbstractHalt") -> "AnyOf":
        """Stop as soon as one of the two rules does."""
        return AnyOf((self, other))


class Quiet(eqx.Module):
    """Memory of `EnergyUnchanged`."""

    first_energy: Float[Array, ""]
    quiet_steps: Int[Array, ""]


class EnergyUnchanged(AbstractHalt):
    r"""Stop once the energy has not changed for `patience` steps in a row (Algorithm 2).

    A step leaves the energy unchanged if neither the change it made nor the fall that the slope
    promised is more than $\mathrm{rtol} \cdot |E_0 - E_t| + \epsilon\,|E_t|$: a share of the whole
    descent so far, which does not depend on the scale or the offset of a learned energy, plus what
    rounding alone does ($\epsilon$ is eight units in the last place). The promise tells a minimum
    from a step that jumps across a valley between two points of the same energy. A fixed step
    shorter than that of training is held to as much smaller a change: to cut a walk more finely
    does not end it earlier.

    Arguments:
        patience: How many such steps in a row.
        rtol: Share of the descent so far that counts as no change.
    """

    patience: int = 3
    rtol: float = 1e-6

    def __check_init__(self) -> None:
        """Refuse a rule that would stop at once."""
        count("patience", self.patience)
        positive("rtol", self.rtol)

    def init(self, point: Point) -> Quiet:
        """Remember the first energy."""
        return Quiet(point.energy, jnp.zeros((), jnp.int32))

    def __call__(
        self, state: Quiet, before: Point, after: Point, move: Move
    ) -> tuple[Quiet, Verdict]:
        """Count the step if it left the energy unchanged."""
        descent = jnp.abs(state.first_energy - after.energy)
        tolerance = self.rtol * move.share * descent + rounding(after.energy)
        change = jnp.abs(after.energy - before.energy)
        quiet = jnp.maximum(change, move.promised) <= tolerance
        quiet_steps = jnp.where(quiet, state.quiet_steps + 1, 0)
        stop = quiet_steps >= self.patience
        verdict = jnp.where(stop, Reason.ENERGY_UNCHANGED, RUNNING)
        return Quiet(state.first_energy, quiet_steps), verdict


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
        """Remember what each rule does."""
        return tuple(rule.init(point) for rule in self.rules)

    def __call__(
        self, state: tuple[PyTree[Array], ...], before: Point, after: Point, move: Move
    ) -> tuple[tuple[PyTree[Array], ...], Verdict]:
        """Ask every rule."""
        verdict = jnp.asarray(RUNNING)
        memories = []
        for rule, memory in zip(self.rules, state, strict=True):
            memory, reason = rule(memory, before, after, move)
            memories.append(memory)
            verdict = jnp.where(verdict == RUNNING, reason, verdict)
        return tuple(memories), verdict


def _norm(point: Point) -> Float[Array, ""]:
    return jnp.linalg.norm(jnp.ravel(point.gradient))
