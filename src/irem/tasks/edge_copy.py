"""Copy the value of every edge."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from irem.problem import Graph
from irem.tasks.graphs import AbstractGraphTask


@dataclasses.dataclass(frozen=True, kw_only=True)
class EdgeCopy(AbstractGraphTask):
    """Every ordered pair of nodes carries a number in (-1, 1); the answer is the same numbers."""

    name: ClassVar[str] = "edge-copy"
    summary: ClassVar[str] = "copy the value of every edge of a graph"
    power: ClassVar[int | None] = 1
    trivial_mse: ClassVar = {"same": 0.3336, "harder": 0.3334}
    oracle_mse: ClassVar = {"same": 0.0, "harder": 0.0}

    def edges(self, key: PRNGKeyArray, nodes: int) -> Float[Array, "nodes nodes"]:
        """Draw uniform values, self-pairs included."""
        return jax.random.uniform(key, (nodes, nodes), minval=-1.0, maxval=1.0)

    def trivial(self, x: Graph | ArrayLike) -> Float[Array, "*batch nodes nodes"]:
        """Zero."""
        return jnp.zeros_like(Graph.of(x).edges)

    def oracle(self, x: Graph | ArrayLike) -> Float[Array, "*batch nodes nodes"]:
        """The values themselves."""
        return Graph.of(x).edges
