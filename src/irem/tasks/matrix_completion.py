"""Fill in the missing half of a noisy low-rank matrix."""

import dataclasses
import functools
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from irem.checks import count
from irem.domain import Domain, Rule, as_arrays
from irem.errors import InputError
from irem.formats import Tables, Vectors
from irem.missing import given_entries
from irem.problem import Problem
from irem.tasks.base import AbstractTask, Difficulty
from irem.tasks.wide_tables import draw_table, mean_filled, sampled_mean

_RANK = 10
_NOISE = 0.1
# Standard deviation of the entries of each factor. The released program divides the product of
# standard normal factors by 20 or 5; the text gives each factor's deviation (Appendix C).
_FACTOR = {
    "released": {"same": 20**-0.5, "harder": 5**-0.5},
    "paper": {"same": 0.22, "harder": 0.47},
}
_BURN_IN, _DRAWS = 50, 600
# Entries have to be smaller, so that their squares are finite in 32 bits.
_LARGEST = 1e15


@dataclasses.dataclass(frozen=True, kw_only=True)
class MatrixCompletion(AbstractTask):
    r"""`x` is a matrix with half of its entries set to zero, `y` is the whole matrix.

    The matrix is $U V^\top + 0.1\,\epsilon$ with `U` and `V` of rank 10; harder problems have
    larger factors. The noise is part of the answer, so no method reaches zero.

    The wide variant draws tables of rank 1 to 8 with or without noise, offsets and rounding, of
    which 30 to 95 % are given, and of harder ones 15 to 40 %. Their missing entries are NaN.

    Arguments:
        size: Rows of the matrix, and columns unless they are told.
        columns: Columns of the matrix.
        given: Share of the entries that are given; the wide variant draws its own.
    """

    name: ClassVar[str] = "matrix-completion"
    summary: ClassVar[str] = "fill in the missing half of a noisy low-rank 20 x 20 matrix"
    power: ClassVar[int | None] = 1  # nearly: its noise does not grow along
    variants: ClassVar[tuple[str, ...]] = ("released", "paper", "wide")
    complete_check: ClassVar[bool] = False  # nobody knows what is missing
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
        return Vectors(self._shape, self._shape, missing=self._is_wide)

    @property
    def any_size(self) -> Tables:
        """Tables of any size."""
        return Tables(1, self.format.x_shape, missing=self.format.missing)

    @property
    def domain(self) -> Domain:
        """Tables of which something is given."""
        rules = (_EMPTY_LINES,) if self._is_wide else ()
        return Domain(_SOMETHING_GIVEN, _NOT_TOO_LARGE, *rules)

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one problem."""
        self.check_difficulty(difficulty)
        if self._is_wide:
            return Problem(*draw_table(key, self._shape, str(difficulty)))
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
        """Keep what is given; elsewhere zero or, in the wide variant, the mean of it."""
        return jnp.vectorize(mean_filled, signature="(n,m)->(n,m)")(x) if self._is_wide else x

    def oracle(self, x: Float[Array, "*batch n m"]) -> Float[Array, "*batch n m"]:
        """Mean of the posterior under the training distribution, by Gibbs sampling of the factors.

        The prior of the training distribution is kept on harder problems too; it costs next to
        nothing there, because the data outweigh it. The best answer to tables of the wide variant
        is not known: a sampler with weak priors takes its place.
        """
        if self._is_wide:
            return jnp.vectorize(sampled_mean, signature="(n,m)->(n,m)")(x)
        posterior = functools.partial(_posterior_mean, scale=_FACTOR[self.variant]["same"])
        return jnp.vectorize(posterior, signature="(n,m)->(n,m)")(x)

    def residuals(self, x: Array | np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the largest change of a given entry, relative to their root mean square."""
        return np.array([_change(a, b) for a, b in zip(as_arrays(x), y, strict=True)])

    @property
    def _shape(self) -> tuple[int, int]:
        return self.size, self.columns or self.size

    @property
    def _is_wide(self) -> bool:
        return self.variant == "wide"


def _change(x: np.ndarray, y: np.ndarray) -> float:
    """The largest change of a given entry of one table; infinite if any answer is not finite."""
    given = given_entries(x)
    if not given.any() or not np.isfinite(y).all():
        return float("inf")
    largest = np.abs(y - x)[given].max()
    return float(largest / np.sqrt(np.mean(np.square(x[given])))) if largest > 0 else 0.0


def _nothing_given(x: np.ndarray) -> str | None:
    """Say how missing entries are written, if all of them are."""
    if given_entries(x).any():
        return None
    return (
        "no entry of the table is given; missing entries are NaN, infinite or empty cells or, in a "
        "table without any of those, zeros."
    )


def _too_large(x: np.ndarray) -> str | None:
    """Name the largest entry, if it is too large."""
    sizes = np.abs(np.where(np.isfinite(x), x, 0.0))
    if sizes.max() < _LARGEST:
        return None
    i, j = (int(k) for k in np.unravel_index(sizes.argmax(), x.shape))
    return f"entry ({i}, {j}) is {x[i, j]:g}; divide the table by a number of that size."


_SOMETHING_GIVEN = Rule(
    "at least one entry is given; missing ones are NaN, infinite or empty cells or, in a table "
    "without any of those, zeros",
    _nothing_given,
)
_NOT_TOO_LARGE = Rule(f"entries are smaller than {_LARGEST:g}", _too_large)
_EMPTY_LINES = Rule(
    "a row of which nothing is given is answered by the mean of the other rows as completed, and "
    "so is a column",
    lambda _: None,
)


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
