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
_SOLVER_STEPS, _DESCENT_STEPS = 16, 5
_DEPTH = 3
# Of an energy for vectors: neither further equations nor products, some, or both.
_STRUCTURES = ((0, 0), (0, 64), (64, 0), (32, 64))
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
        starts: Of how many starts the loss takes the best.
    """

    energy: Mapping[str, Any]
    relative: str = RELATIVE[0]
    learning_rate: float = LEARNING_RATES[0]
    step_size: float = STEP_SIZES[0]
    starts: int = 1

    @property
    def at_minimum(self) -> bool:
        """Whether the energy has one minimum, which training differentiates."""
        return self.energy["name"] == "equations"

    def build(self, task: Arrays, *, key: PRNGKeyArray) -> Scaled:
        """Return the method with initial weights, in units of the rows of training."""
        return Scaled.for_task(
            task,
            energy=self.energy,
            gradient={"name": "minimum" if self.at_minimum else "last-steps"},
            num_steps=_SOLVER_STEPS if self.at_minimum else _DESCENT_STEPS,
            step_size=self.step_size,
            starts=self.starts,
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
    task: Arrays, energy: Mapping[str, Any] | None, *, width: int, starts: int
) -> list[Plan]:
    """Return plans that differ in the energy: the one that is asked for, or those that fit.

    Arguments:
        task: The rows.
        energy: Name and settings of an energy, if one is asked for.
        width: Units of a layer of energies for vectors.
        starts: Of how many starts the loss takes the best.
    """
    if energy is not None:
        return [Plan({"name": first_fitting(ENERGIES, InsideTask(task)), **energy}, starts=starts)]
    if task.kind in _ENERGIES:
        return [Plan(_ENERGIES[str(task.kind)], starts=starts)]
    if starts > 1:
        return [Plan({"name": "refiner", "width": width}, starts=starts)]
    common = {"name": "equations", "width": width, "depth": _DEPTH}
    return [Plan({**common, "equations": e, "products": p}) for e, p in _STRUCTURES]


def variations(plan: Plan) -> list[list[Plan]]:
    """Return what is tried next, one group after the other: units, step sizes, learning rates."""
    change = lambda **new: dataclasses.replace(plan, **new)  # noqa: E731
    units = [change(relative=relative) for relative in RELATIVE[1:]]
    steps = [] if plan.at_minimum else [change(step_size=size) for size in STEP_SIZES[1:]]
    rates = [change(learning_rate=rate) for rate in LEARNING_RATES[1:]]
    return [group for group in (units, steps, rates) if group]


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
