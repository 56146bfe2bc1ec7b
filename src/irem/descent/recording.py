"""Descents that keep the answer after every step."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from irem.descent.algorithm2 import State, advance, finish, start
from irem.descent.precision import in_best_precision
from irem.descent.rules import Descent
from irem.descent.solution import RUNNING, Solution, Trajectory
from irem.trees import choose


@in_best_precision
@eqx.filter_jit
def minimise_recorded(
    descent: Descent, x: PyTree, y0: Float[Array, "problems ..."], length: int
) -> Solution:
    """Descend on every problem of a batch, and keep the points after up to `length` steps."""

    def one(x: PyTree, y0: Array) -> Solution:
        own, landscape = descent.on(x)

        def body(state: State, _: None) -> tuple[State, tuple[Array, Array]]:
            running = state.reason == RUNNING
            state = choose(running, advance(own, landscape, state), state)
            return state, (state.point.y, state.point.energy)

        first = start(own, landscape, y0)
        state, (ys, energies) = jax.lax.scan(body, first, length=length)
        ys = jnp.concatenate([first.point.y[None], ys])
        energies = jnp.concatenate([first.point.energy[None], energies])
        return finish(state, Trajectory(ys, energies))

    return jax.vmap(one)(x, y0)
