"""Steps of a descent: a direction and a search along it, and those that have a name."""

import functools
import numbers
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PyTree

from irem.descent.directions import (
    LBFGS,
    AbstractDirection,
    ConjugateGradient,
    Gradient,
    Line,
    Momentum,
    OptaxDirection,
)
from irem.descent.points import Move, Point
from irem.descent.protocols import DEFAULT_STEP
from irem.descent.searches import AbstractSearch, Backtracking, Damped, Fixed
from irem.descent.wolfe import Wolfe
from irem.errors import InputError
from irem.settings import Registry
from irem.trees import choose

# Directions with a memory do not point along the steepest descent: less of what their slope
# promises comes true, and steps that gain a little now gain by it later.
_DECREASE_WITH_MEMORY = 0.1


class StepState(eqx.Module):
    """The line along which the next step goes, and the state of the search on it."""

    line: Line
    search: PyTree[Array]


class Step(eqx.Module):
    """A rule for the steps of a descent: any direction with any search.

    Arguments:
        direction: Which way a step goes; by default along the gradient.
        search: How far it goes, and whether it is accepted.

    Examples:
        >>> import irem, optax, jax.numpy as jnp
        >>> from irem.descent import OptaxDirection, Step
        >>> rule = Step(OptaxDirection(optax.scale_by_rms()), irem.Backtracking())
        >>> energy = irem.energy.from_function(lambda x, y: (y - x) ** 2)
        >>> float(irem.solve(energy, jnp.array([3.0]), jnp.zeros(1), step=rule).y[0].round(2))
        3.0
    """

    direction: AbstractDirection = Gradient()
    search: AbstractSearch = Backtracking()

    def init(self, point: Point, step_size: Float[Array, ""] | None) -> StepState:
        """Return the state at the first guess.

        Arguments:
            point: The first guess.
            step_size: The step size that the energy was trained with, if it was trained.
        """
        search = self.search.init(point, step_size)
        return self._on_new_line(point, self.direction.init(point.y), search)

    def propose(self, state: StepState) -> tuple[Float[Array, "..."], Float[Array, ""]]:
        """Return the direction and the length of the step to try: `y - length * direction`."""
        return state.line.direction, self.search.length(state.search, state.line)

    def judge(self, state: StepState, point: Point, trial: Point) -> tuple[Move, StepState]:
        """Decide whether the proposed step from `point` to `trial` is accepted.

        Returns:
            The step, and the state from which the next one is proposed.
        """
        line = state.line
        move, restart, search = self.search.judge(state.search, line, point, trial)
        next_state = StepState(line, search)
        if line.has_memory:
            afresh = self._on_new_line(point, self.direction.init(point.y), search)
            next_state = choose(restart, afresh, next_state)
        moved = self._on_new_line(trial, line.memory, search)
        return move, choose(move.accepted, moved, next_state)

    def _on_new_line(self, point: Point, memory: PyTree[Array], search: PyTree[Array]) -> StepState:
        """Return the state with a new line that begins at `point`."""
        gradient = self.search.scale(search) * point.gradient
        direction, memory = self.direction(gradient, memory, point.y)
        if point.free is not None:
            direction = jnp.where(point.free, direction, 0.0)
        slope = -jnp.vdot(direction, point.gradient)
        if self.search.needs_descent:
            downhill = jnp.isfinite(slope) & (slope < 0)
            direction = jnp.where(downhill, direction, gradient)
            slope = jnp.where(downhill, slope, -jnp.vdot(gradient, point.gradient))
            memory = choose(downhill, memory, self.direction.init(point.y))
        line = Line(direction, slope, memory, self.direction.own_length)
        return StepState(line, self.search.begin_line(search, line))


def FixedStep(step_size: float | None = None) -> Step:  # noqa: N802 (reads like `Backtracking`)
    r"""Return the paper's step: $y \leftarrow y - \lambda \nabla_y E(x, y)$.

    Arguments:
        step_size: The paper's $\lambda$; by default the one that the energy was trained with.
    """
    return Step(Gradient(), Fixed(step_size))


@functools.cache
def momentum(decay: float = 0.9) -> Step:
    """Return heavy-ball momentum with backtracking, which drops it where the energy would rise."""
    return Step(Momentum(decay), Backtracking(decrease=_DECREASE_WITH_MEMORY))


@functools.cache
def nesterov(decay: float = 0.9) -> Step:
    """Return Nesterov's momentum with backtracking."""
    return Step(Momentum(decay, nesterov=True), Backtracking(decrease=_DECREASE_WITH_MEMORY))


@functools.cache
def adam() -> Step:
    """Return Adam's direction, every entry of the answer scaled by itself, with backtracking."""
    # The first direction of Adam moves every entry by 1, and answers are of that size.
    direction = OptaxDirection(optax.chain(optax.scale_by_adam(), optax.scale(0.1)))
    return Step(direction, Backtracking(decrease=_DECREASE_WITH_MEMORY))


@functools.cache
def lbfgs(memory: int = 10) -> Step:
    """Return L-BFGS: a quasi-Newton direction from the last `memory` steps, with a Wolfe search."""
    return Step(LBFGS(memory), Wolfe())


@functools.cache
def damped() -> Step:
    """Return the step of training, shortened where a descent goes back and forth."""
    return Step(Gradient(), Damped())


@functools.cache
def conjugate_gradient() -> Step:
    """Return the nonlinear conjugate gradient with backtracking."""
    return Step(ConjugateGradient(), Backtracking())


STEPS: Registry[Callable[[], Step]] = Registry(
    "step rule",
    {
        "fixed": FixedStep,
        "damped": damped,
        "backtracking": Step,
        "momentum": momentum,
        "nesterov": nesterov,
        "adam": adam,
        "conjugate-gradient": conjugate_gradient,
        "lbfgs": lbfgs,
    },
)
"""Every step rule that has a name."""


def as_step(step: Any) -> Step:
    """Return the rule that is meant by a rule, a search alone, a number, a name or `None`.

    Raises:
        ValueError: `step` is none of them, or a name that is not in `STEPS`.
    """
    if step is None:
        return STEPS[DEFAULT_STEP]()
    if isinstance(step, str):
        return STEPS[step]()
    if isinstance(step, Step):
        return step
    if isinstance(step, AbstractSearch):
        return Step(search=step)
    is_number = isinstance(step, numbers.Real) and not isinstance(step, bool)
    if is_number or (isinstance(step, np.ndarray | Array) and np.ndim(step) == 0):
        return FixedStep(float(step))
    raise InputError(
        "`step` is a step rule, a search, a step size or one of the names "
        f"{', '.join(STEPS)}; got a {type(step).__name__}."
    )
