"""Local searches: change one variable at a time so that fewer rules are broken."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from irem.checks import count
from irem.errors import InputError

# Hertz and de Werra forbid a colour for 0.6 times the conflicts, and up to nine steps more.
_TENURE, _MORE_TENURE = 0.6, 10


class Found(NamedTuple):
    """The result of a local search.

    Arguments:
        answer: What was found, or `None` where the steps were used up or there is no solution.
        steps: How many changes were made.
    """

    answer: np.ndarray | None
    steps: int


def min_conflicts(n: int, max_steps: int, seed: int) -> Found:
    """Place `n` queens by min-conflicts (Minton and others, 1992).

    Every row has one queen, at first in a random column. A step takes a random queen that is
    attacked, and moves it in its row to where fewest others attack it.

    Arguments:
        n: Rows of the board.
        max_steps: Most moves.
        seed: Source of random numbers.

    Returns:
        The board, `True` where a queen is.

    Examples:
        >>> min_conflicts(8, 1000, seed=0).answer.sum()
        np.int64(8)
    """
    count("n", n)
    rng = np.random.default_rng(seed)
    columns, rows = rng.integers(n, size=n), np.arange(n)
    for step in range(max_steps + 1):
        attacks = _attacks(rows, columns)
        here = attacks[rows, columns]
        attacked = np.flatnonzero(here)
        if not attacked.size:
            return Found(columns[:, None] == rows, step)
        if step < max_steps:
            row = rng.choice(attacked)
            columns[row] = rng.choice(np.flatnonzero(attacks[row] == attacks[row].min()))
    return Found(None, max_steps)


def _attacks(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return by how many queens of other rows every square is attacked."""
    n = len(rows)
    up, down = columns + rows, columns - rows + n - 1
    by_column = np.bincount(columns, minlength=n)
    by_up, by_down = (np.bincount(line, minlength=2 * n - 1) for line in (up, down))
    squares = rows[:, None], np.arange(n)
    attacks = by_column[squares[1]] + by_up[squares[1] + squares[0]]
    attacks = attacks + by_down[squares[1] - squares[0] + n - 1]
    attacks[rows, columns] -= 3  # a queen does not attack itself, on any of its lines
    return attacks


def tabucol(
    nodes: int, edges: Iterable[tuple[int, int]], k: int, max_steps: int, seed: int
) -> Found:
    """Colour a graph with `k` colours by tabu search (Hertz and de Werra, 1987).

    A step gives one node that is in conflict another colour, the change that leaves fewest edges
    with one colour at both ends. The old colour is forbidden for that node for a while, unless it
    leads to fewer conflicts than any colouring so far.

    Arguments:
        nodes: Number of nodes.
        edges: Pairs of nodes.
        k: Number of colours.
        max_steps: Most changes.
        seed: Source of random numbers.

    Returns:
        The colour of every node, from 0.

    Examples:
        >>> tabucol(3, [(0, 1), (1, 2)], 2, 100, seed=0).answer[[0, 1]].sum()
        np.int64(1)
    """
    count("nodes", nodes)
    count("k", k)
    rng = np.random.default_rng(seed)
    linked = _matrix(nodes, edges)
    colours, everyone = rng.integers(k, size=nodes), np.arange(nodes)
    near = linked @ (colours[:, None] == np.arange(k))  # neighbours of every colour
    forbidden_until, fewest = np.zeros((nodes, k), int), nodes**2
    for step in range(max_steps + 1):
        here = near[everyone, colours]
        conflicts = int(here.sum()) // 2
        if not conflicts:
            return Found(colours, step)
        fewest = min(fewest, conflicts)
        if k == 1 or step == max_steps:
            break
        change = np.where(here[:, None] > 0, near - here[:, None], nodes)
        change[everyone, colours] = nodes
        allowed = (forbidden_until <= step) | (conflicts + change < fewest)
        change = np.where(allowed & (change < nodes), change, nodes)
        if change.min() == nodes:  # all are forbidden: wait
            continue
        node, colour = rng.choice(np.argwhere(change == change.min()))
        old, tenure = colours[node], int(_TENURE * conflicts) + int(rng.integers(_MORE_TENURE))
        forbidden_until[node, old] = step + 1 + tenure
        near[:, old] -= linked[node]
        near[:, colour] += linked[node]
        colours[node] = colour
    return Found(None, max_steps)


def _matrix(nodes: int, edges: Iterable[tuple[int, int]]) -> np.ndarray:
    """Return which nodes have an edge between them, as zeros and ones."""
    linked = np.zeros((nodes, nodes), int)
    for a, b in edges:
        if not (0 <= a < nodes and 0 <= b < nodes and a != b):
            raise InputError(
                f"There is an edge ({a}, {b}); expected two different nodes of 0 to {nodes - 1}."
            )
        linked[a, b] = linked[b, a] = 1
    return linked


