r"""Algorithm 2 of the paper: answer a problem by descending its energy.

    Input: data x_i, step size lambda, EBM E_theta, U(-1, 1)
    x_i ~ p_D                                             x, which the caller gives
    y~_i ~ U(-1, 1)                                       first_point, then start
    while not at an energy minimum:                       minimise
        y~_i <- y~_i - lambda * grad_y E_theta(x_i, y~_i)     update, within advance
    final predicted solution y = y~_i                     finish

`descend` is the same with a fixed number of steps, as in Algorithm 1.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree, ScalarLike

from irem.descent.halting import is_minimum, reason_to_stop
from irem.descent.points import Landscape, Point, evaluate, project
from irem.descent.precision import in_best_precision
from irem.descent.protocols import Energy
from irem.descent.rules import Descent
from irem.descent.solution import RUNNING, Reason, Solution, Trajectory
from irem.trees import choose


def first_point(
    energy: Energy, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray
) -> Float[Array, "..."]:
    """Return where a descent without a given first guess begins, for answers of this shape."""
    return energy.begin(x, energy.guess(x, shape, key=key), key=jax.random.fold_in(key, 1))


class State(eqx.Module):
    """One descent after some steps. `reason` is `RUNNING` until it stops."""

    point: Point
    moved: Bool[Array, ""]
    first_energy: Float[Array, ""]
    step: PyTree[Array]
    halt: PyTree[Array]
    steps: Int[Array, ""]
    reason: Int[Array, ""]


def start(descent: Descent, landscape: Landscape, y0: Float[Array, "..."]) -> State:
    """Return a descent at its first point."""
    point = evaluate(landscape, project(landscape, y0))
    reason = jnp.where(point.is_finite(), RUNNING, Reason.NOT_FINITE)
    step, halt = descent.step.init(point, descent.step_size), descent.halt.init(point)
    zero = jnp.zeros((), jnp.int32)
    return State(point, jnp.array(False), point.energy, step, halt, zero, reason)


def update(
    y: Float[Array, "..."], gradient: Float[Array, "..."], step_size: ScalarLike
) -> Float[Array, "..."]:
    """Return the next point: the only place where a descent moves."""
    return y - step_size * gradient


def advance(descent: Descent, landscape: Landscape, state: State) -> State:
    """Try one step; stop at a minimum, with the last step, or where the energy is not finite."""
    before, steps = state.point, state.steps + 1
    direction, length = descent.step.propose(state.step)
    trial = evaluate(landscape, project(landscape, update(before.y, direction, length)))
    move, step = descent.step.judge(state.step, before, trial)
    after = choose(move.accepted, move.trial, before)
    halt, verdict = descent.halt(state.halt, before, after, move)
    finite = move.trial.is_finite()
    reason = reason_to_stop(verdict, finite, steps >= descent.max_steps)
    # Where the energy never changed, a minimum cannot be told from any other stationary point. A
    # gradient that became small tells it, also where the energy is too large to change.
    moved = state.moved | move.accepted
    unchanged = after.energy == state.first_energy
    unchanged = jnp.where(reason == Reason.GRADIENT_SMALL, ~moved, unchanged)
    if after.free is not None:  # where bounds hold every entry, the gradient is not zero
        unchanged &= jnp.any(after.free)
    reason = jnp.where(is_minimum(reason) & unchanged, Reason.FLAT, reason)
    moved = State(after, moved, state.first_energy, step, halt, steps, reason)
    diverged = eqx.tree_at(lambda s: s.reason, state, jnp.full_like(reason, Reason.NOT_FINITE))
    return choose(finite | ~move.accepted, moved, diverged)


def finish(state: State, trajectory: Trajectory | None = None) -> Solution:
    """Return the result of a descent."""
    return Solution(
        y=state.point.y,
        energy=state.point.energy,
        steps=state.steps,
        converged=is_minimum(state.reason),
        reason=state.reason,
        first_energy=state.first_energy,
        gradient_norm=jnp.linalg.norm(jnp.ravel(state.point.gradient)),
        trajectory=trajectory,
    )


@in_best_precision
@eqx.filter_jit
def minimise(descent: Descent, x: PyTree, y0: Float[Array, "problems ..."]) -> Solution:
    """Descend on every problem of a batch until the slowest has stopped."""

    def one(x: PyTree, y0: Array) -> Solution:
        own, landscape = descent.on(x)
        state = jax.lax.while_loop(
            lambda state: state.reason == RUNNING,
            lambda state: advance(own, landscape, state),
            start(own, landscape, y0),
        )
        return finish(state)

    return jax.vmap(one)(x, y0)


def descend(
    landscape: Landscape, y: Float[Array, "..."], step_size: ScalarLike, num_steps: int
) -> Float[Array, "..."]:
    """Return the point after `num_steps` steps of a fixed size, as training differentiates it."""
    gradient = jax.grad(landscape)

    def step(y: Array, _: None) -> tuple[Array, None]:
        return update(y, gradient(y), step_size), None

    # A few steps in a row compile to faster code than a loop around one of them.
    return jax.lax.scan(step, y, length=num_steps, unroll=min(num_steps, 8) or 1)[0]


def descend_recorded(
    landscape: Landscape, y: Float[Array, "..."], step_size: ScalarLike, num_steps: int
) -> Trajectory:
    """Return every point of a descent with steps of a fixed size; index 0 is `y` itself."""

    def step(point: Point, _: None) -> tuple[Point, tuple[Array, Array]]:
        point = evaluate(landscape, update(point.y, point.gradient, step_size))
        return point, (point.y, point.energy)

    first = evaluate(landscape, y)
    _, (ys, energies) = jax.lax.scan(step, first, length=num_steps)
    ys = jnp.concatenate([first.y[None], ys])
    return Trajectory(ys, jnp.concatenate([first.energy[None], energies]))
