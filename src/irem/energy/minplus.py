"""An energy on the distances by longer and longer paths, made of sums and minima."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from irem.checks import known, positive
from irem.energy.base import AbstractEnergy, require
from irem.errors import InputError
from irem.formats import Graphs
from irem.problem import Graph
from irem.settings import HasFormat, setting, weights

ANSWERS = ("distance", "reached")
"""What `MinPlus` answers for a pair: how long the way is, or whether there is one."""

# Pairs further apart than this share of the length of a missing edge are not connected: distances
# are at most a half of it, and other pairs are at all of it.
_UNREACHED = 0.75


class MinPlus(AbstractEnergy):
    r"""An energy of the lengths of paths in a directed graph, for any lengths of its edges.

    A point of the landscape holds a table of distances for each of $R = \lceil\log_2(n - 1)\rceil$
    rounds, and the last of them is the answer. A learned layer proposes every table from the one
    before it, the first from the edges, by sums and minima over an intermediate node alone:

    $$F(z)_{ij} = a\, z_{ij} + b \min_k (z_{ik} + z_{kj})$$

    It has two weights, because distances turn around with the edges of a graph and scale with them.

    $$E(x, z) = \tfrac12 \sum_{r = 1}^R w_r \sum_{ij}
    \big(\log(1 + z^r_{ij}) - \log(1 + F(z^{r-1})_{ij})\big)^2$$

    All rounds have the same layer, so that what is learned on small graphs holds for larger ones,
    which have more rounds; nodes that are not real, with which a graph is filled up, add none. The
    lengths are divided by the shortest edge: the layer is the same for
    every scale, and logarithms make errors relative ones. A point at which all derivatives vanish
    has energy zero: no round depends on a later one, so the last one is where the layer puts it,
    then the one before it, down to the first.

    Edges that are infinite or zero are missing. They count as edges longer than any path, and pairs
    that are not connected are infinitely far apart. The distance of a node from itself is zero.

    Arguments:
        coupling: The weight of a round, as a share of that of the round before it. With a small
            one a round follows the round before it much more than it pulls at it, and descents take
            few steps; with one that is too small the last rounds drown in rounding.
        answer: `"distance"`; or `"reached"`, 1 for pairs that are connected by edges of any
            direction and 0 for others.
        key: Source of the initial weights.
    """

    default_step: ClassVar[str] = "lbfgs"
    default_max_steps: ClassVar[int] = 1000

    coupling: float = setting(0.1)
    answer: str = setting("distance")
    layer: _Layer = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the layer."""
        positive("coupling", self.coupling)
        known("answer", self.answer, ANSWERS)
        self.layer = _Layer(key=key)

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return what is asked about graphs of which edges may be missing."""
        if not require("MinPlus", task, Graphs).missing:
            raise InputError(
                "The MinPlus energy needs graphs of which edges may be missing, and those of "
                f"'{task.name}' have all edges; use {task.format.energies}, or `variant = 'wide'`."
            )
        return {"answer": "distance" if task.power == 1 else "reached"}

    @property
    def format(self) -> Graphs:
        """Graphs of any size; edges that are infinite are missing."""
        return Graphs(missing=True)

    def landscape(self, x: Graph | Array) -> Callable[[Array], Float[Array, ""]]:
        """Return the map from the distances of all rounds to their energy.

        A single table stands for the same distances in all rounds.
        """
        lengths = self._lengths(x)

        def energy(point: Array) -> Float[Array, ""]:
            point = point if point.ndim > 2 else self.begin(x, point, key=None)
            scales = self._scales(point.shape[0])
            logs = point / scales
            # The last round proposes nothing.
            before = jnp.concatenate([lengths.edges[None], lengths.at(logs[:-1])])
            proposed = jax.vmap(lambda table: self.layer(table, lengths.nodes))(before)
            misses = scales * (logs - jnp.log1p(jnp.maximum(proposed, 0.0)))
            counted = lengths.pairs & (jnp.arange(point.shape[0]) < lengths.rounds)[:, None, None]
            return 0.5 * jnp.sum(jnp.square(jnp.where(counted, misses, 0.0)))

        return energy

    def guess(self, x: Graph | Array, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """Return a guess from zero to twice the shortest edge."""
        return self._lengths(x).unit * (1.0 + super().guess(x, shape, key=key))

    def begin(self, x: Graph | Array, y0: Array, *, key: PRNGKeyArray | None) -> Array:
        """Return the point at which all rounds have the distances `y0`."""
        del key
        lengths = self._lengths(x)
        logs = jnp.log1p(jnp.clip(y0 / lengths.unit, 0.0, lengths.missing))
        return self._scales(num_rounds(y0.shape[-1])) * logs

    def read(self, x: Graph | Array, point: Array) -> Array:
        """Return the distances of the last round, or which pairs are connected."""
        lengths = self._lengths(x)
        last = lengths.rounds - 1
        distance = lengths.at(point[last] / self._scales(point.shape[0])[last])
        far = distance > _UNREACHED * lengths.missing
        if self.answer == "reached":
            return jnp.where(far, 0.0, 1.0) * lengths.real
        return jnp.where(far, jnp.inf, lengths.unit * distance)

    def _scales(self, rounds: int) -> Float[Array, "rounds 1 1"]:
        """The scales of the coordinates of a point: the roots of the weights of its rounds."""
        return (self.coupling ** (0.5 * jnp.arange(rounds)))[:, None, None]

    def _lengths(self, x: Graph | Array) -> _Lengths:
        return _Lengths.of(Graph.of(x), either_way=self.answer == "reached")


class _Lengths(eqx.Module):
    """The edges of a graph in units of the shortest one.

    Arguments:
        edges: Their lengths; `missing` where there is none, zero on the diagonal and at padding.
        nodes: Which nodes are real.
        unit: The shortest edge.
        missing: The length of a missing edge, at least twice that of any path.
    """

    edges: Float[Array, "n n"]
    nodes: Bool[Array, " n"]
    unit: Float[Array, ""]
    missing: Float[Array, ""]

    @staticmethod
    def of(x: Graph, *, either_way: bool) -> _Lengths:
        given = jnp.isfinite(x.edges) & (x.edges > 0) & x.pairs & ~_same(x.edges)
        edges = jnp.where(given, x.edges, jnp.inf)
        if either_way:
            edges = jnp.minimum(edges, edges.T)
            given = given | given.T
        unit = jnp.min(edges)
        unit = jnp.where(jnp.isfinite(unit), unit, 1.0)
        edges = jnp.where(given, edges, 0.0) / unit
        # No path leaves a node twice.
        missing = 2.0 * jnp.maximum(jnp.sum(edges.max(axis=1)), 1.0)
        edges = jnp.where(given, edges, missing)
        other = x.pairs & ~_same(edges)
        return _Lengths(jnp.where(other, edges, 0.0), x.nodes, unit, missing)

    @property
    def real(self) -> Bool[Array, "n n"]:
        """True where both nodes of a pair are real."""
        return self.nodes[:, None] & self.nodes

    @property
    def rounds(self) -> Int[Array, ""]:
        """After how many doublings paths have visited all real nodes, as `num_rounds` has it."""
        doublings = 2 ** jnp.arange(1, num_rounds(self.nodes.shape[0]) + 1)
        return 1 + jnp.sum(doublings < jnp.sum(self.nodes) - 1)

    @property
    def pairs(self) -> Bool[Array, "n n"]:
        """True at pairs of different real nodes."""
        return self.real & ~_same(self.edges)

    def at(self, logs: Float[Array, "*rounds n n"]) -> Float[Array, "*rounds n n"]:
        """Return distances, from zero to the length of a missing edge, given log(1 + distance)."""
        logs = jnp.clip(logs, 0.0, jnp.log1p(self.missing))
        return jnp.where(self.pairs, jnp.expm1(logs), 0.0)


class _Layer(eqx.Module):
    """What a round proposes: a learned sum of a table and of its min-plus square."""

    own: Float[Array, ""]
    smallest: Float[Array, ""]

    def __init__(self, *, key: PRNGKeyArray) -> None:
        # Distances that are too short are finite, and those that are too long are read as infinite:
        # the sum of the two is below one.
        self.own, self.smallest = jax.random.uniform(key, (2,), maxval=0.5)

    def __call__(self, table: Float[Array, "n n"], nodes: Bool[Array, " n"]) -> Float[Array, "n n"]:
        """Return the proposed distances; no path leads through a padded node."""
        to = jnp.where(nodes, table, jnp.inf)
        return self.own * table + self.smallest * _smallest_sums(to, table)


def num_rounds(nodes: int) -> int:
    """Return after how many doublings paths have `nodes - 1` edges; at least one."""
    return max(1, math.ceil(math.log2(max(nodes - 1, 1))))


def _same(edges: Float[Array, "n n"]) -> Bool[Array, "n n"]:
    return jnp.eye(edges.shape[0], dtype=bool)


def _smallest_sums(first: Float[Array, "n n"], second: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The smallest sum over an intermediate node; of n^3 sums only its place is kept."""
    between = jnp.argmin(jax.lax.stop_gradient(first[:, :, None] + second), axis=1)
    to, onward = (
        jnp.take_along_axis(table, between, axis=axis) for axis, table in ((1, first), (0, second))
    )
    return to + onward
