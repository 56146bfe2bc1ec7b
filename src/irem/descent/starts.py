"""First points of descents, and the best of several descents on one problem."""

import dataclasses
import math
import operator
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree

from irem.checks import numeric
from irem.descent.algorithm2 import first_point
from irem.descent.footprint import check_starts
from irem.descent.protocols import Energy
from irem.descent.solution import Solution
from irem.errors import InputError

_SAME_POINT = 0.1


def split_key(
    key: PRNGKeyArray | Key[Array, " problems"], problems: int
) -> Key[Array, " problems"]:
    """Return one key for each problem, drawn from `key` unless it is such keys already."""
    keys = jax.random.split(key, problems) if key.ndim == 0 else key
    if keys.shape != (problems,):
        raise InputError(f"`key` has shape {keys.shape}, but there are {problems} problems.")
    return keys


def first_points(
    energy: Energy,
    x: PyTree,
    y0: Any,
    *,
    alone: bool,
    key: PRNGKeyArray | Key[Array, " problems"] | None,
    starts: int,
) -> Float[Array, "descents ..."]:
    """Return where every descent begins; the starts of one problem follow each other.

    Arguments:
        energy: The energy.
        x: A batch of problems.
        y0: First guesses that a user gave, or `None`.
        alone: Whether the user gave one problem without an axis of problems.
        key: Where first guesses are drawn from, or one key for each problem.
        starts: Number of starts of every problem.
    """
    size = jax.tree.leaves(x)[0].shape[0]
    shape = energy.format.answer_shape(jax.tree.map(operator.itemgetter(0), x))
    check_starts(x, shape, starts)
    keys = None if key is None else split_key(key, size)
    if keys is not None and starts > 1:
        keys = jax.vmap(lambda k: jax.random.split(k, starts))(keys).reshape(-1)
    if y0 is not None:
        guesses = _given_guesses(y0, alone, size, shape, starts)
        return _begin(energy, repeat(x, starts), guesses, keys)
    if shape is None:
        raise InputError(
            "This energy does not know the shape of its answers: give a first guess `y0`, or build "
            "it with `from_function(f, answer_shape=...)`."
        )
    if keys is None:
        raise InputError(
            "`solve` draws its first guesses: pass `key=jax.random.key(seed)` or `y0`."
        )
    return _first_points(energy, repeat(x, starts), shape, keys)


@eqx.filter_jit
def _begin(energy: Energy, x: PyTree, y0: Array, keys: Key[Array, " descents"] | None) -> Array:
    return jax.vmap(lambda x, y, k: energy.begin(x, y, key=k))(x, y0, keys)


@eqx.filter_jit
def _first_points(
    energy: Energy, x: PyTree, shape: tuple[int, ...], keys: Key[Array, " descents"]
) -> Array:
    return jax.vmap(lambda x, k: first_point(energy, x, shape, key=k))(x, keys)


def repeat(x: PyTree, starts: int) -> PyTree:
    """Return a batch with every problem as often as it has starts."""
    return x if starts == 1 else jax.tree.map(lambda leaf: jnp.repeat(leaf, starts, axis=0), x)


def lowest_of_starts(solution: Solution, starts: int) -> Solution:
    """Return the start of lowest energy of every problem, and the spread of their answers."""
    by_problem = jax.tree.map(lambda leaf: leaf.reshape(-1, starts, *leaf.shape[1:]), solution)
    # An energy that is NaN is not low.
    energies = jnp.where(jnp.isnan(by_problem.energy), jnp.inf, by_problem.energy)
    best = jnp.argmin(energies, axis=1)
    lowest = jax.tree.map(lambda leaf: jax.vmap(operator.getitem)(leaf, best), by_problem)
    spread = jnp.sqrt(jnp.mean(jnp.var(by_problem.y, axis=1), axis=range(1, solution.y.ndim)))
    return Solution(**{**vars(lowest), "spread": spread})


