"""Rules that differentiate through steps of a descent."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem.checks import count, positive
from irem.descent import descend, update
from irem.energy import AbstractEnergy
from irem.errors import InputError
from irem.methods.gradients.base import AbstractGradient
from irem.problem import Problem
from irem.settings import setting

_DIVERGED = 1e6


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

    def loss(
        self,
        energy: AbstractEnergy,
        problem: Problem,
        y0: Float[Array, "..."],
        step_size: float,
        num_steps: int,
        *,
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """Return the mean error of the `k` points, and that of coming to rest."""
        points = self.path(energy, problem.x, y0, step_size, num_steps, key=key)
        error = jnp.mean(jax.vmap(lambda point: energy.error(problem, point))(points[1:]))
        if self.fixed_point:
            error += self.fixed_point * jnp.sum(jnp.square(points[-1] - points[-2]))
        return error, points[-1]

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


def _stop(leaf: object) -> object:
    return jax.lax.stop_gradient(leaf) if eqx.is_inexact_array(leaf) else leaf
