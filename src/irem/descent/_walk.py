"""One descent as a state that advances step by step, alone or in a batch."""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from irem._trees import choose
from irem.descent._halt import AbstractHalt
from irem.descent._solution import RUNNING, Reason, Solution, Trajectory
from irem.descent._step import AbstractStep, Landscape, Point, look


@runtime_checkable
class Walkable(Protocol):
    """As much of an energy, or of a trained model, as a descent needs."""

    def landscape(self, x: PyTree) -> Landscape:
        """The landscape of one problem."""
        ...

    def answer_shape(self, x: PyTree) -> tuple[int, ...] | None:
        """Shape of the answers to one problem, if known."""
        ...

    def as_batch(self, x: Any) -> tuple[PyTree, bool]:
        """A checked batch of problems, and whether it was one problem alone."""
        ...

    def guess(self, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """A first guess at the answer to one problem."""
        ...

    def begin(self, y0: Array, *, key: PRNGKeyArray | None) -> Array:
        """The point of the landscape that a descent from a first guess starts at."""
        ...

    def read(self, point: Array) -> Array:
        """The answer at a point of the landscape."""
        ...


def first_point(
    energy: Walkable, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray
) -> Float[Array, "..."]:
    """Where a descent that is not told begins, for answers of this shape."""
    return energy.begin(energy.guess(x, shape, key=key), key=jax.random.fold_in(key, 1))


class Route(eqx.Module):
    """All that a descent follows, whatever the problem.

    Arguments:
        energy: What the landscapes are made by.
        step: How a step is taken.
        halt: When to stop.
        unit: The step size that the energy was trained with, if it was trained.
        max_steps: Number of steps after which every descent stops.
    """

    energy: Walkable
    step: AbstractStep
    halt: AbstractHalt
    unit: Float[Array, ""] | None
    max_steps: Int[Array, ""]


class State(eqx.Module):
    """One descent under way. `reason` is `RUNNING` until it stops."""

    point: Point
    first_energy: Float[Array, ""]
    step_memory: PyTree[Array]
    halt_memory: PyTree[Array]
    steps: Int[Array, ""]
    reason: Int[Array, ""]


def start(route: Route, landscape: Landscape, y0: Float[Array, "..."]) -> State:
    """A descent at its first guess."""
    point = look(landscape, y0)
    reason = jnp.where(point.is_finite(), RUNNING, Reason.NOT_FINITE)
    step_memory, halt_memory = route.step.init(point, route.unit), route.halt.init(point)
    none = jnp.zeros((), jnp.int32)
    return State(point, point.energy, step_memory, halt_memory, none, reason)


def advance(route: Route, landscape: Landscape, state: State) -> State:
    """Try one step; a step that is accepted and leaves the numbers ends the descent."""
    before = state.point
    move, step_memory = route.step(landscape, before, state.step_memory)
    after = choose(move.accepted, move.trial, before)
    halt_memory, verdict = route.halt(state.halt_memory, before, after, move)
    finite = move.trial.is_finite()
    steps = state.steps + 1
    reason = jnp.where(steps >= route.max_steps, Reason.BUDGET, RUNNING)
    # Where every step ends outside the numbers, however short, there is no minimum.
    verdict = jnp.where(finite | (verdict == RUNNING), verdict, Reason.NOT_FINITE)
    reason = jnp.where(verdict != RUNNING, verdict, reason)
    # Who never moved cannot tell a minimum from the top of a hill.
    flat = _is_minimum(reason) & (after.energy == state.first_energy)
    reason = jnp.where(flat, Reason.FLAT, reason)
    moved = State(after, state.first_energy, step_memory, halt_memory, steps, reason)
    lost = eqx.tree_at(lambda s: s.reason, state, jnp.full_like(reason, Reason.NOT_FINITE))
    return choose(finite | ~move.accepted, moved, lost)


def finish(state: State, trajectory: Trajectory | None = None) -> Solution:
    """What a descent found."""
    point = state.point
    return Solution(
        y=point.y,
        energy=point.energy,
        steps=state.steps,
        converged=_is_minimum(state.reason),
        reason=state.reason,
        first_energy=state.first_energy,
        gradient_norm=jnp.linalg.norm(jnp.ravel(point.gradient)),
        trajectory=trajectory,
    )


def _is_minimum(reason: Int[Array, ""]) -> Bool[Array, ""]:
    return jnp.any(reason == jnp.array([r for r in Reason if r.is_minimum]))


@eqx.filter_jit
def walk(route: Route, x: PyTree, y0: Float[Array, "problems ..."]) -> Solution:
    """Walk every problem of a batch until the slowest is done."""

    def one(x: PyTree, y0: Array) -> Solution:
        landscape = route.energy.landscape(x)
        state = jax.lax.while_loop(
            lambda state: state.reason == RUNNING,
            lambda state: advance(route, landscape, state),
            start(route, landscape, y0),
        )
        return finish(state)

    return jax.vmap(one)(x, y0)


@eqx.filter_jit
def walk_recorded(
    route: Route, x: PyTree, y0: Float[Array, "problems ..."], length: int
) -> Solution:
    """Walk every problem of a batch for `length` steps and keep every answer on the way."""

    def one(x: PyTree, y0: Array) -> Solution:
        landscape = route.energy.landscape(x)

        def body(state: State, _: None) -> tuple[State, tuple[Array, Array]]:
            running = state.reason == RUNNING
            state = choose(running, advance(route, landscape, state), state)
            return state, (state.point.y, state.point.energy)

        first = start(route, landscape, y0)
        state, (ys, energies) = jax.lax.scan(body, first, length=length)
        ys = jnp.concatenate([y0[None], ys])
        energies = jnp.concatenate([first.point.energy[None], energies])
        return finish(state, Trajectory(ys, energies))

    return jax.vmap(one)(x, y0)
