"""What is trained, with which settings: the candidates that short trials choose from."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from irem.energy import ENERGIES
from irem.formats import Vectors
from irem.methods import (
    RELATIVE,
    Feedforward,
    InsideTask,
    Scale,
    Scaled,
    ScaledBaseline,
    Units,
)
from irem.settings import first_fitting
from irem.tasks import Arrays

LEARNING_RATES = (1e-3, 3e-4, 3e-3)
"""Learning rates that are tried, the usual one first."""

STEP_SIZES = (1.0, 0.1, 10.0)
"""Step sizes that are tried for energies that are trained by a descent, the usual one first."""

# Steps of the conjugate gradient, or of a descent.
_SOLVER_STEPS, _DESCENT_STEPS = 12, 5
_DEPTH = 3
# Of how many starts the loss takes the best where a problem has several answers.
_SEVERAL_STARTS = 8
# Products of an energy for vectors, and the fewest and most further equations.
_PRODUCTS, _EQUATIONS = 64, (32, 128)
# For rows of other kinds.
_ENERGIES = {"graphs": {"name": "pair"}, "pictures": {"name": "conv"}}


@dataclasses.dataclass(frozen=True)
class Plan:
    """Settings of one training.

    Arguments:
        energy: Name and settings of the energy.
        relative: One of `irem.methods.RELATIVE`.
        learning_rate: Of Adam, at the beginning.
        step_size: Of the descents of training.
        several: Whether a problem may have several answers.
    """

    energy: Mapping[str, Any]
    relative: str = RELATIVE[0]
    learning_rate: float = LEARNING_RATES[0]
    step_size: float = STEP_SIZES[0]
    several: bool = False

    @property
    def at_minimum(self) -> bool:
        """Whether the energy has one minimum, which training differentiates."""
        return self.energy["name"] == "equations"

    @property
    def by_likelihood(self) -> bool:
        """Whether the energy is trained by the likelihood of known answers."""
        return self.energy["name"] == "proposals"

    def build(self, task: Arrays, *, key: PRNGKeyArray) -> Scaled:
        """Return the method with initial weights, in units of the rows of training."""
        return Scaled.for_task(
            task,
            energy=self.energy,
            gradient={"name": "minimum" if self.at_minimum else "last-steps"},
            num_steps=_SOLVER_STEPS if self.at_minimum else _DESCENT_STEPS,
            step_size=self.step_size,
            starts=_SEVERAL_STARTS if self.several and not self.by_likelihood else 1,
            likelihood=self.by_likelihood,
            units=self._units(task),
            key=key,
        )

    def baseline(self, task: Arrays, parameters: int, *, key: PRNGKeyArray) -> ScaledBaseline:
        """Return a feedforward network with about as many parameters, in the same units."""
        inside = InsideTask(task)
        network: dict[str, Any] = {}
        if isinstance(inside.format, Vectors):
            network = {"width": _width(inside.format, parameters), "depth": _DEPTH}
        method = Feedforward.for_task(inside, network=network, key=key)
        return ScaledBaseline(method, Scale(task.format, self._units(task)))

    def _units(self, task: Arrays) -> Units:
        return Units.of(task.format, task.problems("train"), self.relative)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return {**dataclasses.asdict(self), "energy": dict(self.energy)}


def first_plans(
    task: Arrays, energy: Mapping[str, Any] | None, *, width: int, several: bool
) -> list[Plan]:
    """Return plans that differ in the energy: the one that is asked for, or those that fit.

    Arguments:
        task: The rows.
        energy: Name and settings of an energy, if one is asked for.
        width: Units of a layer of energies for vectors.
        several: Whether a problem may have several answers.
    """
    if energy is not None:
        name = first_fitting(ENERGIES, InsideTask(task))
        return [Plan({"name": name, **energy}, several=several)]
    if task.kind in _ENERGIES:
        return [Plan(_ENERGIES[str(task.kind)], several=several)]
    if several:
        return [Plan({"name": "proposals", "width": width, "depth": _DEPTH}, several=True)]
    common = {"name": "equations", "width": width, "depth": _DEPTH}
    some = min(max(math.prod(task.y_shape or ()), _EQUATIONS[0]), _EQUATIONS[1])
    structures = ((0, 0), (some, _PRODUCTS), (0, _PRODUCTS), (some, 0))
    return [Plan({**common, "equations": e, "products": p}) for e, p in structures]


def other_units(plan: Plan) -> list[Plan]:
    """Return the plan with all other units."""
    others = [relative for relative in RELATIVE if relative != plan.relative]
    return [dataclasses.replace(plan, relative=relative) for relative in others]


def other_step_sizes(plan: Plan) -> list[Plan]:
    """Return the plan with all other step sizes, if they matter."""
    matters = not (plan.at_minimum or plan.by_likelihood)
    others = [size for size in STEP_SIZES if size != plan.step_size] if matters else []
    return [dataclasses.replace(plan, step_size=size) for size in others]


def other_learning_rates(plan: Plan) -> list[Plan]:
    """Return the plan with all other learning rates."""
    others = [rate for rate in LEARNING_RATES if rate != plan.learning_rate]
    return [dataclasses.replace(plan, learning_rate=rate) for rate in others]


def count_parameters(model: Scaled | ScaledBaseline) -> int:
    """Return the number of weights of a model, without units."""
    weights = eqx.filter(model.method, eqx.is_inexact_array)
    return sum(leaf.size for leaf in jax.tree.leaves(weights))


def _width(shapes: Vectors, parameters: int) -> int:
    """The width of a feedforward network for vectors that has about so many parameters."""
    inputs, outputs = math.prod(shapes.x_shape), math.prod(shapes.y_shape)
    linear = inputs + outputs + _DEPTH
    square = _DEPTH - 1
    wanted = max(parameters - outputs, 1)
    width = (math.sqrt(linear**2 + 4 * square * wanted) - linear) / (2 * square)
    return max(1, round(width))
