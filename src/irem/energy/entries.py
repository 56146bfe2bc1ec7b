"""Energies on a table of entries: pairs of nodes, or rows and columns."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from irem.checks import count, known
from irem.energy.base import AbstractEnergy
from irem.errors import InputError
from irem.nn.fitting import check_depth

ACTIVATIONS = ("swish", "none")
"""Activations of the layers. With none, a network is linear in the candidate."""

Real = tuple[Bool[Array, " rows"], Bool[Array, " columns"]]


class AbstractLayer(eqx.Module):
    """One round of messages in which every entry receives from others."""

    @abc.abstractmethod
    def __call__(
        self,
        entries: Float[Array, "rows columns width"],
        encoded: Float[Array, "rows columns width"],
        real: Real,
    ) -> Float[Array, "rows columns width"]:
        """Return the entries after the round.

        Arguments:
            entries: The entries before it.
            encoded: The entries as the encoder left them, without a candidate; the same as
                `entries` inside the encoder.
            real: Tells real rows and columns from padding.
        """


class EntryNet(eqx.Module):
    """Two numbers for every entry of a table: a proposed answer, and a cost.

    The encoder's layers depend on the features of a problem alone and run once per problem; the
    scorer's layers depend on the candidate as well. Features and candidate also have a linear skip
    connection to the proposed answer.

    Arguments:
        num_features: Features of an entry.
        width: Of the layers.
        encoder: Layers that depend on the problem alone.
        scorer: Layers that depend on the candidate as well; at least one.
        costs: Whether there is a cost; it is zero otherwise.
        key: Source of the initial weights.
    """

    embed: Float[Array, "features_and_y width"]
    encoder: tuple[AbstractLayer, ...]
    scorer: tuple[AbstractLayer, ...]
    readout: Float[Array, "width numbers"]
    skip: Float[Array, " features_and_y"]

    def __init__(
        self,
        num_features: int,
        width: int,
        encoder: Sequence[AbstractLayer],
        scorer: Sequence[AbstractLayer],
        *,
        costs: bool,
        key: PRNGKeyArray,
    ) -> None:
        key_embed, key_readout = jax.random.split(key)
        self.embed = linear_map(key_embed, num_features + 1, width, gain=2.0)
        self.encoder, self.scorer = tuple(encoder), tuple(scorer)
        self.readout = linear_map(key_readout, width, 1 + costs, gain=0.03)
        self.skip = jnp.zeros(num_features + 1)

    def encode(
        self, features: Float[Array, "rows columns features"], real: Real
    ) -> Callable[[Array], tuple[Float[Array, "rows columns"], Float[Array, "rows columns"]]]:
        """Encode the problem; return the map from a candidate to proposed answer and cost."""
        encoded = features @ self.embed[:-1]
        for layer in self.encoder:
            encoded = layer(encoded, encoded, real)
        skipped = features @ self.skip[:-1]

        def score(y: Float[Array, "rows columns"]) -> tuple[Array, Array]:
            entries = encoded + y[..., None] * self.embed[-1]
            for layer in self.scorer:
                entries = layer(entries, encoded, real)
            answer, *cost = jnp.moveaxis(entries @ self.readout, -1, 0)
            answer = answer + skipped + self.skip[-1] * y
            return answer, cost[0] if cost else jnp.zeros_like(answer)

        return score


class AbstractEntryEnergy(AbstractEnergy):
    r"""How far a candidate is from what an `EntryNet` proposes, plus a learned cost.

    $$E(x, y) = \sum_{ij} \tfrac12 (y_{ij} - F(x, y)_{ij})^2 + R(x, y)_{ij}$$

    The first part pulls towards the proposed answer, the second shapes the landscape on the way
    there. Networks without an activation have the first part alone.

    Where answers scale with their problems, as $c^p\,y$ answers $c\,x$, so does the energy: $x$ is
    divided by its size $s$ and $y$ by $s^p$ before the network. What is learned on problems of one
    size then holds for those of any other.
    """

    network: eqx.AbstractVar[EntryNet]
    power: eqx.AbstractVar[int | None]

    num_scaled: ClassVar[int | None] = None
    """How many channels of a problem scale, the first ones; all by default."""

    @abc.abstractmethod
    def table(self, x: Any) -> tuple[Float[Array, "rows columns channels"], Real]:
        """Return the problem as a table with channels, and which rows and columns are real."""

    @abc.abstractmethod
    def features(
        self, table: Float[Array, "rows columns channels"], real: Real
    ) -> Float[Array, "rows columns features"]:
        """Return the features of every entry that the network is given."""

    @abc.abstractmethod
    def square(
        self, numbers: Float[Array, "rows columns channels"], real: Real
    ) -> Float[Array, ""]:
        """Return the square of the size of a problem; it grows as that of its numbers."""

    def landscape(self, x: Any) -> Callable[[Array], Float[Array, ""]]:
        """Return the map from a candidate to its energy; the problem is encoded once."""
        table, real = self.table(x)
        scale = self._scale(table, real)
        unit = self._unit(scale)
        pairs = real[0][:, None] & real[1]
        score = self.network.encode(
            self.features(table.at[..., : self.num_scaled].divide(scale), real), real
        )

        def energy(y: Array) -> Float[Array, ""]:
            y = jnp.where(pairs, y.reshape(pairs.shape), 0.0) / unit
            answer, cost = score(y)
            energies = 0.5 * jnp.square(y - answer) + cost
            return jnp.square(unit) * jnp.sum(jnp.where(pairs, energies, 0.0))

        return energy

    def guess(self, x: Any, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """Return a guess uniform in (-1, 1), times the size of answers if that is known."""
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


# The square of a size below which a problem counts as zero.
_SMALLEST = 1e-12


def entry_features(
    table: Float[Array, "rows columns channels"],
) -> Float[Array, "rows columns features"]:
    """Return the numbers of every entry, which of them are not zero, and a one."""
    given = (table != 0).astype(table.dtype)
    return jnp.concatenate([table, given, jnp.ones_like(table[..., :1])], axis=-1)


def entry_square(numbers: Float[Array, "rows columns channels"]) -> Float[Array, ""]:
    """Return the mean square of those numbers that are not zero."""
    return jnp.sum(jnp.square(numbers)) / jnp.maximum(jnp.sum(numbers != 0), 1)


def activate(name: str, entries: Array) -> Array:
    """Apply the activation of a layer."""
    return jax.nn.swish(entries) if name == "swish" else entries


def linear_map(
    key: PRNGKeyArray, num_in: int, num_out: int, *, gain: float = 1.0
) -> Float[Array, "num_in num_out"]:
    """Return initial weights that keep the variance of their inputs, times `gain` squared."""
    bound = gain * (3 / max(num_in, 1)) ** 0.5
    return jax.random.uniform(key, (num_in, num_out), minval=-bound, maxval=bound)


def line_means(
    entries: Float[Array, "rows columns width"], real: Real
) -> tuple[Float[Array, "rows width"], Float[Array, "columns width"]]:
    """Return the mean of every row and of every column."""
    rows, columns = (line.astype(entries.dtype) / line.sum() for line in real)
    return jnp.einsum("rcw,c->rw", entries, columns), jnp.einsum("rcw,r->cw", entries, rows)


def check_sizes(energy: Any) -> None:
    """Refuse a network without layers or units, and powers that have no meaning."""
    for name in ("width", "channels"):
        count(name, getattr(energy, name))
    check_depth("depth", energy.depth)
    check_depth("encoder_depth", energy.encoder_depth, may_be_zero=True)
    known("activation", energy.activation, ACTIVATIONS)
    if energy.power not in (None, 1, -1):
        raise InputError(f"`power` must be 1, -1 or None, got {energy.power!r}.")
