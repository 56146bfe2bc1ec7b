"""A network of variables that take part in groups."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from irem.puzzles import Families, Family, Puzzle

_KNOWN = (0, 1, -1)
# Most groups of a Sudoku have nine members: sums of so many are of the size of one again.
_USUAL_SIZE = 9


@jax.custom_vjp
def pool(values: Float[Array, "variables width"], family: Family) -> Array:
    """Return the sum over the members of every group."""
    return _sum_of(values, family.members)


@jax.custom_vjp
def spread(values: Float[Array, "groups width"], family: Family) -> Array:
    """Return for every variable the sum over its groups, which is the transpose of `pool`."""
    return _sum_of(values, family.of_variable)


def _sum_of(values: Float[Array, "n width"], chosen: Int[Array, "m count"]) -> Array:
    """Return the sums of chosen rows; a row beyond the last is zero."""
    rows = jnp.take(values, chosen, axis=0, mode="fill", fill_value=0)
    return jnp.sum(rows.astype(jnp.promote_types(values.dtype, jnp.float32)), axis=1).astype(
        values.dtype
    )


# Derivatives of gathered sums are gathered as well: a scatter, which JAX would write, is slower.
pool.defvjp(lambda v, c: (pool(v, c), c), lambda c, g: (spread(g, c), None))
spread.defvjp(lambda v, c: (spread(v, c), c), lambda c, g: (pool(g, c), None))


class Exchange(eqx.Module):
    """Every group sums its members and answers all of them; around a residual connection.

    Arguments:
        families: How many families of groups there are, each with weights of its own.
        width: Features of a variable, and of a group.
        key: Source of the initial weights.
    """

    scale: Float[Array, " width"]
    own: Float[Array, "width width"]
    bias: Float[Array, " width"]
    to_group: Float[Array, "families width width"]
    group_bias: Float[Array, "families width"]
    from_group: Float[Array, "families width width"]
    out: Float[Array, "width width"]

    def __init__(self, families: int, width: int, *, key: PRNGKeyArray) -> None:
        keys = jax.random.split(key, 4)
        square = (width, width)
        self.own, self.out = _normal(keys[0], square), _normal(keys[1], square, 0.5)
        self.to_group = _normal(keys[2], (families, *square))
        self.from_group = _normal(keys[3], (families, *square), 0.7)
        self.scale, self.bias = jnp.ones(width), jnp.zeros(width)
        self.group_bias = jnp.zeros((families, width))

    def __call__(self, h: Float[Array, "variables width"], families: Families) -> Array:
        """Return the features of all variables after the exchange."""
        cast = lambda weight: weight.astype(h.dtype)  # noqa: E731
        normed = _normalised(h, self.scale)
        inner = normed @ cast(self.own) + cast(self.bias)
        for i, family in enumerate(families):
            pooled = pool(normed, family) / _USUAL_SIZE**0.5
            heard = jax.nn.silu(pooled @ cast(self.to_group[i]) + cast(self.group_bias[i]))
            inner += spread(heard @ cast(self.from_group[i]), family)
        return h + jax.nn.silu(inner) @ cast(self.out)


class GroupNet(eqx.Module):
    """A network from some numbers for each variable to a target for each of them and a penalty.

    Arguments:
        numbers: How many numbers a variable has.
        families: How many families of groups there are.
        width: Features of a variable, and of a group.
        layers: How often variables and groups exchange features.
        key: Source of the initial weights.
    """

    into: Float[Array, "inputs width"]
    bias: Float[Array, " width"]
    exchanges: tuple[Exchange, ...]
    scale: Float[Array, " width"]
    target: Float[Array, "width numbers"]
    target_bias: Float[Array, " numbers"]
    penalty: Float[Array, "width width"]
    penalty_weights: Float[Array, " width"]

    def __init__(
        self, numbers: int, families: int, width: int, layers: int, *, key: PRNGKeyArray
    ) -> None:
        key_in, key_layers, key_target, key_penalty, key_weights = jax.random.split(key, 5)
        self.into = _normal(key_in, (numbers + len(_KNOWN), width))
        self.bias, self.scale = jnp.zeros(width), jnp.ones(width)
        keys = jax.random.split(key_layers, layers)
        self.exchanges = tuple(Exchange(families, width, key=k) for k in keys)
        self.target = _normal(key_target, (width, numbers), 0.3)
        self.target_bias = jnp.zeros(numbers)
        self.penalty = _normal(key_penalty, (width, width))
        self.penalty_weights = 0.1 * jax.random.normal(key_weights, (width,))

    def __call__(
        self, x: Puzzle, *, half: bool = False
    ) -> Callable[[Array], tuple[Float[Array, "variables numbers"], Float[Array, " variables"]]]:
        """Do all work that depends on `x` alone; return the map from numbers to targets, penalties.

        Arguments:
            x: The puzzle.
            half: Whether features are in bfloat16.
        """
        known = x.known[:, None] == jnp.asarray(_KNOWN, x.known.dtype)
        numbers = self.into.shape[0] - len(_KNOWN)
        of_known = known.astype(self.into.dtype) @ self.into[numbers:] + self.bias

        def read(point: Float[Array, "variables numbers"]) -> tuple[Array, Array]:
            kind = jnp.bfloat16 if half else point.dtype
            h = point.astype(kind) @ self.into[:numbers].astype(kind) + of_known.astype(kind)
            for exchange in self.exchanges:
                h = exchange(h, x.families)
            normed = _normalised(h, self.scale)
            target = (normed @ self.target.astype(kind)).astype(point.dtype) + self.target_bias
            penalty = (normed @ self.penalty.astype(kind)).astype(point.dtype)
            return target, jax.nn.softplus(penalty) @ self.penalty_weights

        return read


def _normal(key: PRNGKeyArray, shape: tuple[int, ...], gain: float = 1.0) -> Array:
    """Weights by which the sum over inputs, the last axis but one, is as large as one of them."""
    return gain / shape[-2] ** 0.5 * jax.random.normal(key, shape)


def _normalised(h: Float[Array, "n width"], scale: Float[Array, " width"]) -> Array:
    """Return features divided by their root mean square, times a learned scale."""
    wide = h.astype(jnp.promote_types(h.dtype, jnp.float32))
    size = jax.lax.rsqrt(jnp.mean(jnp.square(wide), axis=-1, keepdims=True) + 1e-6)
    return (wide * size * scale).astype(h.dtype)
