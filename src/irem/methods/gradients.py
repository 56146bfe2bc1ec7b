"""Through how much of a descent the training loss is differentiated."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from irem.checks import count, positive
from irem.descent import descend
from irem.energy import AbstractEnergy
from irem.errors import InputError
from irem.settings import AbstractComponent, Registry, setting


class AbstractGradient(AbstractComponent):
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
        """Return the point after `num_steps` steps from `y0`.

        Its value is the same for every rule, unless the descent diverges.
        """

    def check_steps(self, num_steps: int) -> None:
        """Refuse a number of steps that this rule cannot differentiate."""
        del num_steps


class LastSteps(AbstractGradient):
    """Differentiate through the last `k` steps; with 1, the default, as the paper does.

    Memory grows with `k`, not with the number of steps.

    Arguments:
        k: How many steps.
        diverged_beyond: Where the steps before diverged, to an entry beyond this size or to one
            that is not finite, the last `k` steps are taken from the start instead: their gradient
            still says that the landscape is too steep, which NaN cannot. `None` leaves such
            descents as they are, as the paper does. Raise it for answers of such a size.
    """

    k: int = setting(1, positional=True)
    diverged_beyond: float | None = setting(1e6)

    def __check_init__(self) -> None:
        """Refuse no steps at all, and a size that every descent has."""
        count("k", self.k)
        if self.diverged_beyond is not None:
            positive("diverged_beyond", self.diverged_beyond)

    def check_steps(self, num_steps: int) -> None:
        """Refuse to differentiate more steps than there are."""
        if self.k > num_steps:
            raise InputError(
                f"`LastSteps({self.k})` differentiates more steps than a descent of training has "
                f"({num_steps}); take fewer, or `FullUnroll()`."
            )

    def descend(
        self,
        energy: AbstractEnergy,
        x: PyTree,
        y0: Float[Array, "..."],
        step_size: float,
        num_steps: int,
    ) -> Float[Array, "..."]:
        """Take the first steps with frozen parameters, then `k` steps with live ones."""
        frozen = jax.tree.map(_stop, energy).landscape(x)
        y = jax.lax.stop_gradient(descend(frozen, y0, step_size, num_steps - self.k))
        if self.diverged_beyond is not None:
            y = jnp.where(jnp.all(jnp.abs(y) < self.diverged_beyond), y, y0)
        return descend(energy.landscape(x), y, step_size, self.k)


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
        """Take all steps with live parameters."""
        return descend(energy.landscape(x), y0, step_size, num_steps)


GRADIENTS: Registry[type[AbstractGradient]] = Registry(
    "gradient rule", {"last-steps": LastSteps, "full-unroll": FullUnroll}
)
"""Every gradient rule that can be named in a recipe."""


def _stop(leaf: object) -> object:
    return jax.lax.stop_gradient(leaf) if eqx.is_inexact_array(leaf) else leaf
