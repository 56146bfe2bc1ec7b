"""Pictures of any size, made clean by a trained model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from irem.checks import numeric
from irem.descent import Reason, solve
from irem.errors import InputError
from irem.evaluation import Answering


@dataclasses.dataclass(frozen=True)
class Tiling:
    """How pictures that are large are cut into squares that overlap.

    Arguments:
        side: Height and width of a square.
        rim: Pixels at each side of a square that its neighbours share.
        largest: Pictures of at most so many pixels are not cut.
    """

    side: int = 256
    rim: int = 32
    largest: int = 512 * 512

    def is_small(self, shape: tuple[int, ...]) -> bool:
        """Return whether a picture of this shape is not cut."""
        return math.prod(shape[-2:]) <= self.largest

    def places(self, length: int) -> list[int]:
        """Return where squares begin along a side, the last one flush with its end."""
        inner = self.side - 2 * self.rim
        number = math.ceil((length - 2 * self.rim) / inner)
        return [min(i * inner, length - self.side) for i in range(number)]


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
    that memory does not grow with its size.

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
    clean, steps, reasons = np.empty_like(tiles), [], []
    at_once = 1 if whole else 4
    for first in range(0, len(tiles), at_once):
        some = tiles[first : first + at_once]
        # A last batch that is not full is filled up: one shape compiles, not two.
        x = np.concatenate([some, np.repeat(some[-1:], at_once - len(some), axis=0)])
        found = solve(model, x, max_steps=max_steps, key=jax.random.fold_in(key, first))
        clean[first : first + at_once] = np.asarray(found.y)[: len(some)]
        steps.append(np.asarray(found.steps)[: len(some)])
        if found.reason is not None:
            reasons.append(np.asarray(found.reason)[: len(some)])
        if on_tiles is not None:
            on_tiles(len(some))
    minima = [r for r in Reason if r.is_minimum]
    return Denoised(
        (clean if whole else _join(clean, stack.shape, tiling)).reshape(planes.shape),
        np.concatenate(steps),
        float(np.isin(np.concatenate(reasons), minima).mean()) if reasons else None,
    )


def num_tiles(planes: np.ndarray, tiling: Tiling | None = None) -> int:
    """Return in how many parts `denoise` cleans a picture: planes, or tiles of planes."""
    tiling = Tiling() if tiling is None else tiling
    sides = planes.shape[-2:]
    parts = 1
    if not tiling.is_small(sides):
        parts = math.prod(len(tiling.places(max(n, tiling.side))) for n in sides)
    return parts * math.prod(planes.shape[:-2])


def _cut(stack: np.ndarray, tiling: Tiling) -> np.ndarray:
    """All tiles of all planes; a side shorter than a tile is mirrored at its end."""
    side = tiling.side
    below, right = (max(0, side - n) for n in stack.shape[1:])
    padded = np.pad(stack, ((0, 0), (0, below), (0, right)), mode="symmetric")
    rows, columns = (tiling.places(n) for n in padded.shape[1:])
    return np.stack([p[r : r + side, c : c + side] for p in padded for r in rows for c in columns])


def _join(tiles: np.ndarray, shape: tuple[int, ...], tiling: Tiling) -> np.ndarray:
    """Planes of `shape` from their tiles; where tiles overlap, the nearer one counts more."""
    planes, height, width = shape
    side = tiling.side
    tall, wide = max(height, side), max(width, side)
    ramp = np.minimum(np.arange(side) + 1, np.arange(side)[::-1] + 1).astype(np.float32)
    ramp = np.minimum(ramp, tiling.rim)
    weight = np.outer(ramp, ramp)
    total = np.zeros((planes, tall, wide), np.float32)
    weights = np.zeros((tall, wide), np.float32)
    corners = [(r, c) for r in tiling.places(tall) for c in tiling.places(wide)]
    for (row, column), some in zip(
        corners, tiles.reshape(planes, len(corners), side, side).swapaxes(0, 1), strict=True
    ):
        here = (slice(row, row + side), slice(column, column + side))
        total[:, *here] += weight * some
        weights[here] += weight
    return (total / weights)[:, :height, :width]
