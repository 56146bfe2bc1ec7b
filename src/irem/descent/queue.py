"""A queue of problems over a fixed number of slots: a problem that stops is replaced."""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from irem.descent.algorithm2 import State, finish
from irem.descent.precision import in_best_precision
from irem.descent.rules import Descent
from irem.descent.slots import advance_slots, refill_slots, start_slots
from irem.descent.solution import RUNNING, Solution

FREE_SHARE = 0.25
"""Slots are filled again once this share is free, as that costs an evaluation in all slots."""


class _Queue(eqx.Module):
    """Problems in slots, and the solutions of those that have stopped.

    Arguments:
        states: The descents, one for each slot.
        x: Their problems.
        indices: The index of the problem in each slot; for an empty slot, the number of problems.
        solutions: The solutions so far, in the order of the problems.
        taken: How many problems have been put into slots.
    """

    states: State
    x: PyTree
    indices: Int[Array, " slots"]
    solutions: Solution
    taken: Int[Array, ""]


@in_best_precision
def minimise_queued(
    descent: Descent,
    x: PyTree,
    y0: Float[Array, "problems ..."],
    slots: int,
    on_done: Callable[[int], None],
    free_share: float = FREE_SHARE,
) -> Solution:
    """Descend on many problems, `slots` at a time, without waiting for the slowest.

    Every shape is fixed, so one program serves the whole queue, and the solution of a problem does
    not depend on the others. Solutions come in the order of the problems.

    Arguments:
        descent: The energy, and how it is descended.
        x: The problems.
        y0: The points where their descents begin.
        slots: How many descents run at the same time; fewer than there are problems.
        on_done: Called with a number of problems whenever so many more have stopped.
        free_share: The share of slots that must be free before they are filled again; with 1 every
            batch waits for its slowest problem.
    """
    problems = y0.shape[0]
    queue = _open(descent, x, y0, slots)
    done = 0
    still_running = _still_running(slots, free_share)
    while done < problems:
        queue, stopped = _advance_and_refill((descent, x, y0, still_running), queue)
        on_done(int(stopped) - done)
        done = int(stopped)
    return queue.solutions


def drain(descent: Descent, x: PyTree, y0: Float[Array, "problems ..."], slots: int) -> Solution:
    """Do the same within a compiled program, which tells nothing before all have stopped.

    Arguments are those of `minimise_queued`.
    """
    problems, still_running = y0.shape[0], _still_running(slots, FREE_SHARE)
    first = (_open(descent, x, y0, slots), jnp.zeros((), jnp.int32))

    def turn(so_far: tuple[_Queue, Array]) -> tuple[_Queue, Array]:
        return _advance_and_refill((descent, x, y0, still_running), so_far[0])

    queue, _ = jax.lax.while_loop(lambda so_far: so_far[1] < problems, turn, first)
    return queue.solutions


def _still_running(slots: int, free_share: float) -> Int[Array, ""]:
    """Return how many descents may still be running when slots are filled."""
    return jnp.asarray(slots - math.ceil(free_share * slots), jnp.int32)


@eqx.filter_jit
def _open(descent: Descent, x: PyTree, y0: Float[Array, "problems ..."], slots: int) -> _Queue:
    """Fill every slot with one of the first problems."""
    problems = y0.shape[0]
    first_x = jax.tree.map(lambda leaf: leaf[:slots], x)
    states = start_slots(descent, first_x, y0[:slots])
    one = jax.eval_shape(jax.vmap(finish), states)
    solutions = jax.tree.map(lambda s: jnp.zeros((problems, *s.shape[1:]), s.dtype), one)
    return _Queue(states, first_x, jnp.arange(slots), solutions, jnp.asarray(slots))


@eqx.filter_jit(donate="all-except-first")
def _advance_and_refill(
    constants: tuple[Descent, PyTree, Float[Array, "problems ..."], Int[Array, ""]], queue: _Queue
) -> tuple[_Queue, Int[Array, ""]]:
    """Advance until slots are free, fill them, and count the problems that have stopped."""
    descent, x, y0, still_running = constants
    problems = y0.shape[0]
    # While problems wait, advance until enough slots are free; after that, to the end.
    waiting = queue.taken < problems
    states = advance_slots(descent, queue.x, queue.states, jnp.where(waiting, still_running, 0))
    stopped = states.reason != RUNNING
    # What is written beyond the end is dropped.
    places = jnp.where(stopped, queue.indices, problems)
    solutions = jax.tree.map(
        lambda all_, some: all_.at[places].set(some, mode="drop"),
        queue.solutions,
        jax.vmap(finish)(states),
    )
    indices = jnp.where(stopped, queue.taken + jnp.cumsum(stopped) - 1, queue.indices)
    new = stopped & (indices < problems)
    indices = jnp.where(stopped & ~new, problems, indices)
    states, slot_x = refill_slots(descent, (states, queue.x), new, x, y0, indices)
    taken = queue.taken + jnp.sum(new)
    return _Queue(states, slot_x, indices, solutions, taken), taken - jnp.sum(indices < problems)
