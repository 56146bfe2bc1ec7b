"""An energy on tables with missing entries: how little explains the entries that are given."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from irem.checks import count
from irem.energy.base import AbstractEnergy, require
from irem.errors import InputError
from irem.formats import Tables, Vectors
from irem.missing import given_entries
from irem.settings import HasFormat, setting, weights

# The smallest noise that is believed in, in roots of roundings: well above them, well below what
# anyone asks for. In units of the given entries that is 3e-5 in 32 bits and 1e-6 in 64.
_LEAST_NOISE = {"float32": 3e-5, "float64": 1e-6}
# Logarithm of the variance of the noise where a descent begins. Little noise keeps all components
# alive until the others are known.
_FIRST_LOG_NOISE = -7.0
# What a first guess adds at missing entries, in units of the given ones, so that restarts differ.
_JITTER = 1e-3
# The first offsets, in those units: at zero their gradient would vanish.
_FIRST_OFFSET = 1e-2
# Sizes are measured by that of a table of so many rows and columns.
_SIZE = 20.0


class LowRank(AbstractEnergy):
    r"""The evidence of a low-rank model of a table, as a landscape over the model.

    A point holds factors $U$ and $V$, offsets $a$ of rows and $b$ of columns, a constant $c$ and
    the logarithm of the variance $\sigma^2$ of noise. The model is $t_{ij} = (U V^\top)_{ij} + a_i
    + b_j + c$; given entries are read as they are and missing ones from the model. With
    $r^2$ the sum of squared deviations at the $N$ given entries, all in units of these,

    $$E = \tfrac N2 \log \sigma^2 + \frac{r^2}{2 \sigma^2}
        + \tfrac{\beta}{2} \sum_{ic} \log\Big(1 + \frac{\kappa}{\sigma^2}
          \langle u_c^2 \rangle \sum_{j \in i} v_{jc}^2\Big) + \ldots,$$

    with the same sum for columns and, with a weight of its own, for offsets. The sums are what the
    evidence of a model with normal factors takes off for each number that it has to determine,
    where all others are known: they choose the number of components, and
    shrink them by no more than the noise makes necessary. The three weights $\beta$ of components
    and offsets and $\kappa$ are learned; their logarithms are linear in those of the share
    of entries that are given and of the size of the table.

    Rows of which nothing is given are answered by the mean of the other rows as the model has
    them, and so are columns.

    Arguments:
        rank: The largest number of components.
        x_shape: Shape of a problem that may also be given as a flat row.
        key: Source of the initial weights, which need none: at zero they are the formula above.
    """

    in_double: ClassVar[bool] = True
    default_step: ClassVar[str] = "lbfgs"
    default_max_steps: ClassVar[int] = 20_000

    rank: int = setting(10)
    x_shape: tuple[int, ...] | None = eqx.field(static=True, kw_only=True, default=None)
    log_weights: Float[Array, "3 3"] = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the weights."""
        del key
        count("rank", self.rank)
        self.log_weights = jnp.zeros((3, 3))

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return the shape of a task of tables with missing entries."""
        shapes = require("LowRank", task, Vectors)
        if not shapes.missing or len(shapes.x_shape) != 2 or shapes.x_shape != shapes.y_shape:
            raise InputError(
                "The LowRank energy needs tables with missing entries and answers of their shape, "
                f"and '{task.name}' has problems of shape {shapes.x_shape} with answers of shape "
                f"{shapes.y_shape}."
            )
        return {"x_shape": shapes.x_shape}

    @property
    def format(self) -> Tables:
        """Tables of any size with missing entries."""
        return Tables(1, self.x_shape, missing=True)

    def landscape(self, x: Float[Array, "rows columns"]) -> Callable[[Array], Float[Array, ""]]:
        """Return the map from a model of the table to its energy."""
        table = _Table.of(x)
        given = table.given.astype(x.dtype)
        total = jnp.sum(given)
        components, offsets, scale = self._strengths(table.given)
        unit = 1 / math.sqrt(x.size)

        def energy(point: Float[Array, " numbers"]) -> Float[Array, ""]:
            model = self._split(point, x.shape)
            noise = jnp.exp(model.log_noise) + _LEAST_NOISE[str(point.dtype)] ** 2
            left = jnp.sum(given * jnp.square(table.entries - model.entries()))
            fit = total * jnp.log(noise) + left / noise
            paid = model.cost(given, scale / noise)
            return 0.5 * unit * (fit + components * paid[0] + offsets * paid[1])

        return energy

    def guess(
        self, x: Float[Array, "rows columns"], shape: tuple[int, ...], *, key: PRNGKeyArray
    ) -> Float[Array, "rows columns"]:
        """Return the given entries, and nearly zero elsewhere."""
        table = _Table.of(x)
        jitter = _JITTER * super().guess(x, shape, key=key).astype(x.dtype)
        return table.unit * jnp.where(table.given, table.entries, jitter)

    def begin(
        self, x: Float[Array, "rows columns"], y0: Array, *, key: PRNGKeyArray | None
    ) -> Float[Array, " numbers"]:
        """Return the leading singular vectors of a first guess as a model."""
        del key
        table = _Table.of(x)
        filled = jnp.where(table.given, table.entries, y0 / table.unit)
        u, values, v = jnp.linalg.svd(filled, full_matrices=False)
        rank = self._rank(x.shape)
        roots = jnp.sqrt(values[:rank])
        parts = (
            u[:, :rank] * roots,
            v[:rank].T * roots,
            jnp.where(table.given.any(1), _FIRST_OFFSET, 0.0),
            jnp.where(table.given.any(0), _FIRST_OFFSET, 0.0),
            jnp.zeros(1),
            jnp.full(1, _FIRST_LOG_NOISE),
        )
        return jnp.concatenate([jnp.ravel(part).astype(filled.dtype) for part in parts])

    def read(
        self, x: Float[Array, "rows columns"], point: Float[Array, " numbers"]
    ) -> Float[Array, "rows columns"]:
        """Return the given entries as they are, and the others as the model has them."""
        table = _Table.of(x)
        entries = self._split(point, x.shape).filled_in(table.given).entries()
        return jnp.where(table.given, x, table.unit * entries)

    def _rank(self, shape: tuple[int, ...]) -> int:
        return min(self.rank, *shape)

    def _split(self, point: Float[Array, " numbers"], shape: tuple[int, ...]) -> _Model:
        """Return the parts of a model."""
        (rows, columns), rank = shape, self._rank(shape)
        ends = [rows * rank, columns * rank, rows, columns, 1]
        ends = [sum(ends[: i + 1]) for i in range(len(ends))]
        u, v, a, b, c, log_noise = jnp.split(point, ends)
        return _Model(u.reshape(rows, rank), v.reshape(columns, rank), a, b, c[0], log_noise[0])

    def _strengths(self, given: Bool[Array, "rows columns"]) -> Float[Array, "3"]:
        """Return the weights of components, of offsets, and the factor in the logarithm."""
        dtype = self.log_weights.dtype
        share = jnp.mean(given, dtype=dtype)
        log_share = jnp.log(jnp.where(share > 0, share, 1.0))
        log_size = jnp.asarray(math.log(math.sqrt(given.size) / _SIZE), dtype)
        return jnp.exp(self.log_weights @ jnp.stack([jnp.ones((), dtype), log_share, log_size]))


class _Table(NamedTuple):
    """A table in units of its given entries; missing entries are zero.

    Arguments:
        entries: The entries over the unit.
        given: Which of them are given.
        unit: The root mean square of those; 1 where it is zero.
    """

    entries: Float[Array, "rows columns"]
    given: Bool[Array, "rows columns"]
    unit: Float[Array, ""]

    @staticmethod
    def of(x: Float[Array, "rows columns"]) -> _Table:
        given = given_entries(x)
        known = jnp.where(given, x, 0.0)
        # The largest entry comes first, so that no square overflows.
        largest = jnp.max(jnp.abs(known))
        largest = jnp.where(largest > 0, largest, 1.0)
        square = jnp.sum(jnp.square(known / largest)) / jnp.maximum(jnp.sum(given), 1)
        unit = largest * jnp.sqrt(jnp.where(square > 0, square, 1.0))
        return _Table(known / unit, given, unit)


class _Model(NamedTuple):
    """A low-rank model of a table with offsets."""

    u: Float[Array, "rows rank"]
    v: Float[Array, "columns rank"]
    a: Float[Array, " rows"]
    b: Float[Array, " columns"]
    c: Float[Array, ""]
    log_noise: Float[Array, ""]

    def entries(self) -> Float[Array, "rows columns"]:
        """Return the table without noise."""
        return self.u @ self.v.T + self.a[:, None] + self.b + self.c

    def filled_in(self, given: Bool[Array, "rows columns"]) -> _Model:
        """Return the model with means in place of the numbers of rows and columns without entries.

        Nothing determines those numbers, and the energy does not depend on them.
        """
        rows, columns = given.any(1), given.any(0)
        return self._replace(
            u=_with_means(self.u, rows),
            v=_with_means(self.v, columns),
            a=_with_means(self.a, rows),
            b=_with_means(self.b, columns),
        )

    def cost(
        self, given: Float[Array, "rows columns"], scale: Float[Array, ""]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return what the numbers of components cost, and those of offsets.

        Arguments:
            given: One where an entry is given, else zero.
            scale: What squares are multiplied by, such as one over the variance of the noise.
        """
        u, v, a, b = (jnp.square(part) for part in (self.u, self.v, self.a, self.b))
        rows = jnp.log1p(scale * jnp.mean(u, 0) * (given @ v))
        columns = jnp.log1p(scale * jnp.mean(v, 0) * (given.T @ u))
        row_offsets = jnp.log1p(scale * jnp.mean(a) * jnp.sum(given, 1))
        column_offsets = jnp.log1p(scale * jnp.mean(b) * jnp.sum(given, 0))
        return (
            jnp.sum(rows) + jnp.sum(columns),
            jnp.sum(row_offsets) + jnp.sum(column_offsets),
        )


def _with_means(numbers: Float[Array, "lines ..."], known: Bool[Array, " lines"]) -> Array:
    """Put the mean over known rows or columns in place of the others."""
    known = known.reshape(-1, *(1,) * (numbers.ndim - 1))
    total = jnp.sum(jnp.where(known, numbers, 0.0), 0)
    return jnp.where(known, numbers, total / jnp.maximum(jnp.sum(known), 1))
