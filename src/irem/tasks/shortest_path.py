"""Find the distance between every pair of nodes."""

import dataclasses
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from irem.problem import Graph
from irem.tasks.graphs import AbstractGraphTask, diagonal, transpose


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShortestPath(AbstractGraphTask):
    """A complete graph with symmetric weights and a zero diagonal; `y` holds all distances.

    The released program adds a uniform matrix to its transpose, so weights lie in (0, 2); the
    text draws them uniform in (0, 1).
    """

    name: ClassVar[str] = "shortest-path"
    summary: ClassVar[str] = "find the distance between every pair of nodes"
    power: ClassVar[int | None] = 1
    trivial_mse: ClassVar = {"same": 0.0499, "harder": 0.0361}
    oracle_mse: ClassVar = {"same": 0.0, "harder": 0.0}

    def edges(self, key: PRNGKeyArray, nodes: int) -> Float[Array, "nodes nodes"]:
        """Draw symmetric weights."""
        uniform = jax.random.uniform(key, (nodes, nodes))
        if self.variant == "released":
            weights = uniform + uniform.T
        else:
            weights = jnp.triu(uniform) + jnp.triu(uniform).T
        return jnp.where(jnp.eye(nodes, dtype=bool), 0.0, weights)

    def trivial(self, x: Graph | ArrayLike) -> Float[Array, "*batch nodes nodes"]:
        """The edge itself, or the mean distance at 10 nodes where that is less."""
        x = Graph.of(x)
        return jnp.minimum(x.edges, MEAN_DISTANCE[self.variant])

    def oracle(self, x: Graph | ArrayLike) -> Float[Array, "*batch nodes nodes"]:
        """All distances, by min-plus squaring: each round doubles the number of edges in a path.

        Every real pair is an edge, as in the complete graphs of this task.
        """
        x = Graph.of(x)
        nodes = x.edges.shape[-1]
        distance = jnp.where(x.pairs, x.edges, jnp.inf)
        distance = jnp.where(diagonal(x.nodes), 0.0, jnp.minimum(distance, transpose(distance)))
        for _ in range(math.ceil(math.log2(max(nodes - 1, 1)))):
            distance = jnp.min(distance[..., :, :, None] + distance[..., None, :, :], axis=-2)
        return jnp.where(x.pairs, distance, 0.0)


# Mean distance between two different nodes over 10^5 graphs of 10 nodes.
# tools/floors.py prints it again.
MEAN_DISTANCE = {"released": 0.857, "paper": 0.274}
