"""An energy on tables whose rows and columns are different things."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem._checks import count_or_none, known, numeric
from irem._errors import InputError
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
from irem.energy.base import TaskShapes


class Table(AbstractEntryEnergy):
    r"""An energy of problems and answers with a number for every entry of a table.

    With its rows in another order, and its columns in another, the answer in those orders has the
    same energy. Every layer lets the entry $(i, j)$ hear from itself, from the means of its row, of
    its column and of the table, and from the corners of all rectangles it is part of:
    $\sum_{kl} a_{il} b_{kl} c_{kj}$ for several features $a, b, c$, the product of three matrices.
    Zeros of `x` count as not given. It takes tables of any size.

    Vectors are tables of one row: with `channels` of 2 or more, `x` is as many vectors, of shape
    (channels, n), and an answer is one vector.

    Arguments:
        width: Features of an entry.
        look: Layers that see the problem alone, once per problem.
        depth: Layers that see the candidate.
        products: How many products there are.
        activation: `"swish"`, or `"none"`: as in `Pair`, the energy is then a bowl.
        channels: Numbers of an entry in `x`.
        shape: Shape of a problem that may also be given as a flat row.
        power: If $c^p y$ answers $c\,x$, that $p$, 1 or -1: the energy then scales along.
        key: Where the initial weights come from.
    """

    network: EntryNet
    channels: int = eqx.field(static=True)
    shape: tuple[int, ...] | None = eqx.field(static=True)
    power: int | None = eqx.field(static=True)

    def __init__(
        self,
        *,
        width: int = 32,
        look: int = 1,
        depth: int = 1,
        products: int = 16,
        activation: str = "swish",
        channels: int = 1,
        shape: tuple[int, ...] | None = None,
        power: int | None = None,
        key: PRNGKeyArray,
    ) -> None:
        check_sizes(power, look, width=width, depth=depth, channels=channels)
        count_or_none("products", products)
        known("activation", activation, ACTIVATIONS)
        key_net, *keys = jax.random.split(key, 1 + look + depth)
        layers = [_Rectangles(width, products, activation, key=k) for k in keys]
        self.network = EntryNet(
            2 * channels + 1,
            width,
            layers[:look],
            layers[look:],
            costs=activation != "none",
            key=key_net,
        )
        self.channels = channels
        self.shape = shape
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
        activation: str = "swish",
        power: int | str | None = "task",
        key: PRNGKeyArray,
    ) -> Table:
        """An energy for the tables or vectors of `task`, by default with its power."""
        x_shape, y_shape = task.shapes
        if task.kind != "vectors":
            raise InputError(
                f"The Table energy needs problems of a fixed size, and '{task.name}' has "
                f"{task.kind}; use the {'Pair' if task.kind == 'graphs' else 'Conv'} energy for it."
            )
        if len(x_shape) != 2 or y_shape not in (x_shape, x_shape[1:]):
            raise InputError(
                "The Table energy needs answers of the shape of `x`, or of one of its rows, and "
                f"'{task.name}' has problems of shape {x_shape} with answers of shape {y_shape}."
            )
        return cls(
            width=width,
            look=look,
            depth=depth,
            products=products,
            activation=activation,
            channels=1 if x_shape == y_shape else x_shape[0],  # pyright: ignore[reportArgumentType]
            shape=x_shape,  # pyright: ignore[reportArgumentType]
            power=power_of(task, power),
            key=key,
        )

    def settings(self) -> dict[str, Any]:
        """What `for_task` needs to build an energy of this size again."""
        layer = self.network.judge[0]
        assert isinstance(layer, _Rectangles)
        return {
            **self.network.sizes(),
            "products": layer.factors.shape[-1],
            "activation": layer.activation,
            "power": self.power,
        }

    def table(self, x: Array) -> tuple[Float[Array, "rows columns channels"], Real]:
        """The entries; all rows and columns are real."""
        entries = x[..., None] if self.channels == 1 else x.T[None]
        rows, columns = (jnp.ones(n, bool) for n in entries.shape[:2])
        return entries, (rows, columns)

    def features(
        self, table: Float[Array, "rows columns channels"], real: Real
    ) -> Float[Array, "rows columns features"]:
        """The numbers of an entry, which of them are given, and a one."""
        del real
        return entry_features(table)

    def square(
        self, numbers: Float[Array, "rows columns channels"], real: Real
    ) -> Float[Array, ""]:
        """The mean square of the entries that are given."""
        del real
        return entry_square(numbers)

    def answer_shape(self, x: Array) -> tuple[int, ...]:
        """A number for every entry."""
        return x.shape if self.channels == 1 else x.shape[1:]

    def as_batch(self, x: Any) -> tuple[Array, bool]:
        """`x` as a stack of tables of one size.

        Rows as long as a problem of training is large are flat problems of that shape, so a single
        table of such rows is given as a stack of one.
        """
        x = numeric("x", x)
        one = self.channels > 1 and x.ndim == 2 and x.shape[0] == self.channels
        flat = x.ndim in (1, 2) and x.size > 0 and not one
        if flat and self.shape is not None and x.shape[-1] == math.prod(self.shape):
            return x.reshape(-1, *self.shape), x.ndim == 1
        wrong = self.channels > 1 and x.ndim > 1 and x.shape[-2] != self.channels
        if x.ndim not in (2, 3) or x.size == 0 or wrong:
            one = "(rows, columns)" if self.channels == 1 else f"({self.channels}, n)"
            raise InputError(
                f"`x` has shape {x.shape}; expected one problem of shape {one}, or a stack of them."
            )
        return (x[None], True) if x.ndim == 2 else (x, False)


class _Rectangles(AbstractLayer):
    """A round of `Table`."""

    own: Float[Array, "width width"]
    row: Float[Array, "width width"]
    column: Float[Array, "width width"]
    whole: Float[Array, "width width"]
    factors: Float[Array, "3 width products"]
    gather: Float[Array, "products width"]
    straight: Float[Array, "products width"]
    leave: Float[Array, "width width"]
    bias: Float[Array, " width"]
    activation: str = eqx.field(static=True)

    def __init__(self, width: int, products: int, activation: str, *, key: PRNGKeyArray) -> None:
        keys = iter(jax.random.split(key, 10))
        square = lambda gain: linear_map(next(keys), width, width, gain=gain)  # noqa: E731
        self.own, self.row, self.column, self.whole = map(square, (1.0, 0.5, 0.5, 0.5))
        self.factors = jnp.stack([linear_map(next(keys), width, products) for _ in range(3)])
        self.gather = linear_map(next(keys), products, width, gain=0.3)
        self.straight = linear_map(next(keys), products, width, gain=0.1)
        self.leave = square(0.5)
        self.bias = jnp.zeros(width)
        self.activation = activation

    def __call__(
        self,
        entries: Float[Array, "rows columns width"],
        seen: Float[Array, "rows columns width"],
        real: Real,
    ) -> Float[Array, "rows columns width"]:
        products = self._products(seen if self.activation == "none" else entries, entries)
        rows, columns = line_means(entries, real)
        heard = products @ self.gather + entries @ self.own + self.bias
        heard += (rows @ self.row)[:, None] + columns @ self.column + rows.mean(0) @ self.whole
        return entries + products @ self.straight + activate(self.activation, heard) @ self.leave

    def _products(
        self,
        left: Float[Array, "rows columns width"],
        entries: Float[Array, "rows columns width"],
    ) -> Float[Array, "rows columns products"]:
        """Of three matrices of features, kept at the size of features."""
        a, b = left @ self.factors[0], left @ self.factors[1]
        c = entries @ self.factors[2]
        between_rows = jnp.einsum("ilp,klp->ikp", a, b)
        share = _SHARE / math.sqrt(math.prod(entries.shape[:2]))
        return share * jnp.einsum("ikp,kjp->ijp", between_rows, c)


_SHARE = 0.1
