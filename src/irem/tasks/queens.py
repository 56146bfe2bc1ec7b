"""Queens: place as many queens as a board has rows so that none attacks another."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from irem.domain import Domain, Rule
from irem.formats import Puzzles
from irem.problem import Problem
from irem.puzzles import NamedRules, Puzzle, queens_families
from irem.tasks.base import Difficulty
from irem.tasks.puzzle import AbstractPuzzleTask, with_known

_SIZES = {"training": 8, "same": 8, "harder": 16}
# Half of the boards of training have some queens of a solution: mostly one or two.
_WITH_GIVENS = 0.5


@dataclasses.dataclass(frozen=True, kw_only=True)
class Queens(AbstractPuzzleTask):
    """`x` is an empty board, `y` says of every square whether it holds a queen.

    `same` is a board of 8 x 8 squares, `harder` one of 16 x 16; a number is the rows of a board.
    Training draws from all 92 solutions of 8 queens, and gives some queens of half of the boards.
    """

    name: ClassVar[str] = "queens"
    summary: ClassVar[str] = "place queens so that none attacks another"
    training: ClassVar[str] = "training"
    # An empty board of n x n squares has 1 / n everywhere: (n - 1) / n^2. Another solution than `y`
    # is as right, so there is no least error.
    trivial_mse: ClassVar = {"same": 0.1094, "harder": 0.0586}
    smallest: ClassVar[int] = 4
    largest: ClassVar[int] = 64
    size_noun: ClassVar[str] = "rows"

    @property
    def format(self) -> Puzzles:
        """Boards of any size."""
        return Puzzles(2)

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one board and a solution."""
        self.check_difficulty(difficulty)
        size = _SIZES[difficulty] if isinstance(difficulty, str) else difficulty
        key_solution, key_given = jax.random.split(key)
        columns = _solution(key_solution, size)
        queens = columns[:, None] == jnp.arange(size)
        given = jnp.zeros(size, bool)
        if difficulty == self.training:
            given = _given(key_given, size)
        known = jnp.where(given[:, None], jnp.where(queens, 1, -1), 0).astype(jnp.int8)
        x = Puzzle(known.ravel(), NamedRules(self.name, size))
        return Problem(x, queens.astype(jnp.float32).ravel())

    def trivial(self, x: Puzzle) -> Float[Array, "*batch variables"]:
        """A queen as likely on any square of a row where nothing is known."""
        return with_known(x, 1 / math.isqrt(x.known.shape[-1]))

    @property
    def domain(self) -> Domain:
        """Boards on which no given queen attacks another; whether there is a solution is open."""
        return Domain(Rule("no two given queens attack each other", _attacked))


def _solution(key: PRNGKeyArray, size: int) -> Int[Array, " rows"]:
    """The column of the queen of every row: of 8 queens any solution, else one that is turned."""
    if size == _SIZES["training"]:
        solutions = jnp.asarray(eight_queens())
        return solutions[jax.random.randint(key, (), 0, len(solutions))]
    columns = jnp.asarray(constructed(size))
    flip_rows, flip_columns, transpose = jax.random.bernoulli(key, shape=(3,))
    columns = jnp.where(flip_rows, columns[::-1], columns)
    columns = jnp.where(flip_columns, size - 1 - columns, columns)
    return jnp.where(transpose, jnp.argsort(columns), columns)


def _given(key: PRNGKeyArray, size: int) -> Array:
    """Which rows have a given queen: none of half of the boards, few of most others."""
    key_any, key_number, key_rows = jax.random.split(key, 3)
    number = jnp.ceil((size - 1) * jax.random.uniform(key_number) ** 2)
    number = jnp.where(jax.random.bernoulli(key_any, _WITH_GIVENS), number, 0)
    return jax.random.permutation(key_rows, size) < number


@functools.cache
def eight_queens() -> np.ndarray:
    """Return the columns of the queens of all 92 solutions on a board of 8 x 8 squares."""
    size = _SIZES["training"]
    found: list[tuple[int, ...]] = [()]
    for row in range(size):
        found = [
            (*columns, column)
            for columns in found
            for column in range(size)
            if all(abs(column - c) not in (0, row - r) for r, c in enumerate(columns))
        ]
    return np.array(found, np.int32)


def constructed(size: int) -> np.ndarray:
    """Return the columns of the queens of one solution, for any board of 4 rows or more.

    The even columns and then the odd ones, with a few of them moved where `size` modulo 6 is 2 or 3
    (E. Pauls, 1874).
    """
    even, odd = list(range(2, size + 1, 2)), list(range(1, size + 1, 2))
    if size % 6 == 2:
        odd = [3, 1, *odd[3:], 5]
    elif size % 6 == 3:
        even, odd = [*even[1:], 2], [*odd[2:], 1, 3]
    return np.array([*even, *odd], np.int32) - 1


def _attacked(known: np.ndarray) -> str | None:
    """The first two given queens of which one attacks the other."""
    size = math.isqrt(known.size)
    for family in queens_families(size):
        for members in np.asarray(family.members):
            group = members[members < known.size]
            given = group[known[group] > 0]
            if given.size > 1:
                (row, column), (other_row, other_column) = (divmod(int(v), size) for v in given[:2])
                return (
                    f"The queen in row {row + 1}, column {column + 1} attacks that in row "
                    f"{other_row + 1}, column {other_column + 1}."
                )
    return None
