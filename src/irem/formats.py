"""What problems and answers look like as arrays, and the check of what users give."""

from __future__ import annotations

import abc
import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, PyTree

from irem import doors
from irem.checks import count, numeric
from irem.errors import InputError
from irem.problem import Graph
from irem.puzzles import NamedRules, Puzzle, known_of_grid, with_open

# Rows of fewer cells are no puzzles: a table of 9 x 9 symbols is one grid.
_FEWEST_SYMBOLS = 4

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


class Vectors(AbstractFormat):
    """Problems and answers of a fixed shape; a problem may also be given as one flat row.

    Arguments:
        x_shape: Shape of a problem.
        y_shape: Shape of an answer.
        missing: Whether entries of a problem may be missing, and are NaN there.
    """

    noun: ClassVar[str] = "problems of a fixed size"
    energies: ClassVar[str] = "the MLP energy, or Pair or Table for matrices"

    x_shape: tuple[int, ...] = eqx.field(static=True, converter=tuple)
    y_shape: tuple[int, ...] = eqx.field(static=True, converter=tuple)
    missing: bool = eqx.field(static=True, default=False)

    def as_batch(self, x: Any) -> tuple[Array, bool]:
        """Return a stack of problems of this shape."""
        return self.as_stack(_numbers(x, self.missing))

    @property
    def expected(self) -> str:
        """A problem of this shape, a stack, or flat rows."""
        shape = self.x_shape
        return (
            f"one problem of shape {shape}, or a stack of them of shape "
            f"(n, {', '.join(map(str, shape))}), each also as a flat row of {math.prod(shape)}"
        )

    def readings(self, shape: tuple[int, ...]) -> list[Reading]:
        """Return the one way to read an array: the size of a problem is known."""
        either = (self.x_shape, (math.prod(self.x_shape),))
        if shape in either:
            return [Reading((1, *self.x_shape), alone=True)]
        if len(shape) > 1 and shape[0] > 0 and shape[1:] in either:
            return [Reading((shape[0], *self.x_shape), alone=False)]
        return []

    def answer_shape(self, x: Array) -> tuple[int, ...]:
        """Return the shape of every answer."""
        del x
        return self.y_shape


