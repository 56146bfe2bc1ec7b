"""Through how much of a descent the training loss is differentiated."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from irem._checks import positive
from irem.descent import Landscape
from irem.energy import AbstractEnergy


class AbstractGradient(eqx.Module):
    """A rule for the gradient of the end point of a descent in the energy's parameters."""

    @abc.abstractmethod
    def descend(
        self,
        energy: AbstractEnergy,
        x: PyTree,
        y0: Float[Array, "..."],
        step_size: float,
        num_steps: int,
    ) -> Float[Array, "..."]:
        """The answer after `num_steps` steps from `y0`.

        Its value is the same for every rule, unless the descent runs away.
        """


class LastStep(AbstractGradient):
    """Differentiate through the last step alone, as the paper does.

    Memory does not grow with the number of steps.

    Arguments:
        away: Where the steps before ran away, to an entry beyond this size or out of the numbers,
            the last step is taken from the start instead: it still tells how the landscape is too
            steep, which a number that is not finite cannot. `None` leaves such descents as they
            are, as the paper does. Raise it for answers of such a size.
    """

    away: float | None = eqx.field(static=True, default=1e6)

    def __check_init__(self) -> None:
        """Refuse a size that every descent has."""
        if self.away is not None:
            positive("away", self.away)

    def descend(
        self,
        energy: AbstractEnergy,
        x: PyTree,
        y0: Float[Array, "..."],
        step_size: float,
        num_steps: int,
    ) -> Float[Array, "..."]:
        """Walk `num_steps - 1` steps on a frozen landscape, then one on the live one."""
        frozen = jax.tree.map(_stop, energy).landscape(x)
        y = jax.lax.stop_gradient(_walk(frozen, y0, step_size, num_steps - 1))
        if self.away is not None:
            y = jnp.where(jnp.all(jnp.abs(y) < self.away), y, y0)
        return _walk(energy.landscape(x), y, step_size, 1)


class FullUnroll(AbstractGradient):
    """Differentiate through every step; memory grows with their number."""

    def descend(
        self,
        energy: AbstractEnergy,
        x: PyTree,
        y0: Float[Array, "..."],
        step_size: float,
        num_steps: int,
    ) -> Float[Array, "..."]:
        """Walk `num_steps` steps on the live landscape."""
        return _walk(energy.landscape(x), y0, step_size, num_steps)


def _stop(leaf: object) -> object:
    return jax.lax.stop_gradient(leaf) if eqx.is_inexact_array(leaf) else leaf


def _walk(
    landscape: Landscape, y: Float[Array, "..."], step_size: float, num_steps: int
) -> Float[Array, "..."]:
    gradient = jax.grad(landscape)

    def step(y: Array, _: None) -> tuple[Array, None]:
        return y - step_size * gradient(y), None

    # A handful of steps in a row compile to faster code than a loop around one of them.
    return jax.lax.scan(step, y, length=num_steps, unroll=min(num_steps, 8) or 1)[0]
