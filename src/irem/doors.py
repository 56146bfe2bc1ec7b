"""The forms that problems come in beside arrays.

They are frames of pandas, graphs of networkx, sparse matrices of SciPy, and lists of matrices of
different sizes. None of these packages is imported here: an object of one exists only where the
package has been imported.
"""

from __future__ import annotations

import abc
import dataclasses
import numbers
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from irem.errors import InputError


def as_array(x: Any) -> Any:
    """Return a frame, a sparse matrix, a networkx graph or a list of them as an array of float64.

    Pairs of nodes without an edge are zero. Anything else is returned as it is.
    """
    if isinstance(x, np.ndarray):
        return x
    if is_list(x):
        return _stack([np.asarray(as_array(one)) for one in x])
    if is_frame(x) or is_series(x):
        return _frame_numbers(x.to_frame())[:, 0] if is_series(x) else _frame_numbers(x)
    return as_matrix(x) if is_matrix(x) else x


def is_graph(x: Any) -> bool:
    """Return whether `x` is a graph of networkx."""
    return _is_instance(x, "networkx", "Graph")


def is_matrix(x: Any) -> bool:
    """Return whether `x` is certainly one matrix, whatever its size.

    It is if it is a networkx graph, a sparse matrix, or a frame whose rows have the names of its
    columns.
    """
    return is_graph(x) or _is_sparse(x) or (is_frame(x) and _has_node_names(x))


def is_list(x: Any) -> bool:
    """Return whether `x` is a list of matrices, frames or graphs, each of its own size."""
    if not isinstance(x, list | tuple) or not x:
        return False
    if any(is_matrix(one) or is_frame(one) for one in x):
        return True
    return all(getattr(one, "ndim", None) == 2 for one in x)


def _is_list_of_lines(x: Any) -> bool:
    """Whether `x` is a list of vectors of different lengths."""
    if not isinstance(x, list | tuple) or any(getattr(one, "ndim", 1) != 1 for one in x):
        return False
    return len({len(one) for one in x if hasattr(one, "__len__")}) > 1


def as_matrix(x: Any, *, missing: bool = False) -> np.ndarray:
    """Return one matrix of a list, or what is certainly one, as an array of float64.

    Arguments:
        x: A networkx graph, a sparse matrix, a frame or an array.
        missing: Whether pairs without an edge are infinite; else they are zero. The diagonal is
            zero where a node has no edge to itself.
    """
    if is_graph(x):
        return _graph_numbers(x, missing)
    if _is_sparse(x):
        return _sparse_numbers(x) if missing and x.ndim == 2 else np.asarray(x.toarray())
    return _frame_numbers(x) if is_frame(x) else np.asarray(x)


class Labels(abc.ABC):
    """How problems came, so that their answers can be given back in the same form."""

    @abc.abstractmethod
    def attach(self, y: np.ndarray, names: Sequence[str] | None = None) -> Any:
        """Return answers in the form of their problems.

        Arguments:
            y: The answers, along a leading axis unless there was one problem.
            names: What the numbers of one answer are called, where they have names.
        """


def labels_of(x: Any) -> Labels:
    """Return the labels of problems, of one or of several.

    Examples:
        >>> labels_of(np.eye(2)).attach(np.ones((2, 2)))
        array([[1., 1.],
               [1., 1.]])
    """
    if is_list(x) or _is_list_of_lines(x):
        return _ListLabels(tuple(x))
    if is_graph(x):
        return _GraphLabels(tuple(x))
    if is_frame(x):
        return _FrameLabels(x.index, x.columns, _has_node_names(x))
    return _SeriesLabels(x.index, x.name) if is_series(x) else _NoLabels()


class _NoLabels(Labels):
    """Problems that came as an array, of which the answers are one as well."""

    def attach(self, y: np.ndarray, names: Sequence[str] | None = None) -> np.ndarray:
        del names
        return y


