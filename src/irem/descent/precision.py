"""Descents in 64 bits on energies that ask for it, whatever precision the user works in.

A hand-written energy may be badly conditioned, and in 32 bits its gradient is rounding long before
its minimum is reached. Energies that are `in_double` are descended in 64 bits, and their solutions
rounded afterwards.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float, PyTree

from irem.descent.rules import Descent
from irem.descent.solution import Reason, Solution
from irem.descent.wolfe import Wolfe
from irem.trees import Tree, map_arrays

_BACKENDS = ("cpu", "gpu")


def in_best_precision(minimise: Callable[..., Solution]) -> Callable[..., Solution]:
    """Return a function of descents, problems and first points that works in 64 bits if it may."""

    @functools.wraps(minimise)
    def wrapped(
        descent: Descent, x: PyTree, y0: Float[Array, "problems ..."], *options: Any, **named: Any
    ) -> Solution:
        if not takes_double(descent, x, y0):
            return minimise(descent, x, y0, *options, **named)
        try:
            return in_double(minimise)(descent, x, y0, *options, **named)
        except (TypeError, ValueError):
            # The function insists on 32 bits; if that was not the reason, it fails again.
            return minimise(descent, x, y0, *options, **named)

    return wrapped


def in_double(minimise: Callable[..., Solution]) -> Callable[..., Solution]:
    """Return the same function in 64 bits, whose arguments and solutions are in 32."""

    @functools.wraps(minimise)
    def wrapped(
        descent: Descent, x: PyTree, y0: Float[Array, "problems ..."], *options: Any, **named: Any
    ) -> Solution:
        with jax.enable_x64(True):
            return narrowed(minimise(*widened((descent, x, y0)), *options, **named))

    return wrapped


def wants_double(descent: Descent) -> bool:
    """Return whether a descent is one that is better in 64 bits."""
    # Other searches, the paper's fixed step among them, are what they are in the user's precision.
    return getattr(descent.energy, "in_double", False) and isinstance(descent.step.search, Wolfe)


def takes_double(descent: Descent, x: PyTree, y0: Float[Array, "problems ..."]) -> bool:
    """Return whether descents on these problems are to be in 64 bits, here and now."""
    in_single = y0.dtype == jnp.float32 and not jax.config.read("jax_enable_x64")
    traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((x, y0)))
    supported = jax.default_backend() in _BACKENDS
    return wants_double(descent) and in_single and not traced and supported


def widened(tree: Tree) -> Tree:
    """Return a tree whose numbers of 32 bits have 64; called where JAX has 64 bits enabled."""
    return map_arrays(_wide, tree)


def narrowed(solution: Solution) -> Solution:
    """Return a solution that was found in 64 bits in 32."""
    return _finite(map_arrays(_narrow, solution))


def _finite(solution: Solution) -> Solution:
    """Return a solution that does not call converged what is too large for 32 bits."""
    assert solution.energy is not None
    assert solution.converged is not None
    assert solution.reason is not None
    entries = jnp.isfinite(solution.y).reshape(solution.y.shape[0], -1).all(1)
    lost = ~(entries & jnp.isfinite(solution.energy))
    return dataclasses.replace(
        solution,
        reason=jnp.where(lost, Reason.NOT_FINITE, solution.reason).astype(jnp.int32),
        converged=solution.converged & ~lost,
    )


def _wide(array: Array) -> Array:
    return array.astype(jnp.float64) if array.dtype == jnp.float32 else array


def _narrow(array: Array) -> Array:
    narrow = {"float64": jnp.float32, "int64": jnp.int32}
    return array.astype(narrow.get(str(array.dtype), array.dtype))
