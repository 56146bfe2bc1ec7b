"""When a descent stops."""

import abc
import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree, ScalarLike

from irem.checks import count, positive
from irem.descent.judging import ChecksSteps, judge_of
from irem.descent.points import Move, Point, rounding
from irem.descent.solution import RUNNING, Reason
from irem.errors import InputError

Verdict = Int[Array, ""]
"""A `Reason` to stop, or `RUNNING`."""


class AbstractHalt(eqx.Module):
    """A rule that decides after every step whether a minimum has been reached."""

    def for_problem(self, energy: Any, x: PyTree) -> "AbstractHalt":
        """Return the rule for the descents on one problem, of which most rules need know nothing.

        Arguments:
            energy: The energy that is descended.
            x: The problem.
        """
        del energy, x
        return self

    @abc.abstractmethod
    def init(self, point: Point) -> PyTree[Array]:
        """Return the memory of the rule at the first guess."""

    @abc.abstractmethod
    def __call__(
        self, state: PyTree[Array], before: Point, after: Point, move: Move
    ) -> tuple[PyTree[Array], Verdict]:
        """Decide after one step.

        Arguments:
            state: The memory of the rule.
            before: The point from which the step was tried.
            after: The point of the descent now: `move.trial` if it was accepted, else `before`.
            move: The step.

        Returns:
            The new memory, and the `Reason` to stop or `RUNNING`.
        """

    def __or__(self, other: "AbstractHalt") -> "AnyOf":
        """Stop as soon as one of the two rules does."""
        return AnyOf((self, other))


class EnergyMemory(eqx.Module):
    """Memory of `EnergyUnchanged`: the first energy, and the steps in a row without a change."""

    first_energy: Float[Array, ""]
    unchanged_steps: Int[Array, ""]


class EnergyUnchanged(AbstractHalt):
    r"""Stop once the energy has not changed for `patience` steps in a row (Algorithm 2).

    A step leaves the energy unchanged if neither the change it made nor the decrease that the slope
    promised is more than $\mathrm{rtol} \cdot |E_0 - E_t| + \epsilon\,|E_t|$: a share of the whole
    decrease so far, which does not depend on the scale or the offset of a learned energy, plus the
    effect of rounding ($\epsilon$ is eight units in the last place). The promise tells a minimum
    from a step that jumps across a valley between two points of the same energy. For a fixed step
    shorter than that of training the tolerance is smaller in proportion, so that shorter steps do
    not end a descent earlier.

    Arguments:
        patience: How many such steps in a row.
        rtol: Share of the decrease so far that counts as no change.
    """

    patience: int = 3
    rtol: float = 1e-6

    def __check_init__(self) -> None:
        """Refuse a rule that would stop at once."""
        count("patience", self.patience)
        positive("rtol", self.rtol)

    def init(self, point: Point) -> EnergyMemory:
        """Remember the first energy."""
        return EnergyMemory(point.energy, jnp.zeros((), jnp.int32))

    def __call__(
        self, state: EnergyMemory, before: Point, after: Point, move: Move
    ) -> tuple[EnergyMemory, Verdict]:
        """Count the step if it left the energy unchanged."""
        descent = jnp.abs(state.first_energy - after.energy)
        tolerance = self.rtol * move.share * descent + rounding(after.energy)
        change = jnp.abs(after.energy - before.energy)
        unchanged = jnp.maximum(change, move.promised) <= tolerance
        unchanged_steps = jnp.where(unchanged, state.unchanged_steps + 1, 0)
        stop = unchanged_steps >= self.patience
        verdict = jnp.where(stop, Reason.ENERGY_UNCHANGED, RUNNING)
        return EnergyMemory(state.first_energy, unchanged_steps), verdict


class GradientSmall(AbstractHalt):
    r"""Stop once $\|\nabla E\| \le \mathrm{rtol}\,\|\nabla E_0\| + \mathrm{atol}$.

    Arguments:
        rtol: Share of the gradient at the first guess.
        atol: Norm that is small in any case.
    """

    rtol: float = 1e-4
    atol: float = 0.0

    def __check_init__(self) -> None:
        """Refuse a rule that would never stop, or at once."""
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if not 0 <= value < float("inf"):
                raise InputError(f"`{name}` must be 0 or more, got {value}.")
        if self.rtol == self.atol == 0:
            raise InputError("`rtol` and `atol` are both 0: such a descent would never stop.")

    def init(self, point: Point) -> Float[Array, ""]:
        """Remember the first norm."""
        return _norm(point)

    def __call__(
        self, state: Float[Array, ""], before: Point, after: Point, move: Move
    ) -> tuple[Float[Array, ""], Verdict]:
        """Compare the norm with the first one."""
        del before, move
        small = _norm(after) <= self.rtol * state + self.atol
        return state, jnp.where(small, Reason.GRADIENT_SMALL, RUNNING)


