"""Low-rank tables of many kinds, and a sampler of their missing entries."""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from irem.missing import given_entries

# The largest rank that is drawn.
_RANK = 8
# Smallest and largest share of the entries that are given.
_GIVEN = {"same": (0.3, 0.95), "harder": (0.15, 0.4)}
# Smallest and largest noise of tables that have some, in units of the signal.
_NOISE = {"same": (0.01, 0.5), "harder": (0.2, 1.0)}
# Shares of the tables without noise, with offsets, of positive factors, and of ratings.
_EXACT, _OFFSETS, _POSITIVE, _RATINGS = 0.4, 0.4, 0.3, 0.2
# Components fall like one over their number to a power of at most this.
_STEEPEST = 2.0

# The sampler: components of the model, steps before the first estimate and those that are averaged,
# the least noise in units of the given entries, and its weak priors in pseudo-counts.
_COMPONENTS, _BURN_IN, _DRAWS, _LEAST, _PRIOR = 10, 300, 300, 1e-3, 1e-3


def draw_table(
    key: PRNGKeyArray, shape: tuple[int, int], difficulty: str
) -> tuple[Float[Array, "rows columns"], Float[Array, "rows columns"]]:
    """Draw a table with NaN at its missing entries, and the table itself, of mean square 1."""
    key_signal, key_noise, key_level, key_exact, key_ratings, key_given, key_share = (
        jax.random.split(key, 7)
    )
    signal = _signal(key_signal, shape)
    ratings = jax.random.bernoulli(key_ratings, _RATINGS)
    low, high = (math.log(bound) for bound in _NOISE[difficulty])
    level = jnp.exp(jax.random.uniform(key_level, (), minval=low, maxval=high))
    exact = jax.random.bernoulli(key_exact, _EXACT) & (difficulty == "same")
    level = jnp.where(exact & ~ratings, 0.0, level)
    noisy = signal + level * jnp.std(signal) * jax.random.normal(key_noise, shape)
    y = jnp.where(ratings, _rated(noisy), noisy)
    y = y / jnp.sqrt(jnp.mean(jnp.square(y)))
    low, high = _GIVEN[difficulty]
    share = jax.random.uniform(key_share, (), minval=low, maxval=high)
    given = jax.random.bernoulli(key_given, share, shape).at[0, 0].set(True)
    return jnp.where(given, y, jnp.nan), y


def _signal(key: PRNGKeyArray, shape: tuple[int, int]) -> Float[Array, "rows columns"]:
    """Draw a table of low rank, with offsets of rows and columns or without."""
    keys = iter(jax.random.split(key, 9))
    rank = jax.random.randint(next(keys), (), 1, _RANK + 1)
    power = jax.random.uniform(next(keys), (), maxval=_STEEPEST)
    power = jnp.where(jax.random.bernoulli(next(keys)), power, 0.0)
    numbers = jnp.arange(1, _RANK + 1)
    sizes = jnp.where(numbers <= rank, numbers**-power, 0.0)
    u, v = (jax.random.normal(next(keys), (n, _RANK)) for n in shape)
    positive = jax.random.bernoulli(next(keys), _POSITIVE)
    u, v = (jnp.where(positive, jnp.abs(factor), factor) for factor in (u, v))
    table = jnp.matmul(u * sizes, v.T, precision="highest")
    table = table / jnp.std(table)
    scales = jnp.where(jax.random.bernoulli(next(keys), _OFFSETS), 1.0, 0.0) * jnp.array([1, 1, 3])
    rows, columns = (jax.random.normal(next(keys), (n,)) for n in shape)
    return table + scales[0] * rows[:, None] + scales[1] * columns + scales[2] * positive


def _rated(table: Float[Array, "rows columns"]) -> Float[Array, "rows columns"]:
    """Return ratings from 1 to 5 that rise with the entries."""
    return jnp.clip(jnp.round(3.2 + (table - jnp.mean(table)) / jnp.std(table)), 1, 5)


