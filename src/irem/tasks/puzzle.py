"""What tasks of puzzles with many solutions share."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from irem.checks import known
from irem.errors import InputError
from irem.puzzles import Families, Puzzle, broken_rules, obeys_rules
from irem.tasks.base import AbstractTask, Difficulty


@dataclasses.dataclass(frozen=True, kw_only=True)
class AbstractPuzzleTask(AbstractTask):
    """Puzzles of any size that may have many solutions, of which `y` is one.

    An answer is verified by the rules, so that every solution counts as right. The error to `y`
    says little: another solution is as far from it as a wrong answer.
    """

    binary: ClassVar[bool] = True
    variants: ClassVar[tuple[str, ...]] = ("any",)
    smallest: ClassVar[int]
    """The smallest size that a difficulty may be."""
    largest: ClassVar[int]
    """The largest."""
    size_noun: ClassVar[str]
    """What a size counts."""

    variant: str = "any"

    def check_difficulty(self, difficulty: Difficulty) -> None:
        """Refuse a name that this task does not have, and sizes that it does not make."""
        if isinstance(difficulty, str):
            known("difficulty", difficulty, dict.fromkeys((*self.difficulties, self.training)))
        elif isinstance(difficulty, bool) or not self.smallest <= difficulty <= self.largest:
            raise InputError(
                f"Task '{self.name}' makes problems of {self.smallest} to {self.largest} "
                f"{self.size_noun}, got difficulty {difficulty}."
            )

    def oracle(self, x: Puzzle) -> Float[Array, "*batch variables"]:
        """A solution, as a SAT solver finds it."""
        from irem.tasks.exact import solve_exactly  # noqa: PLC0415  (loads a SAT solver)

        return jnp.asarray(solve_exactly(x), jnp.float32)

    def residuals(self, x: Puzzle, y: np.ndarray) -> np.ndarray:
        """Return how many rules an answer breaks, once every entry is rounded to 0 or 1."""
        return broken_rules(x, y > 0.5).astype(np.float64)

    def holds(self, x: Puzzle, y: Float[Array, " variables"]) -> Bool[Array, ""]:
        """Return whether an answer to one puzzle breaks no rule, once it is rounded to 0 or 1."""
        return obeys_rules(x, y > 0.5)


def with_known(x: Puzzle, share: float) -> Float[Array, "*batch variables"]:
    """Return what is known, and the share of true variables where nothing is."""
    return jnp.where(x.known == 0, share, (x.known > 0).astype(jnp.float32))


def given_twice(known: np.ndarray, families: Families) -> str | None:
    """Return a sentence about the first symbol of a grid that is given twice in a group."""
    symbols = round(known.size ** (1 / 3))
    members = np.concatenate([np.asarray(family.members) for family in families])
    twice = np.flatnonzero((known[members] > 0).sum(axis=1) > 1)
    if not twice.size:
        return None
    variables = members[twice[0]][known[members[twice[0]]] > 0]
    (row, column), (other_row, other_column) = (
        divmod(int(v) // symbols, symbols) for v in variables[:2]
    )
    return (
        f"The symbol {int(variables[0]) % symbols + 1} is given twice: in row {row + 1}, column "
        f"{column + 1}, and in row {other_row + 1}, column {other_column + 1}."
    )
