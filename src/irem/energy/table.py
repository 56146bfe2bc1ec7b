"""An energy on tables whose rows and columns are of different kinds."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem.checks import count_or_zero
from irem.energy.base import require
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
from irem.formats import Tables, Vectors
from irem.settings import HasFormat, setting, weights


class Table(AbstractEntryEnergy):
    r"""An energy of problems and answers with a number for every entry of a table.

    With its rows in another order, and its columns in another, the answer in those orders has the
    same energy. In every layer the entry $(i, j)$ receives messages from itself, from the means of
    its row, of its column and of the table, and from the corners of all rectangles it is part of:
    $\sum_{kl} a_{il} b_{kl} c_{kj}$ for several features $a, b, c$, the product of three matrices.
    Zeros of `x` count as missing. It takes tables of any size.

    Vectors are tables of one row: with `channels` of 2 or more, `x` is as many vectors, of shape
    (channels, n), and an answer is one vector.

    Arguments:
        width: Features of an entry.
        encoder_depth: Layers that depend on the problem alone, once per problem.
        depth: Layers that depend on the candidate.
        products: Number of products.
        activation: `"swish"`, or `"none"`: as in `Pair`, the energy is then a convex quadratic.
        power: If $c^p y$ answers $c\,x$, that $p$, 1 or -1: the energy then scales along.
        channels: Numbers of an entry in `x`.
        x_shape: Shape of a problem that may also be given as a flat row.
        key: Source of the initial weights.
    """

    width: int = setting(32)
    encoder_depth: int = setting(1)
    depth: int = setting(1)
    products: int = setting(16)
    activation: str = setting("swish")
    power: int | None = setting(None)
    channels: int = eqx.field(static=True, kw_only=True, default=1)
    x_shape: tuple[int, ...] | None = eqx.field(static=True, kw_only=True, default=None)
    network: EntryNet = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the network."""
        check_sizes(self)
        count_or_zero("products", self.products)
        key_net, *keys = jax.random.split(key, 1 + self.encoder_depth + self.depth)
        layers = [_TableLayer(self, key=k) for k in keys]
        encoder, scorer = layers[: self.encoder_depth], layers[self.encoder_depth :]
        costs = self.activation != "none"
        self.network = EntryNet(
            2 * self.channels + 1, self.width, encoder, scorer, costs=costs, key=key_net
        )

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return the power of a task of tables or vectors, its shape and its channels."""
        shapes = require("Table", task, Vectors)
        x_shape, y_shape = shapes.x_shape, shapes.y_shape
        if len(x_shape) != 2 or y_shape not in (x_shape, x_shape[1:]):
            raise InputError(
                "The Table energy needs answers of the shape of `x`, or of one of its rows, and "
                f"'{task.name}' has problems of shape {x_shape} with answers of shape {y_shape}."
            )
        channels = 1 if x_shape == y_shape else x_shape[0]
        return {"power": task.power, "channels": channels, "x_shape": x_shape}

    @property
    def format(self) -> Tables:
        """Tables of any size, or several vectors of any length."""
        return Tables(self.channels, self.x_shape)

    def table(self, x: Array) -> tuple[Float[Array, "rows columns channels"], Real]:
        """Return the entries; all rows and columns are real."""
        entries = x[..., None] if self.channels == 1 else x.T[None]
        rows, columns = (jnp.ones(n, bool) for n in entries.shape[:2])
        return entries, (rows, columns)

    def features(
        self, table: Float[Array, "rows columns channels"], real: Real
    ) -> Float[Array, "rows columns features"]:
        """Return the numbers of an entry, flags for given ones, and a one."""
        del real
        return entry_features(table)

    def square(
        self, numbers: Float[Array, "rows columns channels"], real: Real
    ) -> Float[Array, ""]:
        """Return the mean square of the entries that are given."""
        del real
        return entry_square(numbers)


class _TableLayer(AbstractLayer):
    """A layer of `Table`."""

    own: Float[Array, "width width"]
    row: Float[Array, "width width"]
    column: Float[Array, "width width"]
    whole: Float[Array, "width width"]
    factors: Float[Array, "3 width products"]
    mix: Float[Array, "products width"]
    skip: Float[Array, "products width"]
    project: Float[Array, "width width"]
    bias: Float[Array, " width"]
    activation: str = eqx.field(static=True)

    def __init__(self, energy: Table, *, key: PRNGKeyArray) -> None:
        width, products = energy.width, energy.products
        keys = iter(jax.random.split(key, 10))
        square = lambda gain: linear_map(next(keys), width, width, gain=gain)  # noqa: E731
        self.own, self.row, self.column, self.whole = map(square, (1.0, 0.5, 0.5, 0.5))
        self.factors = jnp.stack([linear_map(next(keys), width, products) for _ in range(3)])
        self.mix = linear_map(next(keys), products, width, gain=0.3)
        self.skip = linear_map(next(keys), products, width, gain=0.1)
        self.project = square(0.5)
        self.bias = jnp.zeros(width)
        self.activation = energy.activation

    def __call__(
        self,
        entries: Float[Array, "rows columns width"],
        encoded: Float[Array, "rows columns width"],
        real: Real,
    ) -> Float[Array, "rows columns width"]:
        products = self._products(encoded if self.activation == "none" else entries, entries)
        rows, columns = line_means(entries, real)
        received = products @ self.mix + entries @ self.own + self.bias
        received += (rows @ self.row)[:, None] + columns @ self.column + rows.mean(0) @ self.whole
        return entries + products @ self.skip + activate(self.activation, received) @ self.project

    def _products(
        self,
        left: Float[Array, "rows columns width"],
        entries: Float[Array, "rows columns width"],
    ) -> Float[Array, "rows columns products"]:
        """Products of three matrices of features, kept at the size of features."""
        a, b = left @ self.factors[0], left @ self.factors[1]
        c = entries @ self.factors[2]
        between_rows = jnp.einsum("ilp,klp->ikp", a, b)
        share = _SHARE / math.sqrt(math.prod(entries.shape[:2]))
        return share * jnp.einsum("ikp,kjp->ijp", between_rows, c)


_SHARE = 0.1
