"""Latin squares: fill a square so that every row and column has every symbol once."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from irem.domain import Domain, Rule
from irem.formats import Puzzles
from irem.problem import Problem
from irem.puzzles import NamedRules, Puzzle, latin_families
from irem.tasks.base import Difficulty
from irem.tasks.puzzle import AbstractPuzzleTask, given_twice, with_known

_ORDERS = {"same": 6, "harder": 9}
# The share of cells that are empty is uniform between these.
_FEWEST_EMPTY, _MOST_EMPTY = 0.4, 1.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Latin(AbstractPuzzleTask):
    """`x` is a Latin square with holes, `y` says of every cell and symbol whether it is there.

    `same` has 6 symbols, `harder` 9; a number is that of the symbols. From 40 to 100 % of the cells
    are empty.
    """

    name: ClassVar[str] = "latin"
    summary: ClassVar[str] = "fill in a Latin square"
    # Another solution than `y` is as right, so there is no least error.
    trivial_mse: ClassVar = {"same": 0.0972, "harder": 0.0691}
    smallest: ClassVar[int] = 2
    largest: ClassVar[int] = 32
    size_noun: ClassVar[str] = "symbols"

    @property
    def format(self) -> Puzzles:
        """Grids of symbols, or puzzles of any size."""
        return Puzzles(2, self.name)

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one Latin square, and take symbols away."""
        self.check_difficulty(difficulty)
        order = _ORDERS[difficulty] if isinstance(difficulty, str) else difficulty
        key_square, key_share, key_cells = jax.random.split(key, 3)
        square = latin_square(key_square, order)
        share = jax.random.uniform(key_share, minval=_FEWEST_EMPTY, maxval=_MOST_EMPTY)
        filled = ~jax.random.bernoulli(key_cells, share, (order, order, 1))
        known = jnp.where(filled, jnp.where(square, 1, -1), 0).astype(jnp.int8)
        x = Puzzle(known.ravel(), NamedRules(self.name, order))
        return Problem(x, square.astype(jnp.float32).ravel())

    def trivial(self, x: Puzzle) -> Float[Array, "*batch variables"]:
        """Every symbol as likely as any other where nothing is known."""
        return with_known(x, 1 / round(x.known.shape[-1] ** (1 / 3)))

    @property
    def domain(self) -> Domain:
        """Squares in which no symbol is given twice; whether there is a solution is open."""
        return Domain(Rule("no symbol is given twice in a row or column", _given_twice))


def latin_square(key: PRNGKeyArray, order: int) -> Bool[Array, "order order order"]:
    """Draw a Latin square, as the truth of every row, column and symbol.

    A cyclic square with its rows, columns and symbols in a random order, and then as many moves of
    Jacobson and Matthews (1996) as it has cells, which leave the squares that are cyclic but for
    an order. Squares are not quite equally likely after so few.
    """
    key_order, key_moves, key_rest = jax.random.split(key, 3)
    rows, columns, symbols = jax.vmap(lambda k: jax.random.permutation(k, order))(
        jax.random.split(key_order, 3)
    )
    cyclic = (rows[:, None] + columns) % order
    cube = (symbols[cyclic][..., None] == jnp.arange(order)).astype(jnp.int32)
    if order < 3:  # no other moves than those of the order
        return cube > 0
    moves = order**2
    cube = jax.lax.fori_loop(
        0, moves, lambda i, c: _move(jax.random.fold_in(key_moves, i), c), cube
    )
    # Moves go through squares with one entry of -1, in which none may end.
    cube, _ = jax.lax.while_loop(
        lambda carry: jnp.any(carry[0] < 0),
        lambda carry: (_move(jax.random.fold_in(key_rest, carry[1]), carry[0]), carry[1] + 1),
        (cube, jnp.zeros((), jnp.int32)),
    )
    return cube > 0


def _move(
    key: PRNGKeyArray, cube: Int[Array, "order order order"]
) -> Int[Array, "order order order"]:
    """Return a square after one move: at the entry of -1 if there is one, else at any zero."""
    order = cube.shape[0]
    keys = jax.random.split(key, 4)
    improper = jnp.any(cube < 0)
    at = _one_of(keys[0], jnp.where(improper, cube < 0, cube == 0).ravel())
    row, column, symbol = jnp.unravel_index(at, cube.shape)
    other_row = _one_of(keys[1], cube[:, column, symbol] > 0)
    other_column = _one_of(keys[2], cube[row, :, symbol] > 0)
    other_symbol = _one_of(keys[3], cube[row, column, :] > 0)
    numbers = jnp.arange(order)
    change = [
        (numbers == here).astype(cube.dtype) - (numbers == there)
        for here, there in ((row, other_row), (column, other_column), (symbol, other_symbol))
    ]
    return cube + jnp.einsum("r,c,s->rcs", *change)


def _one_of(key: PRNGKeyArray, flags: Bool[Array, " n"]) -> Int[Array, ""]:
    """The place of one of the flags that are set, each as likely as any other."""
    return jnp.argmax(jnp.where(flags, jax.random.uniform(key, flags.shape), -1.0))


def _given_twice(known: np.ndarray) -> str | None:
    """The first symbol that is given twice in a row or column."""
    _, lines = latin_families(round(known.size ** (1 / 3)))
    return given_twice(known, (lines,))
