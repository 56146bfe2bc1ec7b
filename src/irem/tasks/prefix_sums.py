"""The parity of every prefix of a line of bits."""

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
from irem.mazes import OUTSIDE
from irem.problem import Problem
from irem.tasks.base import AbstractTask, Difficulty

_SIZES = {"same": 32, "harder": 512}
_LARGEST = 1_000_000


@dataclasses.dataclass(frozen=True, kw_only=True)
class PrefixSums(AbstractTask):
    """`x` is a line of fair bits, `y` says of every bit whether the sum up to it is odd.

    `same` has 32 bits, `harder` 512; a number is that many bits. No bit can be answered without all
    bits before it.
    """

    name: ClassVar[str] = "prefix-sums"
    summary: ClassVar[str] = "find the parity of every prefix of a line of bits"
    binary: ClassVar[bool] = True
    variants: ClassVar[tuple[str, ...]] = ("fair",)
    trivial_mse: ClassVar = {"same": 0.25, "harder": 0.25}
    oracle_mse: ClassVar = {"same": 0.0, "harder": 0.0}

    variant: str = "fair"

    @property
    def format(self) -> Cells:
        """Lines of any length."""
        return Cells(axes=1, symbols=2)

    def check_difficulty(self, difficulty: Difficulty) -> None:
        """Refuse a name that this task does not have, and lengths that it does not make."""
        if isinstance(difficulty, str):
            known("difficulty", difficulty, self.difficulties)
        elif isinstance(difficulty, bool) or not 1 <= difficulty <= _LARGEST:
            raise InputError(
                f"Task '{self.name}' makes lines of 1 to {_LARGEST:,} bits, got difficulty "
                f"{difficulty}."
            )

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one line."""
        self.check_difficulty(difficulty)
        bits = _SIZES[difficulty] if isinstance(difficulty, str) else difficulty
        x = jax.random.bernoulli(key, shape=(bits,)).astype(jnp.int8)
        return Problem(x, self.oracle(x))

    def trivial(self, x: Int[Array, "*batch bits"]) -> Float[Array, "*batch bits"]:
        """One half everywhere."""
        return jnp.where(x == OUTSIDE, 0.0, 0.5)

    def oracle(self, x: Int[Array, "*batch bits"]) -> Float[Array, "*batch bits"]:
        """The parities."""
        parities = jnp.cumsum(x == 1, axis=-1) % 2
        return jnp.where(x == OUTSIDE, 0, parities).astype(jnp.float32)

    @property
    def domain(self) -> Domain:
        """Lines of bits."""
        return Domain(Rule("every entry is 0 or 1", _no_bit))

    def residuals(self, x: Array | np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return how many bits of an answer are wrong, after rounding."""
        x = np.asarray(x)
        parities = np.cumsum(x == 1, axis=-1) % 2 == 1
        wrong = ((y > 0.5) != parities) & (x != OUTSIDE)
        undefined = (np.isnan(y) & (x != OUTSIDE)).any(axis=-1)
        return np.where(undefined, np.inf, wrong.sum(axis=-1))


def _no_bit(x: np.ndarray) -> str | None:
    """The first entry that is no bit, or that there is none."""
    inside = np.flatnonzero(x != OUTSIDE)
    if not inside.size:
        return "The line has no bits."
    wrong = np.flatnonzero(~np.isin(x[: inside[-1] + 1], (0, 1)))
    if not wrong.size:
        return None
    return f"Entry {wrong[0] + 1} is {x[wrong[0]]:g}; every entry is 0 or 1."
