"""Add two vectors."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from irem.checks import count
from irem.formats import Tables, Vectors
from irem.problem import Problem
from irem.tasks.base import AbstractTask, Difficulty
from irem.tasks.entries import entry_residuals, many_sizes

# Half-width of the uniform distribution of every entry (Appendix C of the paper).
_SCALE = {"same": 1.0, "harder": 2.5}
# Size of the largest entries of the wide variant; the smallest have one over it.
_LARGEST = {"same": 1e3, "harder": 1e6}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Addition(AbstractTask):
    """`x` holds two vectors as its rows, `y` is their sum; harder problems have larger entries.

    Entries of the wide variant are of many sizes, side by side, and some are zero.

    Arguments:
        size: Entries of each vector.
    """

    name: ClassVar[str] = "addition"
    summary: ClassVar[str] = "add two vectors of 400 entries"
    power: ClassVar[int | None] = 1
    variants: ClassVar[tuple[str, ...]] = ("released", "paper", "wide")
    trivial_mse: ClassVar = {"same": 0.6668, "harder": 4.1676}
    oracle_mse: ClassVar = {"same": 0.0, "harder": 0.0}

    size: int = 400

    def __post_init__(self) -> None:
        """Refuse settings that make no problem."""
        super().__post_init__()
        count("size", self.size)

    @property
    def format(self) -> Vectors:
        """Shapes of `x` and `y`."""
        return Vectors((2, self.size), (self.size,))

    @property
    def any_size(self) -> Tables:
        """Two vectors of one length."""
        return Tables(2, self.format.x_shape)

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one problem."""
        self.check_difficulty(difficulty)
        if self.variant == "wide":
            x = many_sizes(key, (2, self.size), _LARGEST[str(difficulty)])
            return Problem(x, self.oracle(x))
        scale = _SCALE[str(difficulty)]
        x = jax.random.uniform(key, (2, self.size), minval=-scale, maxval=scale)
        return Problem(x, self.oracle(x))

    def operands(
        self, key: PRNGKeyArray, operations: int, problems: int
    ) -> Float[Array, "operands problems size"]:
        """Draw the operands of nested additions, uniform in (-1, 1)."""
        shape = (operations + 1, problems, self.size)
        return jax.random.uniform(key, shape, minval=-1.0, maxval=1.0)

    def join(
        self, y: Float[Array, "problems size"], operand: Float[Array, "problems size"]
    ) -> Float[Array, "problems 2 size"]:
        """Return the problems that add an operand to an answer."""
        return jnp.stack([y, operand], axis=1)

    def trivial(self, x: Float[Array, "*batch 2 size"]) -> Float[Array, "*batch size"]:
        """Zero."""
        return jnp.zeros_like(x[..., 0, :])

    def oracle(self, x: Float[Array, "*batch 2 size"]) -> Float[Array, "*batch size"]:
        """The sum."""
        return x[..., 0, :] + x[..., 1, :]

    def residuals(self, x: Array | np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the largest relative error of an entry, but for roundings of the two numbers."""
        numbers = np.asarray(x, np.float64)
        return entry_residuals(y, numbers.sum(axis=1), np.abs(numbers).sum(axis=1))