def distinct_starts(
    solution: Solution, starts: int, answers: int
) -> tuple[Int[Array, "problems answers"], Bool[Array, "problems answers"]]:
    """Return which starts of every problem ended at different points, the lowest energy first.

    Points count as one if they differ by less than a tenth, as the root of the mean square over
    entries: the points of a trained landscape are of the size of 1.

    Arguments:
        solution: The ends of all descents, the starts of one problem following each other.
        starts: Number of starts of every problem.
        answers: How many to look for.

    Returns:
        For every problem the numbers of starts, and whether so many were found.
    """
    assert solution.energy is not None
    points = solution.y.reshape(-1, starts, math.prod(solution.y.shape[1:]))
    energies = solution.energy.reshape(-1, starts)

    def of_problem(points: Array, energies: Array) -> tuple[Array, Array]:
        def take(free: Array, _: None) -> tuple[Array, tuple[Array, Array]]:
            best = jnp.argmin(jnp.where(free, energies, jnp.inf))
            distance = jnp.sqrt(jnp.mean(jnp.square(points - points[best]), axis=1))
            return free & (distance >= _SAME_POINT), (best, free[best])

        return jax.lax.scan(take, jnp.isfinite(energies), length=answers)[1]

    return jax.jit(jax.vmap(of_problem))(points, energies)


def list_answers(
    solution: Solution, starts: int, order: tuple[Int[Array, "..."], Bool[Array, "..."]]
) -> Solution:
    """Return the start of lowest energy of every problem, with the answers that differ from it."""
    assert solution.energy is not None
    chosen, found = order
    pick = jax.vmap(operator.getitem)
    several = solution.y.reshape(-1, starts, *solution.y.shape[1:])
    missing = ~found.reshape(*found.shape, *(1,) * (solution.y.ndim - 1))
    energies = pick(solution.energy.reshape(-1, starts), chosen)
    return dataclasses.replace(
        lowest_of_starts(solution, starts),
        answers=jnp.where(missing, jnp.nan, pick(several, chosen)),
        answer_energies=jnp.where(found, energies, jnp.nan),
    )


def content_keys(x: PyTree) -> Key[Array, " problems"]:
    """Return a key for each problem of a batch that depends on its numbers alone.

    First guesses drawn from it are the same whatever other problems are beside it.
    """
    return _content_keys(x)


def _content_key(x: PyTree) -> PRNGKeyArray:
    mixed = jnp.uint32(0)
    for leaf in jax.tree.leaves(x):
        bits = jax.lax.bitcast_convert_type(jnp.asarray(leaf, jnp.float32), jnp.uint32).ravel()
        places = jnp.arange(bits.size, dtype=jnp.uint32)
        mixed = mixed * jnp.uint32(31) + jnp.sum((bits ^ (bits >> 15)) * (2 * places + 40503))
    return jax.random.fold_in(jax.random.key(0), mixed)


_content_keys = jax.jit(jax.vmap(_content_key))  # made once: JAX compiles for every new function


def count_problems(on_batch: Callable[[int], None] | None, starts: int) -> Callable[[int], None]:
    """Return a function of numbers of descents that calls `on_batch` with numbers of problems."""
    descents = 0

    def on_done(done: int) -> None:
        nonlocal descents
        before, descents = descents // starts, descents + done
        if on_batch is not None:
            on_batch(descents // starts - before)

    return on_done


def _given_guesses(
    y0: Any, alone: bool, size: int, shape: tuple[int, ...] | None, starts: int
) -> Float[Array, "descents ..."]:
    """Return the first guesses that a user gave, checked."""
    several = (starts,) if starts > 1 else ()
    y0 = numeric("y0", y0)[None] if alone else numeric("y0", y0)
    answer = y0.shape[1 + len(several) :] if shape is None else shape
    expected = (size, *several, *answer)
    if y0.shape != expected:
        raise InputError(
            f"`y0` has shape {y0.shape[alone:]}, but the answers have shape {expected[alone:]}"
            + (f", {starts} starts for each problem." if several else ".")
        )
    return y0.reshape(-1, *answer)
