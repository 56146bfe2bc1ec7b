"""What the graph tasks share: sizes, padding, masks, and the graphs of wide mixtures."""

import abc
import dataclasses
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from irem.checks import count
from irem.formats import Graphs
from irem.problem import Graph, Problem
from irem.tasks.base import AbstractTask, Difficulty

# The paper trains on 2 to 10 nodes and evaluates on 10 ("same") and 15 ("larger").
_SMALLEST, _LARGEST = 2, 10
_NODES = {"train": _LARGEST, "same": _LARGEST, "harder": 15}

WIDE = "wide"
"""The variant of graphs of many structures, of which edges may be missing."""


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
        """Graphs of any size; in the wide variant edges may be missing."""
        return Graphs(missing=self.variant == WIDE)

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
        """Draw one problem; `mask` tells real pairs from padded ones in training.

        Answers that are infinite are masked too, and zero in training.
        """
        self.check_difficulty(difficulty)
        size = _NODES[difficulty] if isinstance(difficulty, str) else difficulty
        key_edges, key_size = jax.random.split(key)
        edges = self.edges(key_edges, size)
        if difficulty != "train":
            x = Graph.of(edges)
            y = self.oracle(x)
            return Problem(x, y, jnp.isfinite(y) if self.variant == WIDE else None)
        real = jax.random.randint(key_size, (), _SMALLEST, _LARGEST + 1)
        nodes = jnp.arange(size) < real
        x = Graph(edges, nodes)
        x = Graph(jnp.where(x.pairs, edges, 0.0), nodes)
        y, mask = self.oracle(x), x.pairs
        if self.variant == WIDE:
            mask = mask & jnp.isfinite(y)
            y = jnp.where(mask, y, 0.0)
        return Problem(x, y, mask)

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


def num_doublings(nodes: int) -> int:
    """Return after how many doublings paths have `nodes - 1` edges."""
    return math.ceil(math.log2(max(nodes - 1, 1)))


def real_answers(x: Graph, y: np.ndarray) -> list[np.ndarray]:
    """Return the answers of a batch of graphs, each for the pairs of its real nodes."""
    return [one[np.ix_(real, real)] for one, real in zip(y, np.asarray(x.nodes), strict=True)]


def first_pair(wrong: Bool[np.ndarray, "n n"]) -> tuple[int, int] | None:
    """Return the first pair that is wrong, or `None`."""
    if not wrong.any():
        return None
    row, column = np.argwhere(wrong)[0]
    return int(row), int(column)


def different(nodes: int) -> Bool[np.ndarray, "n n"]:
    """True at pairs of different nodes."""
    return ~np.eye(nodes, dtype=bool)


def random_structure(key: PRNGKeyArray, nodes: int) -> Bool[Array, "nodes nodes"]:
    """Draw which pairs of nodes are joined, of a structure that is drawn too.

    The structures are paths, rings with shortcuts, trees, grids, geometric graphs, random graphs of
    any density, and complete graphs. The first nodes of such a graph are of the same structure, so
    that it can be cut to any size.
    """
    key_kind, key_tree, key_points, key_radius, key_pairs, key_density = jax.random.split(key, 6)
    i, j = jnp.arange(nodes)[:, None], jnp.arange(nodes)
    near = jnp.abs(i - j) == 1
    parent = jnp.floor(jax.random.uniform(key_tree, (nodes,)) * jnp.arange(nodes)).astype(int)
    side = max(1, math.isqrt(nodes))
    same_row = (i // side) == (j // side)
    points = jax.random.uniform(key_points, (nodes, 2))
    apart = jnp.sqrt(jnp.sum(jnp.square(points[:, None] - points), axis=-1))
    uniform = jnp.triu(jax.random.uniform(key_pairs, (nodes, nodes)), 1)
    uniform = uniform + uniform.T
    density = jax.random.uniform(key_density) ** 2
    structures = jnp.stack(
        [
            near,
            near | (jnp.abs(i - j) == nodes - 1) | (uniform < 1 / nodes),
            (parent[None] == i) & (i < j),
            (near & same_row) | (jnp.abs(i - j) == side),
            apart < jax.random.uniform(key_radius, minval=0.2, maxval=0.7),
            uniform < density,
            jnp.ones((nodes, nodes), bool),
        ]
    )
    drawn = structures[jax.random.randint(key_kind, (), 0, len(structures))]
    return (drawn | drawn.T) & (i != j)
