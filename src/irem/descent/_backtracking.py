"""Steps that never climb: a direction from Optax or Optimistix, and a length that adapts."""

import functools
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import optimistix as optx
from jaxtyping import Array, Bool, Float, Int, PyTree

from irem._checks import count, positive
from irem._errors import InputError
from irem._trees import choose
from irem.descent._step import AbstractStep, FixedStep, Landscape, Move, Point, look, rounding

# So many rejections in a row, and the next direction is that of the gradient again.
_TRIES = 4
# A first step of training leads almost to the answer. So many times as long is long enough for any
# step, also where a landscape that was learned badly falls for ever.
_REACH = 4.0
# Where a step promises less than rounding, one so many times as long is tried next.
_STRETCH = 10.0
# Bound of the length on a hand-written energy.
_LONGEST = 1e12
# Directions with a memory overshoot at times, and gain by it later.
_LENIENT = 0.1
# A step that gained this much of what it promised met no curvature: it was far too short.
_STRAIGHT = 0.75


class Heading(eqx.Module):
    """Memory of `Backtracking`: where the next step goes, and how far.

    Arguments:
        unit: The step size of training, or 1.
        longest: Bound of `length`.
        reach: Bound of a step in space.
        direction: The next step at length 1.
        slope: How the energy changes along it, to first order; below zero.
        length: What share of `direction` is tried next.
        rejections: How many steps in a row were rejected.
        stretches: How many of them because they promised less than rounding.
        walled: Whether one of them led out of the numbers.
        memory: What the direction is made from.
    """

    unit: Float[Array, ""]
    longest: Float[Array, ""]
    reach: Float[Array, ""]
    direction: Float[Array, "..."]
    slope: Float[Array, ""]
    length: Float[Array, ""]
    rejections: Int[Array, ""]
    stretches: Int[Array, ""]
    walled: Bool[Array, ""]
    memory: PyTree[Array]


