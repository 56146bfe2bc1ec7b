"""Pictures of any size, made clean by a trained model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from irem.apps.pictures.fixed_points import clean
from irem.checks import numeric
from irem.descent import Reason
from irem.errors import InputError
from irem.evaluation import Answering


@dataclasses.dataclass(frozen=True)
class Tiling:
    """How pictures that are large are cut into tiles that overlap.

    Arguments:
        side: Largest height and width of a tile.
        rim: Pixels at each side of a tile that its neighbours share.
        largest: Pictures of at most so many pixels are not cut.
    """

    side: int = 512
    rim: int = 32
    largest: int = 512 * 512

    def is_small(self, shape: tuple[int, ...]) -> bool:
        """Return whether a picture of this shape is not cut."""
        return math.prod(shape[-2:]) <= self.largest

    def number(self, length: int) -> int:
        """Return how many tiles there are along a side."""
        return max(1, math.ceil((length - 2 * self.rim) / (self.side - 2 * self.rim)))

    def size(self, length: int) -> int:
        """Return how long tiles are along a side: as short as their number allows."""
        number = self.number(length)
        shortest = math.ceil((length + 2 * self.rim * (number - 1)) / number)
        # Networks fill pictures up to a multiple of 8.
        return min(length, self.side, 8 * math.ceil(shortest / 8))

    def places(self, length: int) -> list[int]:
        """Return where tiles begin along a side, evenly, the last one flush with its end."""
        number, rest = self.number(length), length - self.size(length)
        return [i * rest // max(1, number - 1) for i in range(number)]


@dataclasses.dataclass(frozen=True)
class Denoised:
    """Clean planes, and how they were found.

    Arguments:
        planes: Shaped like the noisy ones; not clipped.
        steps: Steps of every descent: one for each plane, or each tile of each plane.
        converged: Share of descents that ended in a minimum; `None` for a baseline.
    """

    planes: Float[np.ndarray, "*planes height width"]
    steps: Int[np.ndarray, " descents"]
    converged: float | None


def denoise(
    model: Answering,
    planes: Any,
    *,
    max_steps: int | None = None,
    on_tiles: Callable[[int], None] | None = None,
    tiling: Tiling | None = None,
    key: PRNGKeyArray,
) -> Denoised:
    """Take the noise out of a picture.

    A picture of more than 512 x 512 pixels is cleaned in overlapping tiles, which are blended, so
    that memory does not grow with its size. On the convolutional energy, steps go to what the
    network takes for the clean picture; where those do not end at a minimum, along the gradient.

    Arguments:
        model: A model that was trained on `denoise`.
        planes: A grey picture of shape (height, width), or planes of colour before that; brightness
            goes from 0 to 1. Every plane is cleaned by itself.
        max_steps: Step budget of every descent; by default as in `irem.solve`.
        on_tiles: Called with a number of tiles whenever so many more of `num_tiles` are done.
        tiling: How large pictures are cut; by default `Tiling()`.
        key: For models that draw random numbers.

    Examples:
        `clean = irem.denoise(irem.load("runs/denoise").model, noisy, key=key).planes`
    """
    tiling = Tiling() if tiling is None else tiling
    planes = np.asarray(numeric("planes", planes))
    if planes.ndim not in (2, 3) or planes.size == 0:
        raise InputError(
            f"A picture has the shape (height, width) or (planes, height, width), got "
            f"{planes.shape}."
        )
    stack = planes.reshape(-1, *planes.shape[-2:])
    whole = tiling.is_small(stack.shape)
    tiles = stack if whole else _cut(stack, tiling)
    cleaned, steps, reasons = np.empty_like(tiles), [], []
    for i in range(len(tiles)):
        found = clean(model, tiles[i : i + 1], max_steps=max_steps, key=jax.random.fold_in(key, i))
        cleaned[i] = np.asarray(found.y)[0]
        steps.append(np.asarray(found.steps))
        if found.reason is not None:
            reasons.append(np.asarray(found.reason))
        if on_tiles is not None:
            on_tiles(1)
    minima = [r for r in Reason if r.is_minimum]
    return Denoised(
        (cleaned if whole else _join(cleaned, stack.shape, tiling)).reshape(planes.shape),
        np.concatenate(steps),
        float(np.isin(np.concatenate(reasons), minima).mean()) if reasons else None,
    )


def num_tiles(planes: np.ndarray, tiling: Tiling | None = None) -> int:
    """Return in how many parts `denoise` cleans a picture: planes, or tiles of planes."""
    tiling = Tiling() if tiling is None else tiling
    sides = planes.shape[-2:]
    parts = 1
    if not tiling.is_small(sides):
        parts = math.prod(tiling.number(n) for n in sides)
    return parts * math.prod(planes.shape[:-2])


def _cut(stack: np.ndarray, tiling: Tiling) -> np.ndarray:
    """All tiles of all planes."""
    sides = stack.shape[1:]
    (tall, wide), (rows, columns) = map(tiling.size, sides), map(tiling.places, sides)
    return np.stack([p[r : r + tall, c : c + wide] for p in stack for r in rows for c in columns])


def _join(tiles: np.ndarray, shape: tuple[int, ...], tiling: Tiling) -> np.ndarray:
    """Planes of `shape` from their tiles; where tiles overlap, the nearer one counts more."""
    tall, wide = tiles.shape[1:]
    weight = np.outer(_ramp(tall, tiling.rim), _ramp(wide, tiling.rim))
    total, weights = np.zeros(shape, np.float32), np.zeros(shape[1:], np.float32)
    corners = [(r, c) for r in tiling.places(shape[1]) for c in tiling.places(shape[2])]
    of_planes = tiles.reshape(shape[0], len(corners), tall, wide)
    for (row, column), some in zip(corners, of_planes.swapaxes(0, 1), strict=True):
        here = (slice(row, row + tall), slice(column, column + wide))
        total[:, *here] += weight * some
        weights[here] += weight
    return total / weights


def _ramp(length: int, rim: int) -> np.ndarray:
    """Weights that rise over a rim from both ends."""
    from_ends = np.minimum(np.arange(length), np.arange(length)[::-1]) + 1
    return np.minimum(from_ends, rim).astype(np.float32)
