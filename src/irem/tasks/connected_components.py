"""Tell which nodes of a sparse graph are connected."""

import dataclasses
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from irem.problem import Graph
from irem.tasks.graphs import AbstractGraphTask, diagonal, transpose

_SHARE = 0.05


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConnectedComponents(AbstractGraphTask):
    """Five percent of the ordered pairs are edges; `y` is 1 where a path joins two nodes.

    Edges are drawn as directed entries (self-pairs included) and read as undirected ones.
    """

    name: ClassVar[str] = "connected-components"
    summary: ClassVar[str] = "tell which pairs of nodes of a sparse graph are connected"
    binary: ClassVar[bool] = True
    trivial_mse: ClassVar = {"same": 0.1063, "harder": 0.2611}
    oracle_mse: ClassVar = {"same": 0.0, "harder": 0.0}

    def edges(self, key: PRNGKeyArray, nodes: int) -> Float[Array, "nodes nodes"]:
        """Draw 1 with probability 0.05, else 0."""
        return jax.random.bernoulli(key, _SHARE, (nodes, nodes)).astype(float)

    def trivial(self, x: Graph | ArrayLike) -> Float[Array, "*batch nodes nodes"]:
        """The edges and the diagonal: paths of length one and zero."""
        x = Graph.of(x)
        edges = x.edges != 0
        return (edges | transpose(edges) | diagonal(x.nodes)).astype(x.edges.dtype)

    def oracle(self, x: Graph | ArrayLike) -> Float[Array, "*batch nodes nodes"]:
        """The transitive closure, by squaring: each round doubles the length of the paths."""
        reach = self.trivial(x)
        for _ in range(_doublings(reach.shape[-1])):
            reach = (jnp.matmul(reach, reach) > 0).astype(reach.dtype)
        return reach


def _doublings(nodes: int) -> int:
    """Squarings after which paths of `nodes - 1` edges are covered."""
    return math.ceil(math.log2(max(nodes - 1, 1)))
