"""Methods by name: how a run says what it trained, and how it is built again."""

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, PRNGKeyArray

from irem.checks import known
from irem.memory import check_memory
from irem.methods.base import AbstractMethod
from irem.methods.feedforward import Feedforward
from irem.methods.irem import IREM
from irem.methods.iterative_feedforward import IterativeFeedforward
from irem.methods.ponder import PonderNet
from irem.methods.recurrent import Recurrent
from irem.methods.scaled import Scaled
from irem.methods.sizes import device_memory, model_bytes
from irem.settings import HasFormat, Registry

METHODS: Registry[type[AbstractMethod]] = Registry(
    "method",
    {
        "feedforward": Feedforward,
        "recurrent": Recurrent,
        "programmatic": PonderNet,
        "iterative-feedforward": IterativeFeedforward,
        "irem": IREM,
        "scaled": Scaled,
    },
)
"""Every method that can be named in a recipe; the baselines in the order of the paper's table."""


def build_method(
    task: HasFormat, settings: Mapping[str, Mapping[str, Any]], *, key: PRNGKeyArray
) -> AbstractMethod:
    """Return a new method for `task` with the settings that `describe_method` returns."""
    own = dict(settings["method"])
    name = own.pop("name")
    kind = METHODS[name]
    parts = {part: value for part, value in settings.items() if part != "method"}
    for part in parts:
        known(f"section of the method {name}", part, list(kind.parts))
    return kind.for_task(task, key=key, **own, **parts)


def build_methods(
    task: HasFormat, settings: Mapping[str, Mapping[str, Any]], *, keys: Array
) -> AbstractMethod:
    """Return a stack of new methods, one for each key that it will be trained with.

    Raises:
        InputError: There is not as much memory as their weights need.
    """
    build = lambda key: build_method(task, settings, key=jax.random.split(key)[0])  # noqa: E731
    one = model_bytes(eqx.filter_eval_shape(build, jax.random.key(0)))
    check_memory(
        f"Building {keys.size:,} {'model' if keys.size == 1 else 'models'}",
        keys.size * one,
        "choose a smaller width, or fewer seeds",
        limit=device_memory(),
    )
    # One program, in place of one for every operation and shape of layers.
    return eqx.filter_jit(eqx.filter_vmap(build))(keys)


def describe_method(method: AbstractMethod) -> dict[str, dict[str, Any]]:
    """Return the settings from which `build_method` makes a method of the same form.

    A method or an energy of one's own that is not registered is described by its class, and a run
    that holds it is loaded with `irem.load(path, like=method)`.
    """
    return {"method": METHODS.describe(method), **method.describe()}
