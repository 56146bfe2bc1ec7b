"""Find the distance between every pair of nodes."""

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
    different,
    first_pair,
    num_doublings,
    random_structure,
    real_answers,
    transpose,
)

# Lengths outside of these overflow in 32 bits, or lose digits.
_SHORTEST, _LONGEST = 1e-30, 1e30
_LAWS = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShortestPath(AbstractGraphTask):
    """A complete graph with symmetric weights and a zero diagonal; `y` holds all distances.

    The released program adds a uniform matrix to its transpose, so weights lie in (0, 2); the
    text draws them uniform in (0, 1).

    The wide variant has graphs of many structures, directed or not, with lengths of many
    distributions. Edges that are infinite, NaN or zero are missing, the diagonal is ignored, and
    pairs that no path joins are infinitely far apart.
    """

    name: ClassVar[str] = "shortest-path"
    summary: ClassVar[str] = "find the distance between every pair of nodes"
    power: ClassVar[int | None] = 1
    trivial_mse: ClassVar = {"same": 0.0499, "harder": 0.0361}
    oracle_mse: ClassVar = {"same": 0.0, "harder": 0.0}
    variants: ClassVar[tuple[str, ...]] = ("released", "paper", WIDE)

    @property
    def domain(self) -> Domain:
        """Lengths that are not negative; all of them, and symmetric, but in the wide variant."""
        return _WIDE_DOMAIN if self.variant == WIDE else _COMPLETE_DOMAIN

    def edges(self, key: PRNGKeyArray, nodes: int) -> Float[Array, "nodes nodes"]:
        """Draw symmetric weights; in the wide variant, lengths of the edges that there are."""
        if self.variant == WIDE:
            return _wide_edges(key, nodes)
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

        Every real pair is an edge, as in the complete graphs of this task, but in the wide variant.
        """
        x = Graph.of(x)
        distance = jnp.where(x.pairs, x.edges, jnp.inf)
        if self.variant == WIDE:
            distance = jnp.where(distance > 0, distance, jnp.inf)  # NaN is not
        else:
            distance = jnp.minimum(distance, transpose(distance))
        distance = jnp.where(diagonal(x.nodes), 0.0, distance)
        for _ in range(num_doublings(x.edges.shape[-1])):
            distance = jnp.min(distance[..., :, :, None] + distance[..., None, :, :], axis=-2)
        return jnp.where(x.pairs, distance, 0.0)

    def residuals(self, x: Graph | ArrayLike, y: np.ndarray) -> np.ndarray:
        """Return a bound of the relative error of all distances of every graph."""
        x = Graph.of(x)
        answers = zip(as_arrays(x), real_answers(x, y), strict=True)
        return np.array([_residual(as_lengths(edges), one) for edges, one in answers])


# Mean distance between two different nodes over 10^5 graphs of 10 nodes; in the wide variant, of
# those that a path joins. tools/floors.py prints it again.
MEAN_DISTANCE = {"released": 0.857, "paper": 0.274, WIDE: 1.8}


def as_lengths(edges: np.ndarray) -> np.ndarray:
    """Return the lengths of edges: infinite where none is, zero from a node to itself.

    An edge is missing where it is infinite, NaN or zero.

    Examples:
        >>> as_lengths(np.array([[5.0, 2.0], [np.nan, 0.0]]))
        array([[ 0.,  2.],
               [inf,  0.]])
    """
    lengths = np.where(edges > 0, edges, np.inf)
    np.fill_diagonal(lengths, 0.0)
    return lengths


def _wide_edges(key: PRNGKeyArray, nodes: int) -> Float[Array, "nodes nodes"]:
    """Draw a graph of some structure, its lengths from some distribution, and its directions."""
    key_pairs, key_law, key_lengths, key_directed, key_kept = jax.random.split(key, 5)
    lengths = _random_lengths(key_law, key_lengths, nodes)
    directed = jax.random.bernoulli(key_directed, 0.4)
    lengths = jnp.where(directed, lengths, jnp.triu(lengths) + jnp.triu(lengths, 1).T)
    kept = ~directed | jax.random.bernoulli(key_kept, 0.8, (nodes, nodes))
    lengths = jnp.where(random_structure(key_pairs, nodes) & kept, lengths, jnp.inf)
    return jnp.where(jnp.eye(nodes, dtype=bool), 0.0, lengths)


def _random_lengths(
    key_law: PRNGKeyArray, key: PRNGKeyArray, nodes: int
) -> Float[Array, "nodes nodes"]:
    """Draw lengths that are all one, uniform, exponential, log-normal, or whole numbers."""
    uniform = jax.random.uniform(key, (nodes, nodes), minval=0.01)
    normal = jax.scipy.special.ndtri(jnp.clip(uniform, 0.01, 0.99))
    laws = jnp.stack(
        [
            jnp.ones_like(uniform),
            2 * uniform,
            0.01 - jnp.log(uniform),
            jnp.exp(normal),
            jnp.ceil(9 * uniform) / 5,
        ]
    )
    return laws[jax.random.randint(key_law, (), 0, _LAWS)]


def _residual(lengths: np.ndarray, y: np.ndarray) -> float:
    r"""Return a bound of the relative error of every distance of one graph.

    The answer itself says which node comes before $j$ on the way from $i$: the $k$ with the least
    $y_{ik} + w_{kj}$. The paths that it says so have lengths $L$, which no distance $D$ exceeds.
    They are not longer than $(1 + u) D$ if no edge, and no detour, makes them shorter than that.
    """
    other = different(len(y))
    if not (_is_closed(lengths, y) and (y[other] > 0).all()):
        return np.inf  # also with NaN
    if len(y) == 1:
        return 0.0 if y[0, 0] == 0 else np.inf
    traced = _traced(lengths, np.where(other, y, 0.0))
    connected = other & np.isfinite(y)
    if not np.isfinite(traced[connected]).all():
        return np.inf
    if not connected.any():
        return 0.0 if not y.diagonal().any() else np.inf
    excess = _excess(lengths, traced)
    ratio = y[connected] / traced[connected]
    own = np.abs(y.diagonal()).max() / traced[connected].mean()
    return float(max(ratio.max() * (1 + excess) - 1, 1 - ratio.min(), own))


def _is_closed(lengths: np.ndarray, y: np.ndarray) -> bool:
    """Whether an answer is finite wherever an edge leads on from a node that it reaches."""
    reached = np.isfinite(y) | np.eye(len(y), dtype=bool)
    further = reached.astype(np.float32) @ np.isfinite(lengths).astype(np.float32) > 0
    return bool(reached[further].all())


def _traced(lengths: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the lengths of the paths that an answer implies; infinite where they are circles."""
    nodes = len(y)
    edges = np.where(different(nodes), lengths, np.inf)
    before = np.stack([np.argmin(row[:, None] + edges, axis=0) for row in y])
    total = np.take_along_axis(edges, before, axis=0)
    np.fill_diagonal(before, np.arange(nodes))
    np.fill_diagonal(total, 0.0)
    for _ in range(num_doublings(nodes) + 1):
        total = total + np.take_along_axis(total, before, axis=1)
        before = np.take_along_axis(before, before, axis=1)
    return np.where(before == np.arange(nodes)[:, None], total, np.inf)


