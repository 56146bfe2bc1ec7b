"""What every format offers."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple, TypeVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, PyTree

from irem.checks import count
from irem.errors import InputError

_AnyArray = TypeVar("_AnyArray", np.ndarray, Array)


class Reading(NamedTuple):
    """One way to read an array as problems.

    Arguments:
        shape: The shape of the array as a stack of problems.
        alone: Whether the array is one problem, without an axis of problems.
    """

    shape: tuple[int, ...]
    alone: bool


class AbstractFormat(eqx.Module):
    """What one problem is, and the shape of its answer. Tasks, energies and networks have one."""

    noun: ClassVar[str]
    """What problems of this format are called in messages."""
    energies: ClassVar[str] = "an energy of your own"
    """Which energies take such problems, in words."""

    @property
    def expected(self) -> str:
        """Which shapes an array of problems may have, as the end of a sentence."""
        return "problems along its first axis"

    @abc.abstractmethod
    def as_batch(self, x: Any) -> tuple[PyTree, bool]:
        """Return `x` as a checked batch of problems, and whether it was one problem alone.

        Raises:
            ValueError: `x` is not numeric, not finite or not of this format.
        """

    @abc.abstractmethod
    def answer_shape(self, x: PyTree) -> tuple[int, ...] | None:
        """Return the shape of the answer to the problem `x`; `None` if a first guess tells it."""

    def padded(self, x: PyTree) -> PyTree:
        """Return a batch of problems in one of few sizes, filled up with what changes no answer.

        A program is compiled for every size, which takes longer than it takes to answer small
        problems. By default problems stay as they are.
        """
        return x

    def readings(self, shape: tuple[int, ...]) -> list[Reading]:
        """Return the ways to read an array of this shape; one problem comes before several.

        By default the first axis of every array is that of problems.
        """
        return [Reading(shape, alone=False)] if shape and 0 not in shape else []

    def is_evident(self, x: np.ndarray | Array, readings: list[Reading]) -> bool:
        """Return whether the values of `x` tell that the first of several readings is meant."""
        del x, readings
        return False

    def as_stack(self, x: _AnyArray, problems: int | None = None) -> tuple[_AnyArray, bool]:
        """Return an array as a stack of problems, and whether it was one problem alone.

        Only the shape is checked; the values are not looked at unless two readings are possible.

        Arguments:
            x: The array.
            problems: How many problems it holds, where its shape may be read in several ways.

        Raises:
            ValueError: The array cannot be read, or in more than one way.
        """
        readings = self.readings(x.shape)
        if problems is not None and readings:
            readings = _with_problems(readings, x.shape, problems)
        if not readings:
            raise InputError(f"`x` has shape {x.shape}; expected {self.expected}.")
        if len(readings) > 1 and not self.is_evident(x, readings):
            _refuse_ambiguous(x.shape, *readings[:2])
        shape, alone = readings[0]
        return x.reshape(shape), alone


def by_rank(shape: tuple[int, ...], rank: int) -> list[Reading]:
    """Return the reading of an array whose problems have so many axes."""
    if 0 in shape or len(shape) not in (rank, rank + 1):
        return []
    alone = len(shape) == rank
    return [Reading((1, *shape) if alone else shape, alone)]


def _with_problems(readings: list[Reading], shape: tuple[int, ...], problems: int) -> list[Reading]:
    """The readings with so many problems."""
    count("problems", problems)
    found = [reading for reading in readings if reading.shape[0] == problems]
    if not found:
        numbers = " or ".join(str(reading.shape[0]) for reading in readings)
        raise InputError(
            f"`x` has shape {shape}; the number of problems in it is {numbers}, not {problems}."
        )
    return found


def _refuse_ambiguous(shape: tuple[int, ...], one: Reading, several: Reading) -> None:
    """Refuse an array that may be one problem or flat rows of several."""
    number, problem = several.shape[0], several.shape[1:]
    inner = ", ".join(map(str, problem))
    raise InputError(
        f"`x` has shape {shape}, which may be one problem of shape {one.shape[1:]}, or {number} "
        f"problems of shape {problem} as flat rows; give `x[None]` for one problem, "
        f"`x.reshape(-1, {inner})` for {number} (on the command line `--problems 1` or "
        f"`--problems {number}`)."
    )
