"""Add two vectors."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem._checks import count
from irem._problem import Problem
from irem.tasks.base import AbstractTask, Difficulty

# Half-width of the uniform distribution of every entry (Appendix C of the paper).
_SCALE = {"same": 1.0, "harder": 2.5}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Addition(AbstractTask):
    """`x` holds two vectors as its rows, `y` is their sum; harder problems have larger entries.

    Arguments:
        size: Entries of each vector.
    """

    name: ClassVar[str] = "addition"
    summary: ClassVar[str] = "add two vectors of 400 entries"
    power: ClassVar[int | None] = 1
    paper_mse: ClassVar = {"same": 0.0003, "harder": 0.0021}
    trivial_mse: ClassVar = {"same": 0.6668, "harder": 4.1676}
    oracle_mse: ClassVar = {"same": 0.0, "harder": 0.0}

    size: int = 400

    def __post_init__(self) -> None:
        """Refuse settings that make no problem."""
        super().__post_init__()
        count("size", self.size)

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shapes of `x` and `y`."""
        return (2, self.size), (self.size,)

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one problem."""
        self.check_difficulty(difficulty)
        scale = _SCALE[str(difficulty)]
        x = jax.random.uniform(key, (2, self.size), minval=-scale, maxval=scale)
        return Problem(x, self.oracle(x))

    def trivial(self, x: Float[Array, "*batch 2 size"]) -> Float[Array, "*batch size"]:
        """Zero."""
        return jnp.zeros_like(x[..., 0, :])

    def oracle(self, x: Float[Array, "*batch 2 size"]) -> Float[Array, "*batch size"]:
        """The sum."""
        return x[..., 0, :] + x[..., 1, :]
