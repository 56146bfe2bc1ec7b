"""What every way to write problems and answers as JSON offers."""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from irem.errors import InputError
from irem.formats import AbstractFormat
from irem.serve.limits import Limits, too_large
from irem.serve.stacks import alike, filled_up, rows

_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True)
class Question:
    """A problem as it was given, and as arrays.

    Arguments:
        parts: What is answered, each a batch of one problem; several for the planes of a picture.
        form: What an answer is written into.
    """

    parts: Sequence[PyTree]
    form: Any = None


class Parsed(NamedTuple):
    """What a value of JSON stands for.

    Arguments:
        array: The problem, as the format of the model takes it.
        form: What an answer is written into.
    """

    array: np.ndarray
    form: Any = None


class AbstractKind(abc.ABC):
    """How problems and answers of a model are written as JSON.

    Arguments:
        format: What problems of the model look like.
        limits: How large they may be.
    """

    name: ClassVar[str]
    """What the page goes by to draw problems."""
    sides: ClassVar[int] = 2
    """To which power the length of a problem goes in the numbers of an answer."""
    least_axes: ClassVar[int] = 1
    """How many axes problems have of which a stack is never read as one problem."""

    def __init__(self, format_: AbstractFormat, limits: Limits) -> None:
        self.format, self.limits = format_, limits

    @property
    def longest(self) -> int:
        """How long the sides of a square problem may be; of a line, how long it may be."""
        length = math.ceil(self.limits.entries ** (1 / self.sides))
        return length if length**self.sides <= self.limits.entries else length - 1

    @abc.abstractmethod
    def parse(self, value: Any) -> Parsed:
        """Return what a value of JSON stands for.

        Raises:
            InputError: It is no problem.
        """

    def read(self, value: Any) -> Question:
        """Return the problem that a value of JSON stands for.

        Raises:
            InputError: It is none.
        """
        return self.read_all([value])[0]

    def read_all(self, values: Sequence[Any]) -> list[Question]:
        """Return the problems of a request; those of one shape are checked together.

        Raises:
            InputError: One of them is none.
        """
        found = self._each(self.parse, values)
        questions: dict[int, Question] = {}
        for places in alike([parsed.array.shape for parsed in found]):
            batch = self._together([found[i].array for i in places])
            if batch is None:
                return self._each(lambda parsed: self.as_question(*parsed), found)
            forms = [found[i].form for i in places]
            questions |= zip(places, self.questions(batch, forms), strict=True)
        return [questions[i] for i in range(len(values))]

    def _each(self, function: Callable[[Any], _T], values: Sequence[Any]) -> list[_T]:
        """Apply a function to every problem; of what it refuses, the number is told."""
        results = []
        for number, value in enumerate(values):
            try:
                results.append(function(value))
            except InputError as error:
                where = f"Problem {number}: " if len(values) > 1 else ""
                raise InputError(f"{where}{error}") from error
        return results

    def _together(self, arrays: Sequence[np.ndarray]) -> PyTree | None:
        """Return a batch of problems of one shape; `None` where they have to be read one by one."""
        if len(arrays) > 1 and arrays[0].ndim < self.least_axes:
            return None  # a list of such may also be one problem
        try:
            places = filled_up(len(arrays))
            batch, alone = self.format.as_batch(np.stack([arrays[i] for i in places]))
        except InputError:
            return None
        if alone or len(jax.tree.leaves(batch)[0]) != len(places):
            return None
        return jax.tree.map(lambda leaf: np.asarray(leaf)[: len(arrays)], batch)

    def as_question(self, array: np.ndarray, form: Any) -> Question:
        """Return the question of the array of a problem."""
        return self.questions(self.format.as_batch(array[None])[0], [form])[0]

    @abc.abstractmethod
    def write(self, question: Question, ys: Sequence[np.ndarray]) -> Any:
        """Return the answer to a problem as a value of JSON."""

    def write_step(self, question: Question, ys: Sequence[np.ndarray]) -> Any:
        """Return an answer on the way as a value of JSON."""
        return self.write(question, ys)

    @abc.abstractmethod
    def problem(self, x: PyTree) -> Any:
        """Return a problem, without an axis of problems, as a value of JSON."""

    def of_arrays(self, x: np.ndarray) -> list[Question]:
        """Return the problems of an array."""
        batch, _ = self.format.as_batch(x)
        return self.questions(batch, [None] * len(jax.tree.leaves(batch)[0]))

    def questions(self, batch: PyTree, forms: Sequence[Any]) -> list[Question]:
        """Return the questions of a batch of problems, unless they are too large."""
        self.check_entries(_entries(self.format, batch))
        return [Question([row], form) for row, form in zip(rows(batch), forms, strict=True)]

    def check_entries(self, entries: int) -> None:
        """Refuse a problem that is too large."""
        if entries > self.limits.entries:
            raise too_large(
                f"An answer to this problem has {entries:,} numbers, and at most "
                f"{self.limits.entries:,} are allowed here; give a smaller problem."
            )


def _entries(format_: AbstractFormat, batch: PyTree) -> int:
    one = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), batch)
    return math.prod(format_.answer_shape(one) or ())
