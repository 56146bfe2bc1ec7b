"""Mazes as pictures: black walls, white floor, a green start and a red end."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from irem.apps.documents import AbstractDocument
from irem.errors import InputError
from irem.mazes import END, FLOOR, START, WALL
from irem.picture_files import Picture, read_picture, write_picture

# Symbols and their colours; people draw in light and in dark green and red.
_COLOURS = (
    (WALL, (0.0, 0.0, 0.0)),
    (FLOOR, (1.0, 1.0, 1.0)),
    (START, (0.0, 1.0, 0.0)),
    (START, (0.0, 0.6, 0.0)),
    (END, (1.0, 0.0, 0.0)),
    (END, (0.7, 0.0, 0.0)),
)
# A pixel farther than this from all colours is refused; grey is by 0.87.
_FARTHEST = 0.6
_PATH = (0.26, 0.52, 0.96)


@dataclasses.dataclass(frozen=True)
class MazePicture(AbstractDocument):
    """The maze of a picture.

    Arguments:
        picture: The picture, in colours.
        cell: Rows and columns of pixels of a cell.
        problems: The maze.
    """

    picture: Picture
    cell: int
    problems: Sequence[np.ndarray]

    @staticmethod
    def read(path: Path) -> MazePicture:
        """Read a picture in which every cell has the same number of pixels, one or more."""
        picture = _in_colours(read_picture(path))
        symbols = _symbols(path, picture)
        cell = _cell_size(symbols)
        return MazePicture(picture, cell, [symbols[::cell, ::cell]])

    def write(self, out: Path, answers: Sequence[np.ndarray | None]) -> None:
        """Write the picture with a blue path between start and end."""
        (y,), (maze,) = answers, self.problems
        picture = self.picture
        if y is not None:
            on_path = (y > 0.5) & (maze == FLOOR)
            pixels = np.kron(on_path, np.ones((self.cell, self.cell), bool))
            planes = np.where(pixels, np.array(_PATH, np.float32)[:, None, None], picture.planes)
            alpha = picture.alpha
            alpha = None if alpha is None else np.where(pixels, 255, alpha).astype(alpha.dtype)
            picture = Picture(planes, alpha)
        write_picture(out, picture)

    def about(self, problem: int, sentence: str) -> str:
        """Return the sentence: a picture has one maze."""
        del problem
        return sentence


def _in_colours(picture: Picture) -> Picture:
    """A picture with three planes of 8 bits."""
    planes = np.repeat(picture.planes, 3, axis=0) if len(picture.planes) == 1 else picture.planes
    return Picture(planes, picture.alpha)


def _symbols(path: Path, picture: Picture) -> np.ndarray:
    """The symbol of every pixel, that of the nearest colour; what is transparent is white."""
    opaque = 1.0 if picture.alpha is None else picture.alpha / 255.0
    pixels = np.moveaxis(picture.planes * opaque + (1 - opaque), 0, -1)
    colours = np.array([colour for _, colour in _COLOURS])
    far = np.stack([np.linalg.norm(pixels - colour, axis=-1) for colour in colours])
    strange = np.argwhere(far.min(axis=0) > _FARTHEST)
    if len(strange):
        row, column = strange[0]
        found = tuple(np.rint(255 * pixels[row, column]).astype(int).tolist())
        raise InputError(
            f"The pixel in row {row + 1}, column {column + 1} of '{path}' has the colour {found}; "
            "a maze has black walls, white floor, a green start and a red end."
        )
    return np.array([symbol for symbol, _ in _COLOURS], np.int8)[far.argmin(axis=0)]


def _cell_size(symbols: np.ndarray) -> int:
    """The largest number of pixels that all borders between symbols are a multiple of."""
    borders = [*symbols.shape]
    for axis in (0, 1):
        changes = np.diff(symbols, axis=axis).any(axis=1 - axis)
        borders += (np.flatnonzero(changes) + 1).tolist()
    return math.gcd(*borders)
