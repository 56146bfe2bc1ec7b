"""Problems in files of any form, and answers to them by the same names."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from irem.cli import arrays, graph_files
from irem.cli.csv_files import Table, read_table
from irem.cli.edge_lists import EdgeList, read_edge_list
from irem.cli.names import Absent, AbstractNames, NodeNames, NoNames, TableNames
from irem.cli.numpy_files import read_sparse
from irem.errors import InputError
from irem.formats import AbstractFormat, Graphs, Vectors
from irem.problem import Graph
from irem.tasks import AbstractTask


class ProblemFile(NamedTuple):
    """What a file of problems holds.

    Arguments:
        x: The problems along the first axis; graphs of different sizes as one batch.
        alone: Whether it is one problem, without an axis of problems.
        names: What the file calls them.
    """

    x: np.ndarray | Graph
    alone: bool
    names: AbstractNames


def read_problems(
    path: Path, task: AbstractTask, format_: AbstractFormat, problems: int | None = None
) -> ProblemFile:
    """Return the problems in a file, with the names that they have there.

    Arguments:
        path: A .npy, .npz or .csv file; of graphs also .graphml or .gml, and a .csv may list their
            edges.
        task: The task that they are problems of, which may know columns by their names.
        format_: What problems look like.
        problems: How many there are, where a shape may be read in several ways.
    """
    if path.suffix == ".npy":
        return ProblemFile(*format_.as_stack(arrays.read(path), problems), NoNames())
    arrays.check_input(path, "problems", graphs=isinstance(format_, Graphs))
    if path.suffix in graph_files.SUFFIXES:
        graph = graph_files.read_graph(path)
        return _one_graph(path, graph, format_, problems, NodeNames.of_nodes(graph))
    if path.suffix == ".csv":
        return _read_csv(path, task, format_, problems)
    sparse = read_sparse(path)
    if sparse is not None and isinstance(format_, Graphs):
        return _one_graph(path, sparse, format_, problems, NoNames())
    x = arrays.read(path) if sparse is None else sparse.toarray()
    return ProblemFile(*format_.as_stack(x, problems), NoNames())


def read_answers(path: Path, task: AbstractTask, names: AbstractNames) -> np.ndarray:
    """Return the answers in a file to problems that may have names.

    Where both files have names, answers are found by them. Pairs that a list of distances leaves
    out are infinitely far apart, and those that a list of connected pairs leaves out are not.
    """
    arrays.check_input(path, "answers")
    absent = Absent(0.0, 1.0) if task.binary else None
    if not task.binary and getattr(task.any_size, "missing", False):
        absent = Absent(np.inf, 0.0)
    found = names.read_answers(path, absent) if path.suffix == ".csv" else None
    return arrays.read(path, "y") if found is None else found


def _read_csv(
    path: Path, task: AbstractTask, format_: AbstractFormat, problems: int | None
) -> ProblemFile:
    """The problems in a .csv file."""
    edges = read_edge_list(path) if isinstance(format_, Graphs) else None
    if edges is not None:
        return _listed(edges, task, format_, problems)
    table = read_table(path, getattr(task, "x_names", None))
    if table.columns is None:
        return ProblemFile(*format_.as_stack(table.numbers, problems), NoNames(table.style))
    _check_missing(path, table, format_)
    return _named(path, table, task, format_, problems)


def _check_missing(path: Path, table: Table, format_: AbstractFormat) -> None:
    """Refuse empty cells by the name of their column, where no entry of a problem is missing."""
    if not isinstance(format_, Vectors) or format_.missing or not np.isnan(table.values).any():
        return
    assert table.columns is not None
    row, column = np.argwhere(np.isnan(table.values))[0]
    raise InputError(
        f"'{path}' has no number in row {row + 2}, column '{table.columns[column]}', and the run "
        "has not learned to do without; fill it in, or leave the row out."
    )


def _one_graph(
    path: Path, graph: Any, format_: AbstractFormat, problems: int | None, names: AbstractNames
) -> ProblemFile:
    """A graph of networkx or a sparse matrix, which is one problem."""
    _check_number(path, 1, problems)
    return ProblemFile(format_.as_batch(graph)[0], True, names)


def _listed(
    edges: EdgeList, task: AbstractTask, format_: AbstractFormat, problems: int | None
) -> ProblemFile:
    """The graphs of a list of edges."""
    _check_number(edges.path, len(edges.graphs), problems)
    missing = getattr(format_, "missing", False)
    matrices = edges.matrices(missing=missing, both_ways=_is_symmetric(task))
    return ProblemFile(format_.as_batch(matrices)[0], edges.alone, NodeNames.of_edges(edges))


def _check_number(path: Path, graphs: int, problems: int | None) -> None:
    if problems not in (None, graphs):
        raise InputError(f"The number of graphs in '{path}' is {graphs}, not {problems}.")


def _is_symmetric(task: AbstractTask) -> bool:
    """Whether a task takes no matrix in which an edge has one direction alone."""
    directed, symmetric = np.array([[2.0, 1.0], [0.0, 2.0]]), np.array([[2.0, 1.0], [1.0, 2.0]])
    return task.domain.fault(directed) is not None and task.domain.fault(symmetric) is None


def _named(
    path: Path, table: Table, task: AbstractTask, format_: AbstractFormat, problems: int | None
) -> ProblemFile:
    """The problems of a table whose columns have names."""
    rows, columns = table.values.shape
    is_square = isinstance(format_, Graphs) and rows == columns
    if is_square and table.index == table.columns and problems in (None, 1):
        return ProblemFile(table.values[None], True, TableNames(table, is_matrix=True))
    x, alone = format_.as_stack(table.values, problems)
    if is_square and alone and table.index is not None:
        raise InputError(
            f"The rows of '{path}' have other names than its columns; give the nodes of a graph in "
            "the same order in both."
        )
    targets = getattr(task, "y_names", None)
    return ProblemFile(x, alone, TableNames(table, is_square and alone, targets))
