"""Texts and pictures of problems as `irem solve` takes and writes them."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import typer

from irem.apps.documents import AbstractDocument
from irem.apps.mazes import MazePicture, MazeText
from irem.apps.puzzles import PuzzleText
from irem.apps.sums import BitText
from irem.cli.names import NoNames
from irem.descent import Solution, refused
from irem.errors import InputError
from irem.formats import AbstractFormat, Cells, Puzzles

_Readers = Mapping[str, Callable[[Path], AbstractDocument]]

SUFFIXES = (".txt", ".png")
"""How the names of such files end."""

_WHAT = {".txt": "text", ".png": "picture"}
_OF_LINES: _Readers = {".txt": BitText.read}
_OF_GRIDS: _Readers = {".txt": MazeText.read, ".png": MazePicture.read}
_OF_PUZZLES: _Readers = {".txt": PuzzleText.read}


def readers_of(format_: AbstractFormat) -> _Readers:
    """Return what reads the texts and pictures of problems of a format, by their endings."""
    if isinstance(format_, Cells):
        return _OF_LINES if format_.axes == 1 else _OF_GRIDS
    return _OF_PUZZLES if isinstance(format_, Puzzles) and format_.puzzle is not None else {}


class PlaceNames(NoNames):
    """Problems are called by their places in a document."""

    def __init__(self, document: AbstractDocument) -> None:
        super().__init__()
        object.__setattr__(self, "_document", document)

    def about(self, problem: int, sentence: str) -> str:
        """Return a sentence about one of several problems, which says where it is."""
        return self._document.about(problem, sentence)  # pyright: ignore[reportAttributeAccessIssue]


@dataclasses.dataclass(frozen=True)
class Documents:
    """The problems of a text or a picture, answered size by size.

    Arguments:
        model: What answers them.
        document: The text or the picture.
    """

    model: Any
    document: AbstractDocument

    @staticmethod
    def read(path: Path, model: Any) -> Documents:
        """Read a text or a picture, for a model whose problems may come as such."""
        readers = readers_of(model.format)
        if path.suffix not in readers:
            endings = ", ".join([*readers, ".npy", ".npz"])
            raise InputError(
                f"'{path}' is a {_WHAT[path.suffix]}, and this model answers {model.format.noun}; "
                f"give a file ending in {endings} or .csv."
            )
        return Documents(model, readers[path.suffix](path))

    @property
    def problems(self) -> int:
        """How many there are."""
        return len(self.document.problems)

    @property
    def names(self) -> PlaceNames:
        """They are called by their places."""
        return PlaceNames(self.document)

    def parts(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield problems of one size that follow each other, with the place of the first."""
        first = 0
        for _, same in itertools.groupby(self.document.problems, key=np.shape):
            stack = np.stack(list(same))
            yield first, stack
            first += len(stack)

    def refuse_all(self) -> None:
        """Refuse a document none of whose problems is answered, by what is wrong with the first."""
        said: list[str] = []
        for first, stack in self.parts():
            faults = self._faults(self.model.format.as_batch(stack)[0])
            if None in faults:
                return
            said += [self.document.about(i, str(fault)) for i, fault in enumerate(faults, first)]
        raise InputError(said[0])

    def _faults(self, batch: Any) -> list[str | None]:
        return self.model.task.domain.faults(batch)

    def solutions(self, *, by: Any, **options: Any) -> Iterator[Solution]:
        """Answer the problems by a function like `irem.solve`; of a size that is refused, none."""
        for _, stack in self.parts():
            batch, _ = self.model.format.as_batch(stack)
            if None in self._faults(batch):
                yield by(self.model, batch, **options)
            else:
                options["on_batch"](len(stack))
                one = jax.tree.map(lambda leaf: leaf[0], batch)
                yield refused((len(stack), *self.model.format.answer_shape(one)))

    @contextlib.contextmanager
    def writer(self, out: Path) -> Iterator[DocumentWriter]:
        """Yield what takes the answers; they are written at the end, whole or not at all."""
        writer = DocumentWriter()
        yield writer
        self.document.write(out, writer.answers)

    def warn(self, unverified: int) -> None:
        """Say that answers which are not verified were not written."""
        if unverified:
            which = "this one" if self.problems == 1 else f"{unverified} of {self.problems}"
            typer.echo(f"irem: Only verified answers are written; left out: {which}.", err=True)


class DocumentWriter:
    """Answers on their way into a document; `None` for those that are not verified."""

    def __init__(self) -> None:
        self.answers: list[np.ndarray | None] = []

    def add(self, solution: Solution, left_out: np.ndarray) -> None:
        """Take the next answers."""
        verified = np.asarray(solution.verified) & ~left_out
        self.answers += [
            y if holds else None
            for y, holds in zip(np.asarray(solution.y), verified.tolist(), strict=True)
        ]
