"""Methods by name: how a run says what it trained, and how it is built again."""

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, PRNGKeyArray

from irem._checks import known
from irem.energy import ENERGIES, AbstractEnergy, Scratchpad
from irem.energy.base import TaskShapes
from irem.methods._feedforward import Feedforward
from irem.methods._gradients import AbstractGradient, FullUnroll, LastStep
from irem.methods._irem import IREM
from irem.methods._iterative_feedforward import IterativeFeedforward
from irem.methods._ponder import PonderNet
from irem.methods._recurrent import Recurrent
from irem.methods.base import AbstractBaseline, AbstractMethod

BASELINES: Mapping[str, Any] = MappingProxyType(
    {
        "feedforward": Feedforward,
        "recurrent": Recurrent,
        "programmatic": PonderNet,
        "iterative-feedforward": IterativeFeedforward,
    }
)
"""The baselines by name, in the order of the paper's table."""

METHODS: Mapping[str, Any] = MappingProxyType({**BASELINES, "irem": IREM})
"""Every method that can be named on the command line."""

GRADIENTS: Mapping[str, type[AbstractGradient]] = MappingProxyType(
    {"last-step": LastStep, "full-unroll": FullUnroll}
)
"""Every gradient rule that can be named on the command line."""


def build_method(
    task: TaskShapes, settings: Mapping[str, Any], *, key: PRNGKeyArray
) -> AbstractMethod:
    """A new method for `task` with the settings that `describe_method` returns."""
    options = dict(settings)
    name = options.pop("name")
    known("method", name, METHODS)
    if name != "irem":
        build = BASELINES[name].for_task
        _check_settings(build, options, f"{name} method")
        return build(task, key=key, **options)
    energy = dict(options.pop("energy"))
    kind = energy.pop("name")
    known("energy", kind, ENERGIES)
    gradient = options.pop("gradient")
    known("gradient rule", gradient, GRADIENTS)
    away = {"away": options.pop("away")} if "away" in options else {}
    build = ENERGIES[kind].for_task
    _check_settings(build, energy, f"{kind} energy")
    built = build(task, key=key, **energy)
    if "scratch" in energy:
        built = Scratchpad(built)
    return IREM(built, gradient=GRADIENTS[gradient](**away), **options)


def build_methods(task: TaskShapes, settings: Mapping[str, Any], *, keys: Array) -> AbstractMethod:
    """A stack of new methods, one for each key that it will be trained with."""
    build = lambda key: build_method(task, settings, key=jax.random.split(key)[0])  # noqa: E731
    return eqx.filter_vmap(build)(keys)


def describe_method(method: AbstractMethod) -> dict[str, Any]:
    """Settings from which `build_method` makes a method of the same form.

    An energy of one's own has no name here; it is described by its class, and a run that holds it
    is loaded with `irem.load(path, like=method)`.
    """
    name = _name_of(METHODS, method)
    if isinstance(method, IREM):
        return {
            "name": name,
            "num_steps": method.num_steps,
            "step_size": method.step_size,
            "gradient": _name_of(GRADIENTS, method.gradient),
            **_away(method.gradient),
            "energy": _describe_energy(method.energy),
        }
    if isinstance(method, AbstractBaseline) and name in BASELINES:
        return {"name": name, **method.settings()}
    return {"name": name}


def _away(gradient: AbstractGradient) -> dict[str, Any]:
    """What a gradient rule calls a descent that ran away, where that is not as usual."""
    if not isinstance(gradient, LastStep) or gradient.away == LastStep().away:
        return {}
    return {"away": gradient.away}


def _check_settings(build: Callable[..., Any], settings: Mapping[str, Any], what: str) -> None:
    accepted = set(inspect.signature(build).parameters) - {"task", "key"}
    for setting in settings:
        known(f"setting of the {what}", setting, sorted(accepted))


def _describe_energy(energy: AbstractEnergy) -> dict[str, Any]:
    if isinstance(energy, Scratchpad):
        return {**_describe_energy(energy.energy), **energy.settings()}
    settings = energy.settings() if isinstance(energy, tuple(ENERGIES.values())) else {}
    return {"name": _name_of(ENERGIES, energy), **settings}


def _name_of(names: Mapping[str, type], value: object) -> str:
    for name, kind in names.items():
        if type(value) is kind:
            return name
    return type(value).__qualname__