def mean_filled(x: Float[Array, "rows columns"]) -> Float[Array, "rows columns"]:
    """Return a table with the mean of its given entries at the missing ones."""
    given = given_entries(x)
    mean = jnp.sum(jnp.where(given, x, 0.0)) / jnp.maximum(jnp.sum(given), 1)
    return jnp.where(given, x, mean)


def sampled_mean(x: Float[Array, "rows columns"]) -> Float[Array, "rows columns"]:
    """Return a table with estimates of its missing entries: Bayesian factorisation by Gibbs.

    The factors are normal, with a variance of its own for every component, and the noise is of an
    unknown size. Salakhutdinov and Mnih (2008, Bayesian probabilistic matrix factorization).
    """
    given = given_entries(x)
    entries = jnp.where(given, x, 0.0)
    unit = jnp.sqrt(jnp.sum(jnp.square(entries)) / jnp.maximum(jnp.sum(given), 1))
    unit = jnp.where(unit > 0, unit, 1.0)
    entries = entries / unit
    _, values, v = jnp.linalg.svd(entries, full_matrices=False)
    size = min(_COMPONENTS, *x.shape)
    v = v[:size].T * jnp.sqrt(values[:size])
    state = (v, jnp.ones(size), jnp.asarray(10.0))

    def sweep(
        state: tuple[Array, Array, Array], key: PRNGKeyArray
    ) -> tuple[tuple[Array, Array, Array], Array]:
        v, precisions, precision = state
        key_u, key_v, key_components, key_noise = jax.random.split(key, 4)
        u, mean = _factor(key_u, entries, given, v, precisions / precision, precision)
        estimate = jnp.matmul(mean, v.T, precision="highest")
        v, _ = _factor(key_v, entries.T, given.T, u, precisions / precision, precision)
        squares = jnp.sum(u**2, 0) + jnp.sum(v**2, 0)
        shape = _PRIOR + 0.5 * sum(x.shape)
        drawn = jax.random.gamma(key_components, jnp.full(size, shape))
        precisions = drawn / (_PRIOR + 0.5 * squares)
        left = jnp.where(given, entries - jnp.matmul(u, v.T, precision="highest"), 0.0)
        rate = 0.5 * jnp.sum(given) * _LEAST**2 + 0.5 * jnp.sum(jnp.square(left))
        precision = jax.random.gamma(key_noise, _PRIOR + 0.5 * jnp.sum(given)) / rate
        return (v, precisions, precision), estimate

    keys = jax.random.split(jax.random.key(0), _BURN_IN + _DRAWS)
    _, estimates = jax.lax.scan(sweep, state, keys)
    return jnp.where(given, x, unit * estimates[_BURN_IN:].mean(0))


def _factor(
    key: PRNGKeyArray,
    entries: Float[Array, "rows columns"],
    given: Bool[Array, "rows columns"],
    other: Float[Array, "columns rank"],
    ridge: Float[Array, " rank"],
    precision: Float[Array, ""],
) -> tuple[Float[Array, "rows rank"], Float[Array, "rows rank"]]:
    """Draw every row of one factor given the other, and the mean it was drawn around."""
    known = given.astype(entries.dtype)
    matrix = jnp.einsum("nm,mr,ms->nrs", known, other, other, precision="highest")
    # What rounding adds is small beside the diagonal; so is this.
    size = jnp.trace(matrix, axis1=1, axis2=2)[:, None, None]
    matrix = matrix + jnp.diag(ridge) + 1e-6 * size * jnp.eye(other.shape[1])
    target = jnp.matmul(entries, other, precision="highest")
    root = jnp.linalg.cholesky(matrix)
    mean = jax.scipy.linalg.cho_solve((root, True), target[..., None])[..., 0]
    noise = jax.random.normal(key, mean.shape) / jnp.sqrt(precision)
    spread = jax.scipy.linalg.solve_triangular(root, noise[..., None], trans=1, lower=True)
    return mean + spread[..., 0], mean
