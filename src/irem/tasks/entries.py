"""What tasks share whose every entry stands alone: numbers of many sizes, and a check."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

# Share of entries that are zero.
_ZEROS = 0.1
# Roundings of 32 bits that an answer may be off: of each input, of the answer, of two coefficients.
_ROUNDINGS = 4


def many_sizes(
    key: PRNGKeyArray, shape: tuple[int, ...], largest: float
) -> Float[Array, "*batch_and_entries"]:
    """Draw numbers of either sign and of sizes from `1 / largest` to `largest`, a tenth zero."""
    key_size, key_sign, key_zero = jax.random.split(key, 3)
    bound = math.log(largest)
    size = jnp.exp(jax.random.uniform(key_size, shape, minval=-bound, maxval=bound))
    zero = jax.random.bernoulli(key_zero, _ZEROS, shape)
    return jnp.where(zero, 0.0, size * jax.random.rademacher(key_sign, shape, size.dtype))


def entry_residuals(
    y: np.ndarray, expected: np.ndarray, inputs: np.ndarray
) -> Float[np.ndarray, " problems"]:
    """Return the largest relative error of an entry, for every answer of a batch.

    Arguments:
        y: Answers, in float64.
        expected: What they should be, in float64.
        inputs: The sum of the sizes of the numbers that an entry is made from: a few roundings of
            it in 32 bits are no error.
    """
    allowed = _ROUNDINGS * np.finfo(np.float32).eps * inputs
    excess = np.maximum(np.abs(y - expected) - allowed, 0)  # stays NaN where an answer is
    size = np.abs(expected)
    relative = np.where(excess == 0, 0.0, excess / np.where(size > 0, size, 1.0))
    relative = np.where((size == 0) & (excess > 0), np.inf, relative)
    return relative.max(axis=tuple(range(1, y.ndim)))
