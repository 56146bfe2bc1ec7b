"""PyTrees that hold more than arrays."""

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import jax
from jaxtyping import Array

Tree = TypeVar("Tree")


def map_arrays(function: Callable[[Array], Array], tree: Tree) -> Tree:
    """Apply `function` to every array of `tree` and leave the rest as it is."""
    return jax.tree.map(lambda leaf: function(leaf) if eqx.is_array(leaf) else leaf, tree)


def choose(which: Array, yes: Tree, no: Tree) -> Tree:
    """One of two trees of the same form."""
    return jax.tree.map(lambda a, b: jax.numpy.where(which, a, b), yes, no)


def is_key(leaf: Any) -> bool:
    """Whether an array holds random keys."""
    return jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
