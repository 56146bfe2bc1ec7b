"""Invert a symmetric matrix."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from irem.checks import count
from irem.domain import Domain, Rule, as_arrays
from irem.formats import Graphs, Vectors
from irem.problem import Graph, Problem
from irem.tasks.base import AbstractTask, Difficulty

# What is added to the diagonal: the smaller, the worse the conditioning (Appendix C).
_RIDGE = {"same": 0.5, "harder": 0.1}
# Smallest and largest condition number of the wide variant.
_CONDITION = {"same": (1.0, 2e3), "harder": (2e3, 1e4)}
# The rounding of a number to 32 bits, relative to its size.
_ROUNDING = float(np.finfo(np.float32).eps) / 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class MatrixInverse(AbstractTask):
    r"""`y` is the inverse of the symmetric matrix `x`; harder problems are worse conditioned.

    With `R` uniform in (-1, 1), the released program draws $x = 2 R R^\top + r I$. The text of the
    paper says $x = R + R^\top + r I$, whose inverse has no finite variance, so the paper's numbers
    cannot come from it.

    The wide variant draws positive definite matrices with eigenvalues of many kinds, half of them
    diagonal, of condition up to 2,000 and harder ones up to 10,000; their inverses have singular
    values of root mean square 1, so that the squared error is a relative one.

    Arguments:
        size: Rows of the matrix.
    """

    name: ClassVar[str] = "matrix-inverse"
    summary: ClassVar[str] = "invert a symmetric 20 x 20 matrix"
    power: ClassVar[int | None] = -1
    variants: ClassVar[tuple[str, ...]] = ("released", "paper", "wide")
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

    @property
    def any_size(self) -> Graphs:
        """Square matrices."""
        return Graphs()

    @property
    def domain(self) -> Domain:
        """Symmetric matrices, which have to be positive definite but in the paper's variant."""
        if self.variant == "paper":
            return Domain(_SYMMETRIC, _REGULAR)
        rules = (_CONDITIONED,) if self.variant == "wide" else ()
        return Domain(_SYMMETRIC, _POSITIVE, *rules)

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one problem."""
        self.check_difficulty(difficulty)
        if self.variant == "wide":
            return self._sample_wide(key, *_CONDITION[str(difficulty)])
        r = jax.random.uniform(key, (self.size, self.size), minval=-1.0, maxval=1.0)
        if self.variant == "released":
            symmetric = 2 * jnp.matmul(r, r.T, precision="highest")
        else:
            symmetric = r + r.T
        x = symmetric + _RIDGE[str(difficulty)] * jnp.eye(self.size)
        return Problem(x, self.oracle(x))

    def _sample_wide(self, key: PRNGKeyArray, lowest: float, highest: float) -> Problem:
        """Draw a matrix with a condition number in a range, and its inverse."""
        key_condition, key_values, key_basis, key_diagonal = jax.random.split(key, 4)
        bounds = {"minval": np.log(lowest), "maxval": np.log(highest)}
        condition = jnp.exp(jax.random.uniform(key_condition, (), **bounds))
        values = _eigenvalues(key_values, self.size, condition)
        values *= jnp.sqrt(jnp.mean(jnp.square(1 / values)))
        diagonal = jax.random.bernoulli(key_diagonal)
        basis = jnp.where(diagonal, jnp.eye(self.size), _orthogonal(key_basis, self.size))
        with jax.default_matmul_precision("float32"):
            x, y = (symmetric(basis * v @ basis.T) for v in (values, 1 / values))
        return Problem(x, y)

    def trivial(self, x: Float[Array, "*batch n n"]) -> Float[Array, "*batch n n"]:
        """The mean inverse over training problems, a multiple of the identity by symmetry.

        The text's variant has no mean inverse; there the answer is zero.
        """
        scale = {"released": MEAN_INVERSE, "wide": WIDE_MEAN_INVERSE}.get(self.variant, 0.0)
        return jnp.broadcast_to(scale * jnp.eye(x.shape[-1]), x.shape)

    def oracle(self, x: Graph | ArrayLike) -> Float[Array, "*batch n n"]:
        """The inverse; zero beyond the real nodes of a graph."""
        x = Graph.of(x)
        real = jnp.linalg.inv(jnp.where(x.pairs, x.edges, jnp.eye(x.edges.shape[-1])))
        return jnp.where(x.pairs, real, 0.0)

    def residuals(self, x: Graph | Array | np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return bounds of the relative errors: the size of `x y - 1`, and what rounding adds.

        Since `y - inv(x)` is `inv(x) (x y - 1)`, its norm is at most that of `inv(x)` times the
        largest singular value of `x y - 1`. A matrix that was given in 64 bits was rounded, which
        counts as much as it is badly conditioned.
        """
        if isinstance(x, Graph):
            real = [np.ix_(nodes, nodes) for nodes in np.asarray(x.nodes)]
            y = [answer[pairs] for answer, pairs in zip(y, real, strict=True)]  # pyright: ignore
        return np.array([_residual(a, b) for a, b in zip(as_arrays(x), y, strict=True)])


