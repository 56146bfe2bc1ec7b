"""Several hosts that work on one task, and what they tell each other between programs.

One process runs on every host. What the programs themselves exchange is JAX's business; here are
the few words between them: whether all were started alike, whether one was asked to stop, and what
the first one decided. With one host, each of these functions returns what it was given.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils

from irem.errors import InputError

Found = TypeVar("Found")

_MOST_LETTERS = 2000


def join_hosts(
    coordinator: str | None = None, number: int | None = None, host: int | None = None
) -> None:
    """Bring the hosts together that were started for one task; the first thing a program does.

    Without arguments everything is read from the variables of Slurm, Open MPI, Kubernetes or a
    Cloud TPU, as `jax.distributed.initialize` does. After it `irem.Devices()` are those of all
    hosts.

    Arguments:
        coordinator: Address and port of the first host, such as `10.0.0.1:8476`.
        number: How many hosts there are.
        host: Which one this is, from 0.
    """
    given = (coordinator, number, host)
    if any(g is None for g in given) != all(g is None for g in given):
        raise InputError(
            f"The address of the first host ({coordinator}), the number of hosts ({number}) and "
            f"that of this one ({host}) belong together; give all three, or none."
        )
    if number is not None and host is not None and not 0 <= host < number:
        raise InputError(f"The number of this host must be from 0 to {number - 1}, got {host}.")
    if coordinator is not None and ":" not in coordinator:
        raise InputError(
            f"The address of the first host needs a port, such as {coordinator}:8476; got "
            f"'{coordinator}'."
        )
    try:
        jax.distributed.initialize(coordinator, number, host)
    except (ValueError, RuntimeError) as error:
        raise InputError(_not_joined(coordinator, error)) from error


def hosts() -> int:
    """Return how many hosts work together."""
    return jax.process_count()


def is_first() -> bool:
    """Return whether this is the host that writes what there is one of."""
    return jax.process_index() == 0


def gather_numbers(*numbers: float) -> np.ndarray:
    """Return the numbers of every host, one row for each; all hosts wait for each other."""
    if hosts() == 1:
        return np.asarray([numbers])
    return np.asarray(multihost_utils.process_allgather(np.asarray(numbers)))


def any_host(*asked: bool) -> tuple[bool, ...]:
    """Return of every question whether the answer of any host is yes."""
    return tuple(bool(answers.any()) for answers in gather_numbers(*asked).T)


def of_first(values: np.ndarray) -> np.ndarray:
    """Return the numbers of the first host, which have the same shape everywhere."""
    return values if hosts() == 1 else np.asarray(multihost_utils.broadcast_one_to_all(values))


def together(action: Callable[[], Found]) -> Found:
    """Do something on every host and wait for all; what one of them refuses, all refuse."""
    if hosts() == 1:
        return action()
    found, refusal = None, ""
    try:
        found = action()
    except InputError as error:
        refusal = str(error)
    letters = gather_numbers(*refusal.encode()[:_MOST_LETTERS].ljust(_MOST_LETTERS, b"\0"))
    texts = (bytes(row.astype(np.uint8)).rstrip(b"\0") for row in letters)
    for text in filter(None, texts):
        raise InputError(text.decode(errors="ignore"))
    return found  # pyright: ignore[reportReturnType]


def first_alone(action: Callable[[], Found]) -> Found | None:
    """Do something on the first host while the others wait; what it refuses, all refuse.

    Returns:
        On the first host what `action` returned, else `None`.
    """
    return together(lambda: action() if is_first() else None)


def check_same(what: str, text: str) -> None:
    """Refuse hosts that were started with different settings, of which `text` tells all."""
    if hosts() == 1:
        return
    numbers = gather_numbers(zlib.crc32(text.encode()))[:, 0]
    others = np.flatnonzero(numbers != numbers[0])
    if others.size:
        raise InputError(
            f"Host {others[0]} was given another {what} than host 0; start all hosts alike."
        )


def _not_joined(coordinator: str | None, error: Exception) -> str:
    reason = str(error).splitlines()[0].rstrip(".")
    if coordinator is None and "coordinator_address" in reason:
        return (
            "No variables of Slurm, Open MPI or Kubernetes say which hosts there are; give the "
            "address of the first one, the number of hosts and that of this one."
        )
    return f"The hosts did not come together: {reason}."
