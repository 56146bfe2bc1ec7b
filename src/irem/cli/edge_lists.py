"""Graphs as lists of their edges in .csv files, with the names of their nodes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from irem.cli.csv_files import Numbers, Style, open_rows
from irem.errors import InputError
from irem.memory import check_memory

# What the columns of the two ends of an edge are called.
_ENDS = (("source", "target"), ("from", "to"), ("u", "v"))
_NUMBER, _GRAPH = "weight", "graph"
# Matrices are copied on their way to the device.
_COPIES = 4


class Columns(NamedTuple):
    """Where an edge list has what.

    Arguments:
        header: The names of all columns.
        source: The place of the node that an edge begins at.
        target: The place of the node that it ends at.
        number: The place of its number; `None` where every edge has the number 1.
        graph: The place of the name of the graph; `None` where there is one graph.
    """

    header: tuple[str, ...]
    source: int
    target: int
    number: int | None
    graph: int | None

    @property
    def kept(self) -> list[int]:
        """The places of the columns that say something of an edge, in their order."""
        places = (self.source, self.target, self.number, self.graph)
        return sorted(place for place in places if place is not None)

    @property
    def added(self) -> list[str]:
        """The name of a column of numbers, where the list has none."""
        return [_NUMBER] if self.number is None else []

    @staticmethod
    def of(header: Sequence[str]) -> Columns | None:
        """Return the columns of an edge list, or `None` if the header is not that of one.

        Raises:
            ValueError: It is not clear which column has the numbers.
        """
        names = [name.lower() for name in header]
        ends = next((ends for ends in _ENDS if all(names.count(end) == 1 for end in ends)), None)
        if ends is None:
            return None
        source, target = map(names.index, ends)
        graph = names.index(_GRAPH) if _GRAPH in names else None
        others = [i for i, name in enumerate(names) if name and i not in (source, target, graph)]
        numbers = [i for i in others if names[i] == _NUMBER] or others
        if len(numbers) > 1:
            raise ValueError(
                f"its columns {', '.join(header[i] for i in numbers)} may all hold the numbers of "
                f"its edges: call one of them {_NUMBER}"
            )
        return Columns(tuple(header), source, target, numbers[0] if numbers else None, graph)


class Edge(NamedTuple):
    """One row of an edge list; `line` is its line in the file."""

    line: int
    graph: str
    source: str
    target: str
    number: float

    def __str__(self) -> str:
        return f"the edge from '{self.source}' to '{self.target}' in line {self.line}"


@dataclasses.dataclass(frozen=True)
class EdgeList:
    """Graphs as a file lists them.

    Arguments:
        path: The file.
        columns: Where it has what.
        style: How it writes numbers.
        edges: Its rows.
        graphs: The nodes of every graph by its name, all in the order of the file.
    """

    path: Path
    columns: Columns
    style: Style
    edges: tuple[Edge, ...]
    graphs: dict[str, tuple[str, ...]]

    @property
    def alone(self) -> bool:
        """Whether the file holds one graph, and no column of their names."""
        return self.columns.graph is None

    def matrices(self, *, missing: bool, both_ways: bool) -> list[np.ndarray]:
        """Return the matrices of the graphs, zero on the diagonal unless the file says otherwise.

        Arguments:
            missing: Whether the numbers are lengths, and pairs without an edge infinite; else those
                are zero.
            both_ways: Whether every edge leads in both directions.
        """
        self._check_memory()
        matrices = {}
        for name, nodes in self.graphs.items():
            matrices[name] = np.full((len(nodes),) * 2, np.inf if missing else 0.0)
            np.fill_diagonal(matrices[name], 0.0)
        for edge, pairs in self.placed(self.graphs, both_ways=both_ways):
            if missing:
                self._check_length(edge)
            for pair in pairs:
                matrices[edge.graph][pair] = 0.0 if self._is_mere_node(edge) else edge.number
        return list(matrices.values())

    def placed(
        self, graphs: dict[str, tuple[str, ...]], *, both_ways: bool = False
    ) -> Iterator[tuple[Edge, list[tuple[int, int]]]]:
        """Yield every edge with the places of its pair among the nodes of its graph.

        Arguments:
            graphs: The nodes of every graph by its name.
            both_ways: Whether an edge also is that of its pair turned around.

        Raises:
            InputError: An edge is of no graph, has no number, or has another one elsewhere.
        """
        places = {name: {n: i for i, n in enumerate(nodes)} for name, nodes in graphs.items()}
        seen: dict[tuple[str, tuple[int, int]], Edge] = {}
        for edge in self.edges:
            place = places.get(edge.graph, {})
            if edge.source not in place or edge.target not in place:
                raise self._refuse(f"{edge} is of no pair of nodes of the problems")
            pair = place[edge.source], place[edge.target]
            pairs = [pair, (pair[1], pair[0])] if both_ways else [pair]
            for found in pairs:
                before = seen.setdefault((edge.graph, found), edge)
                if before.number != edge.number:
                    raise self._refuse(
                        f"{edge} has the number {edge.number:g}, and line {before.line} says "
                        f"{before.number:g}; keep one of the two"
                    )
            yield edge, pairs

    def _is_mere_node(self, edge: Edge) -> bool:
        """Whether a row names a node alone: it leads to itself, and rows have no numbers."""
        return edge.source == edge.target and self.columns.number is None

    def _check_length(self, edge: Edge) -> None:
        """Refuse lengths that are not clear."""
        if edge.source == edge.target and edge.number != 0 and not self._is_mere_node(edge):
            raise self._refuse(
                f"{edge} leads back to its node and has the length {edge.number:g}; a node is at "
                "distance 0 from itself: write 0, or leave the line out"
            )
        if edge.source != edge.target and edge.number == 0:
            raise self._refuse(
                f"{edge} has the length 0, which may mean that there is no edge; write a small "
                "positive number, or leave the line out"
            )

    def _check_memory(self) -> None:
        nodes = max(map(len, self.graphs.values()))
        check_memory(
            f"{len(self.graphs)} graphs of up to {nodes:,} nodes, as '{self.path}' lists them,",
            _COPIES * 8.0 * len(self.graphs) * nodes**2,
            "give fewer nodes",
        )

    def _refuse(self, problem: str) -> InputError:
        return InputError(f"'{self.path}' cannot be used: {problem}.")


def read_edge_list(path: Path) -> EdgeList | None:
    """Return the graphs in a .csv file whose header is that of an edge list; else `None`."""
    with open_rows(path) as (separator, rows):
        columns = Columns.of(next(rows).cells)
        if columns is None:
            return None
        numbers, edges = Numbers(separator, "line"), []
        for row in rows:
            if len(row.cells) != len(columns.header):
                raise ValueError(
                    f"line {row.line} has {len(row.cells)} cells, and its header "
                    f"{len(columns.header)}"
                )
            edges.append(_edge(columns, row.cells, row.line, numbers))
        if not edges:
            raise ValueError("it has no edge after its header")
    return EdgeList(path, columns, numbers.style, tuple(edges), _nodes(edges))


def _edge(columns: Columns, cells: Sequence[str], line: int, numbers: Numbers) -> Edge:
    """The edge of one row."""
    graph = "" if columns.graph is None else cells[columns.graph]
    source, target = cells[columns.source], cells[columns.target]
    if not source or not target or (columns.graph is not None and not graph):
        raise ValueError(f"line {line} does not name both ends of its edge, or its graph")
    if columns.number is None:
        return Edge(line, graph, source, target, 1.0)
    edge = Edge(line, graph, source, target, numbers(cells[columns.number], line))
    if math.isnan(edge.number):
        raise ValueError(f"{edge} has no number: write one, or leave the line out")
    return edge


def _nodes(edges: Sequence[Edge]) -> dict[str, tuple[str, ...]]:
    """The nodes of every graph, in the order in which its edges name them."""
    nodes: dict[str, dict[str, None]] = {}
    for edge in edges:
        nodes.setdefault(edge.graph, {}).update({edge.source: None, edge.target: None})
    return {name: tuple(own) for name, own in nodes.items()}
