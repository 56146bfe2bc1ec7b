"""The two types that every room knows: a problem, and a graph as its `x`."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, PRNGKeyArray, PyTree


class Graph(eqx.Module):
    """A graph as a dense matrix of pair features, with a mask that says which nodes are real.

    `edges[i, j]` belongs to the pair from `i` to `j`, self-pairs included. Graphs of different
    sizes share one shape by padding: padded nodes have `nodes == False` and zero edges.
    """

    edges: Float[Array, "*batch nodes nodes"]
    nodes: Bool[Array, "*batch nodes"]

    @staticmethod
    def of(x: Graph | ArrayLike) -> Graph:
        """Return `x` itself if it is a graph, else the graph whose every node is real."""
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
    """Return a guess, uniform in (-1, 1) as in both algorithms."""
    return jax.random.uniform(key, shape, minval=-1.0, maxval=1.0)
