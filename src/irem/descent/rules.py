"""The rules of a descent: how its steps are taken, and when it stops."""

import dataclasses
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree, ScalarLike

from irem.descent.halting import AbstractHalt, AnswerHolds, EnergyUnchanged, Stationary
from irem.descent.judging import ChecksSteps, judge_of
from irem.descent.points import Landscape
from irem.descent.protocols import QUASI_NEWTON, Energy, default_max_steps, default_step
from irem.descent.searches import AbstractSearch
from irem.descent.steps import Step, as_step
from irem.descent.wolfe import Wolfe

Rule = TypeVar("Rule")


class Descent(eqx.Module):
    """An energy, and the rules by which it is descended.

    Arguments:
        energy: What makes the landscapes.
        step: How a step is taken.
        halt: When a minimum has been reached.
        step_size: The step size that the energy was trained with, if it was trained.
        max_steps: Number of steps after which every descent stops.
    """

    energy: Energy
    step: Step
    halt: AbstractHalt
    step_size: Float[Array, ""] | None
    max_steps: Int[Array, ""]

    def on(self, x: PyTree) -> tuple["Descent", Landscape]:
        """Return the descent on one problem, and its landscape."""
        halt = self.halt.for_problem(self.energy, x)
        return dataclasses.replace(self, halt=halt), self.energy.landscape(x)


def make_descent(
    energy: Energy,
    step: Step | AbstractSearch | ScalarLike | str | None = None,
    halt: AbstractHalt | None = None,
    max_steps: int | None = None,
) -> Descent:
    """Return the descent on an energy that the options of `solve` describe."""
    size = energy.step_size
    rule = as_step(default_step(energy) if step is None else step)
    budget = default_max_steps(energy) if max_steps is None else max_steps
    return Descent(
        energy=energy,
        step=_with_arrays(rule),
        halt=_with_arrays(_default_halt(energy, rule) if halt is None else halt),
        step_size=None if size is None else jnp.asarray(size, float),
        max_steps=jnp.asarray(budget, jnp.int32),
    )


def until_answer_holds(descent: Descent) -> Descent:
    """Return a descent that also stops where the answer passes its check, if its task can tell."""
    if not isinstance(judge_of(descent.energy), ChecksSteps):
        return descent
    return dataclasses.replace(descent, halt=AnswerHolds() | descent.halt)


def _default_halt(energy: Energy, step: Step) -> AbstractHalt:
    """Return the halting rule where none is given.

    Most trained energies were made so that a descent along the gradient ends at the answer. Others,
    which are descended by quasi-Newton steps, promise nothing: there the gradient has to vanish.
    """
    quasi_newton = default_step(energy) == QUASI_NEWTON and isinstance(step.search, Wolfe)
    return Stationary() if quasi_newton else EnergyUnchanged()


def _with_arrays(rule: Rule) -> Rule:
    """Return a rule whose settings are arrays, so that other values need no compilation."""

    def as_array(leaf: Any) -> Any:
        return jnp.asarray(float(leaf)) if isinstance(leaf, float) else leaf

    return jax.tree.map(as_array, rule)
