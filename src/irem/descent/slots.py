"""Descents in a fixed number of slots, which queues fill, advance and fill again."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from irem.descent.algorithm2 import State, advance, start
from irem.descent.rules import Descent
from irem.descent.solution import RUNNING
from irem.trees import choose

_AXIS = "slots"


def start_slots(descent: Descent, x: PyTree, y0: Float[Array, "some ..."]) -> State:
    """Return the descents on some problems at their first points."""
    return jax.vmap(lambda x, y0: start(*descent.on(x), y0))(x, y0)


def advance_slots(
    descent: Descent,
    x: PyTree,
    states: State,
    still_running: Int[Array, ""],
    budgets: Int[Array, " slots"] | None = None,
    most: Int[Array, ""] | None = None,
) -> State:
    """Advance all descents until at most `still_running` of them have not stopped.

    Arguments:
        descent: The energy, and how it is descended.
        x: The problems.
        states: Their descents.
        still_running: How many descents may still be running at the end.
        budgets: The step budget of every descent; by default that of `descent`.
        most: After how many steps all pause; by default never.
    """
    limit = jnp.asarray(jnp.iinfo(jnp.int32).max if most is None else most, jnp.int32)

    def one(x: PyTree, state: State, budget: Int[Array, ""] | None) -> State:
        rules, landscape = (descent if budget is None else _with_budget(descent, budget)).on(x)

        def goes_on(carry: tuple[State, Int[Array, ""]]) -> Array:
            state, steps = carry
            running = (state.reason == RUNNING).astype(jnp.int32)
            return (jax.lax.psum(running, _AXIS) > still_running) & (steps < limit)

        def body(carry: tuple[State, Int[Array, ""]]) -> tuple[State, Int[Array, ""]]:
            state, steps = carry
            moved = choose(state.reason == RUNNING, advance(rules, landscape, state), state)
            return moved, steps + 1

        return jax.lax.while_loop(goes_on, body, (state, jnp.zeros((), jnp.int32)))[0]

    return jax.vmap(one, axis_name=_AXIS)(x, states, budgets)


def record_slots(
    descent: Descent,
    x: PyTree,
    states: State,
    budgets: Int[Array, " slots"],
    most: Int[Array, ""],
    length: int,
) -> tuple[State, Float[Array, "slots steps ..."], Float[Array, "slots steps"]]:
    """Advance all descents by a few steps and keep the point and the energy after each.

    Arguments:
        descent: The energy, and how it is descended.
        x: The problems.
        states: Their descents.
        budgets: The step budget of every descent.
        most: By how many steps, at most `length`; fewer if all stop.
        length: For how many steps there is room.

    Returns:
        The descents, and what was kept; what is beyond the last step is not written.
    """

    def one(x: PyTree, state: State, budget: Int[Array, ""]) -> tuple[State, Array, Array]:
        rules, landscape = _with_budget(descent, budget).on(x)

        def goes_on(carry: tuple[State, Array, Array, Array]) -> Array:
            running = (carry[0].reason == RUNNING).astype(jnp.int32)
            return (jax.lax.psum(running, _AXIS) > 0) & (carry[1] < most)

        def body(carry: tuple[State, Array, Array, Array]) -> tuple[State, Array, Array, Array]:
            state, step, ys, energies = carry
            state = choose(state.reason == RUNNING, advance(rules, landscape, state), state)
            ys, energies = ys.at[step].set(state.point.y), energies.at[step].set(state.point.energy)
            return state, step + 1, ys, energies

        y, energy = state.point.y, state.point.energy
        room = jnp.zeros((length, *y.shape), y.dtype), jnp.zeros(length, energy.dtype)
        ended = jax.lax.while_loop(goes_on, body, (state, jnp.zeros((), jnp.int32), *room))
        return ended[0], ended[2], ended[3]

    return jax.vmap(one, axis_name=_AXIS)(x, states, budgets)


def refill_slots(
    descent: Descent,
    slots: tuple[State, PyTree],
    new: Bool[Array, " slots"],
    x: PyTree,
    y0: Float[Array, "problems ..."],
    indices: Int[Array, " slots"],
) -> tuple[State, PyTree]:
    """Start the problems of the slots that are `new`, and keep the others as they are.

    Arguments:
        descent: The energy, and how it is descended.
        slots: The descents and their problems.
        new: Which slots get another problem.
        x: All problems.
        y0: The points where their descents begin.
        indices: Which problem each slot that is new gets.
    """
    problems = y0.shape[0]

    def refilled() -> tuple[State, PyTree]:
        their_x, their_y0 = jax.tree.map(
            lambda leaf: leaf[jnp.minimum(indices, problems - 1)], (x, y0)
        )
        started = (start_slots(descent, their_x, their_y0), their_x)
        return jax.vmap(choose)(new, started, slots)

    return jax.lax.cond(jnp.any(new), refilled, lambda: slots)


def _with_budget(descent: Descent, budget: Int[Array, ""]) -> Descent:
    return eqx.tree_at(lambda d: d.max_steps, descent, budget)
