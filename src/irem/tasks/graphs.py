"""What the graph tasks share: sizes, padding and masks."""

import abc
import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from irem.checks import count
from irem.formats import Graphs
from irem.problem import Graph, Problem
from irem.tasks.base import AbstractTask, Difficulty

# The paper trains on 2 to 10 nodes and evaluates on 10 ("same") and 15 ("larger").
_SMALLEST, _LARGEST = 2, 10
_NODES = {"train": _LARGEST, "same": _LARGEST, "harder": 15}


@dataclasses.dataclass(frozen=True, kw_only=True)
class AbstractGraphTask(AbstractTask):
    """A task on graphs: `x` is a `Graph`, `y` a number for every pair of nodes.

    Difficulty is a number of nodes, or `same` (10 nodes), `harder` (15 nodes) or `train` (2 to 10
    nodes, drawn for each graph, padded to 10).
    """

    difficulties: ClassVar[tuple[str, ...]] = ("same", "harder", "train")
    training: ClassVar[str] = "train"

    @property
    def format(self) -> Graphs:
        """Graphs of any size."""
        return Graphs()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of nodes from half those of training to three times as many."""
        return (5, 10, 15, 20, 25, 30)

    @property
    def calibration_difficulties(self) -> tuple[Difficulty, ...]:
        """The two difficulties, and smaller and larger graphs."""
        return ("same", "harder", 5, 20)

    @abc.abstractmethod
    def edges(self, key: PRNGKeyArray, nodes: int) -> Float[Array, "nodes nodes"]:
        """Draw the pair features of a graph of `nodes` nodes."""

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one problem; `mask` tells real pairs from padded ones in training."""
        self.check_difficulty(difficulty)
        size = _NODES[difficulty] if isinstance(difficulty, str) else difficulty
        key_edges, key_size = jax.random.split(key)
        edges = self.edges(key_edges, size)
        if difficulty != "train":
            x = Graph.of(edges)
            return Problem(x, self.oracle(x))
        real = jax.random.randint(key_size, (), _SMALLEST, _LARGEST + 1)
        nodes = jnp.arange(size) < real
        x = Graph(edges, nodes)
        x = Graph(jnp.where(x.pairs, edges, 0.0), nodes)
        return Problem(x, self.oracle(x), x.pairs)

    def check_difficulty(self, difficulty: Difficulty) -> None:
        """Refuse a difficulty that is neither a name nor a number of nodes."""
        if isinstance(difficulty, str):
            super().check_difficulty(difficulty)
        else:
            count("number of nodes", difficulty)


def diagonal(nodes: Bool[Array, "*batch n"]) -> Bool[Array, "*batch n n"]:
    """True at the self-pairs of real nodes."""
    return nodes[..., None] & jnp.eye(nodes.shape[-1], dtype=bool)


def transpose(pairs: Array) -> Array:
    """Exchange the two nodes of every pair."""
    return jnp.swapaxes(pairs, -1, -2)
