"""A search for quasi-Newton directions: the Wolfe conditions, by slopes where energies round.

The conditions are those of Hager and Zhang (2005, A new conjugate gradient method with guaranteed
descent and an efficient line search). The bracket is that of Lewis and Overton (2013, Nonsmooth
optimization via quasi-Newton methods), which needs one evaluation for each step that is tried.
"""

import dataclasses
import math
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from irem.checks import positive
from irem.descent.directions import Line
from irem.descent.points import Move, Point, rounding
from irem.descent.searches import LONGEST_IN_FIRST_STEPS, AbstractSearch, longest_on
from irem.errors import InputError
from irem.trees import choose

# After so many rejections on one line a direction with a memory is started afresh from the
# gradient, and after so many along the gradient itself the search is at its end.
_TRIALS, _TRIALS_ALONG_GRADIENT = 12, 40
# After so many trials a step that decreases the energy is accepted, however steep it still is.
_TRIALS_TOO_SHORT = 6
# Where energies differ by rounding alone, the slope at the end of a step may be at most so much of
# the slope at its beginning, with the other sign: beyond it, a convex quadratic has risen.
_STEEPEST_RISE = 0.8
# Bounds of the next length: within a bracket as a share of it, beyond the last length as a factor.
_WITHIN, _BEYOND = (0.01, 0.9), (2.0, 10.0)
# The share of a bracket to try where its upper end says nothing, or is not finite.
_MIDDLE, _NEAR = 0.5, 0.1
# Of so many trials in a bracket one halves it, so that it shrinks from both ends.
_HALVE_EVERY = 3


class WolfeState(eqx.Module):
    """State of `Wolfe`: a bracket of lengths on a line, and what is known at its ends.

    Arguments:
        step_size: The step size of training, or 1.
        max_distance: Bound of the distance from one point to the next.
        first_distance: Bound of the distance of the first step along a gradient.
        length: The length to try next.
        low: The longest length so far that was too short; 0 at first.
        low_slope: The slope there.
        high: The shortest length so far that was too long; infinite at first.
        high_slope: The slope there, NaN where it is not known.
        trials: Number of steps tried on this line.
        along_gradient: Whether the direction knows no curvature yet.
    """

    step_size: Float[Array, ""]
    max_distance: Float[Array, ""]
    first_distance: Float[Array, ""]
    length: Float[Array, ""]
    low: Float[Array, ""]
    low_slope: Float[Array, ""]
    high: Float[Array, ""]
    high_slope: Float[Array, ""]
    trials: Int[Array, ""]
    along_gradient: Bool[Array, ""]


