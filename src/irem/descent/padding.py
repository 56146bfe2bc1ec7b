"""Problems of many sizes at a few sizes, so that few programs serve them."""

from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from irem.formats import AbstractFormat, Cells, Graphs
from irem.mazes import OUTSIDE
from irem.problem import Graph

_SMALLEST = 5


def padded_size(size: int) -> int:
    """Return the next of the sizes 5, 7, 9, 13, 17, 25, 33, 49, ... that is not smaller.

    They are one more than powers of two and what lies halfway between those: so a graph that is
    padded is as many doublings of a path across as before.

    Examples:
        >>> [padded_size(n) for n in (1, 9, 10, 30)]
        [5, 9, 13, 33]
    """
    power = _SMALLEST - 1
    while True:
        for candidate in (power + 1, power + power // 2 + 1):
            if size <= candidate:
                return candidate
        power *= 2


def padded(
    format_: AbstractFormat, x: PyTree, point: np.ndarray
) -> tuple[PyTree[np.ndarray], np.ndarray]:
    """Return one problem, and a point of its landscape, at the next larger of a few sizes.

    Graphs get nodes that are not real, lines and grids cells that are outside. Problems of other
    formats, and points that have other axes than their problems, stay as they are.

    Arguments:
        format_: What problems look like.
        x: The problem.
        point: The point.
    """
    if isinstance(format_, Graphs) and isinstance(x, Graph):
        return _padded_graph(x, point)
    if isinstance(format_, Cells):
        return _padded_cells(np.asarray(x), point)
    return jax.tree.map(np.asarray, x), point


def _padded_graph(x: Graph, point: np.ndarray) -> tuple[Any, np.ndarray]:
    edges, nodes = np.asarray(x.edges), np.asarray(x.nodes)
    size = len(nodes)
    if point.shape[-2:] != (size, size):
        return jax.tree.map(np.asarray, x), point
    more = (0, padded_size(size) - size)
    point = np.pad(point, [(0, 0)] * (point.ndim - 2) + [more, more])
    grown = np.pad(edges, [more, more]), np.pad(nodes, [more])
    return jax.tree.unflatten(jax.tree.structure(x), grown), point


def _padded_cells(x: np.ndarray, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if point.shape[: x.ndim] != x.shape:
        return x, point
    more = [(0, padded_size(size) - size) for size in x.shape]
    filled = np.pad(x, more, constant_values=OUTSIDE)
    return filled, np.pad(point, more + [(0, 0)] * (point.ndim - x.ndim))
