"""How much memory descents take, estimated before they begin."""

import math
import operator
from typing import Any

import jax
from jaxtyping import Array, Float, PyTree

from irem.descent.algorithm2 import minimise
from irem.descent.rules import Descent
from irem.memory import available, check_memory

# The energies of graphs, the largest ones, take some two thousand bytes for an entry of an answer.
# Of descents that fit with as many again, no more is asked.
_BYTES_PER_ENTRY = 4096
# A trajectory is there twice while its first point is put before the others.
_COPIES = 2
_BYTES_PER_NUMBER = 4


def check_descents(
    descent: Descent, x: PyTree, y0: Float[Array, "problems ..."], at_once: int
) -> None:
    """Refuse descents that need more memory than the device has.

    Arguments:
        descent: The energy, and how it is descended.
        x: The problems.
        y0: The points where their descents begin.
        at_once: How many are descended at the same time, if there are as many.
    """
    number = min(at_once, y0.shape[0])
    some_x, some_y0 = jax.tree.map(operator.itemgetter(slice(number)), (x, y0))
    program = minimise.__wrapped__  # pyright: ignore[reportFunctionMemberAccess]
    check_program(program, (descent, some_x, some_y0), number, y0.shape[1:])


def check_program(
    program: Any, arguments: tuple[Any, ...], at_once: int, shape: tuple[int, ...]
) -> None:
    """Refuse a program that needs more memory than the device has.

    Where that is in doubt, the program is compiled to know its need.

    Arguments:
        program: A function that `equinox.filter_jit` returned.
        arguments: Its arguments.
        at_once: How many problems it answers at the same time.
        shape: Shape of an answer.
    """
    entries, limit = math.prod(shape), _device_memory()
    if at_once * entries * _BYTES_PER_ENTRY <= limit:
        return
    needed = program.lower(*arguments).compile().compiled.memory_analysis()
    size = " x ".join(f"{n:,}" for n in shape)
    what = "a problem" if at_once == 1 else f"{at_once} problems at the same time, each"
    check_memory(
        f"Answering {what} of size {size}",
        needed.temp_size_in_bytes + needed.argument_size_in_bytes + needed.output_size_in_bytes,
        "give smaller problems" + (" or fewer at a time" if at_once > 1 else ""),
        limit,
    )


def check_starts(x: PyTree, shape: tuple[int, ...] | None, starts: int) -> None:
    """Refuse more first guesses than there is memory for.

    Arguments:
        x: A batch of problems, which is repeated for every start.
        shape: Shape of an answer; `None` if only a first guess tells it.
        starts: Number of starts of every problem.
    """
    leaves = jax.tree.leaves(x)
    problems = leaves[0].shape[0]
    repeated = sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)
    check_memory(
        f"Answering {problems:,} problems from {starts:,} first guesses each",
        starts * (repeated + _BYTES_PER_NUMBER * problems * math.prod(shape or ())),
        "ask for fewer starts, or give fewer or smaller problems",
    )


def check_trajectory(y: Float[Array, "problems ..."], num_steps: int) -> None:
    """Refuse to keep more answers than there is memory for.

    Arguments:
        y: The answers after one step.
        num_steps: How many steps are kept.
    """
    check_memory(
        f"Keeping the answers to {y.shape[0]:,} problems after each of {num_steps:,} steps",
        _COPIES * y.size * y.dtype.itemsize * (num_steps + 1),
        "ask for fewer steps (`max_steps`) or problems",
    )


def _device_memory() -> int:
    """The bytes that JAX may take on its device; a CPU shares those of the machine."""
    stats = jax.devices()[0].memory_stats() if jax.default_backend() != "cpu" else None
    return int(stats["bytes_limit"]) if stats and "bytes_limit" in stats else available()
