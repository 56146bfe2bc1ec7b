"""Algorithm 2: walk a landscape down to a minimum."""

import math
import operator
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from irem._checks import count, numeric
from irem._errors import InputError
from irem.descent._halt import AbstractHalt, EnergyUnchanged
from irem.descent._solution import Reason, Solution, Trajectory
from irem.descent._step import AbstractStep, FixedStep, Landscape, Point, look

_RUNNING = -1
# Answers that walk together hold at most this many entries; a graph energy keeps a few thousand
# bytes for each.
_ENTRIES = 2**18


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


def solve(
    energy: Walkable,
    x: Any,
    y0: Any = None,
    *,
    key: PRNGKeyArray | None = None,
    step: AbstractStep | float | None = None,
    halt: AbstractHalt | None = None,
    max_steps: int = 80,
    trajectory: bool = False,
    batch_size: int | None = None,
    on_batch: Callable[[int], None] | None = None,
) -> Solution:
    """Answer problems by descending their energy until it stops changing (Algorithm 2).

    Every problem has its own landscape, starts from its own guess and stops by itself. Products are
    taken in full float32, whatever the device prefers.

    Arguments:
        energy: A trained model, or an energy.
        x: One problem, or problems along a leading axis.
        y0: First guesses, shaped like the answers; drawn uniformly from (-1, 1) if not given.
        key: Where first guesses are drawn from. The guess of problem `i` depends on `key` and `i`
            alone.
        step: How a step is taken, a number meaning `FixedStep`; a trained model brings the rule it
            was trained with.
        halt: When to stop; by default `EnergyUnchanged()`.
        max_steps: Number of steps after which every descent stops.
        trajectory: Whether to keep every answer on the way.
        batch_size: How many problems walk together; by default as many as fit in a few gigabytes.
            Answers do not depend on it.
        on_batch: Called with the number of problems in every batch that is done, for a progress
            bar.

    Returns:
        A `Solution`; its fields have a leading axis of problems if `x` had one.

    Example:
        >>> import irem, jax.numpy as jnp
        >>> energy = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2))
        >>> x, y0 = jnp.array([[1.0, 2.0]]), jnp.zeros((1, 2))
        >>> irem.solve(energy, x, y0, step=irem.FixedStep(0.25)).y.round(2)
        Array([[1., 2.]], dtype=float32)
    """
    if not isinstance(energy, Walkable):
        raise InputError(
            f"`solve` walks an energy or a trained model, got a {type(energy).__name__}; of a run "
            "pass `run.model`."
        )
    count("max_steps", max_steps)
    if batch_size is not None:
        count("batch_size", batch_size)
    if step is None:
        step = _trained_step(energy)
    elif not isinstance(step, AbstractStep):
        step = FixedStep(step)
    halt = EnergyUnchanged() if halt is None else halt
    x, alone = energy.as_batch(x)
    guesses = _first_guesses(energy, x, y0, alone, key)
    walk = _walk_recorded if trajectory else _walk
    kept = max_steps + 1 if trajectory else 1
    size = _even_batch(guesses.shape, kept, batch_size)
    parts = []
    for start in range(0, guesses.shape[0], size):
        some_x, some_y0 = jax.tree.map(
            operator.itemgetter(slice(start, start + size)), (x, guesses)
        )
        with jax.default_matmul_precision("float32"):
            parts.append(walk(energy, some_x, some_y0, step, halt, max_steps))
        if on_batch is not None:
            on_batch(jax.block_until_ready(parts[-1].steps).shape[0])
    solution = parts[0] if len(parts) == 1 else jax.tree.map(lambda *p: jnp.concatenate(p), *parts)
    return jax.tree.map(lambda leaf: leaf[0], solution) if alone else solution


