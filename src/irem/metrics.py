"""How far answers are from the truth."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Shaped


def rounded(y: ArrayLike) -> Float[Array, "..."]:
    """Return 1 where an answer is at least one half, else 0, for tasks whose answers are bits."""
    y = jnp.asarray(y)
    return (y >= 0.5).astype(y.dtype)


def square_error(
    y: Shaped[Array, "*batch"],
    target: Shaped[Array, "*batch"],
    mask: Bool[Array, "*batch"] | None = None,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return the sum of squared differences over the real entries, and their number."""
    square = jnp.square(y - target)
    if mask is None:
        return square.sum(), jnp.asarray(square.size, square.dtype)
    return jnp.where(mask, square, 0).sum(), mask.sum().astype(square.dtype)


def mse(y: ArrayLike, target: ArrayLike, mask: ArrayLike | None = None) -> float:
    """Return the elementwise mean squared error, the metric of every table of the paper.

    Examples:
        >>> mse(jnp.array([1.0, 2.0]), jnp.array([1.0, 4.0]))
        2.0
    """
    y, target = jnp.asarray(y), jnp.asarray(target)
    if y.shape != target.shape:
        raise ValueError(f"`mse` compares arrays of one shape, got {y.shape} and {target.shape}.")
    if mask is not None:
        mask = jnp.broadcast_to(jnp.asarray(mask), y.shape)
    total, count = square_error(y, target, mask)
    return float(total / count)
