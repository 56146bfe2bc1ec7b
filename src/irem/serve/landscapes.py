"""A slice of a landscape through descents that were watched."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, PyTree

from irem.descent.precision import widened

_LOW, _HIGH = -1 / 3, 1.5
# The ends of two paths are at the same place if the other one is so much nearer to the axis of the
# first path than the other first guess is.
_APART = 0.01
_NUMBERS_AT_ONCE = 2**19
_MOST_AT_ONCE = 48


@dataclasses.dataclass(frozen=True)
class Slice:
    """The plane through the end of a descent, its first guess, and a third point.

    The end is at (0, 0), its first guess at (1, 0), the third point at (0, 1).

    Arguments:
        origin: The end of the descent.
        axes: What (1, 0) and (0, 1) are away from there.
        ticks: The coordinates at which energies are computed, along both axes; 0 and 1 are among
            them, so that narrow minima are met.
    """

    origin: np.ndarray
    axes: np.ndarray
    ticks: np.ndarray

    @staticmethod
    def through(points: Sequence[np.ndarray], others: Sequence[np.ndarray], fine: int) -> Slice:
        """Return the plane through the ends of a path and one of another.

        Arguments:
            points: The path.
            others: The other path. Its end is on the plane, so that the ends of two descents can be
                compared; where both paths end at the same place, its first guess is.
            fine: In how many parts 1 is divided.
        """
        origin, first, guess, end = (
            np.ravel(point).astype(np.float64)
            for point in (points[-1], points[0], others[0], others[-1])
        )
        aside = _distance(end - origin, first - origin) > _APART * _distance(
            guess - origin, first - origin
        )
        axes = np.stack([first - origin, (end if aside else guess) - origin], axis=1)
        ticks = np.arange(round(_LOW * fine), round(_HIGH * fine) + 1) / fine
        return Slice(origin.reshape(np.shape(points[-1])), axes, ticks)

    def parts(self) -> Iterator[np.ndarray]:
        """Yield the points row by row, as many at a time as fit; the last ones are repeated."""
        first, second = np.meshgrid(self.ticks, self.ticks)
        places = np.stack([first.ravel(), second.ravel()], axis=1)
        at_once = max(1, min(_MOST_AT_ONCE, _NUMBERS_AT_ONCE // max(1, self.origin.size)))
        for begin in range(0, len(places), at_once):
            chosen = np.minimum(np.arange(begin, begin + at_once), len(places) - 1)
            offsets = (places[chosen] @ self.axes.T).reshape(-1, *self.origin.shape)
            yield self.origin + offsets

    def energies(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Return the energies of all points as a table: rows along the second axis."""
        size = len(self.ticks)
        return np.concatenate(parts)[: size**2].reshape(size, size)

    def project(self, points: Sequence[np.ndarray]) -> np.ndarray:
        """Return the coordinates of some points on the plane."""
        offsets = np.stack([np.ravel(point - self.origin) for point in points], axis=1)
        return np.linalg.lstsq(self.axes, offsets, rcond=None)[0].T


def _distance(point: np.ndarray, direction: np.ndarray) -> float:
    """Return how far a point is from the line through zero with a direction."""
    along = point @ direction / max(direction @ direction, np.finfo(float).tiny)
    return float(np.linalg.norm(point - along * direction))


def compile_heights(
    model: Any, x: PyTree, points: np.ndarray, *, double: bool
) -> Callable[[PyTree, np.ndarray], np.ndarray]:
    """Return the function of a problem and some points that computes their energies.

    Arguments:
        model: The energy.
        x: A problem.
        points: As many points as it computes.
        double: Whether it computes in 64 bits.
    """
    precision = np.float64 if double else np.float32

    def cast(array: np.ndarray) -> np.ndarray:
        return array.astype(precision) if array.dtype.kind == "f" else array

    def heights(arrays: PyTree, x: PyTree, points: Array) -> Array:
        return jax.lax.map(eqx.combine(arrays, rest).landscape(x), points)

    with jax.enable_x64(double), jax.default_matmul_precision("float32"):
        arrays, rest = eqx.partition(widened(model) if double else model, eqx.is_array)
        program = jax.jit(heights).lower(arrays, *jax.tree.map(cast, (x, points))).compile()

    def of_points(x: PyTree, points: np.ndarray) -> np.ndarray:
        with jax.enable_x64(double):
            return np.asarray(program(arrays, *jax.tree.map(cast, (x, points))))

    return of_points