class Wolfe(AbstractSearch):
    r"""Accept a step if the energy decreases and its slope has lessened: the weak Wolfe conditions.

    A step of length $s$ along the direction $d$, with $\phi(s) = E(y - s d)$, is accepted if

    $$\phi(s) \le \phi(0) + c_1\, s\, \phi'(0) \quad\text{and}\quad \phi'(s) \ge c_2\, \phi'(0).$$

    Near a minimum two energies differ by rounding alone, long before the gradient does; there the
    first condition is $\phi'(s) \le 0.8\,|\phi'(0)|$, which says the same of a quadratic. Steps
    that are too long or too short leave a bracket, and the next one is tried where a parabola
    through the slopes at its ends is least.

    Arguments:
        decrease: The share $c_1$ of the promised decrease that is required.
        slope: The share $c_2$ of the slope that may be left.
    """

    needs_descent: ClassVar[bool] = True

    decrease: float = 1e-4
    slope: float = 0.9

    def __check_init__(self) -> None:
        """Refuse conditions that no step may meet."""
        for name, value in (("decrease", self.decrease), ("slope", self.slope)):
            positive(name, value)
        if not self.decrease < self.slope < 1:
            raise InputError(
                f"`decrease` must be less than `slope`, and that less than 1; got {self.decrease} "
                f"and {self.slope}."
            )

    def init(self, point: Point, step_size: Float[Array, ""] | None) -> WolfeState:
        """Return a state whose next step is that of training, or of length 1 at most."""
        trained, dtype = step_size is not None, point.y.dtype
        size = jnp.asarray(step_size if trained else 1.0, dtype)
        first_steps = LONGEST_IN_FIRST_STEPS * size * jnp.linalg.norm(jnp.ravel(point.gradient))
        distance = jnp.maximum(first_steps, math.sqrt(point.y.size)) if trained else jnp.inf
        zero, one = jnp.zeros((), dtype), jnp.ones((), dtype)
        return WolfeState(
            step_size=size,
            max_distance=jnp.asarray(distance, dtype),
            first_distance=jnp.asarray(jnp.inf if trained else 1.0, dtype),
            length=one,
            low=zero,
            low_slope=zero,
            high=jnp.full_like(one, jnp.inf),
            high_slope=jnp.full_like(one, jnp.nan),
            trials=jnp.zeros((), jnp.int32),
            along_gradient=jnp.array(True),
        )

    def scale(self, state: WolfeState) -> Float[Array, ""]:
        """Return the step size of training: a step of training has length 1."""
        return state.step_size

    def begin_line(self, state: WolfeState, line: Line) -> WolfeState:
        """Return an open bracket, and a length that respects the bounds of the distance."""
        bound = jnp.where(state.along_gradient, state.first_distance, jnp.inf)
        bound = jnp.minimum(bound, state.max_distance)
        return dataclasses.replace(
            state,
            length=jnp.minimum(1.0, longest_on(line, bound)),
            low=jnp.zeros_like(state.low),
            low_slope=line.slope,
            high=jnp.full_like(state.high, jnp.inf),
            high_slope=jnp.full_like(state.high, jnp.nan),
            trials=jnp.zeros_like(state.trials),
        )

    def length(self, state: WolfeState, line: Line) -> Float[Array, ""]:
        """Return the next length."""
        del line
        return state.length

    def judge(
        self, state: WolfeState, line: Line, point: Point, trial: Point
    ) -> tuple[Move, Bool[Array, ""], WolfeState]:
        """Accept the step if it meets both conditions; else narrow the bracket."""
        slope = -jnp.vdot(line.direction, trial.gradient)
        longest = longest_on(line, state.max_distance)
        too_long = ~self._decreased(state, line, point, trial)
        too_short = (slope < self.slope * line.slope) & (state.length < longest)
        # Where the energy falls for ever, the slope never lessens.
        too_short &= state.trials < _TRIALS_TOO_SHORT
        moved = jnp.any(trial.y != point.y)
        accepted = ~too_long & ~too_short & moved
        limit = jnp.where(state.along_gradient, _TRIALS_ALONG_GRADIENT, _TRIALS)
        given_up = ~accepted & ((state.trials + 1 >= limit) | (too_long & ~moved))
        move = Move(
            trial,
            accepted,
            -state.length * line.slope,
            jnp.minimum(1.0, state.length),
            given_up & state.along_gradient,
        )
        restart = given_up & ~state.along_gradient
        state = _narrowed(state, jnp.where(trial.is_finite(), slope, jnp.nan), too_long, longest)
        along_gradient = jnp.where(accepted, False, restart | state.along_gradient)
        return move, restart, dataclasses.replace(state, along_gradient=along_gradient)

    def _decreased(
        self, state: WolfeState, line: Line, point: Point, trial: Point
    ) -> Bool[Array, ""]:
        """Return whether the energy has decreased enough, by slopes where energies round."""
        slope = -jnp.vdot(line.direction, trial.gradient)
        gained, promised = point.energy - trial.energy, -state.length * line.slope
        if point.free is not None:  # bounds may have cut the step short
            promised = jnp.vdot(point.gradient, point.y - trial.y)
        by_energy = gained >= self.decrease * promised
        by_slope = slope <= _STEEPEST_RISE * -line.slope
        distinct = jnp.abs(gained) > rounding(point.energy)
        return trial.is_finite() & jnp.where(distinct, by_energy, by_slope)


def _narrowed(
    state: WolfeState,
    slope: Float[Array, ""],
    too_long: Bool[Array, ""],
    longest: Float[Array, ""],
) -> WolfeState:
    """Return the state with the length that was tried as an end of the bracket, and a new one."""
    length, trials = state.length, state.trials + 1
    # Beyond the last length: where the slope would vanish if it went on like this.
    flattened = (slope - state.low_slope) / (length - state.low)
    beyond = jnp.where(flattened > 0, length - slope / flattened, jnp.inf)
    beyond = jnp.clip(beyond, _BEYOND[0] * length, _BEYOND[1] * length)
    low, low_slope = choose(too_long, (state.low, state.low_slope), (length, slope))
    high, high_slope = choose(too_long, (length, slope), (state.high, state.high_slope))
    share = jnp.where(jnp.isnan(high_slope), _NEAR, _MIDDLE)
    share = jnp.where(high_slope > 0, low_slope / (low_slope - high_slope), share)
    share = jnp.where(trials % _HALVE_EVERY == 0, _MIDDLE, jnp.clip(share, *_WITHIN))
    within = low + share * (high - low)
    return dataclasses.replace(
        state,
        length=jnp.minimum(jnp.where(jnp.isfinite(high), within, beyond), longest),
        low=low,
        low_slope=low_slope,
        high=high,
        high_slope=high_slope,
        trials=trials,
    )
