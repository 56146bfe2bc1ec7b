"""Pictures of any size, made clean by a trained model."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int, PRNGKeyArray

from irem._checks import count, numeric
from irem._errors import InputError
from irem.descent import MAX_STEPS, Reason, Walkable, solve
from irem.methods._answers import answer
from irem.methods.base import AbstractBaseline

# Larger pictures are cut into squares of this size, each with a rim that its neighbours share.
_TILE, _RIM = 256, 32
_LARGEST = 512 * 512


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
    model: Walkable | AbstractBaseline,
    planes: Any,
    *,
    max_steps: int = MAX_STEPS,
    on_tiles: Callable[[int], None] | None = None,
    key: PRNGKeyArray,
) -> Denoised:
    """Take the noise out of a picture.

    A picture of more than 512 x 512 pixels is cleaned in overlapping tiles, which are blended, so
    that memory does not grow with its size.

    Arguments:
        model: A model that was trained on `denoise`.
        planes: A grey picture of shape (height, width), or planes of colour before that; brightness
            goes from 0 to 1. Every plane is cleaned by itself.
        max_steps: Step budget of every descent.
        on_tiles: Called with a number of tiles whenever so many more of `num_tiles` are done.
        key: For models that draw random numbers.

    Examples:
        `clean = irem.denoise(irem.load("runs/denoise").model, noisy, key=key).planes`
    """
    count("max_steps", max_steps)
    planes = np.asarray(numeric("planes", planes))
    if planes.ndim not in (2, 3) or planes.size == 0:
        raise InputError(
            f"A picture has the shape (height, width) or (planes, height, width), got "
            f"{planes.shape}."
        )
    stack = planes.reshape(-1, *planes.shape[-2:])
    whole = _is_small(stack.shape)
    tiles = stack if whole else _cut(stack)
    clean, steps, reasons = np.empty_like(tiles), [], []
    at_once = 1 if whole else 4
    for first in range(0, len(tiles), at_once):
        some = tiles[first : first + at_once]
        # A last batch that is not full is filled up: one shape compiles, not two.
        x = np.concatenate([some, np.repeat(some[-1:], at_once - len(some), axis=0)])
        y, taken, reason = _answers(model, x, max_steps, jax.random.fold_in(key, first))
        clean[first : first + at_once] = y[: len(some)]
        steps.append(taken[: len(some)])
        if reason is not None:
            reasons.append(reason[: len(some)])
        if on_tiles is not None:
            on_tiles(len(some))
    minima = [r for r in Reason if r.is_minimum]
    return Denoised(
        (clean if whole else _join(clean, stack.shape)).reshape(planes.shape),
        np.concatenate(steps),
        float(np.isin(np.concatenate(reasons), minima).mean()) if reasons else None,
    )


def num_tiles(planes: np.ndarray) -> int:
    """In how many parts `denoise` cleans a picture: planes, or tiles of planes."""
    sides = planes.shape[-2:]
    parts = 1 if _is_small(sides) else math.prod(len(_places(max(n, _TILE))) for n in sides)
    return parts * math.prod(planes.shape[:-2])


def _is_small(shape: tuple[int, ...]) -> bool:
    return math.prod(shape[-2:]) <= _LARGEST


def _answers(
    model: Walkable | AbstractBaseline, x: np.ndarray, max_steps: int, key: PRNGKeyArray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    if isinstance(model, AbstractBaseline):
        found = answer(model, x, key=key)
        return np.asarray(found.y), np.asarray(found.steps), None
    solution = solve(model, x, max_steps=max_steps, batch_size=len(x), key=key)
    return np.asarray(solution.y), np.asarray(solution.steps), np.asarray(solution.reason)


def _places(length: int) -> list[int]:
    """Where tiles begin along a side, the last one flush with its end."""
    inner = _TILE - 2 * _RIM
    return [min(i * inner, length - _TILE) for i in range(math.ceil((length - 2 * _RIM) / inner))]


def _cut(stack: np.ndarray) -> np.ndarray:
    """All tiles of all planes; a side shorter than a tile is mirrored at its end."""
    padded = _padded(stack)
    rows, columns = (_places(n) for n in padded.shape[1:])
    return np.stack(
        [p[r : r + _TILE, c : c + _TILE] for p in padded for r in rows for c in columns]
    )


def _join(tiles: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Planes of `shape` from their tiles; where tiles overlap, the nearer one counts more."""
    planes, height, width = shape
    tall, wide = max(height, _TILE), max(width, _TILE)
    ramp = np.minimum(np.arange(_TILE) + 1, np.arange(_TILE)[::-1] + 1).astype(np.float32)
    ramp = np.minimum(ramp, _RIM)
    weight = np.outer(ramp, ramp)
    total = np.zeros((planes, tall, wide), np.float32)
    weights = np.zeros((tall, wide), np.float32)
    corners = [(r, c) for r in _places(tall) for c in _places(wide)]
    for (row, column), some in zip(
        corners, tiles.reshape(planes, len(corners), _TILE, _TILE).swapaxes(0, 1), strict=True
    ):
        here = (slice(row, row + _TILE), slice(column, column + _TILE))
        total[:, *here] += weight * some
        weights[here] += weight
    return (total / weights)[:, :height, :width]


def _padded(stack: np.ndarray) -> np.ndarray:
    below, right = (max(0, _TILE - n) for n in stack.shape[1:])
    return np.pad(stack, ((0, 0), (0, below), (0, right)), mode="symmetric")
