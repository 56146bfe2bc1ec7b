"""Rows of training and validation, in arrays whose lengths share compiled programs."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem.formats import Vectors
from irem.problem import Problem
from irem.tasks import AbstractTask, Arrays, Difficulty

FEWEST_VALIDATION = 10
"""With fewer rows to hold out than this, all rows are trained on."""

_MOST_VALIDATION = 2000

BLOCK = 4096
"""Most rows that are answered at once."""

_FEWEST_PADDED = 256


@dataclasses.dataclass(frozen=True)
class Rows:
    """Problems and answers of one call of `fit`.

    Arguments:
        x: The problems, along the first axis.
        y: Their answers, each with at least one axis.
        missing: Whether entries of problems may be missing, and are NaN there.
    """

    x: np.ndarray
    y: np.ndarray
    missing: bool

    @property
    def scale(self) -> np.ndarray:
        """The standard deviation of every entry of the answers; 1 where they are all equal."""
        spread = self.y.std(axis=0, dtype=np.float64)
        return np.where(spread > 0, spread, 1.0)

    def divide(self, fraction: float, seed: int) -> tuple[Rows, Rows | None]:
        """Return the rows of training, and those held out unless they would be too few."""
        count = min(round(fraction * len(self.x)), _MOST_VALIDATION)
        if count < FEWEST_VALIDATION:
            return self, None
        order = np.random.default_rng(seed).permutation(len(self.x))
        return self._take(np.sort(order[count:])), self._take(np.sort(order[:count]))

    def _take(self, chosen: np.ndarray) -> Rows:
        return dataclasses.replace(self, x=self.x[chosen], y=self.y[chosen])

    def problems(self) -> Problem:
        """Return the rows on the device."""
        return Problem(jnp.asarray(self.x), jnp.asarray(self.y))

    def task(self, held_out: Rows | None = None) -> Arrays:
        """Return the rows as a task, with others that are held out."""
        held = None if held_out is None else held_out.problems()
        return Arrays(self.x, self.y, held_out=held, missing=self.missing)

    def padded(self) -> Rows:
        """Return the rows with rows of NaN after them, which units do not count."""
        extra = padded_length(len(self.x)) - len(self.x)

        def pad(rows: np.ndarray) -> np.ndarray:
            return np.pad(rows, [(0, extra)] + [(0, 0)] * (rows.ndim - 1), constant_values=np.nan)

        return dataclasses.replace(self, x=pad(self.x), y=pad(self.y))

    def drawn(self) -> DrawnRows:
        """Return a task that draws these rows, whose program depends on the padded length alone."""
        rows = self.padded()
        number = jnp.asarray(len(self.x), jnp.int32)
        return DrawnRows(jnp.asarray(rows.x), jnp.asarray(rows.y), number, self.missing)


@dataclasses.dataclass(frozen=True)
class DrawnRows(AbstractTask):
    """The first rows of padded arrays, drawn at random.

    Arguments:
        x: Problems along the first axis.
        y: Their answers.
        number: How many of them are real.
        missing: Whether entries of problems may be missing.
    """

    name: ClassVar[str] = "rows"
    summary: ClassVar[str] = "rows of a table"
    variants: ClassVar[tuple[str, ...]] = ("released",)

    x: Any
    y: Any
    number: Any
    missing: bool

    @property
    def format(self) -> Vectors:
        """What a row looks like."""
        return Vectors(self.x.shape[1:], self.y.shape[1:], missing=self.missing)

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one row at random."""
        self.check_difficulty(difficulty)
        chosen = jax.random.randint(key, (), 0, self.number)
        return Problem(self.x[chosen], self.y[chosen])

    def trivial(self, x: PyTree) -> Float[Array, "..."]:
        """Return the mean answer, whatever the problem."""
        batch = jnp.shape(x)[: jnp.ndim(x) - len(self.x.shape[1:])]
        return jnp.broadcast_to(jnp.nanmean(self.y, axis=0), (*batch, *self.y.shape[1:]))

    def oracle(self, x: PyTree) -> Float[Array, "..."]:
        """Return NaN: what the best possible answer is, rows do not say."""
        return jnp.full_like(self.trivial(x), jnp.nan)


def padded_length(rows: int) -> int:
    """Return the length of arrays that hold so many rows.

    It is a power of two, or a multiple of `BLOCK`: tables of similar lengths share programs, whose
    compilation takes longer than all else about small ones.
    """
    if rows > BLOCK:
        return math.ceil(rows / BLOCK) * BLOCK
    return max(_FEWEST_PADDED, power_of_two(rows))


def power_of_two(number: int) -> int:
    """Return the smallest power of two that is not below a number."""
    return 1 << (number - 1).bit_length()
