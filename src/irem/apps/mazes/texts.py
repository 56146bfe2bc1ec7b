"""Mazes as text: `#` for walls, spaces for floor, `S` and `E` for the start and the end."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from irem.apps.documents import AbstractDocument, read_text
from irem.errors import InputError
from irem.files import write_whole
from irem.mazes import END, FLOOR, START, WALL

_SYMBOLS = {"#": WALL, " ": FLOOR, "S": START, "E": END}
_PATH = "."


@dataclasses.dataclass(frozen=True)
class MazeText(AbstractDocument):
    """The mazes of a text, separated by empty lines.

    Arguments:
        lines: All lines of the text.
        first: The place of the first line of every maze, from 0.
        problems: The mazes.
    """

    lines: Sequence[str]
    first: Sequence[int]
    problems: Sequence[np.ndarray]

    @staticmethod
    def read(path: Path) -> MazeText:
        """Read a text. Lines that are shorter than others end in floor.

        Editors take spaces away from the ends of lines, so what is missing there is floor. A row of
        nothing but floor has to keep its spaces: an empty line ends a maze.
        """
        return MazeText.of(read_text(path), str(path))

    @staticmethod
    def of(lines: Sequence[str], source: str) -> MazeText:
        """Return the mazes among some lines, which errors say are of `source`."""
        starts = [i for i, line in enumerate(lines) if line and (i == 0 or not lines[i - 1])]
        if not starts:
            raise InputError(
                f"'{source}' has no mazes; expected lines of `#` for walls and spaces for floor, "
                "with `S` at the start and `E` at the end."
            )
        mazes = []
        for first in starts:
            last = next((i for i in range(first, len(lines)) if not lines[i]), len(lines))
            mazes.append(_read_maze(source, first, lines[first:last]))
        return MazeText(lines, starts, mazes)

    def write(self, out: Path, answers: Sequence[np.ndarray | None]) -> None:
        """Write the text with `.` on the paths between start and end."""
        lines = list(self.lines)
        for first, maze, y in zip(self.first, self.problems, answers, strict=True):
            if y is None:
                continue
            on_path = (y > 0.5) & (maze == FLOOR)
            for row in np.flatnonzero(on_path.any(axis=1)):
                lines[first + row] = _drawn(lines[first + row], on_path[row])
        write_whole(out, "".join(f"{line}\n" for line in lines).encode())

    def about(self, problem: int, sentence: str) -> str:
        """Return a sentence about a maze; of several it says on which line it begins."""
        if len(self.problems) == 1:
            return sentence
        return f"The maze from line {self.first[problem] + 1} on: {sentence}"


def _read_maze(source: str, first: int, rows: Sequence[str]) -> np.ndarray:
    """The symbols of one maze, whose first line has this place."""
    maze = np.full((len(rows), max(map(len, rows))), FLOOR, np.int8)
    for i, row in enumerate(rows):
        for j, character in enumerate(row):
            if character not in _SYMBOLS:
                raise InputError(
                    f"Line {first + i + 1} of '{source}' has {character!r} at place {j + 1}; "
                    "expected `#` for a wall, a space for floor, `S` or `E`."
                )
            maze[i, j] = _SYMBOLS[character]
    return maze


def _drawn(line: str, on_path: np.ndarray) -> str:
    """A line with a path; what lies beyond the path stays as it was."""
    last = int(np.flatnonzero(on_path)[-1])
    return "".join(
        _PATH if place < len(on_path) and on_path[place] else character
        for place, character in enumerate(line.ljust(last + 1))
    )
