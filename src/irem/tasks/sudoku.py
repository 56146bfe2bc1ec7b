"""Sudoku: fill a grid so that every row, column and box has every symbol once."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray, UInt8

from irem.domain import Domain, Rule
from irem.errors import InputError
from irem.formats import Puzzles
from irem.problem import Problem
from irem.puzzles import (
    NamedRules,
    Puzzle,
    broken_rules,
    known_of_grid,
    obeys_rules,
    sudoku_families,
    with_excluded,
)
from irem.tasks.base import AbstractTask, Difficulty
from irem.tasks.puzzle import given_twice, with_known

_DATA = Path(__file__).parent / "data"

LISTS = _DATA / "sudoku-lists.npz"
"""Puzzles to test with, `tools/make_puzzles.py --lists --count 1000 --seed 0`."""

TRAINING = _DATA / "sudoku-training.npz"
"""A few puzzles to train on, `tools/make_puzzles.py --minimal 1600 --hard 400 --seed 2`."""

_SYMBOLS = 9
_PART = 10_000  # puzzles of a file that are looked at together
# Half of the puzzles of training have further cells of their solution, up to two fifths of them.
_WITH_MORE_GIVENS, _MOST_MORE_GIVENS = 0.5, 0.4


class Puzzles9(eqx.Module):
    """Puzzles of 9 x 9 cells with their solutions, as symbols from 1 to 9.

    Arguments:
        puzzles: The givens, 0 where a cell is empty.
        solutions: All cells.
        most_open: How many variables are open in the puzzle that has most of them, or more.
    """

    puzzles: UInt8[Array, "count 81"]
    solutions: UInt8[Array, "count 81"]
    most_open: int = eqx.field(static=True)

    @staticmethod
    def of(puzzles: np.ndarray, solutions: np.ndarray) -> Puzzles9:
        """Put puzzles where compiled programs read them, and see how many variables are open."""
        rules = sudoku_families(_SYMBOLS)
        most = 0
        for start in range(0, len(puzzles), _PART):
            grids = puzzles[start : start + _PART].reshape(-1, _SYMBOLS, _SYMBOLS)
            is_open = with_excluded(known_of_grid(grids), rules) == 0
            most = max(most, int(is_open.sum(axis=1).max()))
        with jax.ensure_compile_time_eval():  # the caller may be traced, the puzzles are not
            return Puzzles9(jnp.asarray(puzzles), jnp.asarray(solutions), -(-most // 16) * 16)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sudoku(AbstractTask):
    """`x` is a Sudoku with one solution, `y` says of every cell and symbol whether it is there.

    Difficulties are lists that come with irem: `easy` has 31 to 42 givens, `same` is minimal (no
    given can be left out; about 24 are left), `harder` takes a plain solver over 100 guesses.
    Training draws from a file of puzzles, to half of which it gives further cells.

    Arguments:
        puzzles: A file that `tools/make_puzzles.py` made, with hundreds of thousands of puzzles to
            train on; by default the few that come with irem.
    """

    name: ClassVar[str] = "sudoku"
    summary: ClassVar[str] = "fill in a Sudoku"
    binary: ClassVar[bool] = True
    difficulties: ClassVar[tuple[str, ...]] = ("easy", "same", "harder")
    training: ClassVar[str] = "training"
    # Of all puzzles of the lists.
    trivial_mse: ClassVar = {"easy": 0.0544, "same": 0.0690, "harder": 0.0709}
    oracle_mse: ClassVar = {"easy": 0.0, "same": 0.0, "harder": 0.0}
    variants: ClassVar[tuple[str, ...]] = ("unique",)

    variant: str = "unique"
    puzzles: str | None = None

    @functools.cached_property
    def banks(self) -> dict[str, Puzzles9]:
        """Puzzles by difficulty; files are read when they are first needed."""
        with np.load(LISTS) as lists:
            names = {"easy": "easy", "same": "minimal", "harder": "hard"}
            found = {d: (lists[f"{n}_puzzles"], lists[f"{n}_solutions"]) for d, n in names.items()}
        found["training"] = read_puzzles(TRAINING if self.puzzles is None else Path(self.puzzles))
        return {d: Puzzles9.of(*pair) for d, pair in found.items()}

    def leaves(self) -> dict[str, Any]:
        """Return the puzzles, so that compiled programs take them as an argument."""
        return {"banks": self.banks}

    def without_arrays(self) -> Sudoku:
        """Return what a model keeps of its task: the rules, which need no puzzles."""
        return _SudokuRules()

    @property
    def format(self) -> Puzzles:
        """Grids of symbols, or puzzles of any size."""
        return Puzzles(3, "sudoku")

    def check_difficulty(self, difficulty: Difficulty) -> None:
        """Refuse a difficulty that this task does not have."""
        if difficulty != self.training:
            super().check_difficulty(difficulty)

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one puzzle of a list."""
        self.check_difficulty(difficulty)
        key_place, key_more = jax.random.split(key)
        bank = self.banks[str(difficulty)]
        place = jax.random.randint(key_place, (), 0, bank.puzzles.shape[0])
        puzzle, solution = bank.puzzles[place], bank.solutions[place]
        if difficulty == self.training:
            puzzle = jnp.where(_more_givens(key_more, puzzle.shape), solution, puzzle)
        symbols = jnp.arange(1, _SYMBOLS + 1, dtype=jnp.uint8)
        given = puzzle[:, None] == symbols
        known = jnp.where(given, 1, jnp.where(puzzle[:, None] > 0, -1, 0)).astype(jnp.int8).ravel()
        rules = NamedRules(self.name, _SYMBOLS)
        is_open = with_excluded(known, rules.families) == 0
        (listed,) = jnp.nonzero(is_open, size=bank.most_open, fill_value=known.size)
        y = (solution[:, None] == symbols).astype(jnp.float32).ravel()
        return Problem(Puzzle(known, rules, listed), y)

    def trivial(self, x: Puzzle) -> Float[Array, "*batch variables"]:
        """Every symbol as likely as any other where nothing is known."""
        return with_known(x, 1 / round(x.known.shape[-1] ** (1 / 3)))

    def oracle(self, x: Puzzle) -> Float[Array, "*batch variables"]:
        """The solution, as a SAT solver finds it."""
        from irem.tasks.exact import solve_exactly  # noqa: PLC0415  (loads a SAT solver)

        return jnp.asarray(solve_exactly(x), jnp.float32)

    @property
    def domain(self) -> Domain:
        """Puzzles with exactly one solution. A SAT solver counts; no answer is taken from it."""
        return Domain(
            Rule("no symbol is given twice in a row, column or box", _given_twice),
            Rule("there is exactly one solution", _not_one_solution),
        )

    def residuals(self, x: Puzzle, y: np.ndarray) -> np.ndarray:
        """Return how many rules an answer breaks, once every entry is rounded to 0 or 1."""
        return broken_rules(x, y > 0.5).astype(np.float64)

    def holds(self, x: Puzzle, y: Float[Array, " variables"]) -> Bool[Array, ""]:
        """Return whether an answer to one puzzle breaks no rule, once it is rounded to 0 or 1."""
        return obeys_rules(x, y > 0.5)