class Graphs(AbstractFormat):
    """Graphs or square matrices of any size; an answer is a number for every pair of nodes.

    Arguments:
        missing: Whether edges may be missing, and are infinite there; NaN means the same.
    """

    noun: ClassVar[str] = "graphs"
    energies: ClassVar[str] = "the GINE or the Pair energy"

    missing: bool = eqx.field(static=True, default=False)

    def as_batch(self, x: Any) -> tuple[Graph, bool]:
        """Return a batch of graphs: from an n x n matrix, a stack of them, or flat rows.

        A networkx graph, a sparse matrix, or a frame whose rows have the names of its columns, is
        one matrix. Matrices of a list may be of different sizes.
        """
        if isinstance(x, Graph):
            return self._as_batch_of_graphs(x)
        if doors.is_list(x):
            return self._as_batch_of_graphs(self._padded(x))
        if doors.is_matrix(x):
            return self._as_batch_of_graphs(self._padded([x]))[0], True
        edges, alone = self.as_stack(numeric("x", doors.as_array(x), missing=self.missing))
        return Graph.of(self._without_nan(edges)), alone

    @property
    def expected(self) -> str:
        """A graph or a matrix, a stack, or flat rows."""
        return (
            "one graph or square matrix of shape (n, n), a stack of them of shape (count, n, n), "
            "or flat rows of n x n numbers"
        )

    def readings(self, shape: tuple[int, ...]) -> list[Reading]:
        """Return the ways to read an array: a table may be one matrix, or flat rows of several."""
        if 0 in shape or len(shape) not in (2, 3):
            return []
        if len(shape) == 3:
            return [Reading(shape, alone=False)] if shape[1] == shape[2] else []
        rows, columns = shape
        nodes = math.isqrt(columns)
        found = [Reading((1, *shape), alone=True)] if rows == columns else []
        # A table of one number is one graph in both readings.
        if nodes**2 == columns and (rows, columns) != (1, 1):
            found.append(Reading((rows, nodes, nodes), alone=False))
        return found

    def is_evident(self, x: np.ndarray | Array, readings: list[Reading]) -> bool:
        """Return whether a table has the structure of a matrix and its rows have not.

        A matrix is symmetric, or its diagonal is zero. A table of flat rows is so by chance alone.
        """
        if isinstance(x, Tracer):
            return False
        one, several = (np.asarray(x).reshape(reading.shape) for reading in readings)
        return _has_structure(one) and not _has_structure(several)

    def _padded(self, x: Sequence[Any]) -> Graph:
        """The matrices of a list as one batch, in which the smaller ones are padded."""
        matrices = [doors.as_matrix(one, missing=self.missing) for one in x]
        for i, matrix in enumerate(matrices):
            if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
                which = f"Problem {i} of the list" if len(matrices) > 1 else "`x`"
                raise InputError(f"{which} has shape {matrix.shape}; expected a square matrix.")
        checked = [np.asarray(numeric("x", one, missing=self.missing)) for one in matrices]
        largest = max(len(matrix) for matrix in checked)
        edges = np.zeros((len(checked), largest, largest), np.result_type(*checked))
        nodes = np.arange(largest) < np.array([[len(matrix)] for matrix in checked])
        for padded, matrix in zip(edges, checked, strict=True):
            padded[: len(matrix), : len(matrix)] = matrix
        return Graph(jax.numpy.asarray(edges), jax.numpy.asarray(nodes))

    def _as_batch_of_graphs(self, x: Graph) -> tuple[Graph, bool]:
        edges = numeric("x", x.edges, missing=self.missing)
        nodes = jax.numpy.asarray(x.nodes)
        if edges.ndim not in (2, 3) or edges.shape[-1] != edges.shape[-2] or edges.size == 0:
            raise InputError(f"`x` has shape {edges.shape}; expected {self.expected}.")
        if nodes.shape != edges.shape[:-1]:
            raise InputError(f"`x` has nodes of shape {nodes.shape} and edges of {edges.shape}.")
        graph = Graph(self._without_nan(edges), nodes)
        if edges.ndim == 3:
            return graph, False
        return jax.tree.map(lambda leaf: leaf[None], graph), True

    def _without_nan(self, edges: Array) -> Array:
        """Edges of which the missing ones are infinite."""
        if not self.missing:
            return edges
        return jax.numpy.where(jax.numpy.isnan(edges), jax.numpy.inf, edges)

    def answer_shape(self, x: Graph | Array) -> tuple[int, ...]:
        """Return one number for every pair of nodes."""
        return x.edges.shape if isinstance(x, Graph) else x.shape[:2]


class ChannelPairs(AbstractFormat):
    """Square tables of any size with several numbers for every pair.

    Arguments:
        channels: How many numbers a pair has.
    """

    noun: ClassVar[str] = "pairs with channels"

    channels: int = eqx.field(static=True)

    def as_batch(self, x: Any) -> tuple[Array, bool]:
        """Return a stack of square tables with channels."""
        return self.as_stack(numeric("x", doors.as_array(x)))

    @property
    def expected(self) -> str:
        """A square table with channels, or a stack."""
        channels = self.channels
        return (
            f"one problem of shape (n, n, {channels}), or a stack of them of shape "
            f"(count, n, n, {channels})"
        )

    def readings(self, shape: tuple[int, ...]) -> list[Reading]:
        """Return the one way to read an array."""
        square = len(shape) in (3, 4) and shape[-3] == shape[-2] and shape[-1] == self.channels
        return _by_rank(shape, 3) if square else []

    def answer_shape(self, x: Array) -> tuple[int, ...]:
        """Return one number for every pair."""
        return x.shape[:2]


