"""Copy the value of every edge."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from irem.formats import Graphs
from irem.problem import Graph
from irem.tasks.entries import entry_residuals, many_sizes
from irem.tasks.graphs import AbstractGraphTask

# Size of the largest numbers of the wide variant; the smallest have one over it.
_LARGEST = 1e3


@dataclasses.dataclass(frozen=True, kw_only=True)
class EdgeCopy(AbstractGraphTask):
    """Every ordered pair of nodes carries a number in (-1, 1); the answer is the same numbers.

    Those of the wide variant are of many sizes, side by side, and some are zero.
    """

    name: ClassVar[str] = "edge-copy"
    summary: ClassVar[str] = "copy the value of every edge of a graph"
    power: ClassVar[int | None] = 1
    variants: ClassVar[tuple[str, ...]] = ("released", "paper", "wide")
    trivial_mse: ClassVar = {"same": 0.3336, "harder": 0.3334}
    oracle_mse: ClassVar = {"same": 0.0, "harder": 0.0}

    @property
    def format(self) -> Graphs:
        """Graphs of any size, of which every pair has a value."""
        return Graphs()

    def edges(self, key: PRNGKeyArray, nodes: int) -> Float[Array, "nodes nodes"]:
        """Draw uniform values, or of many sizes if wide, self-pairs included."""
        if self.variant == "wide":
            return many_sizes(key, (nodes, nodes), _LARGEST)
        return jax.random.uniform(key, (nodes, nodes), minval=-1.0, maxval=1.0)

    def trivial(self, x: Graph | ArrayLike) -> Float[Array, "*batch nodes nodes"]:
        """Zero."""
        return jnp.zeros_like(Graph.of(x).edges)

    def oracle(self, x: Graph | ArrayLike) -> Float[Array, "*batch nodes nodes"]:
        """The values themselves."""
        return Graph.of(x).edges

    def residuals(self, x: Graph | ArrayLike, y: np.ndarray) -> np.ndarray:
        """Return the largest relative error of a value between real nodes."""
        graph = Graph.of(x)
        values = np.where(np.asarray(graph.pairs), np.asarray(graph.edges, np.float64), 0.0)
        y = np.where(np.asarray(graph.pairs), y, 0.0)
        return entry_residuals(y, values, np.abs(values))
