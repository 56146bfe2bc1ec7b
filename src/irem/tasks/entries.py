"""What tasks share whose every entry stands alone: numbers of many sizes, and a check."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

# Share of entries that are zero.
_ZEROS = 0.1
# Roundings of 32 bits by which an answer may miss zero: of two inputs, and of two coefficients.
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
        inputs: The sum of the sizes of the numbers that an entry is made from: an answer that
            should be zero may miss it by a few of their roundings to 32 bits.
    """
    size = np.abs(expected)
    relative = np.abs(y - expected) / np.where(size > 0, size, 1.0)
    allowed = _ROUNDINGS * np.finfo(np.float32).eps * inputs
    is_zero = np.where(np.abs(y) <= allowed, 0.0, np.inf)  # NaN is not
    relative = np.where(size > 0, relative, is_zero)
    return relative.max(axis=tuple(range(1, y.ndim)))