# How much the least curvature grows with every new least gradient, so that what was met long ago is
# forgotten.
_FORGET = 1.2
# The distance to the minimum, as a share of the answer, that counts where rounding ends a descent.
_ROUNDED_XTOL = 1e-4
# A descent that is so many times as far away as its first guess is large has no minimum before it.
_DIVERGED_BEYOND = 1e12
# A small answer is measured by so much of its distance from the first guess.
_SHARE_OF_DISTANCE = 0.1


class StationaryMemory(eqx.Module):
    """Memory of `Stationary`.

    Arguments:
        first_y: The first guess.
        largest_gradient: The largest norm of a gradient so far.
        least_gradient: The least one.
        least_energy: The least energy so far.
        curvature: The least curvature along the last steps.
        small_steps: Number of small steps in a row.
        idle_steps: Number of steps in a row without progress.
    """

    first_y: Float[Array, "..."]
    largest_gradient: Float[Array, ""]
    least_gradient: Float[Array, ""]
    least_energy: Float[Array, ""]
    curvature: Float[Array, ""]
    small_steps: Int[Array, ""]
    idle_steps: Int[Array, ""]


class Stationary(AbstractHalt):
    r"""Stop where the gradient is small and a minimum is near: the rule for quasi-Newton steps.

    The distance to the minimum is taken to be $\|\nabla E\| / \kappa$, where $\kappa$ is the least
    curvature along the last steps. It is small if it is at most `xtol` times the size of the
    answer, and the gradient is if its norm is at most `gtol` times the largest one of the descent.
    A descent has converged after `patience` steps in a row, none cut short, where both are small
    and the step itself is at most a tenth of that distance. Where rounding ends all progress
    before, it has converged if both are small, a distance of 1e-4 being so, and else stalled
    (`Reason.STALLED`).

    Arguments:
        patience: How many small steps in a row.
        xtol: The share of the size of the answer that is a small distance; by default 1e-6 in 64
            bits, and 1e-4 in 32.
        gtol: The share of the largest gradient that is a small gradient.
        idle_patience: How many steps in a row may neither lower the energy by more than rounding
            nor the gradient.
    """

    patience: int = 2
    xtol: float | None = None
    gtol: float = 1e-3
    idle_patience: int = 30

    def __check_init__(self) -> None:
        """Refuse a rule that would stop at once, or never."""
        for name in ("patience", "idle_patience"):
            count(name, getattr(self, name))
        positive("gtol", self.gtol)
        if self.xtol is not None:
            positive("xtol", self.xtol)

    def init(self, point: Point) -> StationaryMemory:
        """Remember the first guess."""
        zero, norm = jnp.zeros((), jnp.int32), _norm(point)
        unknown = jnp.full_like(norm, jnp.inf)
        return StationaryMemory(point.y, norm, norm, point.energy, unknown, zero, zero)

    def __call__(
        self, state: StationaryMemory, before: Point, after: Point, move: Move
    ) -> tuple[StationaryMemory, Verdict]:
        """Count the step if it is small, or made no progress."""
        norm, step = _norm(after), _largest(after.y - before.y)
        travelled = _largest(after.y - state.first_y)
        xtol = _default_xtol(after) if self.xtol is None else self.xtol
        size = jnp.maximum(_largest(after.y), _SHARE_OF_DISTANCE * travelled)
        largest = jnp.maximum(state.largest_gradient, norm)
        less = norm < 0.9 * state.least_gradient
        progress = (state.least_energy - after.energy > rounding(after.energy)) | less
        curvature = jnp.where(move.accepted, _curvature(before, after), jnp.inf)
        curvature = jnp.minimum(curvature, jnp.where(less, _FORGET, 1.0) * state.curvature)
        vanishing = norm <= self.gtol * largest
        near = vanishing & (norm <= curvature * xtol * size)
        near_enough = vanishing & (norm <= curvature * jnp.maximum(xtol, _ROUNDED_XTOL) * size)
        # A step that was cut short is no sign of a minimum.
        small = near & (step <= 0.1 * xtol * size) & (move.share > 0.5)
        small_steps = jnp.where(small, state.small_steps + 1, 0)
        state = StationaryMemory(
            first_y=state.first_y,
            largest_gradient=largest,
            least_gradient=jnp.minimum(norm, state.least_gradient),
            least_energy=jnp.minimum(after.energy, state.least_energy),
            curvature=curvature,
            small_steps=jnp.where(move.accepted, small_steps, state.small_steps),
            idle_steps=jnp.where(progress, 0, state.idle_steps + 1),
        )
        vanished = (state.small_steps >= self.patience) | (norm == 0)
        at_end = move.given_up | (state.idle_steps >= self.idle_patience)
        ended = jnp.where(near_enough, Reason.GRADIENT_SMALL, Reason.STALLED)
        verdict = jnp.where(at_end, ended, RUNNING)
        verdict = jnp.where(vanished, Reason.GRADIENT_SMALL, verdict)
        diverged = travelled > _DIVERGED_BEYOND * (1 + _largest(state.first_y))
        return state, jnp.where(diverged, Reason.STALLED, verdict)


