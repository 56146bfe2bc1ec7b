"""Searches: how far a step goes along its direction, and whether it is accepted.

A search is to this library what an `AbstractSearch` is to Optimistix, with which it shares the
division of labour and the Armijo condition. Optimistix's own searches are not used: `LearningRate`
has no share of the trained step to tell a halting rule, and `BacktrackingArmijo` returns to one
constant length after every accepted step, so that each problem would pay for the same rejections
again and again; it has neither a bound from the step of training nor a test that tells a plateau
from a minimum where the decrease is smaller than rounding.
"""

import abc
import dataclasses
import math
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from irem.checks import positive
from irem.descent.directions import Line
from irem.descent.points import Move, Point, rounding
from irem.errors import InputError
from irem.trees import choose

# After so many rejections in a row a direction with a memory is started afresh from the gradient.
_REJECTIONS_BEFORE_RESTART = 4
# The first step of training leads almost to the answer, so no step has to be longer than so many of
# it, also where a badly learned energy decreases without a bound.
LONGEST_IN_FIRST_STEPS = 4.0
# Where a step promises less than rounding, one so many times as long is tried next.
_PROBE_FACTOR = 10.0
# Bound of the length for hand-written energies.
_LONGEST = 1e12
# A step that gained more than this share of what it promised met no curvature: it was far too short
# to be compared with the tolerance of a halting rule.
_NEARLY_ALL = 0.75


class AbstractSearch(eqx.Module):
    """A rule for the length of a step.

    It evaluates nothing itself: the landscape is evaluated once for every step that is tried, so
    that the problems of a batch remain in lock-step.
    """

    needs_descent: ClassVar[bool]
    """Whether directions that do not point downhill are replaced by the gradient."""

    @abc.abstractmethod
    def init(self, point: Point, step_size: Float[Array, ""] | None) -> PyTree[Array]:
        """Return the state of the search at the first guess.

        Arguments:
            point: The first guess.
            step_size: The step size that the energy was trained with, if it was trained.
        """

    @abc.abstractmethod
    def scale(self, state: PyTree[Array]) -> Float[Array, ""] | float:
        """Return the factor of gradients before a direction is made from them."""

    @abc.abstractmethod
    def begin_line(self, state: PyTree[Array], line: Line) -> PyTree[Array]:
        """Return the state at the beginning of a new line."""

    @abc.abstractmethod
    def length(self, state: PyTree[Array], line: Line) -> Float[Array, ""]:
        """Return the length of the step to try next."""

    @abc.abstractmethod
    def judge(
        self, state: PyTree[Array], line: Line, point: Point, trial: Point
    ) -> tuple[Move, Bool[Array, ""], PyTree[Array]]:
        """Decide about the step from `point` to `trial`.

        Returns:
            The step, whether the direction is to be started afresh from the gradient, and the new
            state.
        """


