"""Reading problems from files, and writing answers to them."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, Any, BinaryIO, NamedTuple

import numpy as np
import typer

from irem.cli import common as _common
from irem.cli.csv_files import Table, format_rows, read_csv, read_table
from irem.cli.edge_lists import EdgeList, read_edge_list
from irem.cli.names import Absent, AbstractNames, NodeNames, NoNames, TableNames
from irem.cli.numpy_files import read_npy, read_npz
from irem.descent import Solution
from irem.errors import InputError
from irem.files import whole_file
from irem.formats import AbstractFormat, Graphs
from irem.problem import Graph
from irem.tasks import AbstractTask

Problems = Annotated[
    int | None,
    typer.Option(
        help="How many problems X holds, if it may be one or as many flat rows.",
        show_default="as its shape says",
    ),
]

_SUFFIXES = (".npy", ".npz", ".csv")
# What a .npz says of every answer, where it is known.
_FIELDS = (
    "verified",
    "verdict",
    "residual",
    "energy",
    "steps",
    "converged",
    "reason",
    "spread",
    "expected_error",
)


def check_output(out: Path, x: Path) -> None:
    """Refuse, before any work is done, a place where answers cannot be written."""
    _common.check_output(out, "Answers go", _SUFFIXES)
    if _common.is_same_file(out, x):
        raise InputError(f"'{out}' holds the problems; choose another file for the answers.")


def read(path: Path, name: str = "x") -> np.ndarray:
    """The array in a .npy, .npz or .csv file; a .npy stays on the disk. Nothing is executed.

    Arguments:
        path: The file.
        name: What the array is called in a .npz that holds several: `x` problems, `y` answers.
    """
    what = "problems" if name == "x" else "answers"
    _check_input(path, what)
    if path.suffix == ".csv":
        return read_csv(path)
    return read_npy(path, name) if path.suffix == ".npy" else read_npz(path, name, what)


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
        path: A .npy, .npz or .csv file. Where problems are graphs, a .csv may list their edges.
        task: The task that they are problems of, which may know columns by their names.
        format_: What problems look like.
        problems: How many there are, where a shape may be read in several ways.
    """
    if path.suffix != ".csv":
        return ProblemFile(*format_.as_stack(read(path), problems), NoNames())
    _check_input(path, "problems")
    edges = read_edge_list(path) if isinstance(format_, Graphs) else None
    if edges is not None:
        return _listed(edges, task, format_, problems)
    table = read_table(path, getattr(task, "x_names", None))
    if table.columns is None:
        return ProblemFile(*format_.as_stack(table.numbers, problems), NoNames(table.style))
    return _named(path, table, task, format_, problems)


def read_answers(path: Path, task: AbstractTask, names: AbstractNames) -> np.ndarray:
    """Return the answers in a file to problems that may have names.

    Where both files have names, answers are found by them. Pairs that a list of distances leaves
    out are infinitely far apart, and those that a list of connected pairs leaves out are not.
    """
    _check_input(path, "answers")
    absent = Absent(0.0, 1.0) if task.binary else None
    if not task.binary and getattr(task.any_size, "missing", False):
        absent = Absent(np.inf, 0.0)
    found = names.read_answers(path, absent) if path.suffix == ".csv" else None
    return read(path, "y") if found is None else found


def _check_input(path: Path, what: str) -> None:
    if path.suffix not in _SUFFIXES:
        raise InputError(
            f"{what.capitalize()} come from a file ending in .npy, .npz or .csv, got '{path}'."
        )
    if not path.is_file():
        raise InputError(f"There is no file '{path}'.")


def _listed(
    edges: EdgeList, task: AbstractTask, format_: AbstractFormat, problems: int | None
) -> ProblemFile:
    """The graphs of a list of edges."""
    count = len(edges.graphs)
    if problems not in (None, count):
        raise InputError(f"'{edges.path}' lists the edges of {count} graphs, not of {problems}.")
    missing = getattr(format_, "missing", False)
    matrices = edges.matrices(missing=missing, both_ways=_is_symmetric(task))
    return ProblemFile(format_.as_batch(matrices)[0], edges.alone, NodeNames(edges))


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
    targets: Any = getattr(task, "y_names", None)
    return ProblemFile(x, alone, TableNames(table, is_square and alone, targets))


class Writer:
    """Answers on their way to a file, page after page.

    A .npy holds the answers alone, a .npz also how they were found, a .csv a table: one answer as
    it is shaped, several as one flat row each, or as the names of the problems ask for.
    """

    def __init__(self, path: Path, file: BinaryIO, problems: int, names: AbstractNames) -> None:
        self._kind, self._file, self._problems = path.suffix, file, problems
        self._names, self._written, self._shape = names, 0, ()
        self._fields: dict[str, list[np.ndarray]] = {}
        self._archive = zipfile.ZipFile(file, "w") if self._kind == ".npz" else None
        self._answers: IO[bytes] | None = None

    @staticmethod
    @contextlib.contextmanager
    def open(path: Path, problems: int, names: AbstractNames) -> Iterator[Writer]:
        """A writer whose file takes its name when the context ends, whole or not at all."""
        with whole_file(path) as file:
            writer = Writer(path, file, problems, names)
            try:
                yield writer
                writer._finish()
            finally:
                writer._close()

    def add(self, solution: Solution, abstained: np.ndarray) -> None:
        """Write the next answers; those that are left out become NaN."""
        several = np.ndim(solution.steps) > 0
        y = np.asarray(solution.y)
        y = np.where(
            abstained.reshape(abstained.shape + (1,) * (y.ndim - abstained.ndim)), np.nan, y
        )
        fields = {"abstained": abstained}
        for name in _FIELDS:
            if getattr(solution, name) is not None:
                fields[name] = np.asarray(getattr(solution, name))
        for name, value in fields.items():
            self._fields.setdefault(name, []).append(value)
        self._shape = y.shape[1:] if several else y.shape
        if self._kind == ".csv":
            self._add_rows(y, alone=not several)
            return
        if self._answers is None:
            self._answers = self._begin((self._problems, *y.shape[1:]) if several else y.shape)
        self._answers.write(np.ascontiguousarray(y, np.float32).tobytes())

    def _add_rows(self, y: np.ndarray, *, alone: bool) -> None:
        """Write the next rows of a table, after its header."""
        header = None if self._written else self._names.header(self._shape, alone=alone)
        rows = self._names.rows(y, self._written, alone=alone)
        self._file.write(format_rows([] if header is None else [header], self._names.style))
        self._file.write(format_rows(rows, self._names.style))
        self._written += 1 if alone else len(y)

    def _begin(self, shape: tuple[int, ...]) -> IO[bytes]:
        """The place for the answers, the header of an array of all of them written."""
        place = (
            self._file
            if self._archive is None
            else self._archive.open("y.npy", "w", force_zip64=True)
        )
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(place, header)
        return place

    def _finish(self) -> None:
        """Write how the answers were found."""
        if self._archive is None or self._answers is None:
            return
        self._answers.close()
        for name, parts in self._fields.items():
            with self._archive.open(f"{name}.npy", "w") as place:
                whole = np.concatenate(parts) if parts[0].ndim else parts[0]
                np.lib.format.write_array(place, whole)
        alone = self._fields["abstained"][0].ndim == 0
        for name, texts in self._names.arrays(self._shape, alone=alone).items():
            with self._archive.open(f"{name}.npy", "w") as place:
                np.lib.format.write_array(place, texts)

    def _close(self) -> None:
        """Let go of the archive, also of one that was not finished."""
        if self._archive is not None:
            if self._answers is not None:
                self._answers.close()
            self._archive.close()