@dataclasses.dataclass(frozen=True)
class _GraphLabels(Labels):
    """The nodes of a graph of networkx.

    An answer is a dictionary of dictionaries, like those of `nx.all_pairs_dijkstra_path_length`:
    pairs whose answer is not finite are left out.
    """

    nodes: tuple[Any, ...]

    def attach(self, y: np.ndarray, names: Sequence[str] | None = None) -> Any:
        del names
        if y.shape != (len(self.nodes), len(self.nodes)):
            return y
        rows = zip(self.nodes, y.tolist(), np.isfinite(y).tolist(), strict=True)
        return {
            node: {
                other: value
                for other, value, finite in zip(self.nodes, row, is_finite, strict=True)
                if finite
            }
            for node, row, is_finite in rows
        }


@dataclasses.dataclass(frozen=True)
class _FrameLabels(Labels):
    """The index and the columns of a frame of pandas.

    An answer of the shape of the frame has its columns, unless its numbers have names of their own.
    Other answers are one row for every row of the frame, or one number for every column.
    """

    index: Any
    columns: Any
    is_matrix: bool

    def attach(self, y: np.ndarray, names: Sequence[str] | None = None) -> Any:
        pandas = sys.modules["pandas"]
        rows, columns = len(self.index), len(self.columns)
        if y.shape == (rows, columns) and (self.is_matrix or names is None):
            return pandas.DataFrame(y, self.index, self.columns)
        if y.ndim and len(y) == rows:
            flat = y.reshape(rows, -1)
            return pandas.DataFrame(flat, self.index, names or _answer_names(flat.shape[1]))
        return pandas.Series(y, self.columns) if y.shape == (columns,) else y


@dataclasses.dataclass(frozen=True)
class _SeriesLabels(Labels):
    """The index and the name of a series of pandas, which is one problem."""

    index: Any
    name: Any

    def attach(self, y: np.ndarray, names: Sequence[str] | None = None) -> Any:
        if y.ndim != 1:
            return y
        own = self.index if len(y) == len(self.index) else _answer_names(len(y))
        return sys.modules["pandas"].Series(y, own if names is None else names, name=self.name)


@dataclasses.dataclass(frozen=True)
class _ListLabels(Labels):
    """Problems in a list; the answers are a list, each of the size of its problem."""

    problems: tuple[Any, ...]

    def attach(self, y: np.ndarray, names: Sequence[str] | None = None) -> list[Any]:
        shapes = [(len(one),) * 2 if is_graph(one) else np.shape(one) for one in self.problems]
        answers = (
            answer[tuple(map(slice, shape))] if len(set(shapes)) > 1 else answer
            for shape, answer in zip(shapes, y, strict=True)
        )
        return [
            labels_of(one).attach(answer, names)
            for one, answer in zip(self.problems, answers, strict=True)
        ]


def _answer_names(count: int) -> list[str]:
    """Names of the numbers of an answer that have none: y0, y1 and so on."""
    return [f"y{i}" for i in range(count)]


def _is_instance(x: Any, module: str, *names: str) -> bool:
    """Whether `x` is of one of the classes of a module, which need not have been imported."""
    loaded = sys.modules.get(module)
    return isinstance(x, tuple(getattr(loaded, name) for name in names if hasattr(loaded, name)))


def is_frame(x: Any) -> bool:
    """Return whether `x` is a frame of pandas."""
    return _is_instance(x, "pandas", "DataFrame")


def is_series(x: Any) -> bool:
    """Return whether `x` is a series of pandas."""
    return _is_instance(x, "pandas", "Series")


def _is_sparse(x: Any) -> bool:
    return _is_instance(x, "scipy.sparse", "sparray", "spmatrix")


def _has_node_names(frame: Any) -> bool:
    """Whether the rows of a frame have the names of its columns, and are not merely numbered."""
    if frame.shape[0] != frame.shape[1]:
        return False
    names = (frame.index, frame.columns)
    if all(_is_instance(axis, "pandas", "RangeIndex") for axis in names):
        return list(frame.index) == list(frame.columns) != list(range(len(frame)))
    return [str(name) for name in frame.index] == [str(name) for name in frame.columns]


