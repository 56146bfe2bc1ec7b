"""What an energy is."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, runtime_checkable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem._errors import InputError
from irem._problem import first_guess


@runtime_checkable
class TaskShapes(Protocol):
    """As much of a task as an energy needs to be built for it."""

    name: ClassVar[str]
    kind: ClassVar[str]
    power: ClassVar[int | None]

    @property
    def shapes(self) -> tuple[tuple[int | None, ...], tuple[int | None, ...]]:
        """Shapes of `x` and `y`; `None` stands for a free number of nodes."""
        ...


_KINDS = {
    "vectors": ("problems of a fixed size", "MLP"),
    "graphs": ("graphs", "GINE"),
    "images": ("pictures", "Conv"),
}


def check_kind(energy: str, task: TaskShapes, kind: str) -> None:
    """Refuse a task whose problems are of another kind than `energy` is for."""
    if task.kind != kind:
        has, other = _KINDS[task.kind]
        raise InputError(
            f"The {energy} energy needs {_KINDS[kind][0]}, and '{task.name}' has {has}; use the "
            f"{other} energy for it."
        )


class AbstractEnergy(eqx.Module):
    """A score E(x, y) that is low where `y` answers `x`. Takes one problem, never a batch.

    A landscape is differentiated twice, in `y` and then in the parameters, so it has to be smooth
    almost everywhere: swish rather than ReLU, and no norm without a guard at zero.
    """

    @abc.abstractmethod
    def landscape(self, x: PyTree) -> Callable[[Array], Float[Array, ""]]:
        """Do all work that depends on `x` alone; return the map from an answer to its energy."""

    @abc.abstractmethod
    def answer_shape(self, x: PyTree) -> tuple[int, ...] | None:
        """Shape of the answers to the problem `x`, or `None` where only a first guess tells it."""

    @abc.abstractmethod
    def as_batch(self, x: Any) -> tuple[PyTree, bool]:
        """What a user gave, as a checked batch of problems, and whether it was one problem alone.

        Raises:
            ValueError: `x` is not numeric, not finite or not of the shape of this energy.
        """

    def guess(self, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """A first guess at the answer, of this shape: uniform in (-1, 1) as in the paper."""
        del x
        return first_guess(key, shape)

    def begin(self, y0: Array, *, key: PRNGKeyArray | None) -> Array:
        """The point of the landscape that a descent starts from, given a first guess.

        A landscape may have more coordinates than an answer, as that of a scratchpad.
        """
        del key
        return y0

    def read(self, point: Array) -> Array:
        """The answer at a point of the landscape."""
        return point

    def __call__(self, x: PyTree, y: Array) -> Float[Array, ""]:
        """E(x, y) for one problem and one answer."""
        return self.landscape(x)(y)


class AbstractJointEnergy(AbstractEnergy):
    """An energy with room for a scratchpad: E(x, y, z), where `z` is not part of the answer.

    `Scratchpad` walks `y` and `z` together. With `scratch` zero there is no `z`, and the energy is
    one of `x` and `y` like any other.
    """

    scratch: eqx.AbstractVar[int]
    """How many numbers `z` has; for answers of no fixed shape, how many for each row of `y`."""

    y_shape: eqx.AbstractVar[tuple[int, ...] | None]
    """Shape of every answer, or `None` where it depends on the problem."""

    @abc.abstractmethod
    def joint_landscape(self, x: PyTree) -> Callable[[Array, Array], Float[Array, ""]]:
        """Do all work that depends on `x` alone; return the map from `y` and `z` to the energy."""

    def scratch_shape(self, answer_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of the scratchpad beside an answer of this shape."""
        rows = answer_shape[:-1] if self.y_shape is None else ()
        return (*rows, self.scratch)

    def landscape(self, x: PyTree) -> Callable[[Array], Float[Array, ""]]:
        """The map from an answer to its energy, where there is no scratchpad."""
        if self.scratch:
            raise InputError(
                f"This energy has a scratchpad ({self.scratch} numbers) beside the answer: wrap it "
                "as `irem.energy.Scratchpad(energy)`."
            )
        joint = self.joint_landscape(x)
        return lambda y: joint(y, jnp.zeros(self.scratch_shape(y.shape), y.dtype))
