"""A slice of a landscape through descents that were watched."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

_LOW, _HIGH = -0.35, 1.45
_NUMBERS_AT_ONCE = 2**19
_MOST_AT_ONCE = 48


@dataclasses.dataclass(frozen=True)
class Slice:
    """The plane through the end of a descent and two first guesses.

    The end is at (0, 0), its first guess at (1, 0), the other one at (0, 1).

    Arguments:
        origin: The end of the descent.
        axes: What (1, 0) and (0, 1) are away from there.
        ticks: The coordinates at which energies are computed, along both axes.
    """

    origin: np.ndarray
    axes: np.ndarray
    ticks: np.ndarray

    @staticmethod
    def through(points: Sequence[np.ndarray], other: np.ndarray, resolution: int) -> Slice:
        """Return the plane through the ends of a path and another first guess."""
        origin = np.asarray(points[-1], np.float64)
        axes = np.stack([np.ravel(points[0] - origin), np.ravel(other - origin)], axis=1)
        return Slice(origin, axes, np.linspace(_LOW, _HIGH, resolution))

    def parts(self) -> Iterator[np.ndarray]:
        """Yield the points row by row, as many at a time as fit; the last ones are repeated."""
        first, second = np.meshgrid(self.ticks, self.ticks)
        places = np.stack([first.ravel(), second.ravel()], axis=1)
        at_once = max(1, min(_MOST_AT_ONCE, _NUMBERS_AT_ONCE // max(1, self.origin.size)))
        for begin in range(0, len(places), at_once):
            chosen = np.minimum(np.arange(begin, begin + at_once), len(places) - 1)
            offsets = (places[chosen] @ self.axes.T).reshape(-1, *self.origin.shape)
            yield (self.origin + offsets).astype(np.float32)

    def energies(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Return the energies of all points as a table: rows along the second axis."""
        size = len(self.ticks)
        return np.concatenate(parts)[: size**2].reshape(size, size)

    def project(self, points: Sequence[np.ndarray]) -> np.ndarray:
        """Return the coordinates of some points on the plane."""
        offsets = np.stack([np.ravel(point - self.origin) for point in points], axis=1)
        return np.linalg.lstsq(self.axes, offsets, rcond=None)[0].T
