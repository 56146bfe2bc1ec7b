"""What a network makes of a table of entries and a candidate for its answer."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from irem._checks import count, count_or_none
from irem._errors import InputError
from irem.energy.base import AbstractEnergy, TaskShapes

ACTIVATIONS = ("swish", "none")
"""What layers put entries through. With none, nothing but products bends an energy."""

Real = tuple[Bool[Array, " rows"], Bool[Array, " columns"]]


class AbstractLayer(eqx.Module):
    """One round in which every entry hears from others."""

    @abc.abstractmethod
    def __call__(
        self,
        entries: Float[Array, "rows columns width"],
        seen: Float[Array, "rows columns width"],
        real: Real,
    ) -> Float[Array, "rows columns width"]:
        """The entries after the round.

        Arguments:
            entries: The entries before it.
            seen: The entries as they are without a candidate; the same while there is none.
            real: Tells real rows and columns from padding.
        """


class EntryNet(eqx.Module):
    """Two numbers for every entry of a table: what its answer should be, and what it costs.

    Some layers look at the features of a problem alone, once; the others judge a candidate by what
    they saw. Features and candidate also have a straight way to the first number, a weight for
    each.

    Arguments:
        num_features: Features of an entry.
        width: Of the layers.
        look: Layers that see the features alone.
        judge: Layers that see the candidate as well; at least one.
        costs: Whether there is a second number; it is zero otherwise.
        key: Where the initial weights come from.
    """

    enter: Float[Array, "features_and_y width"]
    look: tuple[AbstractLayer, ...]
    judge: tuple[AbstractLayer, ...]
    leave: Float[Array, "width numbers"]
    straight: Float[Array, " features_and_y"]

    def __init__(
        self,
        num_features: int,
        width: int,
        look: Sequence[AbstractLayer],
        judge: Sequence[AbstractLayer],
        *,
        costs: bool,
        key: PRNGKeyArray,
    ) -> None:
        key_enter, key_leave = jax.random.split(key)
        self.enter = linear_map(key_enter, num_features + 1, width, gain=2.0)
        self.look, self.judge = tuple(look), tuple(judge)
        self.leave = linear_map(key_leave, width, 1 + costs, gain=0.03)
        self.straight = jnp.zeros(num_features + 1)

    def sizes(self) -> dict[str, int]:
        """How many features there are, and how many layers of both kinds."""
        return {
            "width": self.leave.shape[-2],
            "look": len(self.look),
            "depth": len(self.judge),
        }

    def see(
        self, features: Float[Array, "rows columns features"], real: Real
    ) -> Callable[[Array], tuple[Float[Array, "rows columns"], Float[Array, "rows columns"]]]:
        """Look at the features; return the map from a candidate to the two numbers."""
        seen = features @ self.enter[:-1]
        for layer in self.look:
            seen = layer(seen, seen, real)
        straight = features @ self.straight[:-1]

        def judged(y: Float[Array, "rows columns"]) -> tuple[Array, Array]:
            entries = seen + y[..., None] * self.enter[-1]
            for layer in self.judge:
                entries = layer(entries, seen, real)
            answer, *cost = jnp.moveaxis(entries @ self.leave, -1, 0)
            answer = answer + straight + self.straight[-1] * y
            return answer, cost[0] if cost else jnp.zeros_like(answer)

        return judged


class AbstractEntryEnergy(AbstractEnergy):
    r"""How far a candidate is from what an `EntryNet` makes of it, and what that costs beside.

    $$E(x, y) = \sum_{ij} \tfrac12 (y_{ij} - F(x, y)_{ij})^2 + R(x, y)_{ij}$$

    The first part pulls towards the answer that the network sees, the second bends the landscape on
    the way there. Networks without an activation have the first part alone.

    Where answers scale with their problems, as $c^p\,y$ answers $c\,x$, so does the energy: $x$ is
    divided by its size $s$ and $y$ by $s^p$ before the network sees them. It then knows from
    problems of one size how to answer those of any other.
    """

    network: eqx.AbstractVar[EntryNet]
    power: eqx.AbstractVar[int | None]

    num_scaled: ClassVar[int | None] = None
    """How many channels of a problem scale, the first ones; all by default."""

    @abc.abstractmethod
    def table(self, x: Any) -> tuple[Float[Array, "rows columns channels"], Real]:
        """The problem as a table with channels, and which rows and columns are real."""

    @abc.abstractmethod
    def features(
        self, table: Float[Array, "rows columns channels"], real: Real
    ) -> Float[Array, "rows columns features"]:
        """What the network is told of every entry."""

    @abc.abstractmethod
    def square(
        self, numbers: Float[Array, "rows columns channels"], real: Real
    ) -> Float[Array, ""]:
        """The square of the size of a problem; it grows as that of its numbers."""

    def landscape(self, x: Any) -> Callable[[Array], Float[Array, ""]]:
        """The map from a candidate to its energy, the look at the problem done."""
        table, real = self.table(x)
        scale = self._scale(table, real)
        unit = self._unit(scale)
        pairs = real[0][:, None] & real[1]
        judged = self.network.see(
            self.features(table.at[..., : self.num_scaled].divide(scale), real), real
        )

        def energy(y: Array) -> Float[Array, ""]:
            y = jnp.where(pairs, y.reshape(pairs.shape), 0.0) / unit
            answer, cost = judged(y)
            energies = 0.5 * jnp.square(y - answer) + cost
            return jnp.square(unit) * jnp.sum(jnp.where(pairs, energies, 0.0))

        return energy

    def guess(self, x: Any, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """Uniform in (-1, 1), times the size of answers if that is known."""
        return self._unit(self._scale(*self.table(x))) * super().guess(x, shape, key=key)

    def _scale(self, table: Float[Array, "rows columns channels"], real: Real) -> Float[Array, ""]:
        """The size of a problem; one if it has none."""
        if self.power is None:
            return jnp.ones((), table.dtype)
        square = self.square(table[..., : self.num_scaled], real)
        return jnp.where(square > _SMALLEST, jnp.sqrt(jnp.maximum(square, _SMALLEST)), 1.0)

    def _unit(self, scale: Float[Array, ""]) -> Float[Array, ""]:
        """The size of its answer."""
        return scale if self.power is None else scale**self.power


# The square of a size below which a problem has none.
_SMALLEST = 1e-12


def entry_features(
    table: Float[Array, "rows columns channels"],
) -> Float[Array, "rows columns features"]:
    """The numbers of every entry, which of them are not zero, and a one."""
    given = (table != 0).astype(table.dtype)
    return jnp.concatenate([table, given, jnp.ones_like(table[..., :1])], axis=-1)


def entry_square(numbers: Float[Array, "rows columns channels"]) -> Float[Array, ""]:
    """The mean square of those numbers that are not zero."""
    return jnp.sum(jnp.square(numbers)) / jnp.maximum(jnp.sum(numbers != 0), 1)


def activate(name: str, entries: Array) -> Array:
    """What a layer puts its entries through."""
    return jax.nn.swish(entries) if name == "swish" else entries


def linear_map(
    key: PRNGKeyArray, num_in: int, num_out: int, *, gain: float = 1.0
) -> Float[Array, "num_in num_out"]:
    """Initial weights that keep the variance of their inputs, times the square of `gain`."""
    bound = gain * (3 / max(num_in, 1)) ** 0.5
    return jax.random.uniform(key, (num_in, num_out), minval=-bound, maxval=bound)


def power_of(task: TaskShapes, power: int | str | None) -> int | None:
    """The power that was asked for, or that of the task."""
    return task.power if power == "task" else power  # pyright: ignore[reportReturnType]


def line_means(
    entries: Float[Array, "rows columns width"], real: Real
) -> tuple[Float[Array, "rows width"], Float[Array, "columns width"]]:
    """The mean of every row and of every column."""
    rows, columns = (line.astype(entries.dtype) / line.sum() for line in real)
    return jnp.einsum("rcw,c->rw", entries, columns), jnp.einsum("rcw,r->cw", entries, rows)


def check_sizes(power: int | None, look: int, **positive: int) -> None:
    """Refuse a network without layers or units, and powers that mean nothing."""
    for name, value in positive.items():
        count(name, value)
    count_or_none("look", look)
    if power not in (None, 1, -1):
        raise InputError(f"`power` must be 1, -1 or None, got {power!r}.")
