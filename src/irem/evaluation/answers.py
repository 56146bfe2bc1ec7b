"""Drawings of problems and their answers: grids of symbols, mazes, lines, matrices, pictures."""

import operator
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import PyTree

from irem.formats import AbstractFormat, Cells, Pictures, Puzzles
from irem.mazes import END, START, WALL
from irem.problem import Graph
from irem.puzzles import Puzzle, box_shape

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _LINES, _FOUND = "#111827", "#374151", "#0f766e"
_WALL, _WHITE, _PATH = (np.array(c) / 255 for c in ((31, 41, 55), (255, 255, 255), (37, 99, 235)))
_ENDS = ((START, "o", "#16a34a"), (END, "D", "#dc2626"))
# Names of the symbols of puzzles: digits, then letters.
_SYMBOLS = "123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def one_of(batch: PyTree) -> PyTree:
    """Return the first problem of a batch."""
    return jax.tree.map(operator.itemgetter(0), batch)


def draw_answer(
    axes: "Axes", format_: AbstractFormat, x: PyTree, y: np.ndarray, like: np.ndarray
) -> None:
    """Draw one answer in the way of its format.

    Arguments:
        axes: Where to.
        format_: What problems look like.
        x: The problem.
        y: The answer.
        like: The right answer, from whose entries the range of colours is taken.
    """
    axes.set_axis_off()
    if isinstance(format_, Puzzles) and isinstance(x, Puzzle) and format_.puzzle is not None:
        draw_puzzle(axes, np.asarray(x.known), y)
    elif isinstance(format_, Cells) and format_.axes == 2:
        draw_maze(axes, np.asarray(x), np.clip(y, 0, 1))
    elif isinstance(format_, Pictures):
        axes.imshow(y, cmap="gray", vmin=0, vmax=1)
    else:
        real = np.asarray(x.pairs) if isinstance(x, Graph) else np.ones(y.shape, bool)
        draw_entries(axes, np.where(real, y, np.nan), np.where(real, like, np.nan))


def draw_entries(axes: "Axes", y: np.ndarray, like: np.ndarray) -> None:
    """Draw numbers as shades, a vector as the rows of a square: blue above zero, red below."""
    finite = like[np.isfinite(like)]
    limit = float(np.abs(finite).max()) if finite.size else 1.0
    limit = limit if limit > 0 else 1.0
    axes.imshow(_as_table(y), cmap="RdBu", vmin=-limit, vmax=limit, interpolation="nearest")


def _as_table(y: np.ndarray) -> np.ndarray:
    """A table as it is; a longer vector in rows of equal length, the last one filled up."""
    if y.ndim > 1:
        return y.reshape(-1, y.shape[-1])
    columns = max(1, round(y.size**0.5)) if y.size > 40 else y.size
    rows = -(-y.size // columns)
    padded = np.full(rows * columns, np.nan)
    padded[: y.size] = y
    return padded.reshape(rows, columns)


def draw_maze(axes: "Axes", symbols: np.ndarray, certain: np.ndarray) -> None:
    """Draw a maze with an answer: walls dark, floor white, the path as blue as it is certain.

    The start is a green circle, the end a red diamond.
    """
    shade = certain[..., None]
    picture = np.where(symbols[..., None] == WALL, _WALL, (1 - shade) * _WHITE + shade * _PATH)
    axes.imshow(np.clip(picture, 0, 1), interpolation="nearest")
    size = 110 / len(symbols)
    for symbol, mark, colour in _ENDS:
        row, column = np.argwhere(symbols == symbol)[0]
        style: dict[str, Any] = {"color": colour, "markersize": size, "markeredgecolor": "white"}
        axes.plot(column, row, mark, clip_on=False, **style)


def draw_puzzle(axes: "Axes", known: np.ndarray, entries: np.ndarray) -> None:
    """Draw a grid of symbols: givens bold, every other symbol as dark as it is certain.

    Arguments:
        axes: Where to.
        known: What is known of every cell and symbol, as `irem.puzzles.Puzzle` has it.
        entries: The answer: of every cell and symbol how certain it is.
    """
    size = round(entries.size ** (1 / 3))
    rows, columns = box_shape(size)
    axes.set_xlim(-0.05, size + 0.05)
    axes.set_ylim(size + 0.05, -0.05)
    axes.set_aspect("equal")
    for line in range(size + 1):
        for box, ends in ((columns, ([line, line], [0, size])), (rows, ([0, size], [line, line]))):
            axes.plot(*ends, color=_LINES, linewidth=1.6 if line % box == 0 else 0.4)
    givens = known.reshape(size**2, size) == 1
    for place, certain in enumerate(np.clip(entries.reshape(size**2, size), 0, 1)):
        _draw_cell(axes, place, givens[place], certain)


def _draw_cell(axes: "Axes", place: int, given: np.ndarray, certain: np.ndarray) -> None:
    """Draw the symbol of a cell, or those that it may have, smaller and paler."""
    size = len(certain)
    row, column = divmod(place, size)
    middle: dict[str, Any] = {"ha": "center", "va": "center"}
    if given.any() or certain.max() > 0.9:
        symbol = _SYMBOLS[int(given.argmax() if given.any() else certain.argmax())]
        colour, weight = (_INK, "bold") if given.any() else (_FOUND, "normal")
        style: dict[str, Any] = {"color": colour, "fontweight": weight, "fontsize": 99 / size}
        axes.text(column + 0.5, row + 0.54, symbol, **style, **middle)
        return
    side = int(np.ceil(size**0.5))
    for symbol, share in enumerate(certain):
        if share > 0.04:
            down, across = ((0.6 / side + 0.9 * i / side) for i in divmod(symbol, side))
            style = {"color": _FOUND, "alpha": float(share), "fontsize": 45 / size}
            axes.text(column + across, row + down, _SYMBOLS[symbol], **style, **middle)
