"""Steps that never climb: a direction from Optax or Optimistix, and a length that adapts."""

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import optimistix as optx
from jaxtyping import Array, Float, Int, PyTree

from irem._checks import count, positive
from irem._errors import InputError
from irem._trees import choose
from irem.descent._step import AbstractStep, FixedStep, Landscape, Move, Point, look, rounding

# So many rejections in a row, and the next direction is that of the gradient again.
_TRIES = 4
# A first step of training leads almost to the answer. So many times as long is long enough for any
# step, also where a landscape that was learned badly falls for ever.
_REACH = 4.0


class Heading(eqx.Module):
    """Memory of `Backtracking`: where the next step goes, and how far.

    Arguments:
        unit: The step size of training.
        reach: How long a step may be.
        direction: The next step at length 1.
        slope: How the energy changes along it, to first order; below zero.
        length: What share of `direction` is tried next.
        rejections: How many steps in a row were rejected.
        memory: What the direction is made from.
    """

    unit: Float[Array, ""]
    reach: Float[Array, ""]
    direction: Float[Array, "..."]
    slope: Float[Array, ""]
    length: Float[Array, ""]
    rejections: Int[Array, ""]
    memory: PyTree[Array]


class Backtracking(AbstractStep):
    r"""Go on only where the energy falls enough; else stay, and try a shorter step.

    A step of length $s$ along the direction $d$ is accepted if

    $$E(y + s d) \le E(y) + c\, s\, d^\top \nabla E(y),$$

    which is never more than $E(y)$. Every problem has its own length: it grows after a step that
    was accepted and shrinks after one that was not, starting from the step size of training, so
    there is nothing to tune. On a learned landscape no step is longer than four times the first.

    Arguments:
        direction: An Optax transformation from gradients to updates; the gradient itself by
            default. Where it does not point downhill, or nothing is gained along it, it is started
            afresh from the gradient.
        decrease: The share $c$ of the promised fall that has to come true.
        grow: Factor of the length after a step that was accepted.
        shrink: Factor after one that was not.
        longest: Bound of the length.
    """

    direction: optax.GradientTransformation = eqx.field(static=True, default=optax.identity())
    decrease: float = 0.1
    grow: float = 1.5
    shrink: float = 0.5
    longest: float = 1e12

    def __check_init__(self) -> None:
        """Refuse lengths that could not adapt."""
        for name in ("decrease", "shrink"):
            positive(name, getattr(self, name))
            if getattr(self, name) >= 1:
                raise InputError(f"`{name}` must be less than 1, got {getattr(self, name)}.")
        positive("longest", self.longest)
        if not 1 <= self.grow < float("inf"):
            raise InputError(f"`grow` must be at least 1, got {self.grow}.")

    def init(self, point: Point, unit: Float[Array, ""] | None) -> Heading:
        """Head down the gradient with the step of training, or with a step of 1."""
        first = jnp.inf if unit is None else unit * _norm(point.gradient)
        blank = Heading(
            unit=jnp.asarray(1.0 if unit is None else unit, point.y.dtype),
            reach=jnp.asarray(_REACH * first, point.y.dtype),
            direction=jnp.zeros_like(point.y),
            slope=jnp.zeros_like(point.energy),
            length=jnp.ones_like(point.energy),
            rejections=jnp.zeros((), jnp.int32),
            memory=self.direction.init(point.y),
        )
        return self._head(blank, point)

    def __call__(self, landscape: Landscape, point: Point, state: Heading) -> tuple[Move, Heading]:
        """Try the step; accept it if the energy falls enough."""
        trial = look(landscape, point.y + state.length * state.direction)
        promised = -state.length * state.slope
        enough = trial.energy <= point.energy - self.decrease * promised
        # Where the energies of both points differ by rounding alone, they decide nothing.
        told_apart = promised > rounding(point.energy)
        accepted = enough & told_apart & trial.is_finite()
        move = Move(trial, accepted, promised, jnp.ones_like(promised))
        longer = jnp.minimum(state.length * self.grow, self.longest)
        onward = self._head(_with(state, length=longer, rejections=state.rejections * 0), trial)
        shorter = _with(state, length=state.length * self.shrink, rejections=state.rejections + 1)
        return move, choose(accepted, onward, self._give_up(shorter, point))

    def _give_up(self, state: Heading, point: Point) -> Heading:
        """After some rejections in a row, start the direction afresh from the gradient."""
        memory = self.direction.init(point.y)
        if not jax.tree.leaves(memory):
            return state
        afresh = _with(state, length=jnp.ones_like(state.length), memory=memory)
        return choose(state.rejections == _TRIES, self._head(afresh, point), state)

    def _head(self, state: Heading, point: Point) -> Heading:
        """Turn to the next direction from `point`: the transformation's if it points downhill."""
        scaled = state.unit * point.gradient
        update, memory = self.direction.update(scaled, state.memory, point.y)
        assert isinstance(update, Array)
        slope = -jnp.vdot(update, point.gradient)
        downhill = jnp.isfinite(slope) & (slope < 0)
        direction = jnp.where(downhill, -update, -scaled)
        size = _norm(direction)
        longest = jnp.where(size > 0, state.reach / jnp.where(size > 0, size, 1.0), jnp.inf)
        return _with(
            state,
            direction=direction,
            length=jnp.minimum(state.length, longest),
            slope=jnp.where(downhill, slope, -jnp.vdot(scaled, point.gradient)),
            memory=choose(downhill, memory, self.direction.init(point.y)),
        )


