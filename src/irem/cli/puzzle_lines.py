"""Puzzles as lines of text, one grid of symbols each."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irem.cli.names import NoNames
from irem.descent import Solution, refused
from irem.errors import InputError
from irem.files import write_whole
from irem.formats import Puzzles
from irem.puzzles import grid_of_truths

SUFFIX = ".txt"
"""How the names of files of puzzles end."""

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


def read_lines(path: Path) -> tuple[list[str], list[PuzzleLine]]:
    """Return all lines of a file, and the puzzles among them.

    Lines that are empty or begin with `#` are no puzzles. Empty cells are `.` or `0`. Larger grids
    go on with letters after 9; grids of letters alone begin at A, and where empty cells are `.` a
    `0` may be the first symbol.
    """
    if not path.is_file():
        raise InputError(f"There is no file '{path}'.")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"'{path}' is not a file of text ({error}).") from error
    kept = [(i, line.strip()) for i, line in enumerate(lines, 1)]
    kept = [(i, line) for i, line in kept if line and not line.startswith("#")]
    if not kept:
        raise InputError(f"'{path}' has no puzzles; expected lines of 81 characters, one for each.")
    return lines, [_read_line(path, number, line) for number, line in kept]


class LineNames(NoNames):
    """Puzzles are called by their lines."""

    def __init__(self, puzzles: Sequence[PuzzleLine]) -> None:
        super().__init__()
        object.__setattr__(self, "_puzzles", puzzles)

    def about(self, problem: int, sentence: str) -> str:
        """Return a sentence about one of several puzzles, which says in which line it is."""
        return f"Line {self._puzzles[problem].number}: {sentence}"  # pyright: ignore[reportAttributeAccessIssue]


@dataclasses.dataclass(frozen=True)
class Lines:
    """The puzzles of a file of text, as `irem solve` takes problems.

    Arguments:
        model: What answers them.
        text: All lines of the file.
        puzzles: The puzzles among them.
    """

    model: Any
    text: list[str]
    puzzles: list[PuzzleLine]

    @staticmethod
    def read(path: Path, model: Any) -> Lines:
        """Read a file of lines, for a model that takes grids of symbols."""
        if not isinstance(model.format, Puzzles) or model.format.puzzle is None:
            raise InputError(
                f"'{path}' is a file of puzzles, and this model answers {model.format.noun}; give "
                "a file ending in .npy, .npz or .csv."
            )
        return Lines(model, *read_lines(path))

    @property
    def problems(self) -> int:
        """How many there are."""
        return len(self.puzzles)

    @property
    def names(self) -> LineNames:
        """They are called by their lines."""
        return LineNames(self.puzzles)

    def parts(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield puzzles of one size that follow each other, with the place of the first."""
        first = 0
        for _, same in itertools.groupby(self.puzzles, key=lambda puzzle: puzzle.grid.shape):
            grids = np.stack([puzzle.grid for puzzle in same])
            yield first, grids
            first += len(grids)

    def solutions(self, *, by: Any, **options: Any) -> Iterator[Solution]:
        """Answer the puzzles by a function like `irem.solve`; where all are refused, none."""
        for _, grids in self.parts():
            batch, _ = self.model.format.as_batch(grids)
            if None in self.model.task.domain.faults(batch):
                yield by(self.model, batch, **options)
            else:
                options["on_batch"](len(grids))
                yield refused(batch.known.shape)

    @contextlib.contextmanager
    def writer(self, out: Path) -> Iterator[LineWriter]:
        """Yield what takes the answers; they are written at the end, whole or not at all."""
        writer = LineWriter(self)
        yield writer
        write_whole(out, "".join(f"{line}\n" for line in writer.lines).encode())


class LineWriter:
    """Puzzles that are solved line by line; where no answer is verified, a line stays as it was.

    Arguments:
        source: The file.
    """

    def __init__(self, source: Lines) -> None:
        self.lines = list(source.text)
        self._puzzles = iter(source.puzzles)

    def add(self, solution: Solution, left_out: np.ndarray) -> None:
        """Fill in the next answers."""
        verified = np.asarray(solution.verified) & ~left_out
        for y, holds in zip(np.asarray(solution.y), verified, strict=True):
            puzzle = next(self._puzzles)
            if holds:
                self.lines[puzzle.number - 1] = puzzle.solved(y)


def _read_line(path: Path, number: int, line: str) -> PuzzleLine:
    where = f"Line {number} of '{path}'"
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
