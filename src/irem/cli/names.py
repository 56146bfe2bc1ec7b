"""The names that problems have in their file, given to the answers as well."""

from __future__ import annotations

import abc
import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from irem.cli.csv_files import Style, Table, read_table
from irem.cli.edge_lists import Columns, EdgeList, read_edge_list
from irem.errors import InputError

Cells = list[str | float]

# How messages about matrices name an entry.
_ENTRY = re.compile(r"\((\d+), (\d+)\)")


class Absent(NamedTuple):
    """The answer for a pair of nodes that a list leaves out, and that for a node with itself."""

    pair: float
    itself: float


class AbstractNames(abc.ABC):
    """What the problems of a file are called, and how their answers are written by that."""

    @property
    @abc.abstractmethod
    def style(self) -> Style:
        """How numbers are written."""

    @abc.abstractmethod
    def header(self, shape: tuple[int, ...], *, alone: bool) -> list[str] | None:
        """Return the header row of a table of answers, if it has one.

        Arguments:
            shape: The shape of one answer.
            alone: Whether there is one problem, without an axis of problems.
        """

    @abc.abstractmethod
    def rows(self, y: np.ndarray, first: int, *, alone: bool) -> Iterator[Cells]:
        """Yield the rows of a table of answers.

        Arguments:
            y: Answers, along a leading axis unless there is one problem.
            first: The place of the first of them among all problems.
            alone: Whether there is one problem, without an axis of problems.
        """

    @abc.abstractmethod
    def arrays(self, shape: tuple[int, ...], *, alone: bool) -> dict[str, np.ndarray]:
        """Return the names of answers as arrays of text, for a .npz file."""

    def nodes(self, problem: int) -> Sequence[str] | None:
        """Return the names of the nodes of a problem, where it is a matrix that has some."""
        del problem
        return None

    def about(self, problem: int, sentence: str) -> str:
        """Return a sentence about one of several problems, which says of which."""
        return f"Problem {problem}: {self.renamed(problem, sentence)}"

    def renamed(self, problem: int, sentence: str) -> str:
        """Return a sentence about one problem, in which entries have the names of their nodes."""
        nodes = self.nodes(problem)
        if nodes is None:
            return sentence

        def named(entry: re.Match[str]) -> str:
            source, target = (nodes[int(place)] for place in entry.groups())
            return f"('{source}', '{target}')"

        return _ENTRY.sub(named, sentence)

    def read_answers(self, path: Path, absent: Absent | None) -> np.ndarray | None:
        """Return answers to the problems from a table with names; `None` where it has none.

        Arguments:
            path: A .csv file.
            absent: The answers for pairs that are not listed; `None` where all have to be.
        """
        del path, absent
        return None


@dataclasses.dataclass(frozen=True)
class NoNames(AbstractNames):
    """Problems without names: answers are a table of numbers."""

    written: Style = dataclasses.field(default=Style())

    @property
    def style(self) -> Style:
        """How the problems are written."""
        return self.written

    def header(self, shape: tuple[int, ...], *, alone: bool) -> None:
        """Return nothing."""
        del shape, alone

    def rows(self, y: np.ndarray, first: int, *, alone: bool) -> Iterator[Cells]:
        """Yield one answer as it is shaped, several as one flat row each."""
        del first
        yield from _flat_rows(y, alone=alone)

    def arrays(self, shape: tuple[int, ...], *, alone: bool) -> dict[str, np.ndarray]:
        """Return nothing."""
        del shape, alone
        return {}