class Tables(AbstractFormat):
    """Tables of any size, or several vectors of any length; an answer is a table or a vector.

    Arguments:
        channels: With 1, a problem is a table and so is its answer. With more, a problem is as many
            vectors, of shape (channels, n), and an answer is one vector.
        x_shape: Shape of a problem that may also be given as a flat row.
        missing: Whether entries of a problem may be missing, and are NaN there.
    """

    noun: ClassVar[str] = "tables"

    channels: int = eqx.field(static=True, default=1)
    x_shape: tuple[int, ...] | None = eqx.field(static=True, default=None)
    missing: bool = eqx.field(static=True, default=False)

    def as_batch(self, x: Any) -> tuple[Array, bool]:
        """Return a stack of tables of one size."""
        return self.as_stack(_numbers(x, self.missing))

    @property
    def expected(self) -> str:
        """A table, or a stack."""
        shape = "(rows, columns)" if self.channels == 1 else f"({self.channels}, n)"
        return f"one problem of shape {shape}, or a stack of them"

    def readings(self, shape: tuple[int, ...]) -> list[Reading]:
        """Return the ways to read an array.

        Rows as long as a problem of training is large may be flat problems of that shape.
        """
        flat = self._flat(shape)
        # A single row that may be a flat problem is one.
        if len(shape) < 2 or (flat and shape[0] == 1):
            return flat
        fits = self.channels == 1 or shape[-2] == self.channels
        return (_by_rank(shape, 2) if fits else []) + flat

    def _flat(self, shape: tuple[int, ...]) -> list[Reading]:
        """The reading as flat rows, or as one flat problem, if their length is that of training."""
        if self.x_shape is None or 0 in shape or shape[-1:] != (math.prod(self.x_shape),):
            return []
        if len(shape) > 2:
            return []
        return [Reading((math.prod(shape[:-1]), *self.x_shape), alone=len(shape) == 1)]

    def answer_shape(self, x: Array) -> tuple[int, ...]:
        """Return the shape of the table, or of one vector."""
        return x.shape if self.channels == 1 else x.shape[1:]


class Pictures(AbstractFormat):
    """Grey pictures of any size; an answer is a picture of the same size."""

    noun: ClassVar[str] = "pictures"
    energies: ClassVar[str] = "the Conv energy"

    def as_batch(self, x: Any) -> tuple[Array, bool]:
        """Return a stack of grey pictures of one size."""
        return self.as_stack(numeric("x", doors.as_array(x)))

    @property
    def expected(self) -> str:
        """A picture, or a stack."""
        return (
            "one grey picture of shape (height, width), or a stack of them of shape "
            "(n, height, width)"
        )

    def readings(self, shape: tuple[int, ...]) -> list[Reading]:
        """Return the one way to read an array."""
        return _by_rank(shape, 2)

    def answer_shape(self, x: Array) -> tuple[int, ...]:
        """Return the shape of the picture."""
        return x.shape


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


class Stacks(AbstractFormat):
    """Any PyTree of arrays with the problems along the first axis of every array.

    Arguments:
        y_shape: Shape of an answer; `None` where only a first guess tells it.
    """

    noun: ClassVar[str] = "stacks of problems"

    y_shape: tuple[int, ...] | None = eqx.field(static=True, default=None)

    def as_batch(self, x: Any) -> tuple[PyTree, bool]:
        """Return the stack with every leaf as an array."""
        x = jax.tree.map(_stacked_leaf, x)
        sizes = {leaf.shape[0] if leaf.ndim else None for leaf in jax.tree.leaves(x)}
        if len(sizes) != 1 or None in sizes or 0 in sizes:
            raise InputError(
                "`x` of a hand-written energy is a stack of problems: every array in it has the "
                "problems along its first axis (write `x[None]` for one problem, and arrays, not "
                "lists)."
            )
        return x, False

    def answer_shape(self, x: PyTree) -> tuple[int, ...] | None:
        """Return the shape of every answer, if it is known."""
        del x
        return self.y_shape


def _numbers(x: Any, missing: bool) -> Array:
    """The numbers of a table; where some may be missing, NaN in place of infinity."""
    x = numeric("x", doors.as_array(x), missing=missing)
    return jax.numpy.where(jax.numpy.isfinite(x), x, jax.numpy.nan) if missing else x


def _stacked_leaf(leaf: Any) -> Array:
    """One array of a stack of problems; a graph of networkx has no axis of problems."""
    if doors.is_graph(leaf):
        raise InputError(
            "`x` of a hand-written energy is a stack of arrays, got a networkx graph; give "
            "`networkx.to_numpy_array(graph)[None]`."
        )
    return numeric("x", doors.as_array(leaf), keep_integers=True)


def _by_rank(shape: tuple[int, ...], rank: int) -> list[Reading]:
    """The reading of an array whose problems have so many axes."""
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


def _has_structure(matrices: np.ndarray) -> bool:
    """Whether all matrices of a stack are symmetric up to rounding, or have a diagonal of zeros."""
    transposed = np.swapaxes(matrices, -1, -2)
    symmetric = np.isclose(matrices, transposed, rtol=1e-5, atol=0, equal_nan=True).all()
    return bool(symmetric or not np.diagonal(matrices, axis1=-2, axis2=-1).any())
