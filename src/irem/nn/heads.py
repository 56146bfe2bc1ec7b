"""What energies read from the features of places: targets and penalties."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


class Heads(eqx.Module):
    """Two layers that read a target for some numbers and a penalty from features.

    Arguments:
        numbers: How many numbers there are.
        width: Features.
        key: Source of the initial weights.
    """

    scale: Float[Array, " width"]
    target: Float[Array, "width numbers"]
    target_bias: Float[Array, " numbers"]
    penalty: Float[Array, "width width"]
    penalty_weights: Float[Array, " width"]

    def __init__(self, numbers: int, width: int, *, key: PRNGKeyArray) -> None:
        key_target, key_penalty, key_weights = jax.random.split(key, 3)
        self.scale = jnp.ones(width)
        self.target = random_weights(key_target, (width, numbers), 0.3)
        self.target_bias = jnp.zeros(numbers)
        self.penalty = random_weights(key_penalty, (width, width))
        self.penalty_weights = 0.1 * jax.random.normal(key_weights, (width,))

    def __call__(
        self, h: Float[Array, "*places width"], kind: jnp.dtype
    ) -> tuple[Float[Array, "*places numbers"], Float[Array, "*places"]]:
        """Return targets and penalties, as numbers of a kind that may be wider than features."""
        normed = normalised(h, self.scale)
        target = (normed @ self.target.astype(h.dtype)).astype(kind) + self.target_bias
        penalty = (normed @ self.penalty.astype(h.dtype)).astype(kind)
        return target, jax.nn.softplus(penalty) @ self.penalty_weights


def random_weights(key: PRNGKeyArray, shape: tuple[int, ...], gain: float = 1.0) -> Array:
    """Return weights by which a sum over inputs, the last axis but one, is as large as one."""
    return gain / shape[-2] ** 0.5 * jax.random.normal(key, shape)


def normalised(h: Float[Array, "*places width"], scale: Float[Array, " width"]) -> Array:
    """Return features divided by their root mean square, times a learned scale."""
    wide = h.astype(jnp.promote_types(h.dtype, jnp.float32))
    size = jax.lax.rsqrt(jnp.mean(jnp.square(wide), axis=-1, keepdims=True) + 1e-6)
    return (wide * size * scale).astype(h.dtype)
