"""Problems one by one and together: what takes a while for each is done once for those alike."""

from __future__ import annotations

import collections
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree


def shapes(tree: PyTree) -> tuple[Any, ...]:
    """Return the shapes and the types of all arrays of a tree: those of the same can be stacked."""
    return tuple((leaf.shape, str(leaf.dtype)) for leaf in map(np.asarray, jax.tree.leaves(tree)))


def alike(kinds: Sequence[Hashable]) -> Iterator[list[int]]:
    """Yield the places of values that are equal."""
    places: dict[Hashable, list[int]] = collections.defaultdict(list)
    for place, kind in enumerate(kinds):
        places[kind].append(place)
    yield from places.values()


def stacked(batches: Sequence[PyTree]) -> PyTree:
    """Return several batches of problems of one shape as one."""
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *batches)


def filled_up(count: int) -> np.ndarray:
    """Return the places of so many problems, and some of them again: a power of two in all.

    Whatever compiles does so for each number of problems, so there should be few of them.

    Examples:
        >>> filled_up(3).tolist()
        [0, 1, 2, 0]
    """
    return np.resize(np.arange(count), 1 << (count - 1).bit_length())


def rows(batch: PyTree) -> list[PyTree]:
    """Return the problems of a batch, each a batch of one."""
    leaves, structure = jax.tree.flatten(batch)
    leaves = [np.asarray(leaf) for leaf in leaves]
    return [
        structure.unflatten([leaf[i : i + 1] for leaf in leaves]) for i in range(len(leaves[0]))
    ]