def _excess(lengths: np.ndarray, traced: np.ndarray) -> float:
    r"""Return a $u$ such that no traced path is longer than $(1 + u)$ times the distance.

    Along the edges of a shortest path, $L_{ij} \le L_{ik} + (1 + u) w_{kj}$ adds up to that. So
    does halving the path again and again, with $1 + u$ the product of what is lost at every
    halving, $L_{ij} \le (1 + t) (L_{ik} + L_{kj})$, and at the edges.
    """
    other = different(len(traced))
    by_edge, by_detour = 0.0, 0.0
    for row in traced:
        longer = row - row[:, None] - lengths
        given = other & np.isfinite(lengths) & np.isfinite(row)[:, None]
        by_edge = max(by_edge, float(np.max(longer / lengths, where=given, initial=0.0)))
        detours = row[:, None] + traced
        given = np.isfinite(detours) & (detours > 0)
        by_detour = max(by_detour, float(np.max(row / detours, where=given, initial=1.0)) - 1)
    given = other & np.isfinite(lengths)
    edge = float(np.max(traced / np.where(given, lengths, 1.0), where=given, initial=1.0))
    return min(by_edge, edge * (1 + by_detour) ** num_doublings(len(traced)) - 1)


def _not_negative(x: np.ndarray) -> str | None:
    pair = first_pair(x < 0)
    if pair is None:
        return None
    return (
        f"Entry {pair} is {x[pair]:g}; lengths are not negative. Write `inf`, NaN or an empty cell "
        "where there is no edge."
    )


def _not_ambiguous(x: np.ndarray) -> str | None:
    other = different(len(x))
    zero, missing = first_pair((x == 0) & other), first_pair(~np.isfinite(x) & other)
    if zero is None or missing is None:
        return None
    return (
        f"Entry {zero} is 0 and entry {missing} is missing: it is not clear whether 0 means no "
        "edge. Write missing edges in one way, and edges of length 0 as a small positive number."
    )


def _not_extreme(x: np.ndarray) -> str | None:
    pair = first_pair(np.isfinite(x) & (x > 0) & ((x < _SHORTEST) | (x > _LONGEST)))
    if pair is None:
        return None
    return (
        f"Entry {pair} is {x[pair]:g}; lengths are from {_SHORTEST:g} to {_LONGEST:g}. Choose "
        "another unit, and `inf` for a missing edge."
    )


def _complete(x: np.ndarray) -> str | None:
    pair = first_pair((x <= 0) & different(len(x)))
    if pair is None:
        return None
    return (
        f"Entry {pair} is {x[pair]:g}; this model answers graphs that have all edges, of positive "
        "length. Use zoo:shortest-path for others."
    )


def _symmetric(x: np.ndarray) -> str | None:
    pair = first_pair(np.abs(x - x.T) > 1e-5 * np.abs(x).max())
    if pair is None:
        return None
    return (
        f"Entry {pair} is {x[pair]:g} and entry {pair[::-1]} is {x[pair[::-1]]:g}; this model "
        "answers symmetric matrices. Use zoo:shortest-path for directed graphs."
    )


_LENGTHS = Rule("lengths are not negative", _not_negative)
_EXTREMES = Rule(f"lengths are from {_SHORTEST:g} to {_LONGEST:g}", _not_extreme)
_WIDE_DOMAIN = Domain(
    _LENGTHS,
    Rule(
        "edges that are infinite, NaN or empty are missing, or those that are zero, but not both",
        _not_ambiguous,
    ),
    _EXTREMES,
)
_COMPLETE_DOMAIN = Domain(
    _LENGTHS,
    Rule("every pair of nodes has an edge of positive length", _complete),
    Rule("the matrix is symmetric", _symmetric),
    _EXTREMES,
)
