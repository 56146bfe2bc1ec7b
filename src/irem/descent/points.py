"""A point of a landscape, and a step that was tried from it."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Landscape = Callable[[Array], Float[Array, ""]]
"""The energy of one problem as a function of the answer alone."""


class Point(eqx.Module):
    """An answer with its energy and its gradient.

    Arguments:
        y: The answer.
        energy: Its energy.
        gradient: Its gradient; zero for entries that are not free.
        free: On a landscape with bounds: which entries may follow the gradient; those at a bound
            that it points out of may not.
    """

    y: Float[Array, "..."]
    energy: Float[Array, ""]
    gradient: Float[Array, "..."]
    free: Bool[Array, "..."] | None = None

    def is_finite(self) -> Bool[Array, ""]:
        """Return whether the answer, its energy and its gradient are finite."""
        entries = jnp.isfinite(self.y) & jnp.isfinite(self.gradient)
        return jnp.isfinite(self.energy) & jnp.all(entries)


def evaluate(landscape: Landscape, y: Float[Array, "..."]) -> Point:
    """Return `y` with its energy and its gradient."""
    energy, gradient = jax.value_and_grad(landscape)(y)
    bounds = bounds_of(landscape)
    if bounds is None:
        return Point(y, energy, gradient)
    lower, upper = bounds
    free = ~(((y <= lower) & (gradient > 0)) | ((y >= upper) & (gradient < 0)))
    return Point(y, energy, jnp.where(free, gradient, 0.0), free)


def bounds_of(landscape: Landscape) -> tuple[Float[Array, "..."], Float[Array, "..."]] | None:
    """Return the least and the largest answers of a landscape that has `bounds`."""
    return getattr(landscape, "bounds", None)


def project(landscape: Landscape, y: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the nearest answer within the bounds of a landscape, if it has any."""
    bounds = bounds_of(landscape)
    return y if bounds is None else jnp.clip(y, *bounds)


def rounding(energy: Float[Array, ""]) -> Float[Array, ""]:
    """Return the largest change of an energy that may be rounding: 8 units in the last place."""
    return 8 * jnp.finfo(energy.dtype).eps * jnp.abs(energy)


class Move(eqx.Module):
    """A step that was tried.

    Arguments:
        trial: The point where the landscape was evaluated.
        accepted: Whether the descent moves there; if not, it remains at the point before.
        promised: The decrease of the energy that the slope at the point before predicts.
        share: The length of this step relative to a full step, at most 1. Halting rules compare the
            change of the energy with a tolerance of so much of their own.
        given_up: Whether the search has found no step to accept, not along the gradient either.
    """

    trial: Point
    accepted: Bool[Array, ""]
    promised: Float[Array, ""]
    share: Float[Array, ""]
    given_up: Bool[Array, ""] | bool = False