def _even_batch(shape: tuple[int, ...], kept: int, batch_size: int | None) -> int:
    """A batch size that splits the problems evenly, so that few shapes are compiled.

    Of every answer `kept` copies stay in memory, which is little beside what an energy needs.
    """
    problems, entries = shape[0], math.prod(shape[1:]) * math.ceil(kept / 64)
    largest = batch_size or max(1, _ENTRIES // entries)
    return math.ceil(problems / math.ceil(problems / largest))


def _trained_step(energy: Walkable) -> AbstractStep:
    step = getattr(energy, "step", None)
    if not isinstance(step, AbstractStep):
        raise InputError(
            f"{type(energy).__name__} was not trained with a step rule, so `solve` needs one: pass "
            "`step=irem.FixedStep(step_size)`."
        )
    return step


def _first_guesses(
    energy: Walkable, x: PyTree, y0: Any, alone: bool, key: PRNGKeyArray | None
) -> Float[Array, "problems ..."]:
    size = jax.tree.leaves(x)[0].shape[0]
    shape = energy.answer_shape(jax.tree.map(lambda leaf: leaf[0], x))
    if y0 is not None:
        y0 = numeric("y0", y0)[None] if alone else numeric("y0", y0)
        expected = (size, *(y0.shape[1:] if shape is None else shape))
        if y0.shape != expected:
            raise InputError(
                f"`y0` has shape {y0.shape[alone:]}, but the answers have shape {expected[alone:]}."
            )
        return y0
    if shape is None:
        raise InputError(
            "This energy does not know the shape of its answers: give a first guess `y0`, or build "
            "it with `from_function(f, answer_shape=...)`."
        )
    if key is None:
        raise InputError(
            "`solve` draws its first guesses: pass `key=jax.random.key(seed)` or `y0`."
        )
    return jax.vmap(lambda k: first_guess(k, shape))(jax.random.split(key, size))


def first_guess(key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """A guess, uniform in (-1, 1) as in both algorithms."""
    return jax.random.uniform(key, shape, minval=-1.0, maxval=1.0)


class _State(eqx.Module):
    """One descent under way. `reason` is `_RUNNING` until it stops."""

    point: Point
    memory: PyTree[Array]
    steps: Int[Array, ""]
    reason: Int[Array, ""]


def _start(landscape: Landscape, y0: Array, halt: AbstractHalt) -> _State:
    point = look(landscape, y0)
    reason = jnp.where(_finite(point), _RUNNING, Reason.NOT_FINITE)
    return _State(point, halt.init(point), jnp.zeros((), jnp.int32), reason)


def _advance(
    state: _State, landscape: Landscape, step: AbstractStep, halt: AbstractHalt, max_steps: int
) -> _State:
    """One step, unless it leaves the numbers."""
    after = step(landscape, state.point)
    memory, quiet = halt(state.memory, state.point, after)
    steps = state.steps + 1
    reason = jnp.where(steps >= max_steps, Reason.BUDGET, _RUNNING)
    reason = jnp.where(quiet, Reason.ENERGY_UNCHANGED, reason)
    moved = _State(after, memory, steps, reason)
    stuck = _State(state.point, state.memory, state.steps, jnp.full_like(reason, Reason.NOT_FINITE))
    return _choose(_finite(after), moved, stuck)


def _finite(point: Point) -> Bool[Array, ""]:
    numbers = jnp.isfinite(point.y) & jnp.isfinite(point.gradient)
    return jnp.isfinite(point.energy) & jnp.all(numbers)


def _choose(which: Bool[Array, ""], yes: _State, no: _State) -> _State:
    return jax.tree.map(lambda a, b: jnp.where(which, a, b), yes, no)


def _finish(state: _State, trajectory: Trajectory | None = None) -> Solution:
    converged = state.reason == Reason.ENERGY_UNCHANGED
    point = state.point
    return Solution(point.y, point.energy, state.steps, converged, state.reason, trajectory)


@eqx.filter_jit
def _walk(
    energy: Walkable,
    x: PyTree,
    y0: Array,
    step: AbstractStep,
    halt: AbstractHalt,
    max_steps: int,
) -> Solution:
    def one(x: PyTree, y0: Array) -> Solution:
        landscape = energy.landscape(x)
        state = jax.lax.while_loop(
            lambda state: state.reason == _RUNNING,
            lambda state: _advance(state, landscape, step, halt, max_steps),
            _start(landscape, y0, halt),
        )
        return _finish(state)

    return jax.vmap(one)(x, y0)


@eqx.filter_jit
def _walk_recorded(
    energy: Walkable,
    x: PyTree,
    y0: Array,
    step: AbstractStep,
    halt: AbstractHalt,
    max_steps: int,
) -> Solution:
    def one(x: PyTree, y0: Array) -> Solution:
        landscape = energy.landscape(x)

        def body(state: _State, _: None) -> tuple[_State, tuple[Array, Array]]:
            moved = _advance(state, landscape, step, halt, max_steps)
            state = _choose(state.reason == _RUNNING, moved, state)
            return state, (state.point.y, state.point.energy)

        start = _start(landscape, y0, halt)
        state, (ys, energies) = jax.lax.scan(body, start, length=max_steps)
        ys = jnp.concatenate([y0[None], ys])
        energies = jnp.concatenate([start.point.energy[None], energies])
        return _finish(state, Trajectory(ys, energies))

    return jax.vmap(one)(x, y0)
