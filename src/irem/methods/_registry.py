"""Methods by name: how a run says what it trained, and how it is built again."""

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from jaxtyping import PRNGKeyArray

from irem._checks import known
from irem.energy import ENERGIES, GINE, MLP, AbstractEnergy
from irem.energy.base import TaskShapes
from irem.methods._gradients import AbstractGradient, FullUnroll, LastStep
from irem.methods._irem import IREM
from irem.methods.base import AbstractMethod

METHODS = ("irem",)
"""Every method that can be named on the command line."""

GRADIENTS: Mapping[str, type[AbstractGradient]] = MappingProxyType(
    {"last-step": LastStep, "full-unroll": FullUnroll}
)
"""Every gradient rule that can be named on the command line."""


def build_method(task: TaskShapes, settings: Mapping[str, Any], *, key: PRNGKeyArray) -> IREM:
    """A new method for `task` with the settings that `describe_method` returns."""
    options = dict(settings)
    known("method", options.pop("name"), METHODS)
    energy = dict(options.pop("energy"))
    name = energy.pop("name")
    known("energy", name, ENERGIES)
    gradient = options.pop("gradient")
    known("gradient rule", gradient, GRADIENTS)
    build_energy = ENERGIES[name].for_task
    for setting in energy:
        accepted = set(inspect.signature(build_energy).parameters) - {"task", "key"}
        known(f"setting of the {name} energy", setting, sorted(accepted))
    return IREM(build_energy(task, key=key, **energy), gradient=GRADIENTS[gradient](), **options)


def describe_method(method: AbstractMethod) -> dict[str, Any]:
    """Settings from which `build_method` makes a method of the same form.

    An energy of one's own has no name here; it is described by its class, and a run that holds it
    is loaded with `irem.load(path, like=method)`.
    """
    if not isinstance(method, IREM):
        return {"name": type(method).__qualname__}
    return {
        "name": "irem",
        "num_steps": method.num_steps,
        "step_size": method.step_size,
        "gradient": _name_of(GRADIENTS, method.gradient),
        "energy": _describe_energy(method.energy),
    }


def _describe_energy(energy: AbstractEnergy) -> dict[str, Any]:
    settings = energy.settings() if isinstance(energy, MLP | GINE) else {}
    return {"name": _name_of(ENERGIES, energy), **settings}


def _name_of(names: Mapping[str, type], value: object) -> str:
    for name, kind in names.items():
        if type(value) is kind:
            return name
    return type(value).__qualname__