@dataclasses.dataclass(frozen=True)
class TableNames(AbstractNames):
    """The columns, and perhaps the rows, of a table have names.

    Arguments:
        table: The table.
        is_matrix: Whether it is one square matrix whose columns are nodes.
        targets: What the numbers of an answer are called; by default y0, y1 and so on.
    """

    table: Table
    is_matrix: bool = False
    targets: tuple[str, ...] | None = None

    @property
    def style(self) -> Style:
        """How the table writes numbers."""
        return self.table.style

    def header(self, shape: tuple[int, ...], *, alone: bool) -> list[str]:
        """Return the names of the table for an answer of its shape, else those of the targets."""
        columns = self._columns(shape, alone=alone)
        return [str(self.table.index_name), *columns] if self._index(shape, alone) else columns

    def rows(self, y: np.ndarray, first: int, *, alone: bool) -> Iterator[Cells]:
        """Yield a row for every row of the table, with its name."""
        index = self._index(y.shape if alone else y.shape[1:], alone)
        for i, row in enumerate(_flat_rows(y, alone=alone), start=first):
            yield [index[i], *row] if index else row

    def arrays(self, shape: tuple[int, ...], *, alone: bool) -> dict[str, np.ndarray]:
        """Return the names of the rows, where they have some, and those of the columns."""
        index = self._index(shape, alone)
        found = {"columns": np.array(self._columns(shape, alone=alone))}
        return found | ({"index": np.array(index)} if index else {})

    def nodes(self, problem: int) -> Sequence[str] | None:
        """Return the names of the columns of a matrix."""
        del problem
        return self.table.columns if self.is_matrix else None

    def read_answers(self, path: Path, absent: Absent | None) -> np.ndarray | None:
        """Return answers whose rows, and columns of a matrix, are found by their names."""
        del absent
        answers = read_table(path)
        if answers.columns is None:
            return None
        if self.is_matrix and self.table.index is not None and answers.index is not None:
            return _matrix_by_name(path, answers, self.table.index)
        if answers.index != self.table.index and None not in (answers.index, self.table.index):
            raise InputError(
                f"The rows of '{path}' have other names than those of the problems; answers are "
                "rows in the same order, by the same names."
            )
        return answers.values

    def _columns(self, shape: tuple[int, ...], *, alone: bool) -> list[str]:
        """What the numbers of a row of answers are called."""
        own = self.table.columns or ()
        if alone and shape in (self.table.values.shape, (len(own),)):
            return list(own)
        count = shape[-1] if alone and shape else math.prod(shape)
        named = self.targets is not None and len(self.targets) == count
        return list(self.targets or ()) if named else [f"y{i}" for i in range(count)]

    def _index(self, shape: tuple[int, ...], alone: bool) -> tuple[str, ...] | None:
        """The names of the rows, where every row of answers is that of one of them."""
        is_by_row = not alone or shape == self.table.values.shape
        return self.table.index if is_by_row else None


