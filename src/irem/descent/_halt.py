"""When a descent is over."""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from irem._checks import count, positive
from irem.descent._step import Point


class AbstractHalt(eqx.Module):
    """A rule that watches a descent and says when a minimum has been reached."""

    @abc.abstractmethod
    def init(self, point: Point) -> PyTree[Array]:
        """What the rule remembers, at the first guess."""

    @abc.abstractmethod
    def __call__(self, state: PyTree[Array], before: Point, after: Point) -> tuple[PyTree, Array]:
        """Look at one step; return the new memory and whether to stop."""


class Quiet(eqx.Module):
    """Memory of `EnergyUnchanged`."""

    first_energy: Float[Array, ""]
    quiet_steps: Int[Array, ""]


class EnergyUnchanged(AbstractHalt):
    r"""Stop once the energy has not changed for `patience` steps in a row (Algorithm 2).

    A step leaves the energy unchanged if it moves it by at most
    $\mathrm{rtol} \cdot |E_0 - E_t| + \epsilon\,|E_t|$: a share of the whole descent so far, which
    does not depend on the scale or the offset of a learned energy, plus what rounding alone does
    ($\epsilon$ is four units in the last place).

    Arguments:
        patience: How many such steps in a row.
        rtol: Share of the descent so far that counts as no change.
    """

    patience: int = 3
    rtol: float = 1e-4

    def __check_init__(self) -> None:
        """Refuse a rule that would stop at once."""
        count("patience", self.patience)
        positive("rtol", self.rtol)

    def init(self, point: Point) -> Quiet:
        """Remember the first energy."""
        return Quiet(point.energy, jnp.zeros((), jnp.int32))

    def __call__(self, state: Quiet, before: Point, after: Point) -> tuple[Quiet, Bool[Array, ""]]:
        """Count the step if it left the energy unchanged."""
        rounding = 4 * jnp.finfo(after.energy.dtype).eps * jnp.abs(after.energy)
        tolerance = self.rtol * jnp.abs(state.first_energy - after.energy) + rounding
        quiet = jnp.abs(after.energy - before.energy) <= tolerance
        quiet_steps = jnp.where(quiet, state.quiet_steps + 1, 0)
        return Quiet(state.first_energy, quiet_steps), quiet_steps >= self.patience
