"""How the rows of a table are problems and answers."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from irem.errors import InputError

# Tables are widened to a multiple of so many columns.
_COLUMNS = 4


@dataclasses.dataclass(frozen=True)
class Form:
    """What one row of `X` and one of `y` stand for.

    Arguments:
        x_shape: Shape of a problem; `None` where it is a row of numbers.
        y_shape: Shape of an answer; `None` where it is a row of numbers, or one number.
        one_column: Whether answers are single numbers.
    """

    x_shape: tuple[int, ...] | None
    y_shape: tuple[int, ...] | None
    one_column: bool

    def problems(self, X: np.ndarray) -> np.ndarray:
        """Return the rows of a table as problems.

        Rows of numbers have zeros after them, up to a multiple of four: tables of similar widths,
        as feature selection makes them, then share compiled programs.
        """
        if self.x_shape is not None:
            return _shaped("X", X, self.x_shape)
        extra = -X.shape[1] % _COLUMNS
        return np.pad(X, [(0, 0), (0, extra)])

    def answers(self, y: np.ndarray) -> np.ndarray:
        """Return numbers, or the rows of a table, as answers; a number is a vector of one."""
        rows = y.reshape(len(y), -1)
        return rows if self.y_shape is None else _shaped("y", rows, self.y_shape)

    def numbers(self, y: Any) -> Any:
        """Return answers of which those that are single numbers have no axis of their own."""
        return y[..., 0] if self.one_column else y


def flat(rows: Any, shape: tuple[int, ...] | None) -> Any:
    """Return arrays of the given shape along a first axis as flat rows; anything else as it is."""
    if shape is None or len(shape) < 2 or not isinstance(rows, np.ndarray | list | tuple):
        return rows
    array = np.asarray(rows)
    return array.reshape(len(array), -1) if array.shape[1:] == tuple(shape) else rows


def _shaped(name: str, rows: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Flat rows as arrays of a shape, which must have as many entries."""
    if math.prod(shape) != rows.shape[1]:
        raise InputError(
            f"`{name}` has {rows.shape[1]} columns, and `{name.lower()}_shape={tuple(shape)}` asks "
            f"for {math.prod(shape)}; make them agree."
        )
    return rows.reshape(len(rows), *shape)
