"""Arrays of numbers: of fixed shapes, tables, pictures, and stacks of anything."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import equinox as eqx
import jax
from jaxtyping import Array, PyTree

from irem import doors
from irem.checks import numeric
from irem.errors import InputError
from irem.formats.base import AbstractFormat, Reading, by_rank


class Vectors(AbstractFormat):
    """Problems and answers of a fixed shape; a problem may also be given as one flat row.

    Arguments:
        x_shape: Shape of a problem.
        y_shape: Shape of an answer.
        missing: Whether entries of a problem may be missing, and are NaN there.
    """

    noun: ClassVar[str] = "problems of a fixed size"
    energies: ClassVar[str] = "the MLP energy, or Pair or Table for matrices"

    x_shape: tuple[int, ...] = eqx.field(static=True, converter=tuple)
    y_shape: tuple[int, ...] = eqx.field(static=True, converter=tuple)
    missing: bool = eqx.field(static=True, default=False)

    def as_batch(self, x: Any) -> tuple[Array, bool]:
        """Return a stack of problems of this shape."""
        return self.as_stack(_numbers(x, self.missing))

    @property
    def expected(self) -> str:
        """A problem of this shape, a stack, or flat rows."""
        shape = self.x_shape
        return (
            f"one problem of shape {shape}, or a stack of them of shape "
            f"(n, {', '.join(map(str, shape))}), each also as a flat row of {math.prod(shape)}"
        )

    def readings(self, shape: tuple[int, ...]) -> list[Reading]:
        """Return the one way to read an array: the size of a problem is known."""
        either = (self.x_shape, (math.prod(self.x_shape),))
        if shape in either:
            return [Reading((1, *self.x_shape), alone=True)]
        if len(shape) > 1 and shape[0] > 0 and shape[1:] in either:
            return [Reading((shape[0], *self.x_shape), alone=False)]
        return []

    def answer_shape(self, x: Array) -> tuple[int, ...]:
        """Return the shape of every answer."""
        del x
        return self.y_shape


class Tables(AbstractFormat):
    """Tables of any size, or several vectors of any length; an answer is a table or a vector.

    Arguments:
        channels: With 1, a problem is a table and so is its answer. With more, a problem is as many
            vectors, of shape (channels, n), and an answer is one vector.
        x_shape: Shape of a problem that may also be given as a flat row.
        missing: Whether entries of a problem may be missing, and are NaN there.
    """

    noun: ClassVar[str] = "tables"

    channels: int = eqx.field(static=True, default=1)
    x_shape: tuple[int, ...] | None = eqx.field(static=True, default=None)
    missing: bool = eqx.field(static=True, default=False)

    def as_batch(self, x: Any) -> tuple[Array, bool]:
        """Return a stack of tables of one size."""
        return self.as_stack(_numbers(x, self.missing))

    @property
    def expected(self) -> str:
        """A table, or a stack."""
        shape = "(rows, columns)" if self.channels == 1 else f"({self.channels}, n)"
        return f"one problem of shape {shape}, or a stack of them"

    def readings(self, shape: tuple[int, ...]) -> list[Reading]:
        """Return the ways to read an array.

        Rows as long as a problem of training is large may be flat problems of that shape.
        """
        flat = self._flat(shape)
        # A single row that may be a flat problem is one.
        if len(shape) < 2 or (flat and shape[0] == 1):
            return flat
        fits = self.channels == 1 or shape[-2] == self.channels
        return (by_rank(shape, 2) if fits else []) + flat

    def _flat(self, shape: tuple[int, ...]) -> list[Reading]:
        """The reading as flat rows, or as one flat problem, if their length is that of training."""
        if self.x_shape is None or 0 in shape or shape[-1:] != (math.prod(self.x_shape),):
            return []
        if len(shape) > 2:
            return []
        return [Reading((math.prod(shape[:-1]), *self.x_shape), alone=len(shape) == 1)]

    def answer_shape(self, x: Array) -> tuple[int, ...]:
        """Return the shape of the table, or of one vector."""
        return x.shape if self.channels == 1 else x.shape[1:]


class Pictures(AbstractFormat):
    """Grey pictures of any size; an answer is a picture of the same size."""

    noun: ClassVar[str] = "pictures"
    energies: ClassVar[str] = "the Conv energy"

    def as_batch(self, x: Any) -> tuple[Array, bool]:
        """Return a stack of grey pictures of one size."""
        return self.as_stack(numeric("x", doors.as_array(x)))

    @property
    def expected(self) -> str:
        """A picture, or a stack."""
        return (
            "one grey picture of shape (height, width), or a stack of them of shape "
            "(n, height, width)"
        )

    def readings(self, shape: tuple[int, ...]) -> list[Reading]:
        """Return the one way to read an array."""
        return by_rank(shape, 2)

    def answer_shape(self, x: Array) -> tuple[int, ...]:
        """Return the shape of the picture."""
        return x.shape


class Stacks(AbstractFormat):
    """Any PyTree of arrays with the problems along the first axis of every array.

    Arguments:
        y_shape: Shape of an answer; `None` where only a first guess tells it.
    """

    noun: ClassVar[str] = "stacks of problems"

    y_shape: tuple[int, ...] | None = eqx.field(static=True, default=None)

    def as_batch(self, x: Any) -> tuple[PyTree, bool]:
        """Return the stack with every leaf as an array."""
        x = jax.tree.map(_stacked_leaf, x)
        sizes = {leaf.shape[0] if leaf.ndim else None for leaf in jax.tree.leaves(x)}
        if len(sizes) != 1 or None in sizes or 0 in sizes:
            raise InputError(
                "`x` of a hand-written energy is a stack of problems: every array in it has the "
                "problems along its first axis (write `x[None]` for one problem, and arrays, not "
                "lists)."
            )
        return x, False

    def answer_shape(self, x: PyTree) -> tuple[int, ...] | None:
        """Return the shape of every answer, if it is known."""
        del x
        return self.y_shape


def _numbers(x: Any, missing: bool) -> Array:
    """The numbers of a table; where some may be missing, NaN in place of infinity."""
    x = numeric("x", doors.as_array(x), missing=missing)
    return jax.numpy.where(jax.numpy.isfinite(x), x, jax.numpy.nan) if missing else x


def _stacked_leaf(leaf: Any) -> Array:
    """One array of a stack of problems; a graph of networkx has no axis of problems."""
    if doors.is_graph(leaf):
        raise InputError(
            "`x` of a hand-written energy is a stack of arrays, got a networkx graph; give "
            "`networkx.to_numpy_array(graph)[None]`."
        )
    return numeric("x", doors.as_array(leaf), keep_integers=True)