class Fixed(AbstractSearch):
    r"""The paper's step: every step has the same length and is accepted.

    Along the gradient that is $y \leftarrow y - \lambda \nabla_y E(x, y)$.

    Arguments:
        step_size: The paper's $\lambda$; by default the one that the energy was trained with.
    """

    needs_descent: ClassVar[bool] = False

    step_size: float | None = None

    def __check_init__(self) -> None:
        """Refuse steps that do not go down."""
        if self.step_size is not None:
            positive("step_size", self.step_size)

    def init(
        self, point: Point, step_size: Float[Array, ""] | None
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return the size of a step, and its share of that of training."""
        size = step_size if self.step_size is None else self.step_size
        if size is None:
            raise InputError(
                "This energy was not trained with a step size: write `FixedStep(step_size)`, or "
                "leave `step` out."
            )
        share = 1.0 if step_size is None else jnp.minimum(1.0, size / step_size)
        return jnp.asarray(size, point.y.dtype), jnp.asarray(share, point.y.dtype)

    def scale(self, state: tuple[Float[Array, ""], Float[Array, ""]]) -> float:
        """Return 1: directions are made from the gradients themselves."""
        del state
        return 1.0

    def begin_line(
        self, state: tuple[Float[Array, ""], Float[Array, ""]], line: Line
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return the state as it is."""
        del line
        return state

    def length(
        self, state: tuple[Float[Array, ""], Float[Array, ""]], line: Line
    ) -> Float[Array, ""]:
        """Return the size of every step."""
        del line
        return state[0]

    def judge(
        self,
        state: tuple[Float[Array, ""], Float[Array, ""]],
        line: Line,
        point: Point,
        trial: Point,
    ) -> tuple[Move, Bool[Array, ""], tuple[Float[Array, ""], Float[Array, ""]]]:
        """Accept the step."""
        size, share = state
        promised = size * jnp.sum(line.direction * point.gradient)
        return Move(trial, jnp.array(True), promised, share), jnp.array(False), state


class DampedState(eqx.Module):
    """State of `Damped`: the step size of training, and the share of it that the next step has."""

    step_size: Float[Array, ""]
    share: Float[Array, ""]


class Damped(AbstractSearch):
    r"""The step of training, shorter where a descent goes back and forth between two points.

    A fixed step may jump across a valley and back again for ever. That is so where the gradients at
    both ends of a step cancel out:
    $\|g_t + g_{t+1}\| \le \mathrm{rtol} \, \|g_t\|$. From then on steps are shorter, so
    that they end inside the valley. Steps are always accepted: the energy may rise on the way, as
    it does where descents were trained to go through given points.

    Arguments:
        rtol: Up to which share of a gradient two of them cancel out.
        shrink: Factor of the length of steps after one that jumped across a valley.
    """

    needs_descent: ClassVar[bool] = False

    rtol: float = 0.25
    shrink: float = 0.5

    def __check_init__(self) -> None:
        """Refuse lengths that could not adapt."""
        for name, value in (("rtol", self.rtol), ("shrink", self.shrink)):
            positive(name, value)
            if value >= 1:
                raise InputError(f"`{name}` must be less than 1, got {value}.")

    def init(self, point: Point, step_size: Float[Array, ""] | None) -> DampedState:
        """Return a state whose next step is that of training, or of length 1."""
        size = 1.0 if step_size is None else step_size
        dtype = point.y.dtype
        return DampedState(jnp.asarray(size, dtype), jnp.ones((), dtype))

    def scale(self, state: DampedState) -> float:
        """Return 1: directions are made from the gradients themselves."""
        del state
        return 1.0

    def begin_line(self, state: DampedState, line: Line) -> DampedState:
        """Return the state as it is."""
        del line
        return state

    def length(self, state: DampedState, line: Line) -> Float[Array, ""]:
        """Return the length of the next step."""
        del line
        return state.share * state.step_size

    def judge(
        self, state: DampedState, line: Line, point: Point, trial: Point
    ) -> tuple[Move, Bool[Array, ""], DampedState]:
        """Accept the step, and shorten the next ones if this one jumped across a valley."""
        before, after = point.gradient, trial.gradient
        jumped = _norm(before + after) <= self.rtol * _norm(before)
        share = jnp.where(jumped, self.shrink * state.share, state.share)
        promised = self.length(state, line) * jnp.sum(line.direction * before)
        move = Move(trial, jnp.array(True), promised, state.share)
        return move, jnp.array(False), dataclasses.replace(state, share=share)


class SearchState(eqx.Module):
    """State of `Backtracking`.

    Arguments:
        step_size: The step size of training, or 1.
        max_length: Bound of `length`.
        max_distance: Bound of the distance from one point to the next.
        length: The length of the next step that is not a probe.
        rejections: Number of steps in a row that were rejected.
        probes: Number of steps on this line that promised less than rounding; each makes the next
            one longer.
        met_not_finite: Whether a step on this line led to an energy that is not finite.
    """

    step_size: Float[Array, ""]
    max_length: Float[Array, ""]
    max_distance: Float[Array, ""]
    length: Float[Array, ""]
    rejections: Int[Array, ""]
    probes: Int[Array, ""]
    met_not_finite: Bool[Array, ""]


class Backtracking(AbstractSearch):
    r"""Accept a step only if the energy decreases enough; else try a shorter one.

    A step of length $s$ along the direction $d$, to $y - s d$, is accepted if

    $$E(y - s d) \le E(y) - c\, s\, d^\top \nabla E(y),$$

    the Armijo condition, so that the energy never increases. Every problem has its own length: it
    grows after a step that was accepted and shrinks after one that was not, so there is nothing to
    tune. For a trained energy it starts from the step of training and never exceeds it, as longer
    steps are outside of what was trained. For a hand-written energy it starts from 1, without that
    bound.

    Arguments:
        decrease: The share $c$ of the promised decrease that is required.
        grow: Factor of the length after a step that was accepted.
        shrink: Factor after one that was not.
    """

    needs_descent: ClassVar[bool] = True

    decrease: float = 0.4
    grow: float = 1.5
    shrink: float = 0.5

    def __check_init__(self) -> None:
        """Refuse lengths that could not adapt."""
        for name, value in (("decrease", self.decrease), ("shrink", self.shrink)):
            positive(name, value)
            if value >= 1:
                raise InputError(f"`{name}` must be less than 1, got {value}.")
        if not 1 <= self.grow < float("inf"):
            raise InputError(f"`grow` must be at least 1, got {self.grow}.")

    def init(self, point: Point, step_size: Float[Array, ""] | None) -> SearchState:
        """Return a state whose next step is that of training, or of length 1."""
        trained, dtype = step_size is not None, point.y.dtype
        size = jnp.asarray(step_size if trained else 1.0, dtype)
        # Answers are of the size of first guesses, at most the root of their number of entries:
        # longer steps are not needed on a plateau either.
        first_steps = LONGEST_IN_FIRST_STEPS * size * _norm(point.gradient)
        distance = jnp.maximum(first_steps, math.sqrt(point.y.size))
        zero = jnp.zeros((), jnp.int32)
        return SearchState(
            step_size=size,
            max_length=jnp.asarray(1.0 if trained else _LONGEST, dtype),
            max_distance=jnp.asarray(distance if trained else jnp.inf, dtype),
            length=jnp.ones((), dtype),
            rejections=zero,
            probes=zero,
            met_not_finite=jnp.array(False),
        )

    def scale(self, state: SearchState) -> Float[Array, ""]:
        """Return the step size of training: a step of training has length 1."""
        return state.step_size

    def begin_line(self, state: SearchState, line: Line) -> SearchState:
        """Return the state with a length that respects the bound of the distance."""
        return dataclasses.replace(state, length=jnp.minimum(state.length, _reach(state, line)))

    def length(self, state: SearchState, line: Line) -> Float[Array, ""]:
        """Return the length of the next step, longer if it is a probe."""
        length = state.length * _PROBE_FACTOR**state.probes
        return jnp.minimum(length, jnp.maximum(state.length, _reach(state, line)))

    def judge(
        self, state: SearchState, line: Line, point: Point, trial: Point
    ) -> tuple[Move, Bool[Array, ""], SearchState]:
        """Accept the step if the energy decreases enough."""
        length = self.length(state, line)
        promised, gained = -length * line.slope, point.energy - trial.energy
        # Energies that differ by rounding alone decide nothing.
        distinct = promised > rounding(point.energy)
        accepted = (gained >= self.decrease * promised) & distinct & trial.is_finite()
        # After rejections lengths are short and grow back, so this says something of others only.
        uncurved = accepted & (gained > _NEARLY_ALL * promised) & (state.rejections == 0)
        # A probe may well lead to an energy that is not finite; that says nothing of the minimum.
        not_finite, is_probe = ~trial.is_finite(), state.probes > 0
        met_not_finite = state.met_not_finite | (not_finite & ~is_probe)
        move = Move(
            choose(not_finite & is_probe, point, trial),
            accepted,
            jnp.where(accepted, promised, -state.length * line.slope),
            jnp.where(uncurved, 0.0, jnp.ones_like(promised)),
        )
        state = dataclasses.replace(state, met_not_finite=met_not_finite)
        restart, rejected = self._rejected(state, line, point)
        state = choose(accepted, self._accepted(state, length, line), rejected)
        return move, restart & ~accepted, state

    def _accepted(self, state: SearchState, length: Float[Array, ""], line: Line) -> SearchState:
        """Return the state after a step of `length` was accepted."""
        longer = jnp.minimum(length * self.grow, state.max_length)
        zero = jnp.zeros_like(state.rejections)
        return dataclasses.replace(
            state,
            length=jnp.ones_like(longer) if line.own_length else longer,
            rejections=zero,
            probes=zero,
            met_not_finite=jnp.array(False),
        )

    def _rejected(
        self, state: SearchState, line: Line, point: Point
    ) -> tuple[Bool[Array, ""], SearchState]:
        """Return whether to start afresh after a rejected step from `point`, and the state."""
        rejections = state.rejections + 1
        # Near the end of a descent steps promise less than rounding. A longer one, a probe, tells a
        # plateau, where it finds a lower energy, from a minimum, where it finds a higher one.
        promising = -state.length * line.slope > rounding(point.energy)
        shorten = state.met_not_finite | promising
        shorter = dataclasses.replace(
            state, length=state.length * self.shrink, rejections=rejections
        )
        longer = dataclasses.replace(state, probes=state.probes + 1, rejections=rejections)
        state = choose(shorten, shorter, longer)
        if not line.has_memory:
            return jnp.array(False), state
        restart = shorten & (rejections == _REJECTIONS_BEFORE_RESTART)
        length = jnp.where(restart, jnp.ones_like(state.length), state.length)
        return restart, dataclasses.replace(state, length=length)


def _reach(state: SearchState, line: Line) -> Float[Array, ""]:
    """Return the length of a step as far as the bound of the distance allows."""
    return longest_on(line, state.max_distance)


def longest_on(line: Line, distance: Float[Array, ""]) -> Float[Array, ""]:
    """Return the length of a step on a line that goes this far."""
    norm = _norm(line.direction)
    return jnp.where(norm > 0, distance / jnp.where(norm > 0, norm, 1.0), jnp.inf)


def _norm(array: Float[Array, "..."]) -> Float[Array, ""]:
    return jnp.linalg.norm(jnp.ravel(array))