@dataclasses.dataclass(frozen=True)
class NodeNames(AbstractNames):
    """The nodes of graphs have names, and so may the graphs; answers are lists of all pairs.

    Arguments:
        graphs: The nodes of every graph by its name.
        columns: Where a list of edges has what.
        written: How it writes numbers.
    """

    graphs: dict[str, tuple[str, ...]]
    columns: Columns
    written: Style

    @staticmethod
    def of_edges(edges: EdgeList) -> NodeNames:
        """Return the names of a list of edges."""
        return NodeNames(edges.graphs, edges.columns, edges.style)

    @staticmethod
    def of_nodes(nodes: Iterable[object]) -> NodeNames:
        """Return the names of the nodes of one graph; a list has the usual columns."""
        columns = Columns(("source", "target"), 0, 1, None, None)
        return NodeNames({"": tuple(map(str, nodes))}, columns, Style())

    @property
    def style(self) -> Style:
        """How the list writes numbers."""
        return self.written

    def header(self, shape: tuple[int, ...], *, alone: bool) -> list[str]:
        """Return the columns of the list; the answers are what the numbers of edges were."""
        del shape, alone
        return [self.columns.header[place] for place in self.columns.kept] + self.columns.added

    def rows(self, y: np.ndarray, first: int, *, alone: bool) -> Iterator[Cells]:
        """Yield a row for every pair of nodes, in both directions, and of a node with itself."""
        graphs = list(self.graphs.items())[first:]
        for (name, nodes), answer in zip(graphs, [y] if alone else y, strict=False):
            for source, row in zip(nodes, answer.tolist(), strict=False):
                for target, number in zip(nodes, row, strict=False):
                    yield self._row(name, source, target, number)

    def arrays(self, shape: tuple[int, ...], *, alone: bool) -> dict[str, np.ndarray]:
        """Return the names of nodes; those of smaller graphs are followed by empty ones."""
        names, nodes = zip(*self.graphs.items(), strict=True)
        if alone:
            return {"nodes": np.array(nodes[0])}
        padded = [[*own, *[""] * (shape[0] - len(own))] for own in nodes]
        return {"graphs": np.array(names), "nodes": np.array(padded)}

    def about(self, problem: int, sentence: str) -> str:
        """Return a sentence that names the graph."""
        if self.columns.graph is None:
            return super().about(problem, sentence)
        return f"Graph '{list(self.graphs)[problem]}': {self.renamed(problem, sentence)}"

    def nodes(self, problem: int) -> Sequence[str]:
        """Return the nodes in the order of the list."""
        return list(self.graphs.values())[problem]

    def read_answers(self, path: Path, absent: Absent | None) -> np.ndarray | None:
        """Return answers from a list of pairs, or from a matrix with the names of nodes."""
        answers = read_edge_list(path)
        if answers is not None:
            return self._listed(answers, absent)
        table = read_table(path)
        if table.index is None or self.columns.graph is not None:
            return None
        return _matrix_by_name(path, table, self.nodes(0))

    def _row(self, graph: str, source: str, target: str, number: float) -> Cells:
        columns = self.columns
        cells: dict[int | None, str | float] = {
            columns.source: source,
            columns.target: target,
            columns.number: number,
        }
        if columns.graph is not None:
            cells[columns.graph] = graph
        return [cells[place] for place in columns.kept] + ([number] if columns.added else [])

    def _listed(self, answers: EdgeList, absent: Absent | None) -> np.ndarray:
        """The answers that a list has for the pairs of nodes, padded to one size."""
        graphs = self.graphs
        largest = max(map(len, graphs.values()))
        found = {name: np.full((largest, largest), np.nan) for name in graphs}
        for edge, (pair,) in answers.placed(graphs):
            found[edge.graph][pair] = edge.number
        for name, nodes in graphs.items():
            own = found[name][: len(nodes), : len(nodes)]
            self._complete(own, nodes, answers.path, absent)
            found[name][len(nodes) :], found[name][:, len(nodes) :] = 0.0, 0.0
        return found[""] if self.columns.graph is None else np.stack(list(found.values()))

    @staticmethod
    def _complete(
        answer: np.ndarray, nodes: Sequence[str], path: Path, absent: Absent | None
    ) -> None:
        """Write the pairs that a list leaves out into one answer."""
        left_out = np.isnan(answer)
        if absent is None and left_out.any():
            row, column = np.argwhere(left_out)[0]
            raise InputError(
                f"'{path}' has no answer for '{nodes[row]}' to '{nodes[column]}'; list all pairs "
                "of nodes."
            )
        if absent is not None:
            itself = np.eye(len(nodes), dtype=bool)
            answer[left_out] = np.where(itself, absent.itself, absent.pair)[left_out]


def _flat_rows(y: np.ndarray, *, alone: bool) -> list[Cells]:
    """One answer as it is shaped, several as one flat row each."""
    return (np.atleast_2d(y) if alone else y.reshape(len(y), -1)).tolist()


def _matrix_by_name(path: Path, table: Table, nodes: Sequence[str]) -> np.ndarray:
    """A matrix whose rows and columns are brought into the order of the nodes."""
    assert table.columns is not None
    assert table.index is not None
    if sorted(table.index) != sorted(nodes) or sorted(table.columns) != sorted(nodes):
        raise InputError(
            f"The rows and columns of '{path}' have other names than the nodes of the problem; "
            f"those are {', '.join(nodes[:5])}{' ...' if len(nodes) > 5 else ''}."
        )
    rows, columns = ([names.index(n) for n in nodes] for names in (table.index, table.columns))
    return table.values[np.ix_(rows, columns)]