def _norm(array: Float[Array, "..."]) -> Float[Array, ""]:
    return jnp.linalg.norm(jnp.ravel(array))


def _with(state: Heading, **changes: PyTree) -> Heading:
    return Heading(**{**vars(state), **changes})


@functools.cache
def momentum(decay: float = 0.9) -> Backtracking:
    """Heavy-ball momentum that never climbs: it is dropped where it would."""
    _check_decay(decay)
    return Backtracking(optax.trace(decay))


@functools.cache
def nesterov(decay: float = 0.9) -> Backtracking:
    """Nesterov's momentum that never climbs."""
    _check_decay(decay)
    return Backtracking(optax.trace(decay, nesterov=True))


@functools.cache
def adam() -> Backtracking:
    """Adam's direction, every entry of the answer scaled by itself, with a length that adapts."""
    # The first direction of Adam moves every entry by 1, and answers are of that size.
    return Backtracking(optax.chain(optax.scale_by_adam(), optax.scale(0.1)))


@functools.cache
def lbfgs(memory: int = 10) -> Backtracking:
    """Optax's L-BFGS: a quasi-Newton direction from the last `memory` steps."""
    count("memory", memory)
    inner = optax.scale_by_lbfgs(memory)

    def update(
        updates: Array, state: optax.ScaleByLBFGSState, params: Array | None = None
    ) -> tuple[Array, optax.ScaleByLBFGSState]:
        scaled, after = inner.update(updates, state, params)
        # Before any curvature is known, Optax goes at most as far as 1; training went further.
        return choose(state.count == 0, updates, scaled), after  # pyright: ignore

    return Backtracking(_transformation(inner.init, update), grow=4.0, longest=1.0)


@functools.cache
def conjugate_gradient() -> Backtracking:
    """Nonlinear conjugate gradient with Optimistix's formula of Polak and Ribiere."""
    return Backtracking(_transformation(_conjugate_init, _conjugate_update))


class _Conjugate(NamedTuple):
    gradient: Array
    update: Array


def _conjugate_init(params: Array) -> _Conjugate:
    return _Conjugate(jnp.zeros_like(params), jnp.zeros_like(params))


def _conjugate_update(
    updates: Array, state: _Conjugate, params: Array | None = None
) -> tuple[Array, _Conjugate]:
    del params
    beta = optx.polak_ribiere(updates, state.gradient, -state.update)
    update = updates + beta * state.update
    return update, _Conjugate(updates, update)


def _transformation(init: Callable, update: Callable) -> optax.GradientTransformation:
    """Optax's pair of functions, here on arrays alone."""
    return optax.GradientTransformation(init, update)


def _check_decay(decay: float) -> None:
    if not 0 <= decay < 1:
        raise InputError(f"`decay` must be from 0 to below 1, got {decay}.")


STEPS: Mapping[str, Callable[[], AbstractStep]] = MappingProxyType(
    {
        "fixed": FixedStep,
        "backtracking": Backtracking,
        "momentum": momentum,
        "nesterov": nesterov,
        "adam": adam,
        "conjugate-gradient": conjugate_gradient,
        "lbfgs": lbfgs,
    }
)
"""Every step rule that can be named on the command line."""

DEFAULT_STEP = "lbfgs"
"""The step rule where none is given: it needs the fewest evaluations (see the docs, Inference)."""