class _SudokuRules(Sudoku):
    """What a trained model keeps of its task."""

    def leaves(self) -> dict[str, Any]:
        """Return nothing: rules need no puzzles."""
        return {}


def _more_givens(key: PRNGKeyArray, shape: tuple[int, ...]) -> Bool[Array, " cells"]:
    """Which further cells of a solution are given: of many puzzles none, of others up to a part."""
    key_any, key_share, key_cells = jax.random.split(key, 3)
    share = _MOST_MORE_GIVENS * jax.random.uniform(key_share) ** 2
    share = jnp.where(jax.random.bernoulli(key_any, _WITH_MORE_GIVENS), share, 0.0)
    return jax.random.bernoulli(key_cells, share, shape)


def read_puzzles(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the puzzles and solutions of a file that `tools/make_puzzles.py` made.

    Raises:
        InputError: It is no such file.
    """
    try:
        with np.load(path) as file:
            puzzles, solutions = file["puzzles"], file["solutions"]
    except (OSError, KeyError, ValueError) as error:
        raise InputError(
            f"'{path}' cannot be read as a file of puzzles ({error}); make one with "
            f"`python tools/make_puzzles.py --out {path}`."
        ) from error
    shape = (len(puzzles), _SYMBOLS**2)
    right = puzzles.shape == solutions.shape == shape and puzzles.dtype == np.uint8
    if not right or not len(puzzles) or not np.isin(solutions, range(1, _SYMBOLS + 1)).all():
        raise InputError(
            f"'{path}' has puzzles of shape {puzzles.shape} and type {puzzles.dtype}; expected "
            "rows of 81 symbols of type uint8, and as many complete solutions."
        )
    return puzzles, solutions


def _not_one_solution(known: np.ndarray) -> str | None:
    """Whether a puzzle contradicts itself, or leaves cells open."""
    solutions = _count_solutions(known.astype(np.int8).tobytes())
    if not solutions:
        return "The givens contradict each other: there is no solution; correct them."
    if solutions > 1:
        return "The puzzle has more than one solution; give more cells."
    return None


@functools.lru_cache(maxsize=2**16)
def _count_solutions(known: bytes) -> int:
    """The number of solutions, at most two; kept, because restarts ask again."""
    from irem.tasks.exact import count_solutions  # noqa: PLC0415  (loads a SAT solver)

    array = np.frombuffer(known, np.int8)
    return count_solutions(
        Puzzle(jnp.asarray(array), sudoku_families(round(array.size ** (1 / 3))))
    )


def _given_twice(known: np.ndarray) -> str | None:
    """The first symbol that is given twice in a row, column or box."""
    _, lines, boxes = sudoku_families(round(known.size ** (1 / 3)))
    return given_twice(known, (lines, boxes))
