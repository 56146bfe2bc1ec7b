"""An energy on all pairs of things, which sees paths through a third."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from irem._checks import count_or_none, known, numeric
from irem._errors import InputError
from irem._inputs import graphs
from irem._problem import Graph
from irem.energy._entries import (
    ACTIVATIONS,
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
    power_of,
)
from irem.energy._gine import AGGREGATES
from irem.energy.base import TaskShapes


class Pair(AbstractEntryEnergy):
    r"""An energy of problems and answers with a number for every pair of things.

    Graphs and square matrices are such problems: with the things in another order, the answer in
    that order has the same energy. Every layer lets the pair $(i, j)$ hear from itself, from
    $(j, i)$, from the means of its row and its column, and from all paths through a third thing:
    products $\sum_k a_{ik} b_{kj}$, which are those of algebra, and maxima
    $\max_k (c_{ik} + d_{kj})$, which are those of shortest paths, of several features
    $a, b, c, d$ each. It takes any number of things.

    Arguments:
        width: Features of a pair.
        look: Layers that see the problem alone, once per problem.
        depth: Layers that see the candidate.
        products: How many products there are.
        maxima: How many maxima there are.
        aggregate: `"mean"` of what a product adds up, or the `"sum"` itself, as matrices are
            multiplied. With sums all features are kept at the size that they have as matrices: what
            is the same for all pairs is divided by the number of things, and the size of a problem
            is the root mean square of its singular values, not of its entries.
        means: Whether a pair hears the means of its row and its column. What means say depends
            on how many things there are, and so do products; maxima do not.
        activation: `"swish"`, or `"none"`, which goes with no maxima: the network is then a
            polynomial of `x` and linear in `y`, which enters one factor of a product alone, and
            there is no cost. The energy is a square of that, a bowl, and what is learned of
            matrices with some eigenvalues holds for others.
        channels: Numbers of a pair in `x`: of shape (n, n), or (n, n, channels) if more than one.
        power: If $c^p y$ answers $c\,x$, that $p$, 1 or -1: the energy then scales along. The first
            channel is what scales; others may be flags.
        key: Where the initial weights come from.
    """

    num_scaled: ClassVar[int | None] = 1

    network: EntryNet
    aggregate: str = eqx.field(static=True)
    channels: int = eqx.field(static=True)
    power: int | None = eqx.field(static=True)

    def __init__(
        self,
        *,
        width: int = 32,
        look: int = 1,
        depth: int = 1,
        products: int = 16,
        maxima: int = 16,
        aggregate: str = "mean",
        means: bool = True,
        activation: str = "swish",
        channels: int = 1,
        power: int | None = None,
        key: PRNGKeyArray,
    ) -> None:
        check_sizes(power, look, width=width, depth=depth, channels=channels)
        count_or_none("products", products)
        count_or_none("maxima", maxima)
        known("aggregate", aggregate, AGGREGATES)
        known("activation", activation, ACTIVATIONS)
        if activation == "none" and maxima:
            raise InputError(
                f'A Pair energy with `activation="none"` has no maxima, got {maxima}; ask for 0.'
            )
        key_net, *keys = jax.random.split(key, 1 + look + depth)
        layers = [
            _Triangles(width, products, maxima, aggregate, means, activation, key=k) for k in keys
        ]
        self.network = EntryNet(
            2 * channels + 2,
            width,
            layers[:look],
            layers[look:],
            costs=activation != "none",
            key=key_net,
        )
        self.aggregate = aggregate
        self.channels = channels
        self.power = power

    @classmethod
    def for_task(
        cls,
        task: TaskShapes,
        *,
        width: int = 32,
        look: int = 1,
        depth: int = 1,
        products: int = 16,
        maxima: int = 16,
        aggregate: str = "mean",
        means: bool = True,
        activation: str = "swish",
        power: int | str | None = "task",
        key: PRNGKeyArray,
    ) -> Pair:
        """An energy for the graphs or square matrices of `task`, by default with its power."""
        x_shape, y_shape = task.shapes
        square = len(x_shape) == 2 and x_shape[0] == x_shape[1]
        if task.kind == "images" or not square or x_shape != y_shape:
            has = "pictures" if task.kind == "images" else f"problems of shape {x_shape}"
            raise InputError(
                f"The Pair energy needs graphs or square matrices, and '{task.name}' has {has} "
                f"with answers of shape {y_shape}."
            )
        return cls(
            width=width,
            look=look,
            depth=depth,
            products=products,
            maxima=maxima,
            aggregate=aggregate,
            means=means,
            activation=activation,
            power=power_of(task, power),
            key=key,
        )

    def settings(self) -> dict[str, Any]:
        """What `for_task` needs to build an energy of this size again."""
        layer = self.network.judge[0]
        assert isinstance(layer, _Triangles)
        return {
            **self.network.sizes(),
            "products": layer.factors.shape[-1],
            "maxima": layer.terms.shape[-1],
            "aggregate": self.aggregate,
            "means": layer.row is not None,
            "activation": layer.activation,
            "power": self.power,
        }

    def table(self, x: Graph | Array) -> tuple[Float[Array, "n n channels"], Real]:
        """The pairs of a graph, and its real nodes twice."""
        if isinstance(x, Graph):
            return jnp.where(x.pairs, x.edges, 0.0)[..., None], (x.nodes, x.nodes)
        pairs = x if self.channels > 1 else x[..., None]
        real = jnp.ones(x.shape[0], bool)
        return pairs, (real, real)

    def features(
        self, table: Float[Array, "n n channels"], real: Real
    ) -> Float[Array, "n n features"]:
        """The numbers of a pair, which are not zero, a one, and whether it is one thing twice."""
        features = entry_features(table)
        if self.aggregate == "sum":
            features = features.at[..., self.channels :].divide(real[0].sum())
        same = jnp.eye(table.shape[0], dtype=table.dtype)[..., None]
        return jnp.concatenate([features, same], axis=-1)

    def square(self, numbers: Float[Array, "n n 1"], real: Real) -> Float[Array, ""]:
        """The mean square of the entries, or with sums of the singular values."""
        if self.aggregate == "sum":
            return jnp.sum(jnp.square(numbers)) / real[0].sum()
        return entry_square(numbers)

    def answer_shape(self, x: Graph | Array) -> tuple[int, ...]:
        """One number for every pair."""
        return x.edges.shape if isinstance(x, Graph) else x.shape[:2]

    def as_batch(self, x: Any) -> tuple[Any, bool]:
        """`x` as graphs: an n x n matrix, a stack of them, or a table of flat ones."""
        return graphs(x) if self.channels == 1 else _stack(x, self.channels)


class _Triangles(AbstractLayer):
    """A round of `Pair`."""

    own: Float[Array, "width width"]
    mirror: Float[Array, "width width"]
    row: Float[Array, "width width"] | None
    column: Float[Array, "width width"] | None
    factors: Float[Array, "2 width products"]
    terms: Float[Array, "2 width maxima"]
    gather: Float[Array, "products_and_maxima width"]
    bias: Float[Array, " width"]
    straight: Float[Array, "products width"]
    leave: Float[Array, "width width"]
    aggregate: str = eqx.field(static=True)
    activation: str = eqx.field(static=True)

    def __init__(
        self,
        width: int,
        products: int,
        maxima: int,
        aggregate: str,
        means: bool,
        activation: str,
        *,
        key: PRNGKeyArray,
    ) -> None:
        keys = iter(jax.random.split(key, 11))
        square = lambda gain: linear_map(next(keys), width, width, gain=gain)  # noqa: E731
        two = lambda size: jnp.stack([linear_map(next(keys), width, size) for _ in range(2)])  # noqa: E731
        self.own, self.mirror, row, column = map(square, (1.0, 0.5, 0.5, 0.5))
        self.row, self.column = (row, column) if means else (None, None)
        self.factors, self.terms = two(products), two(maxima)
        self.gather = linear_map(next(keys), products + maxima, width, gain=0.5)
        self.straight = linear_map(next(keys), products, width, gain=0.1)
        self.leave = square(0.5)
        self.bias = jnp.zeros(width)
        self.aggregate = aggregate
        self.activation = activation

    def __call__(
        self,
        entries: Float[Array, "n n width"],
        seen: Float[Array, "n n width"],
        real: Real,
    ) -> Float[Array, "n n width"]:
        nodes, _ = real
        products = self._products(seen if self.activation == "none" else entries, entries, nodes)
        heard = jnp.concatenate([products, self._maxima(entries, nodes)], axis=-1) @ self.gather
        bias = self.bias / nodes.sum() if self.aggregate == "sum" else self.bias
        heard += entries @ self.own + jnp.swapaxes(entries @ self.mirror, 0, 1) + bias
        if self.row is not None and self.column is not None:
            rows, columns = line_means(entries, real)
            heard += (rows @ self.row)[:, None] + columns @ self.column
        return entries + products @ self.straight + activate(self.activation, heard) @ self.leave

    def _products(
        self,
        left: Float[Array, "n n width"],
        right: Float[Array, "n n width"],
        nodes: Bool[Array, " n"],
    ) -> Float[Array, "n n products"]:
        """Of matrices of features, in which padded things are zero."""
        left, right = left @ self.factors[0], right @ self.factors[1]
        left = jnp.where(nodes[:, None], left, 0.0)
        share = _MEAN / nodes.sum() if self.aggregate == "mean" else _SUM
        return share * jnp.einsum("ikp,kjp->ijp", left, right)

    def _maxima(
        self, entries: Float[Array, "n n width"], nodes: Bool[Array, " n"]
    ) -> Float[Array, "n n maxima"]:
        """Of sums of features; a padded thing is on no path."""
        left, right = entries @ self.terms[0], entries @ self.terms[1]
        left = jnp.where(nodes[:, None], left, _NEVER)
        return _best(left, right)


# What products are multiplied with: means so that those of ten things are about as large as
# features, sums so that those of matrices whose singular values are about one are.
_MEAN, _SUM = 3.0, 0.5
# Less than any feature.
_NEVER = -1e6


def _best(
    left: Float[Array, "n n maxima"], right: Float[Array, "n n maxima"]
) -> Float[Array, "n n maxima"]:
    """The largest sum over a third; of n^3 sums only the place of the largest is kept."""
    third = jnp.argmax(jax.lax.stop_gradient(left[:, :, None] + right), axis=1)
    return jnp.take_along_axis(left, third, axis=1) + jnp.take_along_axis(right, third, axis=0)


def _stack(x: Any, channels: int) -> tuple[Array, bool]:
    """`x` as a batch of square tables with channels, and whether it was one alone."""
    x = numeric("x", x)
    if x.ndim not in (3, 4) or x.shape[-3] != x.shape[-2] or x.shape[-1] != channels or not x.size:
        raise InputError(
            f"`x` has shape {x.shape}; expected one problem of shape (n, n, {channels}), or a "
            f"stack of them of shape (count, n, n, {channels})."
        )
    return (x[None], True) if x.ndim == 3 else (x, False)
