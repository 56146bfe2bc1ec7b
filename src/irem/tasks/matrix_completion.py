"""Fill in the missing half of a noisy low-rank matrix."""

import dataclasses
import functools
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem.checks import count
from irem.errors import InputError
from irem.formats import Vectors
from irem.problem import Problem
from irem.tasks.base import AbstractTask, Difficulty

_RANK = 10
_NOISE = 0.1
# Standard deviation of the entries of each factor. The released program divides the product of
# standard normal factors by 20 or 5; the text gives each factor's deviation (Appendix C).
_FACTOR = {
    "released": {"same": 20**-0.5, "harder": 5**-0.5},
    "paper": {"same": 0.22, "harder": 0.47},
}
_BURN_IN, _DRAWS = 50, 600


@dataclasses.dataclass(frozen=True, kw_only=True)
class MatrixCompletion(AbstractTask):
    r"""`x` is a matrix with half of its entries set to zero, `y` is the whole matrix.

    The matrix is $U V^\top + 0.1\,\epsilon$ with `U` and `V` of rank 10; harder problems have
    larger factors. The noise is part of the answer, so no method reaches zero.

    Arguments:
        size: Rows of the matrix, and columns unless they are told.
        columns: Columns of the matrix.
        given: Share of the entries that are given.
    """

    name: ClassVar[str] = "matrix-completion"
    summary: ClassVar[str] = "fill in the missing half of a noisy low-rank 20 x 20 matrix"
    power: ClassVar[int | None] = 1  # nearly: its noise does not grow along
    trivial_mse: ClassVar = {"same": 0.0175, "harder": 0.2051}
    oracle_mse: ClassVar = {"same": 0.0162, "harder": 0.1575}
    oracle_problems: ClassVar[int | None] = 200

    size: int = 20
    columns: int | None = None
    given: float = 0.5

    def __post_init__(self) -> None:
        """Refuse settings that make no problem."""
        super().__post_init__()
        count("size", self.size)
        if self.columns is not None:
            count("columns", self.columns)
        if not 0 < self.given < 1:
            raise InputError(f"`given` must be a share between 0 and 1, got {self.given}.")

    @property
    def format(self) -> Vectors:
        """Shapes of `x` and `y`."""
        shape = (self.size, self.columns or self.size)
        return Vectors(shape, shape)

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one problem."""
        self.check_difficulty(difficulty)
        key_u, key_v, key_noise, key_given = jax.random.split(key, 4)
        scale = _FACTOR[self.variant][str(difficulty)]
        rows, columns = self.format.y_shape
        u = scale * jax.random.normal(key_u, (rows, _RANK))
        v = scale * jax.random.normal(key_v, (columns, _RANK))
        noise = _NOISE * jax.random.normal(key_noise, (rows, columns))
        y = jnp.matmul(u, v.T, precision="highest") + noise
        given = jax.random.bernoulli(key_given, self.given, y.shape)
        return Problem(jnp.where(given, y, 0.0), y)

    def trivial(self, x: Float[Array, "*batch n m"]) -> Float[Array, "*batch n m"]:
        """Keep what is given, zero elsewhere."""
        return x

    def oracle(self, x: Float[Array, "*batch n m"]) -> Float[Array, "*batch n m"]:
        """Mean of the posterior under the training distribution, by Gibbs sampling of the factors.

        The prior of the training distribution is kept on harder problems too; it costs next to
        nothing there, because the data outweigh it.
        """
        posterior = functools.partial(_posterior_mean, scale=_FACTOR[self.variant]["same"])
        return jnp.vectorize(posterior, signature="(n,m)->(n,m)")(x)


def _posterior_mean(x: Float[Array, "n m"], scale: float) -> Float[Array, "n m"]:
    """Posterior mean of the matrix given its nonzero entries, for factors N(0, scale^2)."""
    given = (x != 0).astype(x.dtype)
    key_v, key = jax.random.split(jax.random.key(0))
    v = scale * jax.random.normal(key_v, (x.shape[1], _RANK))

    def sweep(v: Array, key: PRNGKeyArray) -> tuple[Array, Array]:
        key_u, key_v = jax.random.split(key)
        u, mean_u = _draw_factor(key_u, x, given, v, scale)
        estimate = jnp.matmul(mean_u, v.T, precision="highest")
        v, _ = _draw_factor(key_v, x.T, given.T, u, scale)
        return v, estimate

    _, estimates = jax.lax.scan(sweep, v, jax.random.split(key, _BURN_IN + _DRAWS))
    return jnp.where(x != 0, x, estimates[_BURN_IN:].mean(0))


def _draw_factor(
    key: PRNGKeyArray,
    x: Float[Array, "n m"],
    given: Float[Array, "n m"],
    other: Float[Array, "m rank"],
    scale: float,
) -> tuple[Float[Array, "n rank"], Float[Array, "n rank"]]:
    """Draw every row of one factor given the other, and the mean it was drawn around."""
    precision = jnp.einsum("nm,mr,ms->nrs", given, other, other, precision="highest") / _NOISE**2
    precision = precision + jnp.eye(_RANK) / scale**2
    target = jnp.einsum("nm,mr->nr", x * given, other, precision="highest") / _NOISE**2
    factor = jnp.linalg.cholesky(precision)
    mean = jax.scipy.linalg.cho_solve((factor, True), target[..., None])[..., 0]
    noise = jax.random.normal(key, mean.shape)
    spread = jax.scipy.linalg.solve_triangular(factor, noise[..., None], trans=1, lower=True)
    return mean + spread[..., 0], mean
