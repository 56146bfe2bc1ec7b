"""What problems and answers look like as arrays, and the check of what users give."""

from __future__ import annotations

import abc
import math
from typing import Any, ClassVar

import equinox as eqx
import jax
from jaxtyping import Array, PyTree

from irem.checks import numeric
from irem.errors import InputError
from irem.problem import Graph


class AbstractFormat(eqx.Module):
    """What one problem is, and the shape of its answer. Tasks, energies and networks have one."""

    noun: ClassVar[str]
    """What problems of this format are called in messages."""
    energies: ClassVar[str] = "an energy of your own"
    """Which energies take such problems, in words."""

    @abc.abstractmethod
    def as_batch(self, x: Any) -> tuple[PyTree, bool]:
        """Return `x` as a checked batch of problems, and whether it was one problem alone.

        Raises:
            ValueError: `x` is not numeric, not finite or not of this format.
        """

    @abc.abstractmethod
    def answer_shape(self, x: PyTree) -> tuple[int, ...] | None:
        """Return the shape of the answer to the problem `x`; `None` if a first guess tells it."""


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
        x, shape = _numbers(x, self.missing), self.x_shape
        flat = (math.prod(shape),)
        if x.shape in (shape, flat):
            return x.reshape(1, *shape), True
        if x.ndim > 1 and x.shape[0] > 0 and x.shape[1:] in (shape, flat):
            return x.reshape(-1, *shape), False
        raise InputError(
            f"`x` has shape {x.shape}; expected one problem of shape {shape}, or a stack of "
            f"them of shape (n, {', '.join(map(str, shape))}), each also as a flat row of "
            f"{flat[0]}."
        )

    def answer_shape(self, x: Array) -> tuple[int, ...]:
        """Return the shape of every answer."""
        del x
        return self.y_shape


class Graphs(AbstractFormat):
    """Graphs or square matrices of any size; an answer is a number for every pair of nodes.

    Arguments:
        missing: Whether edges may be missing, and are infinite there; NaN means the same.
    """

    noun: ClassVar[str] = "graphs"
    energies: ClassVar[str] = "the GINE or the Pair energy"

    missing: bool = eqx.field(static=True, default=False)

    def as_batch(self, x: Any) -> tuple[Graph, bool]:
        """Return a batch of graphs: from an n x n matrix, a stack of them, or flat rows.

        A square table is one graph, whatever it may have been meant to be.
        """
        if isinstance(x, Graph):
            edges = numeric("x", x.edges, missing=self.missing)
            nodes = jax.numpy.asarray(x.nodes)
        else:
            edges, nodes = _square(numeric("x", x, missing=self.missing)), None
        if edges.ndim not in (2, 3) or edges.shape[-1] != edges.shape[-2] or edges.size == 0:
            raise InputError(
                f"`x` has shape {edges.shape}; expected one graph or square matrix of shape "
                "(n, n), a stack of them of shape (count, n, n), or flat rows of n x n numbers."
            )
        if nodes is not None and nodes.shape != edges.shape[:-1]:
            raise InputError(f"`x` has nodes of shape {nodes.shape} and edges of {edges.shape}.")
        if self.missing:
            edges = jax.numpy.where(jax.numpy.isnan(edges), jax.numpy.inf, edges)
        graph = Graph.of(edges) if nodes is None else Graph(edges, nodes)
        if edges.ndim == 3:
            return graph, False
        return jax.tree.map(lambda leaf: leaf[None], graph), True

    def answer_shape(self, x: Graph | Array) -> tuple[int, ...]:
        """Return one number for every pair of nodes."""
        return x.edges.shape if isinstance(x, Graph) else x.shape[:2]


class ChannelPairs(AbstractFormat):
    """Square tables of any size with several numbers for every pair.

    Arguments:
        channels: How many numbers a pair has.
    """

    noun: ClassVar[str] = "pairs with channels"

    channels: int = eqx.field(static=True)

    def as_batch(self, x: Any) -> tuple[Array, bool]:
        """Return a stack of square tables with channels."""
        x, channels = numeric("x", x), self.channels
        square = x.ndim in (3, 4) and x.shape[-3] == x.shape[-2]
        if not square or x.shape[-1] != channels or not x.size:
            raise InputError(
                f"`x` has shape {x.shape}; expected one problem of shape (n, n, {channels}), or a "
                f"stack of them of shape (count, n, n, {channels})."
            )
        return (x[None], True) if x.ndim == 3 else (x, False)

    def answer_shape(self, x: Array) -> tuple[int, ...]:
        """Return one number for every pair."""
        return x.shape[:2]


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
        """Return a stack of tables of one size.

        Rows as long as a problem of training is large are flat problems of that shape, so a single
        table of such rows is given as a stack of one.
        """
        x = _numbers(x, self.missing)
        one = self.channels > 1 and x.ndim == 2 and x.shape[0] == self.channels
        flat = x.ndim in (1, 2) and x.size > 0 and not one
        if flat and self.x_shape is not None and x.shape[-1] == math.prod(self.x_shape):
            return x.reshape(-1, *self.x_shape), x.ndim == 1
        wrong = self.channels > 1 and x.ndim > 1 and x.shape[-2] != self.channels
        if x.ndim not in (2, 3) or x.size == 0 or wrong:
            shape = "(rows, columns)" if self.channels == 1 else f"({self.channels}, n)"
            raise InputError(
                f"`x` has shape {x.shape}; expected one problem of shape {shape}, or a stack of "
                "them."
            )
        return (x[None], True) if x.ndim == 2 else (x, False)

    def answer_shape(self, x: Array) -> tuple[int, ...]:
        """Return the shape of the table, or of one vector."""
        return x.shape if self.channels == 1 else x.shape[1:]


class Pictures(AbstractFormat):
    """Grey pictures of any size; an answer is a picture of the same size."""

    noun: ClassVar[str] = "pictures"
    energies: ClassVar[str] = "the Conv energy"

    def as_batch(self, x: Any) -> tuple[Array, bool]:
        """Return a stack of grey pictures of one size."""
        x = numeric("x", x)
        if x.ndim not in (2, 3) or x.size == 0:
            raise InputError(
                f"`x` has shape {x.shape}; expected one grey picture of shape (height, width), or "
                "a stack of them of shape (n, height, width)."
            )
        return (x[None], True) if x.ndim == 2 else (x, False)

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
        x = jax.tree.map(lambda leaf: numeric("x", leaf, keep_integers=True), x)
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
    x = numeric("x", x, missing=missing)
    return jax.numpy.where(jax.numpy.isfinite(x), x, jax.numpy.nan) if missing else x


def _square(edges: Array) -> Array:
    """A table of flat graphs as a stack of matrices; anything else as it is."""
    if edges.ndim != 2 or edges.shape[0] == edges.shape[1]:
        return edges
    nodes = math.isqrt(edges.shape[1])
    return edges.reshape(-1, nodes, nodes) if nodes**2 == edges.shape[1] else edges
