"""How one step down a landscape is taken."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from irem._checks import positive
from irem._errors import InputError

Landscape = Callable[[Array], Float[Array, ""]]


class Point(eqx.Module):
    """An answer with its energy and its gradient."""

    y: Float[Array, "..."]
    energy: Float[Array, ""]
    gradient: Float[Array, "..."]

    def is_finite(self) -> Bool[Array, ""]:
        """Whether every number in it is one."""
        numbers = jnp.isfinite(self.y) & jnp.isfinite(self.gradient)
        return jnp.isfinite(self.energy) & jnp.all(numbers)


def look(landscape: Landscape, y: Float[Array, "..."]) -> Point:
    """Evaluate the landscape at `y`."""
    energy, gradient = jax.value_and_grad(landscape)(y)
    return Point(y, energy, gradient)


def rounding(energy: Float[Array, ""]) -> Float[Array, ""]:
    """A change this small cannot be told from rounding: eight units in the last place."""
    return 8 * jnp.finfo(energy.dtype).eps * jnp.abs(energy)


class Move(eqx.Module):
    """A step that was tried.

    Arguments:
        trial: The point that was looked at.
        accepted: Whether the descent goes there; otherwise it stays, and the next step is shorter.
        promised: By how much the slope at the old point promised to lower the energy.
        share: How much of a full step this was, at most 1. A change of the energy is small only
            beside the share of a step that made it.
    """

    trial: Point
    accepted: Bool[Array, ""]
    promised: Float[Array, ""]
    share: Float[Array, ""]


class AbstractStep(eqx.Module):
    """A rule that takes a point on a landscape to the next one.

    Every step that is tried evaluates the landscape once, so that problems that walk together keep
    pace with each other.
    """

    @abc.abstractmethod
    def init(self, point: Point, unit: Float[Array, ""] | None) -> PyTree[Array]:
        """What the rule remembers, at the first guess.

        Arguments:
            point: The first guess.
            unit: The step size that the energy was trained with, if it was trained.
        """

    @abc.abstractmethod
    def __call__(self, landscape: Landscape, point: Point, state: PyTree) -> tuple[Move, PyTree]:
        """Try one step from `point`; return it and the new memory."""


class FixedStep(AbstractStep):
    r"""The paper's step: $y \leftarrow y - \lambda \nabla_y E(x, y)$, wherever that leads.

    Arguments:
        step_size: The paper's $\lambda$; by default the one that the energy was trained with.
    """

    # An array, so that another size needs no compilation.
    step_size: Float[Array, ""] | None

    def __init__(self, step_size: float | None = None) -> None:
        if step_size is not None:
            positive("step_size", step_size)
        self.step_size = None if step_size is None else jnp.asarray(step_size, float)

    def init(self, point: Point, unit: Float[Array, ""] | None) -> tuple[Array, Array]:
        """Settle on the size, and on its share of the trained one."""
        size = unit if self.step_size is None else self.step_size
        if size is None:
            raise InputError(
                "This energy was not trained with a step size: write `FixedStep(step_size)`, or "
                "leave `step` out."
            )
        share = 1.0 if unit is None else jnp.minimum(1.0, size / unit)
        return jnp.asarray(size, point.y.dtype), jnp.asarray(share, point.y.dtype)

    def __call__(
        self, landscape: Landscape, point: Point, state: tuple[Array, Array]
    ) -> tuple[Move, tuple[Array, Array]]:
        """Take the step."""
        size, share = state
        trial = look(landscape, point.y - size * point.gradient)
        promised = size * jnp.sum(jnp.square(point.gradient))
        return Move(trial, jnp.array(True), promised, share), state
