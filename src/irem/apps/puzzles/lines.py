"""Puzzles as lines of text, one grid of symbols each."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from irem.apps.documents import AbstractDocument, read_text
from irem.errors import InputError
from irem.files import write_whole
from irem.puzzles import grid_of_truths

_EMPTY = ".0"
_SMALLEST, _LARGEST = 4, 25
_DIGITS_AND_LETTERS = "123456789ABCDEFGHIJKLMNOP"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXY"
_FROM_ZERO = "0123456789ABCDEFGHIJKLMNO"


@dataclasses.dataclass(frozen=True)
class PuzzleLine:
    """One puzzle of a file.

    Arguments:
        number: The number of its line, from 1.
        text: The line.
        symbols: The characters of its symbols, the first for 1.
        grid: The symbols, 0 where a cell is empty.
    """

    number: int
    text: str
    symbols: str
    grid: np.ndarray

    def solved(self, y: np.ndarray) -> str:
        """Return the line with the cells of an answer that was verified."""
        cells = grid_of_truths(np.asarray(y) > 0.5).ravel()
        return "".join(self.symbols[cell - 1] for cell in cells)


@dataclasses.dataclass(frozen=True)
class PuzzleText(AbstractDocument):
    """A text whose lines are puzzles.

    Arguments:
        lines: All lines of the text.
        puzzles: The puzzles among them.
        problems: Their grids.
    """

    lines: Sequence[str]
    puzzles: Sequence[PuzzleLine]
    problems: Sequence[np.ndarray]

    @staticmethod
    def read(path: Path) -> PuzzleText:
        """Read a text as `read_lines` does."""
        return PuzzleText.of(read_text(path), str(path))

    @staticmethod
    def of(lines: Sequence[str], source: str) -> PuzzleText:
        """Return the puzzles among some lines, which errors say are of `source`."""
        puzzles = _puzzles(lines, source)
        return PuzzleText(lines, puzzles, [puzzle.grid for puzzle in puzzles])

    def write(self, out: Path, answers: Sequence[np.ndarray | None]) -> None:
        """Write solved lines in place of puzzles."""
        lines = list(self.lines)
        for puzzle, y in zip(self.puzzles, answers, strict=True):
            if y is not None:
                lines[puzzle.number - 1] = puzzle.solved(y)
        write_whole(out, "".join(f"{line}\n" for line in lines).encode())

    def about(self, problem: int, sentence: str) -> str:
        """Return a sentence about a puzzle, which says in which line it is."""
        return f"Line {self.puzzles[problem].number}: {sentence}"


def read_lines(path: Path) -> tuple[list[str], list[PuzzleLine]]:
    """Return all lines of a file, and the puzzles among them.

    Lines that are empty or begin with `#` are no puzzles. Empty cells are `.` or `0`. Larger grids
    go on with letters after 9; grids of letters alone begin at A, and where empty cells are `.` a
    `0` may be the first symbol.
    """
    lines = read_text(path)
    return lines, _puzzles(lines, str(path))


def _puzzles(lines: Sequence[str], source: str) -> list[PuzzleLine]:
    kept = [(i, line.strip()) for i, line in enumerate(lines, 1)]
    kept = [(i, line) for i, line in kept if line and not line.startswith("#")]
    if not kept:
        raise InputError(
            f"'{source}' has no puzzles; expected lines of 81 characters, one for each."
        )
    return [_read_line(source, number, line) for number, line in kept]


def _read_line(source: str, number: int, line: str) -> PuzzleLine:
    where = f"Line {number} of '{source}'"
    size = math.isqrt(len(line))
    if size**2 != len(line) or not _SMALLEST <= size <= _LARGEST:
        raise InputError(
            f"{where} has {len(line)} characters; expected 81 for a Sudoku of 9 x 9 cells (16 for "
            "4 x 4, 256 for 16 x 16), with `.` or `0` for empty cells."
        )
    letters = [character.upper() for character in line]  # one may become two
    symbols, empty = _alphabet(letters, size)
    cells = np.zeros(len(line), np.int64)
    for place, character in enumerate(letters):
        if character in empty:
            continue
        if character not in symbols:
            raise InputError(
                f"{where} has '{line[place]}' at place {place + 1}; expected one of {symbols}, or "
                "`.` for an empty cell."
            )
        cells[place] = symbols.index(character) + 1
    return PuzzleLine(number, line, symbols, cells.reshape(size, size))


def _alphabet(line: Sequence[str], size: int) -> tuple[str, str]:
    """The symbols of a line, and the characters of its empty cells."""
    used = set(line) - {"."}
    if size > len("123456789"):
        if used <= set(_LETTERS[:size]):
            return _LETTERS[:size], "."
        if "." in line and "0" in used and used <= set(_FROM_ZERO[:size]):
            return _FROM_ZERO[:size], "."
    return _DIGITS_AND_LETTERS[:size], _EMPTY
