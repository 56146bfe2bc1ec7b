"""Find a shortest path through a maze."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from irem.checks import known
from irem.domain import Domain, Rule
from irem.errors import InputError
from irem.formats import Cells
from irem.mazes import (
    END,
    FLOOR,
    OUTSIDE,
    START,
    WALL,
    carve,
    nearest_shortest_path,
    open_walls,
    path_errors,
    scatter_walls,
    shortest_path,
    with_ends,
    with_joined_ends,
)
from irem.problem import Problem
from irem.tasks.base import AbstractTask, Difficulty

_SIZES = {"same": 9, "harder": 59}
_SMALLEST, _LARGEST = 3, 1001
# Shares of mixed mazes: those with walls opened, and those of scattered walls; others are trees.
_WITH_LOOPS, _SCATTERED = 0.4, 0.4
# In mixed mazes, the largest probability of a wall to be opened, and of a cell to be a
# scattered wall.
_MOST_OPENED, _MOST_WALLS = 0.6, 0.45
# The share of the floor that is on the path in mazes of 9 x 9 cells, start and end left out.
_ON_PATH = {"trees": 0.29, "loops": 0.23, "scattered": 0.08, "mixed": 0.155}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Maze(AbstractTask):
    """`x` is a maze of the symbols of `irem.mazes`, `y` is 1 on a shortest path from start to end.

    `same` has 9 x 9 cells, walls included, `harder` 59 x 59; an odd number is that many rows. Where
    there are several shortest paths `y` is a random one, and every one is verified.

    Arguments:
        variant: `"trees"` are mazes without loops, `"loops"` have some of their walls opened.
            `"scattered"` are no corridors: every cell by itself is a wall with a probability that
            is uniform in (0, 0.45) for each maze, so that there are wide open rooms. Of `"mixed"`
            two in five are scattered, one in five are trees; in each of the others walls are opened
            with a probability of its own, uniform in (0, 0.6).
        opened: The probability that a wall between two adjacent cells is opened to make loops.
    """

    name: ClassVar[str] = "maze"
    summary: ClassVar[str] = "find a shortest path through a maze"
    binary: ClassVar[bool] = True
    variants: ClassVar[tuple[str, ...]] = ("trees", "loops", "scattered", "mixed")
    trivial_mse: ClassVar = {"same": 0.1200, "harder": 0.0827}
    oracle_mse: ClassVar = {"same": 0.0, "harder": 0.0}

    variant: str = "trees"
    opened: float = 0.1

    def __post_init__(self) -> None:
        """Refuse settings that make no problem."""
        super().__post_init__()
        if not 0 <= self.opened <= 1:
            raise InputError(f"`opened` must be from 0 to 1, got {self.opened}.")

    @property
    def format(self) -> Cells:
        """Grids of any size."""
        return Cells(axes=2, symbols=4, symmetric=True)

    def check_difficulty(self, difficulty: Difficulty) -> None:
        """Refuse a name that this task does not have, and sizes that it does not make."""
        if isinstance(difficulty, str):
            known("difficulty", difficulty, self.difficulties)
        elif isinstance(difficulty, bool) or not (
            _SMALLEST <= difficulty <= _LARGEST and difficulty % 2
        ):
            raise InputError(
                f"Task '{self.name}' makes mazes of an odd number of rows from {_SMALLEST} to "
                f"{_LARGEST:,}, got difficulty {difficulty}."
            )

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one maze, and one of its shortest paths."""
        self.check_difficulty(difficulty)
        size = _SIZES[difficulty] if isinstance(difficulty, str) else difficulty
        key_kind, key_maze, key_path = jax.random.split(key, 3)
        x = self._maze(key_kind, key_maze, size)
        return Problem(x, shortest_path(key_path, x))

    def _maze(
        self, key_kind: PRNGKeyArray, key: PRNGKeyArray, size: int
    ) -> Int[Array, "height width"]:
        """Draw a maze of this variant."""
        if self.variant == "scattered":
            return _scattered(key, size)
        if self.variant != "mixed":
            return _corridors(key, size, self.opened if self.variant == "loops" else 0.0)
        key_any, key_share = jax.random.split(key_kind)
        which, share = jax.random.uniform(key_any), jax.random.uniform(key_share)
        opened = jnp.where(which < _WITH_LOOPS, _MOST_OPENED * share, 0.0)
        kinds = _corridors(key, size, opened), _scattered(key, size)
        return jnp.where(which < 1 - _SCATTERED, *kinds)

    def trivial(self, x: Int[Array, "*batch rows columns"]) -> Float[Array, "*batch rows columns"]:
        """Both ends, and every cell of the floor as likely on the path as any other."""
        by_symbol = {WALL: 0.0, FLOOR: _ON_PATH[self.variant], START: 1.0, END: 1.0}
        return jnp.asarray(list(by_symbol.values()))[x] * (x != OUTSIDE)

    def oracle(self, x: Int[Array, "*batch rows columns"]) -> Float[Array, "*batch rows columns"]:
        """A shortest path; zeros where there is none."""
        flat = jnp.reshape(x, (-1, *x.shape[-2:]))
        found = jax.vmap(lambda one: nearest_shortest_path(one, jnp.zeros(one.shape)))(flat)
        return found.reshape(x.shape)

    @property
    def domain(self) -> Domain:
        """Mazes with one start and one end, and a way between them."""
        return Domain(
            Rule("cells are walls (0), floor (1), the start (2) or the end (3)", _unknown_symbol),
            Rule("there is one start and one end", _not_one_of_each),
            Rule("there is a way from the start to the end", _no_way),
        )

    def residuals(self, x: Array | np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return by how many cells an answer fails to be a shortest path, after rounding.

        See `irem.mazes.path_errors`; the residual is zero for every shortest path.
        """
        return path_errors(np.asarray(x), y)


def _corridors(
    key: PRNGKeyArray, size: int, opened: float | Float[Array, ""]
) -> Int[Array, "height width"]:
    """A maze of corridors between cells, some of whose walls are opened."""
    key_carve, key_walls, key_ends = jax.random.split(key, 3)
    return with_ends(key_ends, open_walls(key_walls, carve(key_carve, size), opened))


def _scattered(key: PRNGKeyArray, size: int) -> Int[Array, "height width"]:
    """A maze of scattered walls."""
    key_share, key_walls, key_ends = jax.random.split(key, 3)
    share = _MOST_WALLS * jax.random.uniform(key_share)
    return with_joined_ends(key_ends, scatter_walls(key_walls, size, share))


def _unknown_symbol(x: np.ndarray) -> str | None:
    """The first cell with a symbol that mazes do not have."""
    wrong = np.argwhere(~np.isin(x, (OUTSIDE, WALL, FLOOR, START, END)))
    if not len(wrong):
        return None
    row, column = wrong[0]
    return (
        f"The cell in row {row + 1}, column {column + 1} is {x[row, column]:g}; cells are 0 "
        "(wall), 1 (floor), 2 (start) or 3 (end)."
    )


def _not_one_of_each(x: np.ndarray) -> str | None:
    """Which of start and end is missing, or there several times."""
    for symbol, name in ((START, "start"), (END, "end")):
        count = int((x == symbol).sum())
        if count != 1:
            return (
                f"The maze has no {name}; mark one cell as such."
                if count == 0
                else f"The maze has {count} cells that are its {name}; mark one alone."
            )
    return None


def _no_way(x: np.ndarray) -> str | None:
    """Whether walls part the start from the end: then no answer, not even all the floor, is one."""
    if np.isfinite(path_errors(x, np.zeros(x.shape))):
        return None
    return "There is no way from the start to the end."
