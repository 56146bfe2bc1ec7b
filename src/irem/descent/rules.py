"""The rules of a descent: how its steps are taken, and when it stops."""

from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, ScalarLike

from irem.descent.halting import AbstractHalt, EnergyUnchanged
from irem.descent.protocols import Energy
from irem.descent.searches import AbstractSearch
from irem.descent.steps import Step, as_step

Rule = TypeVar("Rule")

MAX_STEPS = 500
"""Number of steps after which a descent stops where no other is given."""


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


def make_descent(
    energy: Energy,
    step: Step | AbstractSearch | ScalarLike | str | None = None,
    halt: AbstractHalt | None = None,
    max_steps: int = MAX_STEPS,
) -> Descent:
    """Return the descent on an energy that the options of `solve` describe."""
    size = energy.step_size
    return Descent(
        energy=energy,
        step=_with_arrays(as_step(step)),
        halt=_with_arrays(EnergyUnchanged() if halt is None else halt),
        step_size=None if size is None else jnp.asarray(size, float),
        max_steps=jnp.asarray(max_steps, jnp.int32),
    )


def _with_arrays(rule: Rule) -> Rule:
    """Return a rule whose settings are arrays, so that other values need no compilation."""

    def as_array(leaf: Any) -> Any:
        return jnp.asarray(float(leaf)) if isinstance(leaf, float) else leaf

    return jax.tree.map(as_array, rule)
