"""Units in which a model sees problems and answers."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from irem.formats import AbstractFormat, Vectors
from irem.problem import Graph, Problem

_OWN = {"none": (0.0, 0.0), "size": (0.0, 1.0), "mean-and-size": (1.0, 1.0)}

RELATIVE = tuple(_OWN)
"""Whether numbers are also measured relative to the mean and the size of their own problem."""

# Smaller than so much of the largest scale, a spread is that of rounding: the column is constant.
_CONSTANT = 1e-6


class Units(eqx.Module):
    """Centre and scale of every entry of problems and answers.

    Arguments:
        x_centre: Centres of the entries of a problem; for graphs and pictures one number.
        x_scale: Their scales.
        y_centre: Centres of the entries of an answer.
        y_scale: Their scales.
        own: Whether the mean and the size of a problem's own numbers are its units before that,
            each 0 or 1: an answer then moves and grows along with its problem.
    """

    x_centre: Float[Array, "..."]
    x_scale: Float[Array, "..."]
    y_centre: Float[Array, "..."]
    y_scale: Float[Array, "..."]
    own: Float[Array, " 2"]

    @staticmethod
    def blank(format_: AbstractFormat) -> Units:
        """Return units that change nothing, of the shapes that problems of this format need."""
        vectors = isinstance(format_, Vectors)
        x_shape = format_.x_shape if vectors else ()
        y_shape = format_.y_shape if vectors else ()
        zero, one = jnp.zeros, jnp.ones
        return Units(zero(x_shape), one(x_shape), zero(y_shape), one(y_shape), zero(2))

    @staticmethod
    def of(format_: AbstractFormat, rows: Problem, relative: str) -> Units:
        """Return the means and standard deviations of rows, in the units of each problem."""
        own = jnp.asarray(_OWN[relative])
        x, y = (np.asarray(a, np.float64) for a in _in_own_units(rows, own))
        if isinstance(format_, Vectors):
            return Units(*_standard(x, 0), *_standard(y, 0), own)
        # A graph without an edge, and an answer of zero, stay zero.
        centred = not isinstance(rows.x, Graph)
        return Units(*_standard(x, None, centred), *_standard(y, None, centred), own)


def own_units(x: PyTree, own: Float[Array, " 2"]) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return mean and size of the numbers of one problem; 0 and 1 where they do not matter."""
    numbers, given = _numbers(x)
    count = jnp.maximum(given.sum(), 1)
    values = jnp.where(given, numbers, 0.0)
    centre = own[0] * values.sum() / count
    size = jnp.sqrt(jnp.where(given, jnp.square(values - centre), 0.0).sum() / count)
    return centre, jnp.where((own[1] > 0) & (size > 0), size, 1.0)


def _numbers(x: PyTree) -> tuple[Array, Array]:
    """The numbers of one problem, and which of them are given."""
    if isinstance(x, Graph):
        return x.edges, x.pairs & jnp.isfinite(x.edges)
    return x, jnp.isfinite(x)


@jax.jit
def _in_own_units(rows: Problem, own: Float[Array, " 2"]) -> tuple[Any, Any]:
    """Problems and answers of rows in the units of each problem; what is not given is NaN."""

    def one(row: Problem) -> tuple[Array, Array]:
        centre, size = own_units(row.x, own)
        numbers, given = _numbers(row.x)
        answer = (row.y - centre) / size
        if row.mask is not None:
            answer = jnp.where(row.mask, answer, jnp.nan)
        return jnp.where(given, (numbers - centre) / size, jnp.nan), answer

    return jax.vmap(one)(rows)


def _standard(
    rows: np.ndarray, axis: int | None, centred: bool = True
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Mean and standard deviation along an axis, or of all numbers; 0 and 1 of none."""
    given = np.isfinite(rows)
    count = np.maximum(given.sum(axis), 1)
    values = np.where(given, rows, 0.0)
    mean = values.sum(axis) / count
    centre = mean if centred else np.zeros_like(mean)
    variance = np.where(given, np.square(values - centre), 0.0).sum(axis) / count
    scale = np.sqrt(variance)
    constant = scale <= _CONSTANT * np.maximum(np.abs(mean), np.finfo(np.float32).tiny)
    return jnp.asarray(centre, float), jnp.asarray(np.where(constant, 1.0, scale), float)