def walksat(
    clauses: Sequence[Sequence[int]],
    variables: int,
    max_flips: int,
    p: float = 0.5,
    *,
    seed: int,
) -> Found:
    """Satisfy clauses by WalkSAT (Selman, Kautz and Cohen, 1994).

    What follows from clauses of one literal is fixed first. Then a flip takes a random clause that
    is not satisfied. If one of its variables can be flipped without breaking another clause, that
    one is; else with probability `p` any of them, or the one that breaks fewest.

    Arguments:
        clauses: Literals, as `irem.tasks.exact.clauses` writes a puzzle: variables from 1, negative
            where they are to be false.
        variables: Number of variables.
        max_flips: Most flips.
        p: Probability of a random variable of the clause.
        seed: Source of random numbers.

    Returns:
        The truth of every variable.

    Examples:
        >>> walksat([[1, 2], [-1], [-2, 3]], 3, 100, seed=0).answer.tolist()
        [False, True, True]
    """
    for clause in clauses:
        if not all(1 <= abs(literal) <= variables for literal in clause):
            raise InputError(f"Clause {list(clause)} has variables beyond 1 to {variables}.")
    fixed, left = _propagated(clauses)
    if left is None:
        return Found(None, 0)
    rng = random.Random(seed)
    truths = [rng.random() < 0.5 for _ in range(variables + 1)]
    for literal in fixed:
        truths[abs(literal)] = literal > 0
    state = _State(left, truths)
    for flips in range(max_flips + 1):
        if not state.unsatisfied:
            return Found(np.array(state.truths[1:], bool), flips)
        if flips < max_flips:
            clause = state.clauses[state.unsatisfied[rng.randrange(len(state.unsatisfied))]]
            breaks = [state.breaks[abs(literal)] for literal in clause]
            fewest = min(breaks)
            if fewest and rng.random() < p:
                chosen = rng.choice(clause)
            else:
                chosen = rng.choice([v for v, b in zip(clause, breaks, strict=True) if b == fewest])
            state.flip(abs(chosen))
    return Found(None, max_flips)


class _State:
    """Truths of variables, and how every clause stands by them.

    Arguments:
        clauses: The clauses; no literal twice in one.
        truths: The truth of every variable, which count from 1.
    """

    def __init__(self, clauses: list[list[int]], truths: list[bool]) -> None:
        self.clauses, self.truths = clauses, truths
        self.unsatisfied: list[int] = []
        self._places = [-1] * len(clauses)  # in the list of those that are not satisfied
        self.breaks = [0] * len(truths)
        """How many clauses every variable alone satisfies."""
        self._with: dict[int, list[int]] = {}
        self._true = [0] * len(clauses)  # how many literals are true
        self._sum = [0] * len(clauses)  # of the variables of those: of one, that variable
        for number, clause in enumerate(clauses):
            for literal in clause:
                self._with.setdefault(literal, []).append(number)
                if truths[abs(literal)] == (literal > 0):
                    self._true[number] += 1
                    self._sum[number] += abs(literal)
            if self._true[number] == 1:
                self.breaks[self._sum[number]] += 1
            elif not self._true[number]:
                self._add(number)

    def flip(self, variable: int) -> None:
        """Change the truth of a variable."""
        now_true = -variable if self.truths[variable] else variable
        self.truths[variable] = not self.truths[variable]
        true, sums, breaks = self._true, self._sum, self.breaks
        for number in self._with.get(now_true, ()):
            if true[number] == 0:
                self._remove(number)
                breaks[variable] += 1
            elif true[number] == 1:
                breaks[sums[number]] -= 1
            true[number] += 1
            sums[number] += variable
        for number in self._with.get(-now_true, ()):
            true[number] -= 1
            sums[number] -= variable
            if true[number] == 0:
                self._add(number)
                breaks[variable] -= 1
            elif true[number] == 1:
                breaks[sums[number]] += 1

    def _add(self, number: int) -> None:
        self._places[number] = len(self.unsatisfied)
        self.unsatisfied.append(number)

    def _remove(self, number: int) -> None:
        """Take a clause from the list of those that are not satisfied; the last takes its place."""
        last = self.unsatisfied.pop()
        if last != number:
            self.unsatisfied[self._places[number]] = last
            self._places[last] = self._places[number]


def _propagated(clauses: Sequence[Sequence[int]]) -> tuple[set[int], list[list[int]] | None]:
    """Return the literals that clauses of one literal fix, and what is left of the others.

    Nothing is left to satisfy, `None`, where they contradict each other.
    """
    left = [list(dict.fromkeys(clause)) for clause in clauses]
    left = [clause for clause in left if not any(-literal in clause for literal in clause)]
    fixed: set[int] = set()
    while True:
        units = {clause[0] for clause in left if len(clause) == 1}
        if any(len(clause) == 0 for clause in left) or any(-literal in units for literal in units):
            return fixed, None
        if not units:
            return fixed, left
        fixed |= units
        left = [
            [literal for literal in clause if -literal not in units]
            for clause in left
            if units.isdisjoint(clause)
        ]
