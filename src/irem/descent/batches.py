"""How many problems are descended at the same time."""

import math
import operator
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float, PyTree

from irem.descent.algorithm2 import minimise
from irem.descent.devices import minimise_shared
from irem.descent.footprint import check_descents, check_trajectory
from irem.descent.queue import minimise_queued
from irem.descent.recording import minimise_recorded
from irem.descent.rules import Descent
from irem.descent.solution import Solution
from irem.devices import entered

# How many entries of answers are descended at the same time: enough to keep the device busy, and
# few enough for its memory (a graph energy needs a few thousand bytes for each).
_ENTRIES = {"cpu": 2**16, "gpu": 2**20}
# A GPU is busy with this many problems. Of more, one in eight has a slot, so that most of them can
# take the slot of one that has stopped.
_BUSY, _PROBLEMS_PER_SLOT = 1024, 8
# With a trajectory, a batch has fewer problems the more steps are kept beyond this number.
_RECORDED_STEPS = 64


def minimise_all(
    descent: Descent,
    x: PyTree,
    y0: Float[Array, "problems ..."],
    slots: int | None = None,
    on_done: Callable[[int], None] = lambda _: None,
) -> Solution:
    """Descend on any number of problems.

    Arguments:
        descent: The energy, and how it is descended.
        x: The problems.
        y0: The points where their descents begin.
        slots: How many descents run at the same time; by default what suits the device. Solutions
            depend on it by rounding alone.
        on_done: Called with a number of problems whenever so many more have stopped.
    """
    problems = y0.shape[0]
    slots = slots or slots_for(y0)
    traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((x, y0)))
    if not traced:
        check_descents(descent, x, y0, slots)
    devices = None if traced else entered()
    if devices is not None and len(here := devices.here()) > 1:
        return minimise_shared(here, descent, x, y0, slots, on_done)
    if problems > slots and not traced:
        return minimise_queued(descent, x, y0, slots, on_done)
    solution = minimise(descent, x, y0)
    if not traced:
        jax.block_until_ready(solution)
    on_done(problems)
    return solution


def minimise_all_recorded(
    descent: Descent,
    x: PyTree,
    y0: Float[Array, "problems ..."],
    length: int,
    batch_size: int | None = None,
    on_done: Callable[[int], None] = lambda _: None,
) -> Solution:
    """Descend batch by batch and keep `length + 1` points of every problem.

    Arguments are those of `minimise_all`; `batch_size` is the number of problems of a batch.
    """
    problems = y0.shape[0]
    check_trajectory(y0, length)
    largest = batch_size or max(1, slots_for(y0) // math.ceil((length + 1) / _RECORDED_STEPS))
    size = even_size(problems, largest)
    parts = []
    for first in range(0, problems, size):
        some_x, some_y0 = jax.tree.map(operator.itemgetter(slice(first, first + size)), (x, y0))
        parts.append(minimise_recorded(descent, some_x, some_y0, length))
        on_done(parts[-1].steps.shape[0])
    return parts[0] if len(parts) == 1 else jax.tree.map(lambda *p: jnp.concatenate(p), *parts)


def slots_for(y0: Float[Array, "problems ..."]) -> int:
    """Return how many descents like these run at the same time on the device of JAX."""
    backend = jax.default_backend()
    most = max(8, _ENTRIES.get(backend, _ENTRIES["cpu"]) // math.prod(y0.shape[1:]))
    if backend == "cpu":
        return most
    return min(most, max(_BUSY, y0.shape[0] // _PROBLEMS_PER_SLOT))


def even_size(problems: int, largest: int) -> int:
    """Return the size of parts of at most `largest` that are as equal as possible.

    Equal parts share one compiled program.
    """
    return math.ceil(problems / math.ceil(problems / largest))