class Backtracking(AbstractStep):
    r"""Go on only where the energy falls enough; else stay, and try a shorter step.

    A step of length $s$ along the direction $d$ is accepted if

    $$E(y + s d) \le E(y) + c\, s\, d^\top \nabla E(y),$$

    which is never more than $E(y)$. Every problem has its own length: it grows after a step that
    was accepted and shrinks after one that was not, so there is nothing to tune. On a learned
    landscape it starts from the step of training, which it never exceeds: training has seen no
    longer ones. A hand-written energy is started with a step of 1 and without that bound.

    Arguments:
        direction: An Optax transformation from gradients to updates; the gradient itself by
            default. Where it does not point downhill, or nothing is gained along it, it is started
            afresh from the gradient.
        decrease: The share $c$ of the promised fall that has to come true.
        grow: Factor of the length after a step that was accepted.
        shrink: Factor after one that was not.
        own_length: Whether the direction brings its own length, to which every new step returns.
    """

    direction: optax.GradientTransformation = eqx.field(static=True, default=optax.identity())
    decrease: float = 0.4
    grow: float = 1.5
    shrink: float = 0.5
    own_length: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        """Refuse lengths that could not adapt."""
        for name in ("decrease", "shrink"):
            positive(name, getattr(self, name))
            if getattr(self, name) >= 1:
                raise InputError(f"`{name}` must be less than 1, got {getattr(self, name)}.")
        if not 1 <= self.grow < float("inf"):
            raise InputError(f"`grow` must be at least 1, got {self.grow}.")

    def init(self, point: Point, unit: Float[Array, ""] | None) -> Heading:
        """Head down the gradient with the step of training, or with a step of 1."""
        trained, dtype = unit is not None, point.y.dtype
        unit = jnp.asarray(unit if trained else 1.0, dtype)
        # Answers are of the size of guesses: also from a plateau no longer step is needed.
        reach = jnp.maximum(_REACH * unit * _norm(point.gradient), math.sqrt(point.y.size))
        none = jnp.zeros((), jnp.int32)
        blank = Heading(
            unit=unit,
            longest=jnp.asarray(1.0 if trained or self.own_length else _LONGEST, dtype),
            reach=jnp.asarray(reach if trained else jnp.inf, dtype),
            direction=jnp.zeros_like(point.y),
            slope=jnp.zeros_like(point.energy),
            length=jnp.ones((), dtype),
            rejections=none,
            stretches=none,
            walled=jnp.array(False),
            memory=self.direction.init(point.y),
        )
        return self._head(blank, point)

    def __call__(self, landscape: Landscape, point: Point, state: Heading) -> tuple[Move, Heading]:
        """Try the step; accept it if the energy falls enough."""
        length = state.length * _STRETCH**state.stretches
        length = jnp.minimum(length, jnp.maximum(state.length, self._reachable(state)))
        trial = look(landscape, point.y + length * state.direction)
        promised, gained = -length * state.slope, point.energy - trial.energy
        # Where the energies of both points differ by rounding alone, they decide nothing.
        told_apart = promised > rounding(point.energy)
        accepted = (gained >= self.decrease * promised) & told_apart & trial.is_finite()
        # Lengths that were cut down grow back; until then little is promised, and means little.
        straight = accepted & (gained > _STRAIGHT * promised) & (state.rejections == 0)
        # A longer step may well leave the numbers; that says nothing about the minimum.
        outside, probe = ~trial.is_finite(), state.stretches > 0
        walled = state.walled | (outside & ~probe)
        move = Move(
            choose(outside & probe, point, trial),
            accepted,
            jnp.where(accepted, promised, -state.length * state.slope),
            jnp.where(straight, 0.0, jnp.ones_like(promised)),
        )
        return move, choose(
            accepted,
            self._go_on(state, trial, length),
            self._stay(_with(state, walled=walled), point),
        )

    def _go_on(self, state: Heading, point: Point, length: Float[Array, ""]) -> Heading:
        """The next step from `point` after one of `length` was accepted."""
        longer = state.longest if self.own_length else length * self.grow
        none = jnp.zeros_like(state.rejections)
        state = _with(
            state,
            length=jnp.minimum(longer, state.longest),
            rejections=none,
            stretches=none,
            walled=jnp.array(False),
        )
        return self._head(state, point)

    def _stay(self, state: Heading, point: Point) -> Heading:
        """The next step after one from `point` was rejected."""
        rejections = state.rejections + 1
        # At the ends of a walk steps promise less than rounding. A longer one tells a plateau,
        # which it leaves, from a minimum, where it climbs.
        promises = state.walled | (-state.length * state.slope > rounding(point.energy))
        shorter = _with(state, length=state.length * self.shrink, rejections=rejections)
        stretched = _with(state, stretches=state.stretches + 1, rejections=rejections)
        stay = choose(promises, shorter, stretched)
        memory = self.direction.init(point.y)
        if not jax.tree.leaves(memory):
            return stay
        # A direction along which nothing was gained is given up for that of the gradient.
        afresh = _with(stay, length=jnp.ones_like(stay.length), memory=memory)
        return choose(promises & (rejections == _TRIES), self._head(afresh, point), stay)

    def _head(self, state: Heading, point: Point) -> Heading:
        """Turn to the next direction from `point`: the transformation's if it points downhill."""
        scaled = state.unit * point.gradient
        update, memory = self.direction.update(scaled, state.memory, point.y)
        assert isinstance(update, Array)
        slope = -jnp.vdot(update, point.gradient)
        downhill = jnp.isfinite(slope) & (slope < 0)
        state = _with(
            state,
            direction=jnp.where(downhill, -update, -scaled),
            slope=jnp.where(downhill, slope, -jnp.vdot(scaled, point.gradient)),
            memory=choose(downhill, memory, self.direction.init(point.y)),
        )
        return _with(state, length=jnp.minimum(state.length, self._reachable(state)))

    @staticmethod
    def _reachable(state: Heading) -> Float[Array, ""]:
        """The length that takes a step as far as it may go."""
        size = _norm(state.direction)
        return jnp.where(size > 0, state.reach / jnp.where(size > 0, size, 1.0), jnp.inf)


def _norm(array: Float[Array, "..."]) -> Float[Array, ""]:
    return jnp.linalg.norm(jnp.ravel(array))


def _with(state: Heading, **changes: PyTree) -> Heading:
    return Heading(**{**vars(state), **changes})


@functools.cache
def momentum(decay: float = 0.9) -> Backtracking:
    """Heavy-ball momentum that never climbs: it is dropped where it would."""
    _check_decay(decay)
    return Backtracking(optax.trace(decay), decrease=_LENIENT)


@functools.cache
def nesterov(decay: float = 0.9) -> Backtracking:
    """Nesterov's momentum that never climbs."""
    _check_decay(decay)
    return Backtracking(optax.trace(decay, nesterov=True), decrease=_LENIENT)


@functools.cache
def adam() -> Backtracking:
    """Adam's direction, every entry of the answer scaled by itself, with a length that adapts."""
    # The first direction of Adam moves every entry by 1, and answers are of that size.
    return Backtracking(optax.chain(optax.scale_by_adam(), optax.scale(0.1)), decrease=_LENIENT)


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

    return Backtracking(_transformation(inner.init, update), decrease=_LENIENT, own_length=True)


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

DEFAULT_STEP = "backtracking"
"""The step rule where none is given: the surest one (see the docs, Inference)."""
