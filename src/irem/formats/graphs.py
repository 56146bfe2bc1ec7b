"""Graphs, and square tables of pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Array

from irem import doors
from irem.checks import numeric
from irem.errors import InputError
from irem.formats.base import AbstractFormat, Reading, by_rank
from irem.problem import Graph

# Graphs are filled up to these numbers of nodes, a few of them to the last: a step of it takes less
# than a hundredth of the time that it takes to compile a program. Larger ones stay as they are.
_SIZES = (4, 8, 12, 16, 24, 32, 48, 64)
_FEW = 4


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

        A networkx graph, a sparse matrix, or a frame whose rows have the names of its columns, is
        one matrix. Matrices of a list may be of different sizes.
        """
        if isinstance(x, Graph):
            return self._as_batch_of_graphs(x)
        if doors.is_list(x):
            return self._as_batch_of_graphs(self._padded(x))
        if doors.is_matrix(x):
            return self._as_batch_of_graphs(self._padded([x]))[0], True
        edges, alone = self.as_stack(numeric("x", doors.as_array(x), missing=self.missing))
        return Graph.of(self._without_nan(edges)), alone

    @property
    def expected(self) -> str:
        """A graph or a matrix, a stack, or flat rows."""
        return (
            "one graph or square matrix of shape (n, n), a stack of them of shape (count, n, n), "
            "or flat rows of n x n numbers"
        )

    def readings(self, shape: tuple[int, ...]) -> list[Reading]:
        """Return the ways to read an array: a table may be one matrix, or flat rows of several."""
        if 0 in shape or len(shape) not in (2, 3):
            return []
        if len(shape) == 3:
            return [Reading(shape, alone=False)] if shape[1] == shape[2] else []
        rows, columns = shape
        nodes = math.isqrt(columns)
        found = [Reading((1, *shape), alone=True)] if rows == columns else []
        # A table of one number is one graph in both readings.
        if nodes**2 == columns and (rows, columns) != (1, 1):
            found.append(Reading((rows, nodes, nodes), alone=False))
        return found

    def is_evident(self, x: np.ndarray | Array, readings: list[Reading]) -> bool:
        """Return whether a table has the structure of a matrix and its rows have not.

        A matrix is symmetric, or its diagonal is zero. A table of flat rows is so by chance alone.
        """
        if isinstance(x, Tracer):
            return False
        one, several = (np.asarray(x).reshape(reading.shape) for reading in readings)
        return _has_structure(one) and not _has_structure(several)

    def _padded(self, x: Sequence[Any]) -> Graph:
        """The matrices of a list as one batch, in which the smaller ones are padded."""
        matrices = [doors.as_matrix(one, missing=self.missing) for one in x]
        for i, matrix in enumerate(matrices):
            if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
                which = f"Problem {i} of the list" if len(matrices) > 1 else "`x`"
                raise InputError(f"{which} has shape {matrix.shape}; expected a square matrix.")
        checked = [np.asarray(numeric("x", one, missing=self.missing)) for one in matrices]
        largest = max(len(matrix) for matrix in checked)
        edges = np.zeros((len(checked), largest, largest), np.result_type(*checked))
        nodes = np.arange(largest) < np.array([[len(matrix)] for matrix in checked])
        for padded, matrix in zip(edges, checked, strict=True):
            padded[: len(matrix), : len(matrix)] = matrix
        return Graph(jax.numpy.asarray(edges), jax.numpy.asarray(nodes))

    def _as_batch_of_graphs(self, x: Graph) -> tuple[Graph, bool]:
        edges = numeric("x", x.edges, missing=self.missing)
        nodes = jax.numpy.asarray(x.nodes)
        if edges.ndim not in (2, 3) or edges.shape[-1] != edges.shape[-2] or edges.size == 0:
            raise InputError(f"`x` has shape {edges.shape}; expected {self.expected}.")
        if nodes.shape != edges.shape[:-1]:
            raise InputError(f"`x` has nodes of shape {nodes.shape} and edges of {edges.shape}.")
        graph = Graph(self._without_nan(edges), nodes)
        if edges.ndim == 3:
            return graph, False
        return jax.tree.map(lambda leaf: leaf[None], graph), True

    def _without_nan(self, edges: Array) -> Array:
        """Edges of which the missing ones are infinite."""
        if not self.missing:
            return edges
        return jax.numpy.where(jax.numpy.isnan(edges), jax.numpy.inf, edges)

    def padded(self, x: Graph) -> Graph:
        """Return the graphs with further nodes that are not real, up to the next of few sizes."""
        problems, nodes = x.nodes.shape
        sizes = _SIZES if problems > _FEW else _SIZES[-1:]
        more = next((size for size in sizes if size >= nodes), nodes) - nodes
        if not more or isinstance(x.edges, Tracer):
            return x
        # NumPy compiles nothing.
        edges = np.pad(np.asarray(x.edges), ((0, 0), (0, more), (0, more)))
        real = np.pad(np.asarray(x.nodes), ((0, 0), (0, more)))
        return Graph(jax.numpy.asarray(edges), jax.numpy.asarray(real))

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
        return self.as_stack(numeric("x", doors.as_array(x)))

    @property
    def expected(self) -> str:
        """A square table with channels, or a stack."""
        channels = self.channels
        return (
            f"one problem of shape (n, n, {channels}), or a stack of them of shape "
            f"(count, n, n, {channels})"
        )

    def readings(self, shape: tuple[int, ...]) -> list[Reading]:
        """Return the one way to read an array."""
        square = len(shape) in (3, 4) and shape[-3] == shape[-2] and shape[-1] == self.channels
        return by_rank(shape, 3) if square else []

    def answer_shape(self, x: Array) -> tuple[int, ...]:
        """Return one number for every pair."""
        return x.shape[:2]


def _has_structure(matrices: np.ndarray) -> bool:
    """Whether all matrices of a stack are symmetric up to rounding, or have a diagonal of zeros."""
    transposed = np.swapaxes(matrices, -1, -2)
    symmetric = np.isclose(matrices, transposed, rtol=1e-5, atol=0, equal_nan=True).all()
    return bool(symmetric or not np.diagonal(matrices, axis1=-2, axis2=-1).any())