def _stack(arrays: list[np.ndarray]) -> np.ndarray:
    """The arrays of a list along a new axis."""
    shapes = sorted({array.shape for array in arrays})
    if len(shapes) > 1:
        raise InputError(
            f"The problems of the list have the shapes {shapes[0]} and {shapes[1]}; give problems "
            "of different sizes one by one: only graphs may be of several sizes in one list."
        )
    return np.stack(arrays)


def _frame_numbers(frame: Any) -> np.ndarray:
    """The numbers of a frame; missing ones are NaN."""
    array = np.empty(frame.shape)
    for i, name in enumerate(frame.columns):
        array[:, i] = _column_numbers(frame.iloc[:, i], name)
    return array


def _column_numbers(column: Any, name: Any) -> np.ndarray:
    """The numbers of one column of a frame, or a sentence that names the column."""
    if getattr(column.dtype, "kind", "O") in "fiub":
        return column.to_numpy(np.float64, na_value=np.nan)
    values, is_missing = column.to_numpy(object), column.isna().to_numpy()
    found = np.full(len(values), np.nan)
    for row in np.flatnonzero(~is_missing):
        if not isinstance(values[row], numbers.Real | np.bool_):
            raise InputError(
                f"`x` must hold numbers, but its column {name!r} has {values[row]!r:.40}; leave "
                "the column out, or turn it into numbers."
            )
        found[row] = values[row]
    return found


def _sparse_numbers(x: Any) -> np.ndarray:
    """The entries of a sparse matrix, infinite where there is none."""
    entries = x.tocsr(copy=True)
    entries.sum_duplicates()
    entries = entries.tocoo()
    matrix = _without_edges(x.shape)
    zero = np.flatnonzero((entries.data == 0) & (entries.row != entries.col))
    if zero.size:
        source, target = int(entries.row[zero[0]]), int(entries.col[zero[0]])
        raise _zero_edge(source, target, "`x.eliminate_zeros()`")
    matrix[entries.row, entries.col] = entries.data
    return matrix


def _graph_numbers(graph: Any, missing: bool) -> np.ndarray:
    """The weights of the edges of a graph of networkx; 1 where an edge has none.

    Of parallel edges the one with the smallest weight counts, where weights are lengths; elsewhere
    those of different weights are refused.
    """
    place = {node: i for i, node in enumerate(graph)}
    matrix = _without_edges((len(place), len(place)), np.inf if missing else 0.0)
    known = np.zeros(matrix.shape, bool)
    for source, target, weight in graph.edges(data="weight", default=1):
        number = _weight(source, target, weight, missing)
        pair = place[source], place[target]
        for i, j in (pair,) if graph.is_directed() else (pair, pair[::-1]):
            if known[i, j] and not missing and matrix[i, j] != number:
                raise InputError(
                    f"Edges from {source!r} to {target!r} have the weights {matrix[i, j]:g} and "
                    f"{number:g}; join them into one."
                )
            matrix[i, j] = np.fmin(matrix[i, j], number) if known[i, j] else number
            known[i, j] = True
    return matrix


def _without_edges(shape: tuple[int, ...], absent: float = np.inf) -> np.ndarray:
    """The matrix of a graph without edges."""
    matrix = np.full(shape, absent)
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _weight(source: Any, target: Any, weight: Any, missing: bool) -> float:
    """The weight of an edge as a number; an edge whose weight is `None` is hidden, as NaN is."""
    if weight is None:
        return np.nan
    if not isinstance(weight, numbers.Real | np.bool_):
        raise InputError(
            f"The edge from {source!r} to {target!r} has the weight {weight!r:.40}; weights are "
            "numbers."
        )
    if missing and weight == 0 and source != target:
        raise _zero_edge(source, target, "`graph.remove_edge`")
    return float(weight)


def _zero_edge(source: Any, target: Any, cure: str) -> InputError:
    """What is said of an edge of weight 0, where 0 may mean that there is none."""
    return InputError(
        f"The edge from {source!r} to {target!r} has the weight 0, which may mean that there is no "
        f"edge; remove it with {cure}, or give it a small positive weight."
    )
