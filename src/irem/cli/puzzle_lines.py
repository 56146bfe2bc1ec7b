"""Files of puzzles as `irem solve` takes and writes them."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from irem.apps.puzzles import PuzzleLine, read_lines
from irem.cli.names import NoNames
from irem.descent import Solution, refused
from irem.errors import InputError
from irem.files import write_whole
from irem.formats import Puzzles

SUFFIX = ".txt"
"""How the names of files of puzzles end."""


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
