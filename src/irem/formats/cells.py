"""Lines and grids of symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Int8

from irem import doors
from irem.checks import numeric
from irem.errors import InputError
from irem.formats.base import AbstractFormat, Reading, by_rank
from irem.mazes import OUTSIDE


class Cells(AbstractFormat):
    """Lines or grids of symbols, of any size; an answer is a number from 0 to 1 for every cell.

    Symbols are the whole numbers from 0 on. Problems of different sizes share an array in which
    the cells beyond the end of the smaller ones are -1; their answers are 0 there.

    Arguments:
        axes: 1 for lines, 2 for grids.
        symbols: How many symbols there are.
        symmetric: Whether the answer to a problem that is mirrored or turned is mirrored or turned
            as well.
    """

    noun: ClassVar[str] = "lines or grids of symbols"
    energies: ClassVar[str] = "the Grid energy"

    axes: int = eqx.field(static=True)
    symbols: int = eqx.field(static=True)
    symmetric: bool = eqx.field(static=True, default=False)

    def as_batch(self, x: Any) -> tuple[Int8[Array, "*problems_and_cells"], bool]:
        """Return a stack of problems: from one, a stack of them, or a list of several sizes."""
        alone = False
        if self._is_list(x):
            cells = self._padded([self._checked(one) for one in x])
        else:
            cells, alone = self.as_stack(self._checked(x))
        return cells.astype(jnp.int8), alone

    def _is_list(self, x: Any) -> bool:
        """Whether `x` is a list of problems, each of its own size."""
        return isinstance(x, list | tuple) and all(_axes(one) == self.axes for one in x)

    def _padded(self, problems: Sequence[Array]) -> Array:
        """Problems as one stack, in which the smaller ones are filled up on the far sides."""
        shapes = [one.shape for one in problems]
        empty = next((i for i, shape in enumerate(shapes) if 0 in shape), None)
        if not shapes or empty is not None:
            which = "`x`" if empty is None else f"Problem {empty} of the list"
            raise InputError(f"{which} is empty; expected {self.expected}.")
        largest = np.max(shapes, axis=0)
        fill = [[(0, int(n)) for n in largest - shape] for shape in shapes]
        return jnp.stack(
            [jnp.pad(a, f, constant_values=OUTSIDE) for a, f in zip(problems, fill, strict=True)]
        )

    def _checked(self, x: Any) -> Array:
        """The symbols of problems, unless they are being traced: their values are not known yet."""
        x = numeric("x", doors.as_array(x), keep_integers=True)
        if isinstance(x, Tracer):
            return x
        values = np.asarray(x)
        wrong = (values != np.rint(values)) | (values < OUTSIDE) | (values >= self.symbols)
        if wrong.any():
            place = tuple(np.argwhere(wrong)[0].tolist())
            raise InputError(
                f"`x` holds {values[place]:g} at {place}; symbols are the whole numbers from 0 to "
                f"{self.symbols - 1}, and {OUTSIDE} where a smaller problem is filled up."
            )
        return x

    @property
    def expected(self) -> str:
        """A line or a grid, a stack, or a list."""
        one, stack = [("(n,)", "(count, n)"), ("(rows, columns)", "(count, rows, columns)")][
            self.axes - 1
        ]
        what = ["line", "grid"][self.axes - 1]
        return f"one {what} of shape {one}, a stack of them of shape {stack}, or a list of {what}s"

    def readings(self, shape: tuple[int, ...]) -> list[Reading]:
        """Return the one way to read an array."""
        return by_rank(shape, self.axes)

    def answer_shape(self, x: Array) -> tuple[int, ...]:
        """Return one number for every cell."""
        return x.shape


def _axes(x: Any) -> int | None:
    """The number of axes of an array or of nested lists; `None` for ragged ones."""
    try:
        return np.ndim(x)
    except ValueError:
        return None
