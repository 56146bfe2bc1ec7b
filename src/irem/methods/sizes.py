"""How much memory arrays need, told from their shapes."""

import math
from typing import Any

import jax
from jaxtyping import PyTree

from irem.memory import available

# Of an array, beside its numbers; measured.
_ARRAY_BYTES = 2_400


def num_bytes(shapes: PyTree) -> int:
    """Return how many bytes the arrays of a tree need, of which there may be mere shapes.

    Examples:
        >>> num_bytes({"w": jax.ShapeDtypeStruct((10**9, 10**9), "float32"), "name": "dense"})
        4000000000000000000
    """
    return sum(_bytes(leaf) for leaf in jax.tree.leaves(shapes) if hasattr(leaf, "dtype"))


def model_bytes(model: PyTree) -> int:
    """Return how many bytes a model needs as a thing of its own, told from its shapes."""
    return num_bytes(model) + _ARRAY_BYTES * len(jax.tree.leaves(model))


def device_memory() -> int:
    """Return how many bytes are free where arrays live: on the accelerator, or in the machine."""
    found: dict[str, int] = jax.local_devices()[0].memory_stats() or {}
    if "bytes_limit" in found:
        return found["bytes_limit"] - found.get("bytes_in_use", 0)
    return available()


def _bytes(leaf: Any) -> int:
    return math.prod(leaf.shape) * leaf.dtype.itemsize
