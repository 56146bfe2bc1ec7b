"""The two types that walk through every room: a problem, and a graph as its `x`."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, PRNGKeyArray, PyTree, Shaped


class Graph(eqx.Module):
    """A graph as a dense matrix of pair features, with a mask that says which nodes are real.

    `edges[i, j]` belongs to the pair from `i` to `j`, self-pairs included. Graphs of different
    sizes share one shape by padding: padded nodes have `nodes == False` and zero edges.
    """

    edges: Float[Array, "*batch nodes nodes"]
    nodes: Bool[Array, "*batch nodes"]

    @staticmethod
    def of(x: Graph | ArrayLike) -> Graph:
        """`x` itself if it is a graph, else the graph whose every node is real."""
        if isinstance(x, Graph):
            return x
        edges = jnp.asarray(x)
        return Graph(edges, jnp.ones(edges.shape[:-1], bool))

    @property
    def pairs(self) -> Bool[Array, "*batch nodes nodes"]:
        """True where both nodes of a pair are real."""
        return self.nodes[..., :, None] & self.nodes[..., None, :]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The edges, so that NumPy, SciPy and networkx take a graph as the matrix it is."""
        return np.array(self.edges, dtype=dtype, copy=copy)


class Problem(eqx.Module):
    """What is asked (`x`), its answer (`y`), and which entries of the answer are real.

    `mask` is `None` where all entries are, as in every task of a fixed size.
    """

    x: PyTree[Array]
    y: Float[Array, "*batch_and_answer"]
    mask: Bool[Array, "*batch_and_answer"] | None = None


def first_guess(key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """A guess, uniform in (-1, 1) as in both algorithms."""
    return jax.random.uniform(key, shape, minval=-1.0, maxval=1.0)


def rounded(y: ArrayLike) -> Float[Array, "..."]:
    """1 where an answer is at least one half, else 0: the answer of a task that asks for bits."""
    y = jnp.asarray(y)
    return (y >= 0.5).astype(y.dtype)


def square_error(
    y: Shaped[Array, "*batch"],
    target: Shaped[Array, "*batch"],
    mask: Bool[Array, "*batch"] | None = None,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Sum of squared differences over the real entries, and how many there are."""
    square = jnp.square(y - target)
    if mask is None:
        return square.sum(), jnp.asarray(square.size, square.dtype)
    return jnp.where(mask, square, 0).sum(), mask.sum().astype(square.dtype)


def mse(y: ArrayLike, target: ArrayLike, mask: ArrayLike | None = None) -> float:
    """Elementwise mean squared error, the metric of every table of the paper.

    Examples:
        >>> mse(jnp.array([1.0, 2.0]), jnp.array([1.0, 4.0]))
        2.0
    """
    y, target = jnp.asarray(y), jnp.asarray(target)
    if y.shape != target.shape:
        raise ValueError(f"`mse` compares arrays of one shape, got {y.shape} and {target.shape}.")
    if mask is not None:
        mask = jnp.broadcast_to(jnp.asarray(mask), y.shape)
    total, count = square_error(y, target, mask)
    return float(total / count)
