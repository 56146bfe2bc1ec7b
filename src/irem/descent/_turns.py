"""More problems than walk at once: whoever is done makes room for the next."""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from irem._trees import choose
from irem.descent._solution import RUNNING, Solution
from irem.descent._walk import Route, State, advance, finish, start

# Slots are filled again once this share of them is free; that costs an evaluation of every slot.
SHARE = 0.25
_AXIS = "slots"


class _Queue(eqx.Module):
    """Problems in slots, answers that are done, and how many problems have been taken up.

    Arguments:
        states: The descents under way, one for each slot.
        x: Their problems.
        owners: The number of the problem in each slot; an empty slot has one beyond all.
        answers: What is done, in the order of the problems.
        taken: How many problems have been put into slots.
    """

    states: State
    x: PyTree
    owners: Int[Array, " slots"]
    answers: Solution
    taken: Int[Array, ""]


def walk_in_turns(
    route: Route,
    x: PyTree,
    y0: Float[Array, "problems ..."],
    slots: int,
    on_done: Callable[[int], None],
) -> Solution:
    """Walk many problems, `slots` at a time, without waiting for the slowest.

    Every shape is fixed, so one program serves the whole queue, and a problem takes the same course
    in whatever company. Answers come in the order of the problems.

    Arguments:
        route: How to walk.
        x: The problems.
        y0: Their first guesses.
        slots: How many walk at once; fewer than there are problems.
        on_done: Called with the number of problems that were done in every turn.
    """
    problems = y0.shape[0]
    queue = _open(route, x, y0, slots)
    done = 0
    # How many descents may be under way when slots are filled.
    still_running = jnp.asarray(slots - math.ceil(SHARE * slots), jnp.int32)
    while done < problems:
        queue, finished = _turn((route, x, y0, still_running), queue)
        on_done(int(finished) - done)
        done = int(finished)
    return queue.answers


@eqx.filter_jit
def _open(route: Route, x: PyTree, y0: Float[Array, "problems ..."], slots: int) -> _Queue:
    """Fill every slot with one of the first problems."""
    problems = y0.shape[0]
    first_x = jax.tree.map(lambda leaf: leaf[:slots], x)
    states = _start(route, first_x, y0[:slots])
    one = jax.eval_shape(jax.vmap(finish), states)
    answers = jax.tree.map(lambda s: jnp.zeros((problems, *s.shape[1:]), s.dtype), one)
    return _Queue(states, first_x, jnp.arange(slots), answers, jnp.asarray(slots))


@eqx.filter_jit(donate="all-except-first")
def _turn(
    everything: tuple[Route, PyTree, Float[Array, "problems ..."], Int[Array, ""]], queue: _Queue
) -> tuple[_Queue, Int[Array, ""]]:
    """Walk until slots are free, fill them, and count the problems that are done."""
    route, x, y0, still_running = everything
    problems = y0.shape[0]
    # While problems wait, walk until enough slots are free for an exchange; then to the end.
    waiting = queue.taken < problems
    states = _walk_until(route, queue.x, queue.states, jnp.where(waiting, still_running, 0))
    done = states.reason != RUNNING
    # What is written beyond the end is dropped.
    places = jnp.where(done, queue.owners, problems)
    answers = jax.tree.map(
        lambda all_, some: all_.at[places].set(some, mode="drop"),
        queue.answers,
        jax.vmap(finish)(states),
    )
    owners = jnp.where(done, queue.taken + jnp.cumsum(done) - 1, queue.owners)
    fresh = done & (owners < problems)
    owners = jnp.where(done & ~fresh, problems, owners)
    states, slot_x = _refill(route, (states, queue.x), fresh, x, y0, owners)
    taken = queue.taken + jnp.sum(fresh)
    return _Queue(states, slot_x, owners, answers, taken), taken - jnp.sum(owners < problems)


def _start(route: Route, x: PyTree, y0: Float[Array, "some ..."]) -> State:
    return jax.vmap(lambda x, y0: start(route, route.energy.landscape(x), y0))(x, y0)


def _walk_until(route: Route, x: PyTree, states: State, still_running: Int[Array, ""]) -> State:
    """Walk until at most `still_running` descents are under way."""

    def one(x: PyTree, state: State) -> State:
        landscape = route.energy.landscape(x)

        def go_on(state: State) -> Array:
            running = (state.reason == RUNNING).astype(jnp.int32)
            return jax.lax.psum(running, _AXIS) > still_running

        def body(state: State) -> State:
            return choose(state.reason == RUNNING, advance(route, landscape, state), state)

        return jax.lax.while_loop(go_on, body, state)

    return jax.vmap(one, axis_name=_AXIS)(x, states)


def _refill(
    route: Route,
    slots: tuple[State, PyTree],
    fresh: Bool[Array, " slots"],
    x: PyTree,
    y0: Float[Array, "problems ..."],
    owners: Int[Array, " slots"],
) -> tuple[State, PyTree]:
    """Start the problems of the slots that are `fresh`, and leave the others as they are."""
    problems = y0.shape[0]

    def refilled() -> tuple[State, PyTree]:
        their_x, their_y0 = jax.tree.map(
            lambda leaf: leaf[jnp.minimum(owners, problems - 1)], (x, y0)
        )
        new = (_start(route, their_x, their_y0), their_x)
        return jax.vmap(choose)(fresh, new, slots)

    return jax.lax.cond(jnp.any(fresh), refilled, lambda: slots)
