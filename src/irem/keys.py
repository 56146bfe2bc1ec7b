"""Seeds, and the keys that are drawn from them."""

import jax
from jaxtyping import Array, PRNGKeyArray

from irem.errors import InputError
from irem.memory import check_memory

# Of a key and of what is computed on the way to it.
_KEY_BYTES = 64


def check_seed(seed: int, seeds: int = 1) -> None:
    """Refuse a seed outside the range of JAX's keys."""
    if not 0 <= seed <= 2**32 - seeds:
        raise InputError(f"`seed` must be a whole number from 0 to {2**32 - seeds}, got {seed}.")


def fresh_key(seed: int, purpose: str) -> PRNGKeyArray:
    """A key for `purpose` that no training run and no other purpose draws from."""
    check_seed(seed)
    return jax.random.fold_in(jax.random.key(seed), int.from_bytes(purpose.encode()[:4]))


def training_keys(seed: int, seeds: int) -> Array:
    """One key for each of `seeds` models that train together, from `seed` on."""
    check_memory(f"Drawing keys for {seeds:,} models", _KEY_BYTES * seeds, "ask for fewer seeds")
    check_seed(seed, seeds)
    numbers = jax.numpy.arange(seeds, dtype=jax.numpy.uint32) + jax.numpy.uint32(seed)
    return jax.vmap(jax.random.key)(numbers)
