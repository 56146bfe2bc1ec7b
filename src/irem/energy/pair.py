"""An energy on all pairs of nodes, with messages along paths through an intermediate node."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from irem.checks import count_or_zero, known
from irem.energy.entries import (
    AbstractEntryEnergy,
    AbstractLayer,
    EntryNet,
    Real,
    activate,
    check_sizes,
    entry_features,
    entry_square,
    line_means,
    linear_map,
)
from irem.errors import InputError
from irem.formats import AbstractFormat, ChannelPairs, Graphs, Vectors
from irem.nn.graph import AGGREGATES
from irem.problem import Graph
from irem.settings import AbstractComponent, HasFormat, setting, weights


class Paths(AbstractComponent):
    r"""Messages that a pair of nodes receives along paths through an intermediate node.

    Arguments:
        products: Number of products $\sum_k a_{ik} b_{kj}$, those of matrix algebra.
        maxima: Number of maxima $\max_k (c_{ik} + d_{kj})$, those of shortest paths.
        aggregate: `"mean"` over intermediate nodes of what a product adds up, or the `"sum"`
            itself, as matrices are multiplied. With sums all features are kept at the size that
            they have as matrices: what is the same for all pairs is divided by the number of nodes,
            and the size of a problem is the root mean square of its singular values, not of its
            entries.
    """

    products: int = setting(16)
    maxima: int = setting(16)
    aggregate: str = setting("mean")

    def __check_init__(self) -> None:
        """Refuse counts below zero and unknown aggregates."""
        count_or_zero("products", self.products)
        count_or_zero("maxima", self.maxima)
        known("aggregate", self.aggregate, AGGREGATES)


class Pair(AbstractEntryEnergy):
    r"""An energy of problems and answers with a number for every pair of nodes.

    Graphs and square matrices are such problems: with the nodes in another order, the answer in
    that order has the same energy. In every layer the pair $(i, j)$ receives messages from itself,
    from $(j, i)$, from the means of its row and its column, and along all paths through an
    intermediate node $k$ (see `Paths`). It takes any number of nodes.

    Arguments:
        width: Features of a pair.
        encoder_depth: Layers that depend on the problem alone, once per problem.
        depth: Layers that depend on the candidate.
        paths: Messages along paths.
        means: Whether a pair receives the means of its row and its column. Means depend on the
            number of nodes, and so do products; maxima do not.
        activation: `"swish"`, or `"none"`, which goes with no maxima: the network is then a
            polynomial of `x` and linear in `y`, which enters one factor of a product alone, and
            there is no cost. The energy is a convex quadratic, and what is learned of matrices
            with some eigenvalues holds for others.
        channels: Numbers of a pair in `x`: of shape (n, n), or (n, n, channels) if more than one.
        power: If $c^p y$ answers $c\,x$, that $p$, 1 or -1: the energy then scales along. The first
            channel is what scales; others may be flags.
        key: Source of the initial weights.
    """

    num_scaled: ClassVar[int | None] = 1

    width: int = setting(32)
    encoder_depth: int = setting(1)
    depth: int = setting(1)
    paths: Paths = setting(Paths())
    means: bool = setting(True)
    activation: str = setting("swish")
    power: int | None = setting(None)
    channels: int = eqx.field(static=True, kw_only=True, default=1)
    network: EntryNet = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the network."""
        check_sizes(self)
        linear = self.activation == "none"
        if linear and self.paths.maxima:
            raise InputError(
                'A Pair energy with `activation="none"` has no maxima, got '
                f"{self.paths.maxima}; ask for 0."
            )
        key_net, *keys = jax.random.split(key, 1 + self.encoder_depth + self.depth)
        layers = [_PairLayer(self, key=k) for k in keys]
        encoder, scorer = layers[: self.encoder_depth], layers[self.encoder_depth :]
        self.network = EntryNet(
            2 * self.channels + 2, self.width, encoder, scorer, costs=not linear, key=key_net
        )

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return the power of a task of graphs or square matrices."""
        shapes = task.format
        if isinstance(shapes, Graphs):
            return {"power": task.power}
        if isinstance(shapes, Vectors):
            x_shape = shapes.x_shape
            if len(x_shape) == 2 and x_shape[0] == x_shape[1] and x_shape == shapes.y_shape:
                return {"power": task.power}
            has = f"problems of shape {x_shape} with answers of shape {shapes.y_shape}"
        else:
            has = shapes.noun
        raise InputError(
            f"The Pair energy needs graphs or square matrices, and '{task.name}' has {has}."
        )

    @property
    def format(self) -> AbstractFormat:
        """Graphs or square matrices of any size, or such with channels."""
        return Graphs() if self.channels == 1 else ChannelPairs(self.channels)

    def table(self, x: Graph | Array) -> tuple[Float[Array, "n n channels"], Real]:
        """Return the pairs of a graph, and its real nodes twice."""
        if isinstance(x, Graph):
            return jnp.where(x.pairs, x.edges, 0.0)[..., None], (x.nodes, x.nodes)
        pairs = x if self.channels > 1 else x[..., None]
        real = jnp.ones(x.shape[0], bool)
        return pairs, (real, real)

    def features(
        self, table: Float[Array, "n n channels"], real: Real
    ) -> Float[Array, "n n features"]:
        """Return the numbers of a pair, flags for nonzero ones, a one, a flag for `i == j`."""
        features = entry_features(table)
        if self.paths.aggregate == "sum":
            features = features.at[..., self.channels :].divide(real[0].sum())
        same = jnp.eye(table.shape[0], dtype=table.dtype)[..., None]
        return jnp.concatenate([features, same], axis=-1)

    def square(self, numbers: Float[Array, "n n 1"], real: Real) -> Float[Array, ""]:
        """Return the mean square of the entries, or with sums of the singular values."""
        if self.paths.aggregate == "sum":
            return jnp.sum(jnp.square(numbers)) / real[0].sum()
        return entry_square(numbers)


class _PathMessages(eqx.Module):
    """The messages of `Paths`, as features of every pair."""

    factors: Float[Array, "2 width products"]
    terms: Float[Array, "2 width maxima"]
    aggregate: str = eqx.field(static=True)

    def products(
        self,
        left: Float[Array, "n n width"],
        right: Float[Array, "n n width"],
        nodes: Bool[Array, " n"],
    ) -> Float[Array, "n n products"]:
        """Return products of matrices of features, in which padded nodes are zero."""
        left, right = left @ self.factors[0], right @ self.factors[1]
        left = jnp.where(nodes[:, None], left, 0.0)
        share = _MEAN / nodes.sum() if self.aggregate == "mean" else _SUM
        return share * jnp.einsum("ikp,kjp->ijp", left, right)

    def maxima(
        self, entries: Float[Array, "n n width"], nodes: Bool[Array, " n"]
    ) -> Float[Array, "n n maxima"]:
        """Return maxima of sums of features; no path leads through a padded node."""
        left, right = entries @ self.terms[0], entries @ self.terms[1]
        left = jnp.where(nodes[:, None], left, _LOWEST)
        return _largest_sums(left, right)


class _LineMeans(eqx.Module):
    """Messages from the means of the row and of the column of a pair."""

    row: Float[Array, "width width"]
    column: Float[Array, "width width"]

    def __call__(self, entries: Float[Array, "n n width"], real: Real) -> Float[Array, "n n width"]:
        rows, columns = line_means(entries, real)
        return (rows @ self.row)[:, None] + columns @ self.column


class _PairLayer(AbstractLayer):
    """A layer of `Pair`."""

    own: Float[Array, "width width"]
    transposed: Float[Array, "width width"]
    means: _LineMeans | None
    paths: _PathMessages
    mix: Float[Array, "products_and_maxima width"]
    bias: Float[Array, " width"]
    skip: Float[Array, "products width"]
    project: Float[Array, "width width"]
    activation: str = eqx.field(static=True)

    def __init__(self, energy: Pair, *, key: PRNGKeyArray) -> None:
        width, paths = energy.width, energy.paths
        keys = iter(jax.random.split(key, 11))
        square = lambda gain: linear_map(next(keys), width, width, gain=gain)  # noqa: E731
        two = lambda size: jnp.stack([linear_map(next(keys), width, size) for _ in range(2)])  # noqa: E731
        self.own, self.transposed, row, column = map(square, (1.0, 0.5, 0.5, 0.5))
        self.means = _LineMeans(row, column) if energy.means else None
        self.paths = _PathMessages(two(paths.products), two(paths.maxima), paths.aggregate)
        self.mix = linear_map(next(keys), paths.products + paths.maxima, width, gain=0.5)
        self.skip = linear_map(next(keys), paths.products, width, gain=0.1)
        self.project = square(0.5)
        self.bias = jnp.zeros(width)
        self.activation = energy.activation

    def __call__(
        self,
        entries: Float[Array, "n n width"],
        encoded: Float[Array, "n n width"],
        real: Real,
    ) -> Float[Array, "n n width"]:
        nodes, _ = real
        left = encoded if self.activation == "none" else entries
        products = self.paths.products(left, entries, nodes)
        maxima = self.paths.maxima(entries, nodes)
        received = jnp.concatenate([products, maxima], axis=-1) @ self.mix
        bias = self.bias / nodes.sum() if self.paths.aggregate == "sum" else self.bias
        received += entries @ self.own + jnp.swapaxes(entries @ self.transposed, 0, 1) + bias
        if self.means is not None:
            received += self.means(entries, real)
        return entries + products @ self.skip + activate(self.activation, received) @ self.project


# What products are multiplied with: means so that those over ten nodes are about as large as
# features, sums so that those of matrices whose singular values are about one are.
_MEAN, _SUM = 3.0, 0.5
# Less than any feature.
_LOWEST = -1e6


def _largest_sums(
    left: Float[Array, "n n maxima"], right: Float[Array, "n n maxima"]
) -> Float[Array, "n n maxima"]:
    """The largest sum over an intermediate node; of n^3 sums only its place is kept."""
    third = jnp.argmax(jax.lax.stop_gradient(left[:, :, None] + right), axis=1)
    return jnp.take_along_axis(left, third, axis=1) + jnp.take_along_axis(right, third, axis=0)
