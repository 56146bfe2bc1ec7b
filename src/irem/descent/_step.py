"""How one step down a landscape is taken."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from irem._checks import positive

Landscape = Callable[[Array], Float[Array, ""]]


class Point(eqx.Module):
    """An answer with its energy and its gradient."""

    y: Float[Array, "..."]
    energy: Float[Array, ""]
    gradient: Float[Array, "..."]


def look(landscape: Landscape, y: Float[Array, "..."]) -> Point:
    """Evaluate the landscape at `y`."""
    energy, gradient = jax.value_and_grad(landscape)(y)
    return Point(y, energy, gradient)


class AbstractStep(eqx.Module):
    """A rule that takes a point on a landscape to the next one."""

    @abc.abstractmethod
    def __call__(self, landscape: Landscape, point: Point) -> Point:
        """Take one step from `point`."""


class FixedStep(AbstractStep):
    r"""The paper's step: $y \leftarrow y - \lambda \nabla_y E(x, y)$.

    Arguments:
        step_size: The paper's $\lambda$.
    """

    # An array, so that another size needs no compilation.
    step_size: Float[Array, ""]

    def __init__(self, step_size: float) -> None:
        positive("step_size", step_size)
        self.step_size = jnp.asarray(step_size, float)

    def __call__(self, landscape: Landscape, point: Point) -> Point:
        """Take one step from `point`."""
        step_size = self.step_size.astype(point.y.dtype)
        return look(landscape, point.y - step_size * point.gradient)