class AnswerHolds(AbstractHalt):
    """Stop as soon as the answer passes the check of the task that the energy was trained on.

    Only tasks that have `holds` are checked on the way: those whose answers are zeros and ones and
    are either right or wrong, such as puzzles. Of others, and of energies without a task, this rule
    stops no descent. The energies of answers found so are no minima, and cannot be compared.

    Arguments:
        holds: The check of one problem, which `for_problem` puts here.
    """

    holds: Callable[[Array], ScalarLike] | None = None

    def for_problem(self, energy: Any, x: PyTree) -> "AnswerHolds":
        """Return the rule that checks answers to the problem `x`."""
        task = judge_of(energy)
        if not isinstance(task, ChecksSteps):
            return self
        return dataclasses.replace(self, holds=lambda point: task.holds(x, energy.read(x, point)))

    def init(self, point: Point) -> tuple[()]:
        """Remember nothing."""
        del point
        return ()

    def __call__(
        self, state: tuple[()], before: Point, after: Point, move: Move
    ) -> tuple[tuple[()], Verdict]:
        """Check the answer."""
        del before, move
        found = False if self.holds is None else self.holds(after.y)
        return state, jnp.where(found, Reason.HOLDS, RUNNING)


class AnyOf(AbstractHalt):
    """Stop as soon as one of several rules does, for its reason; `a | b` means the same.

    Arguments:
        rules: The rules; the first one to stop names the reason.
    """

    rules: tuple[AbstractHalt, ...]

    def __check_init__(self) -> None:
        """Refuse no rules at all."""
        if not self.rules:
            raise InputError("`AnyOf` needs at least one halting rule.")

    def for_problem(self, energy: Any, x: PyTree) -> "AnyOf":
        """Return all rules for the descents on one problem."""
        return AnyOf(tuple(rule.for_problem(energy, x) for rule in self.rules))

    def init(self, point: Point) -> tuple[PyTree[Array], ...]:
        """Return the memories of all rules."""
        return tuple(rule.init(point) for rule in self.rules)

    def __call__(
        self, state: tuple[PyTree[Array], ...], before: Point, after: Point, move: Move
    ) -> tuple[tuple[PyTree[Array], ...], Verdict]:
        """Return the reason of the first rule that stops."""
        verdict = jnp.asarray(RUNNING)
        memories = []
        for rule, memory in zip(self.rules, state, strict=True):
            memory, reason = rule(memory, before, after, move)
            memories.append(memory)
            verdict = jnp.where(verdict == RUNNING, reason, verdict)
        return tuple(memories), verdict


def reason_to_stop(
    verdict: Verdict, trial_is_finite: Bool[Array, ""], out_of_steps: Bool[Array, ""]
) -> Verdict:
    """Return why a descent stops after a step, or `RUNNING`; the halting rule comes first."""
    # If even the shortest steps lead to an energy that is not finite, there is no minimum.
    no_minimum = (verdict != RUNNING) & ~trial_is_finite
    verdict = jnp.where(no_minimum, Reason.NOT_FINITE, verdict)
    return jnp.where((verdict == RUNNING) & out_of_steps, Reason.BUDGET, verdict)


def is_minimum(reason: Verdict) -> Bool[Array, ""]:
    """Return whether a descent that stopped for this reason found a minimum."""
    return jnp.any(reason == jnp.array([r for r in Reason if r.is_minimum]))


def _norm(point: Point) -> Float[Array, ""]:
    return jnp.linalg.norm(jnp.ravel(point.gradient))


def _largest(array: Float[Array, "..."]) -> Float[Array, ""]:
    return jnp.max(jnp.abs(array))


def _curvature(before: Point, after: Point) -> Float[Array, ""]:
    """Return the curvature along a step: the change of the slope over its length."""
    step = after.y - before.y
    if before.free is not None and after.free is not None:
        step = jnp.where(before.free & after.free, step, 0.0)
    length = jnp.linalg.norm(jnp.ravel(step))
    step = step / jnp.where(length > 0, length, 1.0)
    change = jnp.vdot(step, after.gradient - before.gradient)
    return jnp.where(length > 0, change / length, jnp.inf)


def _default_xtol(point: Point) -> float:
    """Return what rounding of the gradient lets a descent reach on a landscape of condition 1e3."""
    return 1e-6 if jnp.finfo(point.energy.dtype).eps < 1e-10 else 1e-4