# Mean diagonal entry of the inverse over 10^6 problems of size 20 at difficulty `same`.
# tools/floors.py prints it again.
MEAN_INVERSE = 0.3626
# The same of the wide variant, over 20,000 problems.
WIDE_MEAN_INVERSE = 0.698


def symmetric(x: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return the symmetric part of a matrix."""
    return 0.5 * (x + x.T)


def _eigenvalues(
    key: PRNGKeyArray, size: int, condition: Float[Array, ""]
) -> Float[Array, " size"]:
    """Draw eigenvalues from 1 over the condition number to 1, of one of five kinds."""
    key_places, key_share, key_kind = jax.random.split(key, 3)
    places = jax.random.uniform(key_places, (size,)).at[0].set(1.0).at[-1].set(0.0)
    smallest = 1 / condition
    first, last = jnp.arange(size) == 0, jnp.arange(size) == size - 1
    kinds = (
        condition ** (places - 1),
        smallest + (1 - smallest) * places,
        jnp.where(last, smallest, 1.0),
        jnp.where(first, 1.0, smallest),
        jnp.where(places > jax.random.uniform(key_share), 1.0, smallest),
    )
    return jnp.stack(kinds)[jax.random.randint(key_kind, (), 0, len(kinds))]


def _orthogonal(key: PRNGKeyArray, size: int) -> Float[Array, "size size"]:
    """Draw an orthogonal matrix, the product of three reflections."""
    normals = jax.random.normal(key, (3, size))
    basis = jnp.eye(size)
    for normal in normals / jnp.linalg.norm(normals, axis=1, keepdims=True):
        basis = basis - 2 * jnp.outer(basis @ normal, normal)
    return basis


def _residual(x: np.ndarray, y: np.ndarray) -> float:
    """A bound of the relative error of `y` as the inverse of `x`."""
    product = x @ y - np.eye(len(x))
    if not np.isfinite(product).all():
        return float("inf")
    rounded = _ROUNDING * np.linalg.norm(x) * np.linalg.norm(y, 2)
    return float(np.linalg.norm(product, 2) + rounded)


def _asymmetry(x: np.ndarray) -> str | None:
    """Say which two entries differ that should not."""
    difference = np.abs(x - x.T)
    if difference.max() <= 1e-5 * np.abs(x).max():
        return None
    i, j = sorted(int(k) for k in np.unravel_index(difference.argmax(), x.shape))
    return (
        f"The matrix is not symmetric: entry ({i}, {j}) is {x[i, j]:g} and entry ({j}, {i}) is "
        f"{x[j, i]:g}; the inverse of any matrix m is that of the symmetric m.T @ m, times m.T."
    )


def _not_positive(x: np.ndarray) -> str | None:
    """Say what the smallest eigenvalue is, if it is not above zero as far as 32 bits tell."""
    values = np.linalg.eigvalsh((x + x.T) / 2)
    if values[0] > 2 * _ROUNDING * values[-1]:
        return None
    if values[0] < -2 * _ROUNDING * np.abs(values).max():
        return (
            f"The matrix is not positive definite: its smallest eigenvalue is {values[0]:.4g}; the "
            "inverse of a symmetric matrix m is that of m @ m, times m."
        )
    return _singular(values)


def _not_regular(x: np.ndarray) -> str | None:
    """Say that an eigenvalue is zero, as far as 32 bits tell."""
    values = np.linalg.eigvalsh((x + x.T) / 2)
    nearest = np.abs(values).min()
    return None if nearest > 2 * _ROUNDING * np.abs(values).max() else _singular(values)


def _singular(values: np.ndarray) -> str:
    nearest = values[np.abs(values).argmin()]
    return (
        f"The matrix is singular: it has the eigenvalue {nearest:.2g} beside one of size "
        f"{np.abs(values).max():.4g}; add a multiple of the identity if that is what you mean."
    )


_SYMMETRIC = Rule("the matrix is square and symmetric", _asymmetry)
_POSITIVE = Rule("the matrix is positive definite", _not_positive)
_REGULAR = Rule("the matrix is not singular", _not_regular)
_CONDITIONED = Rule(
    "its condition number is at most 1,000 (beyond that, more answers fail their check)",
    lambda _: None,
)
