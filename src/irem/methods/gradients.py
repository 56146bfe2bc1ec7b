"""Through how much of a descent the training loss is differentiated."""

import abc
from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem.checks import count, count_or_zero, positive
from irem.descent import descend, update
from irem.energy import AbstractEnergy
from irem.errors import InputError
from irem.settings import AbstractComponent, Registry, setting

_DIVERGED = 1e6


class AbstractGradient(AbstractComponent):
    """A rule for the gradient of the end point of a descent in the energy's parameters."""

    ends_at_minimum: ClassVar[bool] = False
    """Whether the point of training is the minimum of the landscape, whatever the start."""

    @property
    def weight_of_rest(self) -> float:
        """Weight of the squared length of the last step in the loss."""
        return 0.0

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

    def path(
        self,
        energy: AbstractEnergy,
        x: PyTree,
        y0: Float[Array, "..."],
        step_size: float,
        num_steps: int,
        *,
        key: PRNGKeyArray,
    ) -> Float[Array, "points ..."]:
        """Return the points of the loss, the end last, and before them the one they start from.

        By default the loss is about the end alone.

        Arguments:
            energy: The energy.
            x: The problem.
            y0: Where the descent starts.
            step_size: Size of a step.
            num_steps: Number of steps.
            key: For rules that draw random numbers.
        """
        del key
        return jnp.stack([y0, self.descend(energy, x, y0, step_size, num_steps)])

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


class RandomSteps(AbstractGradient):
    """Differentiate through the last `k` steps, after a random number of steps before them.

    For energies that have to work for many steps: the loss is about every one of the `k` points,
    so that an answer is to stay where it is right, and descents of training are not all of one
    length. A descent has `num_steps` steps at most, `k` at least.

    Arguments:
        k: How many steps are differentiated.
        noise: Standard deviation of the noise that is added to the point after every step before.
        fixed_point: Weight of the squared length of the last step in the loss, for landscapes in
            which descents are to come to rest.
    """

    k: int = setting(3, positional=True)
    noise: float = setting(0.0)
    fixed_point: float = setting(0.0)

    def __check_init__(self) -> None:
        """Refuse no steps at all, and negative weights."""
        count("k", self.k)
        for name in ("noise", "fixed_point"):
            if not getattr(self, name) >= 0:
                raise InputError(f"`{name}` must be at least 0, got {getattr(self, name)}.")

    @property
    def weight_of_rest(self) -> float:
        """Weight of the squared length of the last step in the loss."""
        return self.fixed_point

    def check_steps(self, num_steps: int) -> None:
        """Refuse to differentiate more steps than there are."""
        if self.k > num_steps:
            raise InputError(
                f"`RandomSteps({self.k})` differentiates more steps than a descent of training has "
                f"({num_steps}); take fewer."
            )

    def descend(
        self,
        energy: AbstractEnergy,
        x: PyTree,
        y0: Float[Array, "..."],
        step_size: float,
        num_steps: int,
    ) -> Float[Array, "..."]:
        """Take all steps, without noise."""
        return LastSteps(self.k).descend(energy, x, y0, step_size, num_steps)

    def path(
        self,
        energy: AbstractEnergy,
        x: PyTree,
        y0: Float[Array, "..."],
        step_size: float,
        num_steps: int,
        *,
        key: PRNGKeyArray,
    ) -> Float[Array, "points ..."]:
        """Take a random number of steps with frozen parameters, then `k` with live ones."""
        key_number, key_noise = jax.random.split(key)
        before = jax.random.randint(key_number, (), 0, num_steps - self.k + 1)
        frozen = jax.grad(jax.tree.map(_stop, energy).landscape(x))

        def step(y: Array, number: Array) -> tuple[Array, None]:
            moved = update(y, frozen(y), step_size)
            if self.noise:
                drawn = jax.random.normal(jax.random.fold_in(key_noise, number), y.shape, y.dtype)
                moved = moved + self.noise * drawn
            # Descents that diverge start again from where they began.
            moved = jnp.where(jnp.all(jnp.abs(moved) < _DIVERGED), moved, y0)
            return jnp.where(number < before, moved, y), None

        y = jax.lax.scan(step, y0, jnp.arange(num_steps - self.k))[0]
        y = jax.lax.stop_gradient(y)
        gradient = jax.grad(energy.landscape(x))

        def tracked(y: Array, _: None) -> tuple[Array, Array]:
            moved = update(y, gradient(y), step_size)
            return moved, moved

        return jnp.concatenate([y[None], jax.lax.scan(tracked, y, length=self.k)[1]])


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


GRADIENTS: Registry[type[AbstractGradient]] = Registry(
    "gradient rule",
    {
        "last-steps": LastSteps,
        "full-unroll": FullUnroll,
        "random-steps": RandomSteps,
        "minimum": Minimum,
    },
)
"""Every gradient rule that can be named in a recipe."""


def _stop(leaf: object) -> object:
    return jax.lax.stop_gradient(leaf) if eqx.is_inexact_array(leaf) else leaf
