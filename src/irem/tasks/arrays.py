"""Problems and answers of one's own, given as arrays."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem.checks import known
from irem.errors import InputError
from irem.formats import AbstractFormat, Graphs, Pictures, Vectors
from irem.memory import available
from irem.problem import Graph, Problem
from irem.tasks.base import AbstractTask, Difficulty

KINDS = ("vectors", "graphs", "pictures")
"""What rows may be: problems of a fixed shape, graphs or square matrices, or grey pictures."""

# What is kept in run.json of such a task: all but its rows.
_DESCRIBED = ("kind", "x_shape", "y_shape", "missing", "x_names", "y_names")
# Rows that take more than this share of the memory stay where they are and are loaded in blocks.
_LARGEST_SHARE = 0.25
_BLOCK_BYTES = 2**26
_FEWEST_ROWS_OF_A_BLOCK = 4096


@dataclasses.dataclass(frozen=True)
class Arrays(AbstractTask):
    """Problems and answers of one's own: training draws rows of them at random.

    The difficulty `"train"` draws from the rows of training, `"same"` from those held out. Arrays
    of NumPy that would take more than a quarter of the memory, such as memory maps, stay where they
    are: training loads blocks of rows, drawn at random, one for every chunk of iterations.

    Arguments:
        x: Problems along the first axis; an `irem.Graph` for graphs of different sizes. NaN in a
            problem of kind `"vectors"` means that an entry is missing.
        y: Their answers.
        mask: Which entries of the answers are real, for graphs of different sizes.
        held_out: Problems that training never sees, for validation; by default those of training.
        kind: `"vectors"` (the default), `"graphs"` or `"pictures"`.
        x_shape: Shape of a problem of kind `"vectors"`; by default that of the rows.
        y_shape: Shape of its answer.
        missing: Whether entries of problems may be missing; by default whether some are.
        x_names: Names of the columns of `x`, if they have any.
        y_names: Names of the columns of `y`.

    Examples:
        >>> task = Arrays(np.eye(4), np.arange(4.0))
        >>> task.batch(jax.random.key(0), 2, "train").x.shape, task.format.y_shape
        ((2, 4), ())
    """

    name: ClassVar[str] = "arrays"
    summary: ClassVar[str] = "rows of your own arrays"
    variants: ClassVar[tuple[str, ...]] = ("released",)
    difficulties: ClassVar[tuple[str, ...]] = ("same", "train")
    training: ClassVar[str] = "train"

    x: Any = None
    y: Any = None
    mask: Any = None
    held_out: Problem | None = None
    kind: str | None = None
    x_shape: tuple[int, ...] | None = None
    y_shape: tuple[int, ...] | None = None
    missing: bool | None = None
    x_names: tuple[str, ...] | None = None
    y_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Check the rows, and put them on the device unless they are too large for it."""
        super().__post_init__()
        for name in ("x_shape", "y_shape", "x_names", "y_names"):
            value = getattr(self, name)
            self._set(name, None if value is None else tuple(value))
        if self.kind is None:
            self._set("kind", "graphs" if isinstance(self.x, Graph) else "vectors")
        known("kind of rows", str(self.kind), KINDS)
        if self.x is not None:
            self._take_rows()

    def _set(self, name: str, value: Any) -> None:
        """Set a field of the frozen dataclass while it is made."""
        object.__setattr__(self, name, value)

    def _take_rows(self) -> None:
        """Check that every problem has an answer, and note their shapes."""
        x_shape = _shape(self.x.edges if isinstance(self.x, Graph) else self.x)
        y_shape = _shape(self.y)
        if not x_shape or not y_shape or x_shape[0] != y_shape[0] or x_shape[0] == 0:
            raise InputError(
                f"`x` has shape {x_shape} and `y` {y_shape}; expected as many answers as problems, "
                "at least one, along the first axis of both."
            )
        self._set("x_shape", x_shape[1:])
        self._set("y_shape", y_shape[1:])
        if self.kind == "graphs" and not isinstance(self.x, Graph):
            self._set("x", Graph.of(self.x))
        if not self.is_streamed and is_too_large(self.x, self.y):
            for name in ("x", "y"):
                self._set(name, HostRows(getattr(self, name)))
        if not self.is_streamed:
            self._set("x", jax.tree.map(_as_float, self.x))
            self._set("y", _as_float(self.y))
        if self.missing is None:
            self._set("missing", self.kind == "vectors" and self._any_missing())
        if self.kind == "graphs" and not self.is_streamed:
            self._set("mask", self.x.pairs if self.mask is None else jnp.asarray(self.mask))

    def _any_missing(self) -> bool:
        return self.x.any_missing() if self.is_streamed else bool(jnp.isnan(self.x).any())

    @property
    def is_streamed(self) -> bool:
        """Whether the rows stay where they are and are loaded in blocks."""
        return isinstance(self.x, HostRows)

    @property
    def rows(self) -> int:
        """Number of rows that training draws from; 0 for a task that was read from a run."""
        return 0 if self.y is None else len(self.y)

    @property
    def format(self) -> AbstractFormat:
        """What a row looks like."""
        if self.kind == "graphs":
            return Graphs()
        if self.kind == "pictures":
            return Pictures()
        return Vectors(self.x_shape or (), self.y_shape or (), missing=bool(self.missing))

    @property
    def calibration_difficulties(self) -> tuple[Difficulty, ...]:
        """The rows that are held out."""
        return ("same",)

    def for_chunk(self, number: int) -> Arrays:
        """Return the task with the block of rows that a chunk of iterations draws from."""
        if not self.is_streamed:
            self._require_rows()
            return self
        size = _BLOCK_BYTES // max(1, self.x.row_bytes + self.y.row_bytes)
        size = min(self.rows, max(_FEWEST_ROWS_OF_A_BLOCK, size))
        chosen = np.sort(np.random.default_rng(number).integers(0, self.rows, size))
        return dataclasses.replace(
            self, x=jnp.asarray(self.x.take(chosen)), y=jnp.asarray(self.y.take(chosen))
        )

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one row at random: of training, or one that is held out."""
        self.check_difficulty(difficulty)
        rows = self.problems(str(difficulty))
        chosen = jax.random.randint(key, (), 0, rows.y.shape[0])
        return jax.tree.map(lambda leaf: leaf[chosen], rows)

    def problems(self, difficulty: str = "same") -> Problem:
        """Return all rows of a difficulty: held-out ones, or those of training on the device."""
        self._require_rows()
        if difficulty == "same" and self.held_out is not None:
            return self.held_out
        rows = self.for_chunk(0)
        return Problem(rows.x, rows.y, rows.mask)

    def trivial(self, x: PyTree) -> Float[Array, "..."]:
        """Return the mean of the answers of training, whatever the problem."""
        rows = self.problems("train")
        if rows.mask is not None:
            centre = jnp.mean(rows.y, where=rows.mask)
            return jnp.full(jax.tree.leaves(x)[0].shape, centre)
        centre = jnp.mean(rows.y, axis=None if self.kind == "pictures" else 0)
        batch = np.shape(x)[: np.ndim(x) - len(self.x_shape or ())]
        return jnp.broadcast_to(centre, (*batch, *np.shape(rows.y)[1:]))

    def oracle(self, x: PyTree) -> Float[Array, "..."]:
        """Return NaN: what the best possible answer is, arrays do not say."""
        return jnp.full_like(self.trivial(x), jnp.nan)

    def settings(self) -> dict[str, Any]:
        """Return what describes the rows."""
        return {name: getattr(self, name) for name in _DESCRIBED}

    def without_arrays(self) -> Arrays:
        """Return the description of the rows, without them."""
        return Arrays(**self.settings())

    def _require_rows(self) -> None:
        if self.y is None:
            raise InputError(
                "This run was fitted to arrays, which are not kept with it; give them as "
                "`irem.tasks.Arrays(x, y)`."
            )


class HostRows:
    """Rows in the memory of the host or on its disk, of which blocks are loaded.

    It is equal to itself alone, so that JAX may tell it from others.

    Arguments:
        array: The rows, along the first axis.
        rows: The numbers of those that count; by default all.
    """

    def __init__(self, array: np.ndarray, rows: np.ndarray | None = None) -> None:
        self.array, self._rows = array, rows

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the rows that count."""
        rows = self.array.shape[0] if self._rows is None else len(self._rows)
        return (rows, *self.array.shape[1:])

    @property
    def row_bytes(self) -> int:
        """Bytes of one row in 32 bits."""
        return 4 * math.prod(self.array.shape[1:])

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return some of the rows that count, as floats of 32 bits."""
        chosen = rows if self._rows is None else self._rows[rows]
        return np.asarray(self.array[chosen], np.float32)

    def any_missing(self) -> bool:
        """Return whether an entry is NaN, read block by block."""
        size = max(1, _BLOCK_BYTES // self.row_bytes)
        blocks = range(0, self.array.shape[0], size)
        return any(np.isnan(self.array[first : first + size]).any() for first in blocks)


def is_too_large(x: Any, y: Any) -> bool:
    """Return whether rows of the host stay there: they would take too much of the memory."""
    on_device = all(isinstance(leaf, Array) for leaf in jax.tree.leaves((x, y)))
    return not on_device and _bytes(x) + _bytes(y) > _LARGEST_SHARE * available()


def _shape(rows: Any) -> tuple[int, ...]:
    return tuple(rows.shape) if isinstance(rows, HostRows) else np.shape(rows)


def _bytes(rows: Any) -> int:
    return sum(4 * math.prod(np.shape(leaf)) for leaf in jax.tree.leaves(rows))


def _as_float(rows: Any) -> Array:
    rows = jnp.asarray(rows)
    return rows if rows.dtype == bool else rows.astype(jnp.result_type(float))
