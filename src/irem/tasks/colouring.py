"""Colourings: give every node of a graph a colour so that no edge joins two of the same."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from irem.formats import Puzzles
from irem.problem import Problem
from irem.puzzles import Family, Puzzle, Quota
from irem.tasks.base import Difficulty
from irem.tasks.puzzle import AbstractPuzzleTask, with_known

COLOURS = 3
"""How many colours there are."""

_NODES = {"same": (20, 40), "harder": (80, 100)}
# Random graphs of more than 4.69 edges at a node mostly have no colouring with three colours.
_FEWEST_AT_NODE, _MOST_AT_NODE = 4.0, 4.6
# Fixed shapes need a bound; a few nodes in a million have more.
_LARGEST_DEGREE = 16


@dataclasses.dataclass(frozen=True, kw_only=True)
class Colouring(AbstractPuzzleTask):
    """`x` is a graph, `y` says of every node and colour whether the node has it.

    There are three colours. A node has 4.0 to 4.6 edges on average, just below where colourings
    cease to exist (4.69). Edges are drawn between nodes that have different colours in `y`, so that
    there always is a colouring. `same` has 20 to 40 nodes, `harder` 80 to 100; a number is that of
    the nodes. Smaller graphs are filled up with nodes that have no edges and a known colour.
    """

    name: ClassVar[str] = "colouring"
    summary: ClassVar[str] = "colour a graph with three colours"
    # Another solution than `y` is as right, so there is no least error.
    trivial_mse: ClassVar = {"same": 0.1667, "harder": 0.2000}
    smallest: ClassVar[int] = 6
    largest: ClassVar[int] = 400
    size_noun: ClassVar[str] = "nodes"

    @property
    def format(self) -> Puzzles:
        """Graphs of any size, as puzzles."""
        return Puzzles(2)

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one graph with a colouring."""
        self.check_difficulty(difficulty)
        fewest, most = _NODES[difficulty] if isinstance(difficulty, str) else (difficulty,) * 2
        key_nodes, key_colours, key_degree, key_edges = jax.random.split(key, 4)
        nodes = jax.random.randint(key_nodes, (), fewest, most + 1)
        # Every colour has as many nodes as any other, or one more.
        places = jnp.argsort(
            jnp.where(jnp.arange(most) < nodes, jax.random.uniform(key_colours, (most,)), 2.0)
        )
        real = jnp.arange(most) < nodes
        colours = jnp.where(real, jnp.argsort(places) % COLOURS, 0)
        degree = jax.random.uniform(key_degree, minval=_FEWEST_AT_NODE, maxval=_MOST_AT_NODE)
        allowed = (colours[:, None] != colours) & real[:, None] & real
        edges = jnp.round(degree * nodes / 2).astype(jnp.int32)
        linked = _some_pairs(key_edges, allowed, edges)
        y = colours[:, None] == jnp.arange(COLOURS)
        known = jnp.where(real[:, None], 0, jnp.where(y, 1, -1)).astype(jnp.int8)
        most_edges = round(_MOST_AT_NODE * most / 2)
        x = Puzzle(known.ravel(), graph_families(linked, most_edges, _LARGEST_DEGREE))
        return Problem(x, y.astype(jnp.float32).ravel())

    def trivial(self, x: Puzzle) -> Float[Array, "*batch variables"]:
        """Every colour as likely as any other."""
        return with_known(x, 1 / COLOURS)


def graph_families(
    linked: Bool[Array, "nodes nodes"], most_edges: int, largest_degree: int
) -> tuple[Family, Family]:
    """Return the rules of a colouring of one graph, as arrays whose shapes do not depend on it.

    Those of `irem.puzzles.colouring_families`, filled up to `most_edges` edges.

    Arguments:
        linked: Which nodes have an edge between them; symmetric.
        most_edges: How many edges there are room for.
        largest_degree: How many edges of a node there is room for.
    """
    nodes = linked.shape[0]
    variables, groups = nodes * COLOURS, most_edges * COLOURS
    ends = jnp.stack(jnp.nonzero(jnp.triu(linked), size=most_edges, fill_value=nodes), axis=-1)
    number = jnp.full((nodes, nodes + 1), most_edges)
    for a, b in ((0, 1), (1, 0)):
        number = number.at[ends[:, a], ends[:, b]].set(jnp.arange(most_edges), mode="drop")
    others = jax.vmap(lambda row: jnp.nonzero(row, size=largest_degree, fill_value=nodes)[0])(
        linked
    )
    of_node = jnp.take_along_axis(number, others, axis=1)
    table = jnp.arange(variables, dtype=jnp.int32)
    return (
        Family(table.reshape(nodes, COLOURS), table[:, None] // COLOURS, Quota.EXACTLY_ONE),
        Family(_in_colours(ends, variables), _in_colours(of_node, groups), Quota.AT_MOST_ONE),
    )


def _in_colours(numbers: Int[Array, "rows n"], most: int) -> Int[Array, "rows_times_colours n"]:
    """Return a row for each of the colours: the numbers of nodes or edges in that colour."""
    coloured = numbers[:, None] * COLOURS + jnp.arange(COLOURS)[:, None]
    return jnp.minimum(coloured, most).reshape(-1, numbers.shape[1]).astype(jnp.int32)


def _some_pairs(
    key: PRNGKeyArray, allowed: Bool[Array, "nodes nodes"], count: Int[Array, ""]
) -> Bool[Array, "nodes nodes"]:
    """Return so many of the allowed pairs, less those of a node that has too many."""
    upper = jnp.triu(allowed, 1)
    drawn = jnp.where(upper, jax.random.uniform(key, upper.shape), 2.0)
    last = jnp.sort(drawn.ravel())[count - 1]
    linked = upper & (drawn <= last)
    linked = linked | linked.T
    few = jnp.cumsum(linked, axis=1) <= _LARGEST_DEGREE
    return linked & few & few.T
