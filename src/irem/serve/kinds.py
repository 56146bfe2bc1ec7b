"""Problems and answers as JSON, by what they look like."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from irem.apps.mazes import MazeText
from irem.apps.puzzles import PuzzleLine, PuzzleText
from irem.apps.sums import BitText
from irem.errors import InputError
from irem.formats import AbstractFormat, Cells, Graphs, Pictures, Puzzles, Tables
from irem.mazes import END, FLOOR, START, WALL
from irem.picture_files import Picture, parse_picture, picture_bytes
from irem.problem import Graph
from irem.puzzles import Puzzle, grid_of_truths
from irem.serve.base_kind import AbstractKind, Parsed, Question
from irem.serve.limits import Limits
from irem.serve.stacks import rows
from irem.tasks import AbstractTask

_NAMES = {"shortest-path": "graph", "connected-components": "relation"}
_MAZE = {WALL: "#", FLOOR: " ", START: "S", END: "E"}
_SYMBOLS = "123456789ABCDEFGHIJKLMNOP"
_UNDECIDED = "."


class PuzzleKind(AbstractKind):
    """Grids of symbols as text."""

    name = "puzzle"
    sides = 3

    def parse(self, value: Any) -> Parsed:
        """Return the puzzle of a line of characters."""
        text = _text(value, "grid", "the 81 characters of a Sudoku")
        self.check_entries(math.ceil(len(text) ** 1.5))
        (line,) = _one(PuzzleText.of([text], "grid").puzzles, "puzzle")
        return Parsed(line.grid, line)

    def of_arrays(self, x: np.ndarray) -> list[Question]:
        """Return the puzzles of an array, with digits and letters as their symbols."""
        return [dataclasses.replace(q, form=_line_of(q.parts[0])) for q in super().of_arrays(x)]

    def write(self, question: Question, ys: Sequence[np.ndarray]) -> dict[str, Any]:
        """Return the line with the symbols of an answer; `.` where none or several are there."""
        cells = grid_of_truths(np.asarray(ys[0]) > 0.5).ravel().tolist()
        symbols = question.form.symbols
        return {"grid": "".join(symbols[c - 1] if c else _UNDECIDED for c in cells)}

    def write_step(self, question: Question, ys: Sequence[np.ndarray]) -> dict[str, Any]:
        """Return the line, and how true each symbol of each cell is."""
        size = question.form.grid.shape[0]
        certainty = np.clip(ys[0], 0, 1).reshape(size, size, size)
        rounded = np.round(np.nan_to_num(certainty), 3)
        return {**self.write(question, ys), "certainty": numbers(rounded)}

    def problem(self, x: Puzzle) -> dict[str, Any]:
        """Return the givens."""
        return {"grid": _line_of(jax.tree.map(lambda leaf: leaf[None], x)).text}


class MazeKind(AbstractKind):
    """Mazes as text."""

    name = "maze"

    def parse(self, value: Any) -> Parsed:
        """Return the maze of lines of characters."""
        text = _text(value, "maze", "rows of `#`, spaces, `S` and `E` with line breaks between")
        self.check_entries(len(text))
        (maze,) = _one(MazeText.of(text.splitlines(), "maze").problems, "maze")
        self.check_entries(maze.size)
        return Parsed(maze)

    def write(self, question: Question, ys: Sequence[np.ndarray]) -> dict[str, Any]:
        """Return for every cell whether it is on the path."""
        del question
        return {"path": numbers(ys[0])}

    def problem(self, x: np.ndarray) -> dict[str, Any]:
        """Return the rows."""
        rows = np.asarray(x).tolist()
        return {"maze": "\n".join("".join(_MAZE.get(c, "#") for c in row) for row in rows)}


class BitsKind(AbstractKind):
    """Lines of bits as text."""

    name = "bits"
    sides = 1

    def parse(self, value: Any) -> Parsed:
        """Return the bits of a line of characters."""
        text = _text(value, "bits", "a line of 0 and 1")
        self.check_entries(len(text))
        (bits,) = _one(BitText.of(text.splitlines() or [""], "bits").problems, "line")
        return Parsed(bits)

    def write(self, question: Question, ys: Sequence[np.ndarray]) -> dict[str, Any]:
        """Return the parities, and the numbers that they are rounded from."""
        del question
        bits = "".join("1" if entry > 0.5 else "0" for entry in np.asarray(ys[0]).tolist())
        return {"bits": bits, "entries": numbers(ys[0])}

    def problem(self, x: np.ndarray) -> dict[str, Any]:
        """Return the line."""
        return {"bits": "".join(map(str, np.asarray(x).tolist()))}


class ArrayKind(AbstractKind):
    """Arrays of numbers as nested lists.

    Arguments:
        format_: What problems of the model look like.
        limits: How large they may be.
        name: The name of the kind.
    """

    least_axes = 2

    def __init__(self, format_: AbstractFormat, limits: Limits, name: str) -> None:
        super().__init__(format_, limits)
        self.name = name  # pyright: ignore[reportAttributeAccessIssue]
        self.sides = 1 if name == "vectors" else 2  # pyright: ignore[reportAttributeAccessIssue]
        self._missing = getattr(format_, "missing", False)

    def parse(self, value: Any) -> Parsed:
        """Return the problem of nested lists, in which `null` is a number that is not there."""
        if isinstance(value, dict):
            value = _field(value, "values", "nested lists of numbers")
        return Parsed(self._array(value))

    def _array(self, value: Any) -> np.ndarray:
        try:
            array = np.asarray(value, dtype=object)
        except ValueError as error:
            raise InputError(f"The lists are not rectangular ({error}).") from error
        flat = array.ravel().tolist()
        wrong = next((v for v in flat if not _is_number(v)), None)
        if wrong is not None:
            raise InputError(
                f"A problem is lists of numbers of the same length, and {str(wrong)!r:.40} is in "
                "them; give a number, or null where one is not there."
            )
        if None in flat and not self._missing:
            raise InputError(
                "An entry is null, and problems of this model have all their numbers; give one."
            )
        return np.array([np.nan if v is None else v for v in flat], float).reshape(array.shape)

    def write(self, question: Question, ys: Sequence[np.ndarray]) -> Any:
        """Return nested lists."""
        del question
        return numbers(ys[0])

    def problem(self, x: PyTree) -> Any:
        """Return nested lists."""
        return numbers(np.asarray(x.edges if isinstance(x, Graph) else x))


class PictureKind(AbstractKind):
    """Pictures as PNG files in base64."""

    name = "picture"

    def parse(self, value: Any) -> Parsed:
        """Return the planes of a picture, each of which is answered by itself."""
        text = _text(value, "png", "a picture as a PNG file in base64")
        try:
            data = base64.b64decode(text.partition("base64,")[2] or text, validate=True)
        except (binascii.Error, ValueError) as error:
            raise InputError(f"The picture is not base64 ({error}).") from error
        picture = parse_picture(io.BytesIO(data), Path("picture"))
        self.check_entries(math.prod(picture.planes.shape[1:]))
        return Parsed(picture.planes, picture)

    def read_all(self, values: Sequence[Any]) -> list[Question]:
        """Return the pictures of a request."""
        found = self._each(self.parse, values)
        return [Question(rows(self.format.as_batch(planes)[0]), form) for planes, form in found]

    def of_arrays(self, x: np.ndarray) -> list[Question]:
        """Return the grey pictures of an array, with brightness from 0 to 1."""
        found = super().of_arrays(x)
        return [dataclasses.replace(q, form=Picture(np.asarray(q.parts[0]))) for q in found]

    def write(self, question: Question, ys: Sequence[np.ndarray]) -> dict[str, str]:
        """Return the picture with other planes."""
        planes = np.clip(np.nan_to_num(np.stack(ys)), 0, 1).astype(np.float32)
        clean = picture_bytes(dataclasses.replace(question.form, planes=planes))
        return {"png": base64.b64encode(clean).decode()}

    def problem(self, x: np.ndarray) -> dict[str, str]:
        """Return a grey picture."""
        plane = np.clip(np.asarray(x, np.float32), 0, 1)[None]
        return {"png": base64.b64encode(picture_bytes(Picture(plane))).decode()}


def kind_of(task: AbstractTask, format_: AbstractFormat, limits: Limits) -> AbstractKind:
    """Return how problems of a model are written."""
    if isinstance(format_, Puzzles) and format_.puzzle is not None:
        return PuzzleKind(format_, limits)
    if isinstance(format_, Cells):
        return (BitsKind if format_.axes == 1 else MazeKind)(format_, limits)
    if isinstance(format_, Pictures):
        return PictureKind(format_, limits)
    if isinstance(format_, Graphs):
        return ArrayKind(format_, limits, _NAMES.get(task.name, "matrix"))
    if isinstance(format_, Tables):
        return ArrayKind(format_, limits, "table" if format_.channels == 1 else "vectors")
    return ArrayKind(format_, limits, "other")


def numbers(array: Any) -> Any:
    """Return an array as nested lists of plain numbers; `None` for those that are not finite."""
    array = np.asarray(array)
    if array.dtype.kind != "f":
        return array.tolist()
    flat = [_short(value) for value in array.ravel()]
    return _nested(flat, array.shape)


def number(value: Any) -> float | None:
    """Return one plain number; `None` where there is none or it is not finite."""
    return None if value is None else _short(np.asarray(value)[()])


def _short(value: Any) -> float | None:
    """Return a number of NumPy as a plain one, with no more digits than it has."""
    if not math.isfinite(value):
        return None
    is_short = getattr(value, "dtype", None) == np.float32
    return float(str(value)) if is_short else float(value)


def _nested(flat: list[Any], shape: tuple[int, ...]) -> Any:
    if not shape:
        return flat[0]
    if len(shape) == 1:
        return flat
    size = math.prod(shape[1:])
    return [_nested(flat[i * size : (i + 1) * size], shape[1:]) for i in range(shape[0])]


def _text(value: Any, field: str, expected: str) -> str:
    """Return a string, or that in a field of an object."""
    if isinstance(value, dict):
        value = _field(value, field, expected)
    if not isinstance(value, str):
        raise InputError(f"A problem is {expected}, got {_kind_of_json(value)}.")
    return value


def _field(value: dict[str, Any], field: str, expected: str) -> Any:
    if field not in value:
        raise InputError(f'A problem is an object {{"{field}": {expected}}}; it has no `{field}`.')
    return value[field]


def _one(found: Sequence[Any], what: str) -> Sequence[Any]:
    if len(found) != 1:
        raise InputError(f"One problem is one {what}, got {len(found)}; give a list of problems.")
    return found


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _kind_of_json(value: Any) -> str:
    names = {bool: "a truth value", int: "a number", float: "a number", list: "a list"}
    return "null" if value is None else names.get(type(value), "an object")


def _line_of(puzzle: Puzzle) -> PuzzleLine:
    """Return a puzzle of a batch of one as a line of text."""
    grid = grid_of_truths(np.asarray(puzzle.known)[0] == 1)
    symbols = _SYMBOLS[: grid.shape[0]]
    text = "".join(symbols[c - 1] if c else _UNDECIDED for c in grid.ravel().tolist())
    return PuzzleLine(1, text, symbols, grid)
