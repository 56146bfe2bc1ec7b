"""Invert a symmetric matrix."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem.checks import count
from irem.formats import Vectors
from irem.problem import Problem
from irem.tasks.base import AbstractTask, Difficulty

# What is added to the diagonal: the smaller, the worse the conditioning (Appendix C).
_RIDGE = {"same": 0.5, "harder": 0.1}


@dataclasses.dataclass(frozen=True, kw_only=True)
class MatrixInverse(AbstractTask):
    r"""`y` is the inverse of the symmetric matrix `x`; harder problems are worse conditioned.

    With `R` uniform in (-1, 1), the released program draws $x = 2 R R^\top + r I$. The text of the
    paper says $x = R + R^\top + r I$, whose inverse has no finite variance, so the paper's numbers
    cannot come from it.

    Arguments:
        size: Rows of the matrix.
    """

    name: ClassVar[str] = "matrix-inverse"
    summary: ClassVar[str] = "invert a symmetric 20 x 20 matrix"
    power: ClassVar[int | None] = -1
    trivial_mse: ClassVar = {"same": 0.0141, "harder": 0.229}
    oracle_mse: ClassVar = {"same": 0.0, "harder": 0.0}

    size: int = 20

    def __post_init__(self) -> None:
        """Refuse settings that make no problem."""
        super().__post_init__()
        count("size", self.size)

    @property
    def format(self) -> Vectors:
        """Shapes of `x` and `y`."""
        return Vectors((self.size, self.size), (self.size, self.size))

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one problem."""
        self.check_difficulty(difficulty)
        r = jax.random.uniform(key, (self.size, self.size), minval=-1.0, maxval=1.0)
        if self.variant == "released":
            symmetric = 2 * jnp.matmul(r, r.T, precision="highest")
        else:
            symmetric = r + r.T
        x = symmetric + _RIDGE[str(difficulty)] * jnp.eye(self.size)
        return Problem(x, self.oracle(x))

    def trivial(self, x: Float[Array, "*batch n n"]) -> Float[Array, "*batch n n"]:
        """The mean inverse over training problems, a multiple of the identity by symmetry.

        The text's variant has no mean inverse; there the answer is zero.
        """
        scale = MEAN_INVERSE if self.variant == "released" else 0.0
        return jnp.broadcast_to(scale * jnp.eye(x.shape[-1]), x.shape)

    def oracle(self, x: Float[Array, "*batch n n"]) -> Float[Array, "*batch n n"]:
        """The inverse."""
        return jnp.linalg.inv(x)


# Mean diagonal entry of the inverse over 10^6 problems of size 20 at difficulty `same`.
# tools/floors.py prints it again.
MEAN_INVERSE = 0.3626
