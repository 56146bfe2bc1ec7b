"""The devices that work is shared among: of this process, or of several hosts."""

from __future__ import annotations

import contextvars
import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jax.sharding import AxisType, Mesh

from irem.checks import count
from irem.errors import InputError
from irem.hosts import hosts

_entered: contextvars.ContextVar[tuple[Devices, ...]] = contextvars.ContextVar(
    "devices", default=()
)


@dataclasses.dataclass(frozen=True)
class Devices:
    """While entered, training and answering are shared among several devices.

    `irem.train` puts models of several seeds on devices of their own; where there are more devices
    than models, those of one model share its batches. `irem.solve` gives every device a part of the
    problems, which it answers by itself.

    Arguments:
        number: How many devices; by default all there are. Of several hosts, which
            `irem.join_hosts` brings together, it is that of all, and each gives as many.

    Examples:
        >>> import irem, jax, numpy as np
        >>> model = irem.load("zoo:matrix-inverse").model
        >>> with irem.Devices(1):
        ...     answer = irem.solve(model, np.diag([1.0, 2.0, 4.0]), key=jax.random.key(0))
        >>> answer.y.diagonal().round(2).tolist()
        [1.0, 0.5, 0.25]
    """

    number: int | None = None

    def __post_init__(self) -> None:
        """Refuse a number that is none."""
        if self.number is not None:
            count("devices", self.number)

    def __enter__(self) -> Devices:
        """Share what follows among these devices, which have to exist."""
        self.everywhere()
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        """Share no more, or as before."""
        _entered.set(_entered.get()[:-1])

    def everywhere(self) -> tuple[Any, ...]:
        """Return the devices of all hosts, those of one host following each other."""
        by_host = [_of_host(host) for host in range(hosts())]
        sizes = [len(devices) for devices in by_host]
        if len(set(sizes)) > 1:
            raise InputError(
                f"The hosts have {_listed(sizes)} devices; start as many on each, so that none "
                "waits for another."
            )
        number = sum(sizes) if self.number is None else self.number
        if number > sum(sizes):
            raise InputError(_too_many(number, sum(sizes)))
        if number % len(sizes):
            raise InputError(
                f"{number} devices cannot be taken from {len(sizes)} hosts in equal parts; ask for "
                f"a multiple of {len(sizes)}."
            )
        return tuple(device for of in by_host for device in of[: number // len(sizes)])

    def here(self) -> tuple[Any, ...]:
        """Return those of this host."""
        return tuple(d for d in self.everywhere() if d.process_index == jax.process_index())


def entered() -> Devices | None:
    """Return the devices that work is to be shared among; `None` where there is no such wish.

    Hosts that were brought together share all of theirs.
    """
    stack = _entered.get()
    if stack:
        return stack[-1]
    return Devices() if hosts() > 1 else None


def make_mesh(devices: tuple[Any, ...], **axes: int) -> Mesh:
    """Return devices along named axes of these sizes."""
    grid = np.array(devices).reshape(tuple(axes.values()))
    return Mesh(grid, tuple(axes), axis_types=(AxisType.Auto,) * len(axes))


def on_each(
    function: Callable[..., Any], mesh: Mesh, in_specs: Any, out_specs: Any
) -> Callable[..., Any]:
    """Return a function that every device of a mesh computes from its own part of the arrays.

    Devices send each other nothing but what `function` itself asks for.

    Arguments:
        function: A function of PyTrees, which may hold more than arrays.
        mesh: The devices.
        in_specs: For every argument, how its arrays lie on the mesh.
        out_specs: How the arrays of the result do.
    """

    def run(*trees: Any) -> Any:
        arrays, rest = eqx.partition(trees, eqx.is_array)
        other: list[Any] = []

        def own_part(*arrays: Any) -> Any:
            result, static = eqx.partition(function(*eqx.combine(arrays, rest)), eqx.is_array)
            other.append(static)
            return result

        specs = {"in_specs": in_specs, "out_specs": out_specs}
        result = jax.shard_map(own_part, mesh=mesh, check_vma=False, **specs)(*arrays)
        return eqx.combine(result, other[-1])

    return run


def _of_host(host: int) -> list[Any]:
    return sorted((d for d in jax.devices() if d.process_index == host), key=lambda d: d.id)


def _listed(sizes: list[int]) -> str:
    return f"{', '.join(map(str, sizes[:-1]))} and {sizes[-1]}"


def _too_many(asked: int, there: int) -> str:
    kind = jax.devices()[0].platform
    hint = (
        "; to try it without them, set XLA_FLAGS=--xla_force_host_platform_device_count="
        f"{asked} before the program starts"
        if kind == "cpu"
        else ""
    )
    return f"{asked} devices are asked for, and there are {there} ({kind}); ask for fewer{hint}."
