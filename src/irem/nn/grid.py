"""A network of cells on a line or a grid, each with its neighbours."""

from __future__ import annotations

import functools
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from irem.nn.heads import Heads, normalised, random_weights

Directions = tuple[tuple[tuple[int, ...], ...], ...]
"""Families of directions, each a step along every axis; those of a family share weights."""


def directions(axes: int, symmetric: bool) -> Directions:
    """Return the directions to the neighbours of a cell.

    Arguments:
        axes: 1 for a line, 2 for a grid.
        symmetric: Whether all directions are of one family, so that what is computed of a problem
            that is mirrored or turned is mirrored or turned as well.

    Examples:
        >>> directions(1, symmetric=False)
        (((-1,),), ((1,),))
    """
    steps = tuple(
        tuple(sign * (axis == along) for axis in range(axes))
        for along in range(axes)
        for sign in (-1, 1)
    )
    return (steps,) if symmetric else tuple((step,) for step in steps)


def shifted(values: Float[Array, "*cells width"], step: tuple[int, ...]) -> Array:
    """Return for every cell the values of its neighbour in a direction, zero where there is none.

    Examples:
        >>> shifted(jnp.array([[1.0], [2.0], [3.0]]), (1,))[:, 0]
        Array([2., 3., 0.], dtype=float32)
    """
    for axis, by in enumerate(step):
        if by:
            size = values.shape[axis]
            kept = jax.lax.slice_in_dim(values, max(by, 0), size + min(by, 0), axis=axis)
            padding = [(0, 0)] * values.ndim
            padding[axis] = (max(-by, 0), max(by, 0))
            values = jnp.pad(kept, padding)
    return values


class Neighbours(eqx.Module):
    """Every cell receives a sum and a maximum over its neighbours; around a residual connection.

    Arguments:
        directions: Families of directions, each with weights of its own.
        width: Features of a cell, and of what it sends.
        key: Source of the initial weights.
    """

    directions: Directions = eqx.field(static=True)
    scale: Float[Array, " width"]
    own: Float[Array, "width width"]
    bias: Float[Array, " width"]
    sent: Float[Array, "families width width"]
    sent_bias: Float[Array, "families width"]
    sums: Float[Array, "families width width"]
    maxima: Float[Array, "families width width"]
    out: Float[Array, "width width"]

    def __init__(self, directions: Directions, width: int, *, key: PRNGKeyArray) -> None:
        keys = jax.random.split(key, 5)
        families, square = len(directions), (width, width)
        self.directions = directions
        self.own = random_weights(keys[0], square)
        self.sent = random_weights(keys[1], (families, *square))
        self.sums = random_weights(keys[2], (families, *square))
        self.maxima = random_weights(keys[3], (families, *square))
        self.out = random_weights(keys[4], square, 0.5)
        self.scale, self.bias = jnp.ones(width), jnp.zeros(width)
        self.sent_bias = jnp.zeros((families, width))

    def __call__(self, h: Float[Array, "*cells width"], real: Bool[Array, "*cells"]) -> Array:
        """Return the features of all cells after the exchange.

        Arguments:
            h: The features before.
            real: Which cells there are; others send nothing, like those beyond the border.
        """
        cast = lambda weight: weight.astype(h.dtype)  # noqa: E731
        normed = normalised(h, self.scale)
        inner = normed @ cast(self.own) + cast(self.bias)
        for i, family in enumerate(self.directions):
            sent = jax.nn.silu(normed @ cast(self.sent[i]) + cast(self.sent_bias[i]))
            sent = jnp.where(real[..., None], sent, 0)
            received = [shifted(sent, step) for step in family]
            inner += sum(received) @ cast(self.sums[i]) / len(family) ** 0.5
            if len(family) > 1:
                inner += functools.reduce(jnp.maximum, received) @ cast(self.maxima[i])
        return h + jax.nn.silu(inner) @ cast(self.out)


class GridNet(eqx.Module):
    """A network from some numbers for each cell to a target for each of them and a penalty.

    Arguments:
        numbers: How many numbers a cell has.
        symbols: How many symbols a cell of a problem may have.
        directions: Families of directions.
        width: Features of a cell.
        layers: How often neighbours exchange features.
        key: Source of the initial weights.
    """

    of_symbol: Float[Array, "symbols width"]
    into: Float[Array, "numbers width"]
    layers: tuple[Neighbours, ...]
    heads: Heads

    def __init__(
        self,
        numbers: int,
        symbols: int,
        directions: Directions,
        width: int,
        layers: int,
        *,
        key: PRNGKeyArray,
    ) -> None:
        key_symbol, key_in, key_layers, key_heads = jax.random.split(key, 4)
        self.of_symbol = jax.random.normal(key_symbol, (symbols, width))
        self.into = random_weights(key_in, (numbers, width))
        keys = jax.random.split(key_layers, layers)
        self.layers = tuple(Neighbours(directions, width, key=k) for k in keys)
        self.heads = Heads(numbers, width, key=key_heads)

    def __call__(
        self, x: Int[Array, "*cells"], *, half: bool = False
    ) -> Callable[[Array], tuple[Float[Array, "*cells numbers"], Float[Array, "*cells"]]]:
        """Return the map from numbers to targets and penalties.

        Arguments:
            x: The symbols, negative where there is no cell.
            half: Whether features are in bfloat16.
        """
        real = x >= 0
        given = self.of_symbol[jnp.maximum(x, 0)]

        def read(point: Float[Array, "*cells numbers"]) -> tuple[Array, Array]:
            kind = jnp.bfloat16 if half else point.dtype
            h = point.astype(kind) @ self.into.astype(kind) + given.astype(kind)
            for layer in self.layers:
                h = layer(h, real)
            return self.heads(h, point.dtype)

        return read
