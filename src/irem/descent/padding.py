"""Problems of many sizes at a few sizes, so that few programs serve them."""

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


def padded(format_: AbstractFormat, x: PyTree) -> PyTree[np.ndarray]:
    """Return a batch of problems of one size at the next larger of a few sizes.

    Graphs get nodes that are not real, lines and grids cells that are outside. Problems of other
    formats stay as they are.

    Arguments:
        format_: What problems look like.
        x: The problems.
    """
    x = jax.tree.map(np.asarray, x)
    if isinstance(format_, Graphs) and isinstance(x, Graph):
        return jax.tree.map(_grown, x)
    return _grown(x, OUTSIDE) if isinstance(format_, Cells) else x


def _grown(x: np.ndarray, value: int = 0) -> np.ndarray:
    """Return a batch of arrays of which every axis but the first is longer."""
    more = [(0, padded_size(size) - size) for size in x.shape[1:]]
    return np.pad(x, [(0, 0), *more], constant_values=value)
