"""Tell which nodes of a sparse graph are connected."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from irem.domain import Domain, Rule, as_arrays
from irem.problem import Graph
from irem.tasks.graphs import (
    WIDE,
    AbstractGraphTask,
    diagonal,
    first_pair,
    num_doublings,
    random_structure,
    real_answers,
    transpose,
)

_SHARE = 0.05
# How far an entry of an answer may be from 0 or 1.
_UNDECIDED = 0.25
# Eigenvalues of a Laplacian below this share of the largest possible one are zero: those of a
# connected graph of n nodes are at least 4 / n^2.
_ZERO = 1e-9


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConnectedComponents(AbstractGraphTask):
    """Five percent of the ordered pairs are edges; `y` is 1 where a path joins two nodes.

    Edges are drawn as directed entries (self-pairs included) and read as undirected ones.

    The wide variant has graphs of many structures, of which a share of the edges is left out. Edges
    that are infinite or NaN are missing, as those that are zero.
    """

    name: ClassVar[str] = "connected-components"
    summary: ClassVar[str] = "tell which pairs of nodes of a sparse graph are connected"
    binary: ClassVar[bool] = True
    trivial_mse: ClassVar = {"same": 0.1063, "harder": 0.2611}
    oracle_mse: ClassVar = {"same": 0.0, "harder": 0.0}
    variants: ClassVar[tuple[str, ...]] = ("released", "paper", WIDE)

    @property
    def domain(self) -> Domain:
        """Edges that are 0 or 1."""
        return _DOMAIN

    def edges(self, key: PRNGKeyArray, nodes: int) -> Float[Array, "nodes nodes"]:
        """Draw 1 with probability 0.05, else 0; in the wide variant, edges of some structure."""
        if self.variant == WIDE:
            return _wide_edges(key, nodes)
        return jax.random.bernoulli(key, _SHARE, (nodes, nodes)).astype(float)

    def trivial(self, x: Graph | ArrayLike) -> Float[Array, "*batch nodes nodes"]:
        """The edges and the diagonal: paths of length one and zero."""
        x = Graph.of(x)
        edges = (x.edges != 0) & jnp.isfinite(x.edges)
        return (edges | transpose(edges) | diagonal(x.nodes)).astype(x.edges.dtype)

    def oracle(self, x: Graph | ArrayLike) -> Float[Array, "*batch nodes nodes"]:
        """The transitive closure, by squaring: each round doubles the length of the paths."""
        reach = self.trivial(x)
        for _ in range(num_doublings(reach.shape[-1])):
            reach = (jnp.matmul(reach, reach) > 0).astype(reach.dtype)
        return reach

    def residuals(self, x: Graph | ArrayLike, y: np.ndarray) -> np.ndarray:
        """Return the share of entries of every answer that cannot be right; 1 if their sum is."""
        x = Graph.of(x)
        answers = zip(as_arrays(x), real_answers(x, y), strict=True)
        return np.array([_residual(edges, one) for edges, one in answers])


def _wide_edges(key: PRNGKeyArray, nodes: int) -> Float[Array, "nodes nodes"]:
    """Draw a graph of some structure, and leave a share of its edges out."""
    key_pairs, key_share, key_kept, key_directed = jax.random.split(key, 4)
    share = jax.random.uniform(key_share, minval=0.2)
    kept = jnp.triu(jax.random.uniform(key_kept, (nodes, nodes)), 1) < share
    kept = random_structure(key_pairs, nodes) & jnp.triu(kept, 1)
    # An edge may be written in one direction alone.
    both = jax.random.bernoulli(key_directed)
    return (kept | (kept.T & both)).astype(float)


def _residual(edges: np.ndarray, y: np.ndarray) -> float:
    """Return the share of the entries of one answer that break a rule, or 1.

    Classes of nodes that contain all edges are unions of components, and they are the components
    themselves if there are as many of them.
    """
    if not np.isfinite(y).all():
        return np.inf
    joined = y >= 0.5
    adjacent = (edges != 0) & np.isfinite(edges)
    adjacent |= adjacent.T
    through = joined.astype(np.float64) @ joined.astype(np.float64) > 0
    wrong = (np.abs(y - joined) > _UNDECIDED) | (joined != joined.T) | (joined != through)
    wrong |= (adjacent | np.eye(len(y), dtype=bool)) & ~joined
    if wrong.any():
        return max(float(wrong.mean()), 2 * ConnectedComponents.tolerance)
    classes = round(float((1 / joined.sum(axis=1)).sum()))
    return 0.0 if classes == _num_components(adjacent) else 1.0


def _num_components(adjacent: np.ndarray) -> int:
    """Return how many eigenvalues of the Laplacian are zero."""
    edges = np.where(np.eye(len(adjacent), dtype=bool), False, adjacent).astype(np.float64)
    values = np.linalg.eigvalsh(np.diag(edges.sum(axis=1)) - edges)
    return int((values < _ZERO * len(adjacent)).sum())


def _zero_or_one(x: np.ndarray) -> str | None:
    pair = first_pair(np.isfinite(x) & (x != 0) & (x != 1))
    if pair is None:
        return None
    return (
        f"Entry {pair} is {x[pair]:g}; edges are 1, and pairs without an edge 0. Give "
        "`(x != 0).astype(float)` if every entry that is not zero is an edge."
    )


_DOMAIN = Domain(Rule("edges are 1, and pairs without an edge 0", _zero_or_one))
