"""Puzzles, and grids of symbols that are some."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array

from irem import doors
from irem.checks import numeric
from irem.errors import InputError
from irem.formats.base import AbstractFormat, Reading
from irem.puzzles import NamedRules, Puzzle, known_of_grid, with_open

# Rows of fewer cells are no puzzles: a table of 9 x 9 symbols is one grid.
_FEWEST_SYMBOLS = 4


class Puzzles(AbstractFormat):
    """Puzzles of any size; an answer has a number from 0 to 1 for every variable.

    Arguments:
        families: How many families of groups they have.
        puzzle: Of which kind plain grids are, `"sudoku"` or `"latin"`: square arrays of the symbols
            1 to n, 0 where a cell is empty. `None` where there are none.
    """

    noun: ClassVar[str] = "puzzles"
    energies: ClassVar[str] = "the Groups energy"

    families: int = eqx.field(static=True)
    puzzle: str | None = eqx.field(static=True, default=None)

    def as_batch(self, x: Any) -> tuple[Puzzle, bool]:
        """Return a batch of puzzles: from a `Puzzle`, a grid of symbols, a stack, or flat rows."""
        if isinstance(x, Puzzle):
            if len(x.families) != self.families:
                raise InputError(
                    f"`x` has {len(x.families)} families of rules; expected {self.families}."
                )
            if jax.numpy.ndim(x.known) == 2:
                return x, False
            return jax.tree.map(lambda leaf: jax.numpy.asarray(leaf)[None], x), True
        if self.puzzle is None:
            raise InputError(f"`x` is a {type(x).__name__}; expected an `irem.puzzles.Puzzle`.")
        grids, alone = self.as_stack(np.asarray(numeric("x", doors.as_array(x))))
        symbols = grids.shape[-1]
        wrong = (grids != np.rint(grids)) | (grids < 0) | (grids > symbols)
        if wrong.any():
            value = grids[wrong][0]
            raise InputError(
                f"`x` holds {value:g}; a grid of {symbols} x {symbols} cells has the symbols 1 to "
                f"{symbols}, and 0 where a cell is empty."
            )
        known = known_of_grid(grids.astype(np.int64))
        return with_open(known, NamedRules(self.puzzle, symbols)), alone

    @property
    def expected(self) -> str:
        """A grid, a stack of grids, or flat rows."""
        return (
            "one grid of shape (n, n), a stack of them of shape (count, n, n), or flat rows of "
            "n x n symbols"
        )

    def readings(self, shape: tuple[int, ...]) -> list[Reading]:
        """Return the ways to read an array: a table may be one grid, or flat rows of several."""
        if 0 in shape or len(shape) not in (1, 2, 3):
            return []
        if len(shape) == 3:
            return [Reading(shape, alone=False)] if shape[1] == shape[2] else []
        symbols = math.isqrt(shape[-1])
        flat = symbols**2 == shape[-1] and symbols >= _FEWEST_SYMBOLS
        if len(shape) == 1:
            return [Reading((1, symbols, symbols), alone=True)] if flat else []
        found = [Reading((1, *shape), alone=True)] if shape[0] == shape[1] else []
        return [*found, Reading((shape[0], symbols, symbols), alone=False)] if flat else found

    def is_evident(self, x: np.ndarray | Array, readings: list[Reading]) -> bool:
        """Return whether a table holds symbols that are too large for its rows to be grids."""
        return bool(np.max(np.asarray(x)) > readings[1].shape[-1])

    def answer_shape(self, x: Puzzle) -> tuple[int, ...]:
        """Return one number for every variable."""
        return x.known.shape
