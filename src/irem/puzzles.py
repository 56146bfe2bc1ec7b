"""Puzzles: variables that are true or false, and rules about groups of them.

A Sudoku has a variable for every cell and symbol, and three families of groups of which exactly one
variable is true. Queens, Latin squares and colourings of graphs are written in the same way.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from irem.errors import InputError

_LENGTHS = 96

_Known = TypeVar("_Known", np.ndarray, Array)


class Quota(enum.IntEnum):
    """How many variables of a group are true."""

    EXACTLY_ONE = 0
    AT_MOST_ONE = 1
    AT_LEAST_ONE = 2


class Family(eqx.Module):
    """Groups of variables with one rule, as index arrays of fixed shapes.

    Arguments:
        members: The variables of every group; smaller groups are filled up with the number of
            variables, which is no variable.
        of_variable: The groups of every variable, filled up with the number of groups.
        quota: How many members of a group are true.
    """

    members: Int[Array, "*batch groups size"]
    of_variable: Int[Array, "*batch variables count"]
    quota: Quota = eqx.field(static=True, default=Quota.EXACTLY_ONE)

    @staticmethod
    def of(members: Sequence[Sequence[int]], quota: Quota, variables: int) -> Family:
        """Build the index arrays from a list of the variables of every group.

        Examples:
            >>> Family.of([[0, 1], [1, 2, 3]], Quota.EXACTLY_ONE, 4).members.tolist()
            [[0, 1, 4], [1, 2, 3]]
        """
        of_variable: list[list[int]] = [[] for _ in range(variables)]
        for number, group in enumerate(members):
            for variable in group:
                if not 0 <= variable < variables:
                    raise InputError(
                        f"Group {number} has variable {variable}; expected 0 to {variables - 1}."
                    )
                of_variable[variable].append(number)
        table, inverse = _filled(members, variables), _filled(of_variable, len(members))
        with jax.ensure_compile_time_eval():  # kept for later, also where the caller is traced
            return Family(jnp.asarray(table), jnp.asarray(inverse), quota)


Families = tuple[Family, ...]
"""The rules of a puzzle. Models have weights of their own for each family."""


class NamedRules(eqx.Module):
    """Rules that all puzzles of a batch share. They are no arrays, and so take no memory.

    Arguments:
        name: A name of `RULES`.
        size: What the rules are a function of: symbols, or rows of a board.
    """

    name: str = eqx.field(static=True)
    size: int = eqx.field(static=True)

    @property
    def families(self) -> Families:
        """The groups, family by family."""
        return RULES[self.name](self.size)


class Puzzle(eqx.Module):
    """What is known of the variables, and the rules.

    Arguments:
        known: 1 where a variable is known to be true, -1 where false, 0 where it is to be found.
        rules: The rules by name, or the groups that they are about, family by family; of the latter
            every puzzle of a batch may have its own, such as those of a graph.
        open: The variables that neither `known` nor a rule about a known one decides, filled up
            with the number of variables. Energies then leave out all others, which takes less time
            and changes nothing else. `None` where they are not listed.
    """

    known: Int[Array, "*batch variables"]
    rules: NamedRules | Families
    open: Int[Array, "*batch most"] | None = None

    @property
    def families(self) -> Families:
        """The groups of variables, family by family."""
        return self.rules.families if isinstance(self.rules, NamedRules) else self.rules

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """What is known, so that NumPy takes a puzzle as that."""
        return np.array(self.known, dtype=dtype, copy=copy)


def with_excluded(known: _Known, families: Families) -> _Known:
    """Return what is known once variables that a known one excludes are known to be false.

    Where a group has at most one true variable and one is known, the others are false. What follows
    from there on is not looked for. Takes leading axes of problems with the same groups, in NumPy
    or JAX.
    """
    numpy: Any = np if isinstance(known, np.ndarray) else jnp
    known_true = _with_filler(known == 1, numpy)
    excluded = numpy.zeros(known.shape, bool)
    for family in families:
        if family.quota != Quota.AT_LEAST_ONE:
            decided = numpy.any(known_true[..., numpy.asarray(family.members)], axis=-1)
            of_variable = numpy.asarray(family.of_variable)
            excluded |= numpy.any(_with_filler(decided, numpy)[..., of_variable], axis=-1)
    return numpy.where((known == 0) & excluded, -1, known).astype(known.dtype)


def with_open(known: np.ndarray, rules: NamedRules) -> Puzzle:
    """Return a batch of puzzles with a list of their open variables.

    Lists are filled up to one of a few lengths, because programs are compiled for each.

    Examples:
        >>> grid = np.array([[1, 2, 3, 0], [0, 0, 1, 2], [2, 1, 4, 3], [3, 4, 2, 1]])
        >>> puzzle = with_open(known_of_grid(grid)[None], NamedRules("sudoku", 4))
        >>> [v for v in puzzle.open[0].tolist() if v < 64]
        [15, 19, 22]
    """
    is_open = with_excluded(known, rules.families) == 0
    variables = known.shape[-1]
    most = max(1, -(-int(is_open.sum(axis=-1).max()) // _LENGTHS)) * _LENGTHS
    listed = np.full((len(known), min(most, variables)), variables, np.int32)
    for row, flags in zip(listed, is_open, strict=True):
        found = np.flatnonzero(flags)
        row[: len(found)] = found
    return Puzzle(jnp.asarray(known), rules, jnp.asarray(listed))


def broken_rules(puzzle: Puzzle, truths: np.ndarray) -> np.ndarray:
    """Return how many rules each answer of a batch breaks, known variables included.

    Arguments:
        puzzle: A batch of puzzles.
        truths: For every puzzle which variables are true.
    """
    known = np.asarray(puzzle.known)
    broken = (((known == 1) & ~truths) | ((known == -1) & truths)).sum(axis=1)
    padded = np.concatenate([truths, np.zeros((len(truths), 1), bool)], axis=1)
    rows = np.arange(len(truths))[:, None, None]
    for family in puzzle.families:
        members = np.asarray(family.members)
        members = np.broadcast_to(members, (len(truths), *members.shape[-2:]))
        counts = padded[rows, members].sum(axis=2)
        too_few, too_many = counts < 1, counts > 1
        if family.quota == Quota.AT_MOST_ONE:
            too_few = np.zeros_like(too_few)
        elif family.quota == Quota.AT_LEAST_ONE:
            too_many = np.zeros_like(too_many)
        # A group without members is only there to fill up.
        there = (members < truths.shape[1]).any(axis=2)
        broken += ((too_few | too_many) & there).sum(axis=1)
    return broken


def obeys_rules(puzzle: Puzzle, truths: Bool[Array, " variables"]) -> Bool[Array, ""]:
    """Return whether an answer to one puzzle breaks no rule, known variables included; pure JAX.

    Arguments:
        puzzle: One puzzle.
        truths: Which variables are true.
    """
    return violation(puzzle, truths.astype(jnp.float32)) == 0


def violation(puzzle: Puzzle, y: Float[Array, " variables"]) -> Float[Array, ""]:
    r"""Return by how much an answer to one puzzle breaks the rules; differentiable.

    $$\sum_g \min_{t \in T_g} \|y_g - t\|^2 + \sum_{i\ \text{known}} (y_i - x_i)^2$$

    where $y_g$ are the entries of group $g$, and $T_g$ the zeros and ones that obey its rule: of
    exactly one, for example, the nearest has its one where $y_g$ is largest. The sum is zero for
    answers of zeros and ones with which `broken_rules` finds no fault, and for no others. Any right
    answer will do, so this is a loss for puzzles that have many. Where all entries are alike, it
    still says which to raise: the one that is largest by however little.

    Arguments:
        puzzle: One puzzle; every variable is in a group, or is known.
        y: A number for every variable.

    Examples:
        >>> board = Puzzle(jnp.zeros(16, jnp.int8), NamedRules("queens", 4))
        >>> y = jnp.zeros((4, 4)).at[jnp.arange(4), jnp.array([1, 3, 0, 2])].set(1)
        >>> float(violation(board, y.ravel())), float(violation(board, jnp.zeros(16)))
        (0.0, 8.0)
    """
    truths = (puzzle.known == 1).astype(y.dtype)
    total = jnp.sum(jnp.where(puzzle.known != 0, jnp.square(y - truths), 0))
    for family in puzzle.families:
        total += jnp.sum(_group_violations(family, y))
    return total


def _group_violations(family: Family, y: Float[Array, " variables"]) -> Float[Array, " groups"]:
    """Return the squared distance of every group from the nearest entries that obey its rule."""
    is_member = family.members < y.shape[0]
    entries = jnp.take(y, family.members, mode="fill", fill_value=0)
    # By how much more it costs that the largest entry is one, and not zero.
    more = 1 - 2 * jnp.max(jnp.where(is_member, entries, -jnp.inf), axis=-1)
    costs = jnp.square(entries)
    if family.quota == Quota.AT_MOST_ONE:
        more = jnp.minimum(more, 0)
    elif family.quota == Quota.AT_LEAST_ONE:
        more = jnp.maximum(more, 0)
        costs = jnp.where(is_member, jnp.minimum(costs, jnp.square(1 - entries)), 0)
    # A group without members is only there to fill up.
    return jnp.where(jnp.any(is_member, axis=-1), jnp.sum(costs, axis=-1) + more, 0)


def box_shape(symbols: int) -> tuple[int, int]:
    """Return the rows and columns of a box of a Sudoku: as square as the number of symbols allows.

    Examples:
        >>> box_shape(9), box_shape(6)
        ((3, 3), (2, 3))
    """
    rows = next(r for r in range(math.isqrt(symbols), 0, -1) if symbols % r == 0)
    return rows, symbols // rows


@functools.cache
def sudoku_families(symbols: int) -> Families:
    """Return the rules of a Sudoku: one symbol a cell; each once in a row, a column and a box.

    Rows and columns are one family, because a Sudoku may be transposed. Variable
    `(row * symbols + column) * symbols + symbol` says that a cell holds a symbol.
    """
    rows, columns = box_shape(symbols)
    boxes = _cube(symbols).reshape(columns, rows, rows, columns, symbols)
    boxes = boxes.transpose(0, 2, 4, 1, 3).reshape(-1, symbols).tolist()
    return *latin_families(symbols), Family.of(boxes, Quota.EXACTLY_ONE, symbols**3)


@functools.cache
def latin_families(symbols: int) -> Families:
    """Return the rules of a Latin square: one symbol a cell; each once in a row and a column."""
    cube = _cube(symbols)
    cells = cube.reshape(-1, symbols).tolist()
    lines = [
        line
        for turned in (cube.transpose(0, 2, 1), cube.transpose(1, 2, 0))
        for line in turned.reshape(-1, symbols).tolist()
    ]
    return tuple(Family.of(g, Quota.EXACTLY_ONE, symbols**3) for g in (cells, lines))


@functools.cache
def queens_families(size: int) -> Families:
    """Return the rules of queens on a board: one in every row and column, at most one a diagonal.

    Variable `row * size + column` says that a square holds a queen.
    """
    board = np.arange(size**2).reshape(size, size)
    offsets = range(-size + 2, size - 1)
    diagonals = [b.diagonal(k).tolist() for b in (board, board[::-1]) for k in offsets]
    lines = [*board.tolist(), *board.T.tolist()]
    return (
        Family.of(lines, Quota.EXACTLY_ONE, size**2),
        Family.of(diagonals, Quota.AT_MOST_ONE, size**2),
    )


RULES = {"sudoku": sudoku_families, "latin": latin_families, "queens": queens_families}
"""The rules of puzzles that depend on their size alone, by name."""


def colouring_families(nodes: int, edges: Iterable[tuple[int, int]], colours: int) -> Families:
    """Return the rules of a colouring: one colour a node; at an edge no colour twice.

    Variable `node * colours + colour` says that a node has a colour.
    """
    table = np.arange(nodes * colours).reshape(nodes, colours)
    pairs = [[int(table[a, c]), int(table[b, c])] for a, b in edges for c in range(colours)]
    return (
        Family.of(table.tolist(), Quota.EXACTLY_ONE, nodes * colours),
        Family.of(pairs, Quota.AT_MOST_ONE, nodes * colours),
    )


def _with_filler(flags: Any, numpy: Any) -> Any:
    """The flags, and one that is not set for the number that fills up lists."""
    return numpy.concatenate([flags, numpy.zeros((*flags.shape[:-1], 1), bool)], axis=-1)


def _cube(symbols: int) -> np.ndarray:
    """The variables by row, column and symbol."""
    return np.arange(symbols**3).reshape(symbols, symbols, symbols)


def _filled(lists: Sequence[Sequence[int]], filler: int) -> np.ndarray:
    """Lists of numbers as the rows of a table, the shorter ones filled up."""
    table = np.full((len(lists), max(map(len, lists), default=0)), filler, np.int32)
    for row, numbers in zip(table, lists, strict=True):
        row[: len(numbers)] = numbers
    return table


def known_of_grid(grid: np.ndarray) -> np.ndarray:
    """Return what a grid of symbols (0 where a cell is empty) says of its variables.

    Takes leading axes of problems.
    """
    symbols = grid.shape[-1]
    here = grid[..., None] == np.arange(1, symbols + 1)
    known = np.where(here, 1, np.where(grid[..., None] > 0, -1, 0)).astype(np.int8)
    return known.reshape(*grid.shape[:-2], symbols**3)


def grid_of_truths(truths: np.ndarray) -> np.ndarray:
    """Return the grid of symbols of an answer, 0 where a cell has none or several.

    Takes leading axes of problems.
    """
    symbols = round(truths.shape[-1] ** (1 / 3))
    cells = truths.reshape(*truths.shape[:-1], symbols, symbols, symbols)
    return np.where(cells.sum(-1) == 1, cells.argmax(-1) + 1, 0)
