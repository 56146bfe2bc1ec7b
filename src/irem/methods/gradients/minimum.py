"""The rule that differentiates the minimum of a landscape."""

from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from irem.checks import count_or_zero
from irem.energy import AbstractEnergy
from irem.methods.gradients.base import AbstractGradient
from irem.settings import setting


class Minimum(AbstractGradient):
    """Differentiate the minimum itself, for energies that are convex quadratics in the answer.

    The minimum solves a linear system: directly for small answers, for larger ones by as many
    steps of the conjugate gradient as a descent of training has. Its derivative solves the same
    system (the implicit function theorem), so that neither its cost nor its memory grows with the
    number of steps. Where a descent begins and the step size do not matter.

    Arguments:
        largest: Most entries of an answer whose system is solved directly.
    """

    ends_at_minimum: ClassVar[bool] = True

    largest: int = setting(24, positional=True)

    def __check_init__(self) -> None:
        """Refuse a size that is not a count."""
        count_or_zero("largest", self.largest)

    def descend(
        self,
        energy: AbstractEnergy,
        x: PyTree,
        y0: Float[Array, "..."],
        step_size: float,
        num_steps: int,
    ) -> Float[Array, "..."]:
        """Return the minimum of the landscape."""
        del step_size
        known = energy.minimum(x)
        if known is not None:
            return known
        landscape = energy.landscape(x)
        gradient = jax.grad(lambda y: landscape(y.reshape(y0.shape)))
        zero = jnp.zeros(y0.size, y0.dtype)
        constant = gradient(zero)
        if y0.size <= self.largest:
            hessian = jax.jacfwd(gradient)(zero)
            factor = jax.scipy.linalg.cho_factor(hessian)
            return -jax.scipy.linalg.cho_solve(factor, constant).reshape(y0.shape)
        solution = jax.lax.custom_linear_solve(
            lambda y: gradient(y) - constant,
            -constant,
            lambda product, right: _conjugate_gradient(product, right, num_steps),
            symmetric=True,
        )
        return solution.reshape(y0.shape)


def _conjugate_gradient(
    product: Callable[[Array], Array], right: Float[Array, " n"], num_steps: int
) -> Float[Array, " n"]:
    """Return the solution of a positive definite system after so many steps from zero."""
    enough = jnp.finfo(right.dtype).eps ** 2 * jnp.vdot(right, right)

    def step(state: tuple[Array, ...], _: None) -> tuple[tuple[Array, ...], None]:
        y, residual, direction, square = state
        image = product(direction)
        going = square > enough  # beyond that there is only rounding
        length = jnp.where(going, square, 0.0) / jnp.where(going, jnp.vdot(direction, image), 1.0)
        y, residual = y + length * direction, residual - length * image
        new_square = jnp.vdot(residual, residual)
        turned = residual + new_square / jnp.where(going, square, 1.0) * direction
        return (y, residual, jnp.where(going, turned, direction), new_square), None

    first = (jnp.zeros_like(right), right, right, jnp.vdot(right, right))
    return jax.lax.scan(step, first, length=num_steps)[0][0]
