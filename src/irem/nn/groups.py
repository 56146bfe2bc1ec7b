"""A network of variables that take part in groups."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from irem.nn.heads import Heads, normalised, random_weights
from irem.puzzles import Family, Puzzle, with_excluded

# Groups of open variables mostly have a few members: sums of so many are of the size of one again.
_USUAL_SIZE = 4
# On a GPU products with a matrix of members are faster than lists, unless there are so many more
# variables than members of a group.
_MOST_PER_MEMBER = 64


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


class Lists(eqx.Module):
    """Which variables are in which groups of a family, as lists."""

    family: Family

    def pool(self, values: Float[Array, "variables width"]) -> Array:
        """Return the sum over the members of every group."""
        return pool(values, self.family)

    def spread(self, values: Float[Array, "groups width"]) -> Array:
        """Return for every variable the sum over its groups."""
        return spread(values, self.family)


class Matrix(eqx.Module):
    """Which variables are in which groups of a family, as a matrix of zeros and ones."""

    of_variable: Float[Array, "variables groups"]

    def pool(self, values: Float[Array, "variables width"]) -> Array:
        """Return the sum over the members of every group."""
        return self.of_variable.T.astype(values.dtype) @ values

    def spread(self, values: Float[Array, "groups width"]) -> Array:
        """Return for every variable the sum over its groups."""
        return self.of_variable.astype(values.dtype) @ values


class Open(eqx.Module):
    """The open variables of a puzzle, and the groups in which they still are.

    Arguments:
        listed: Variables, among which all open ones are.
        is_open: Which of those are open.
        truths: What the others are known to be.
        groups: The groups, family by family.
    """

    listed: Int[Array, " listed"]
    is_open: Bool[Array, " listed"]
    truths: Float[Array, " listed"]
    groups: tuple[Lists | Matrix, ...]

    @staticmethod
    def of(x: Puzzle) -> Open:
        """Do the work that depends on the puzzle alone."""
        variables = x.known.shape[0]
        known = with_excluded(x.known, x.families)
        listed = jnp.arange(variables) if x.open is None else x.open
        at = lambda values, filler: jnp.take(values, listed, mode="fill", fill_value=filler)  # noqa: E731
        is_open = at(known == 0, False)
        places = (
            jnp.full(variables + 1, listed.shape[0])
            .at[listed]
            .set(jnp.where(is_open, jnp.arange(listed.shape[0]), listed.shape[0]))
        )
        groups = tuple(_among_open(f, x.known, listed, is_open, places) for f in x.families)
        return Open(listed, is_open, at(known == 1, False).astype(jnp.float32), groups)


def _among_open(
    family: Family,
    known: Int[Array, " variables"],
    listed: Int[Array, " listed"],
    is_open: Bool[Array, " listed"],
    places: Int[Array, " numbers"],
) -> Lists | Matrix:
    """Return which open variables are in which groups; a group with a true one has none."""
    count, size = family.members.shape
    true = jnp.take(known == 1, family.members, mode="fill", fill_value=False)
    satisfied = jnp.append(jnp.any(true, axis=1), False)
    own = jnp.take(family.of_variable, listed, axis=0, mode="fill", fill_value=count)
    own = jnp.where(satisfied[own] | ~is_open[:, None], count, own)
    if _is_matrix_faster(listed.shape[0], size):
        return Matrix(jnp.sum(jax.nn.one_hot(own, count), axis=1))
    filler = listed.shape[0]
    members = jnp.where(satisfied[:count, None], filler, places[family.members])
    return Lists(Family(members, own, family.quota))


def _is_matrix_faster(variables: int, size: int) -> bool:
    """Whether to multiply by a matrix of members rather than to gather them."""
    return jax.default_backend() == "gpu" and variables <= _MOST_PER_MEMBER * size


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
        self.own, self.out = random_weights(keys[0], square), random_weights(keys[1], square, 0.5)
        self.to_group = random_weights(keys[2], (families, *square))
        self.from_group = random_weights(keys[3], (families, *square), 0.7)
        self.scale, self.bias = jnp.ones(width), jnp.zeros(width)
        self.group_bias = jnp.zeros((families, width))

    def __call__(
        self, h: Float[Array, "variables width"], groups: tuple[Lists | Matrix, ...]
    ) -> Array:
        """Return the features of all variables after the exchange."""
        cast = lambda weight: weight.astype(h.dtype)  # noqa: E731
        normed = normalised(h, self.scale)
        inner = normed @ cast(self.own) + cast(self.bias)
        for i, family in enumerate(groups):
            pooled = family.pool(normed) / _USUAL_SIZE**0.5
            heard = jax.nn.silu(pooled @ cast(self.to_group[i]) + cast(self.group_bias[i]))
            inner += family.spread(heard @ cast(self.from_group[i]))
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

    into: Float[Array, "numbers width"]
    bias: Float[Array, " width"]
    exchanges: tuple[Exchange, ...]
    heads: Heads

    def __init__(
        self, numbers: int, families: int, width: int, layers: int, *, key: PRNGKeyArray
    ) -> None:
        key_in, key_bias, key_layers, key_heads = jax.random.split(key, 4)
        self.into = random_weights(key_in, (numbers, width))
        self.bias = jax.random.normal(key_bias, (width,))
        keys = jax.random.split(key_layers, layers)
        self.exchanges = tuple(Exchange(families, width, key=k) for k in keys)
        self.heads = Heads(numbers, width, key=key_heads)

    def __call__(
        self, groups: tuple[Lists | Matrix, ...], *, half: bool = False
    ) -> Callable[[Array], tuple[Float[Array, "variables numbers"], Float[Array, " variables"]]]:
        """Return the map from numbers to targets and penalties.

        Arguments:
            groups: Which variables are in which groups, family by family.
            half: Whether features are in bfloat16.
        """

        def read(point: Float[Array, "variables numbers"]) -> tuple[Array, Array]:
            kind = jnp.bfloat16 if half else point.dtype
            h = point.astype(kind) @ self.into.astype(kind) + self.bias.astype(kind)
            for exchange in self.exchanges:
                h = exchange(h, groups)
            return self.heads(h, point.dtype)

        return read
