"""Reading problems from files, and writing answers to them."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, Any, BinaryIO

import numpy as np
import typer

from irem.cli import common as _common
from irem.cli import graph_files
from irem.cli.csv_files import format_rows, read_csv
from irem.cli.names import AbstractNames
from irem.cli.numpy_files import read_npy, read_npz
from irem.descent import Solution
from irem.errors import InputError
from irem.files import whole_file

Problems = Annotated[
    int | None,
    typer.Option(
        help="How many problems X holds, if it may be one or as many flat rows.",
        show_default="as its shape says",
    ),
]

_SUFFIXES = (".npy", ".npz", ".csv")
# What a .npz says of every answer, where it is known.
_FIELDS = (
    "verified",
    "verdict",
    "residual",
    "energy",
    "steps",
    "converged",
    "reason",
    "spread",
    "expected_error",
)
# What it says of further answers, if several were asked for.
_SEVERAL = ("answers", "answer_energies")


def check_output(out: Path, x: Path, *suffixes: str) -> None:
    """Refuse, before any work is done, a place where answers cannot be written.

    Arguments:
        out: The place.
        x: The file of the problems.
        suffixes: How the place may end; by default as files of arrays do.
    """
    _common.check_output(out, "Answers go", suffixes or _SUFFIXES)
    if _common.is_same_file(out, x):
        raise InputError(f"'{out}' holds the problems; choose another file for the answers.")


def read(path: Path, name: str = "x") -> np.ndarray:
    """The array in a .npy, .npz or .csv file; a .npy stays on the disk. Nothing is executed.

    Arguments:
        path: The file.
        name: What the array is called in a .npz that holds several: `x` problems, `y` answers.
    """
    what = "problems" if name == "x" else "answers"
    check_input(path, what)
    if path.suffix == ".csv":
        return read_csv(path)
    return read_npy(path, name) if path.suffix == ".npy" else read_npz(path, name, what)


def check_input(path: Path, what: str, *, graphs: bool = False) -> None:
    """Refuse a file that does not exist, or that does not end as files of arrays do.

    Arguments:
        path: The file.
        what: What it holds, in words.
        graphs: Whether it may be one that networkx reads.
    """
    more = graph_files.SUFFIXES if graphs else ()
    if path.suffix not in _SUFFIXES + more:
        also = f" (graphs also in {' or '.join(more)})" if graphs else ""
        raise InputError(
            f"{what.capitalize()} come from a file ending in .npy, .npz or .csv{also}, got "
            f"'{path}'."
        )
    if not path.is_file():
        raise InputError(f"There is no file '{path}'.")


class Writer:
    """Answers on their way to a file, page after page.

    A .npy holds the answers alone, a .npz also how they were found, a .csv a table: one answer as
    it is shaped, several as one flat row each, or as the names of the problems ask for.
    """

    def __init__(self, path: Path, file: BinaryIO, problems: int, names: AbstractNames) -> None:
        self._kind, self._file, self._problems = path.suffix, file, problems
        self._names, self._written, self._shape = names, 0, ()
        self._fields: dict[str, list[np.ndarray]] = {}
        self._archive = zipfile.ZipFile(file, "w") if self._kind == ".npz" else None
        self._answers: IO[bytes] | None = None

    @staticmethod
    @contextlib.contextmanager
    def open(path: Path, problems: int, names: AbstractNames) -> Iterator[Writer]:
        """A writer whose file takes its name when the context ends, whole or not at all."""
        with whole_file(path) as file:
            writer = Writer(path, file, problems, names)
            try:
                yield writer
                writer._finish()
            finally:
                writer._close()

    def add(self, solution: Solution, abstained: np.ndarray) -> None:
        """Write the next answers; those that are left out become NaN."""
        several = np.ndim(solution.steps) > 0
        y = _without(abstained, solution.y)
        fields = {"abstained": abstained}
        for name in _FIELDS:
            if getattr(solution, name) is not None:
                fields[name] = np.asarray(getattr(solution, name))
        for name in _SEVERAL:
            if getattr(solution, name) is not None:
                fields[name] = _without(abstained, getattr(solution, name))
        for name, value in fields.items():
            self._fields.setdefault(name, []).append(value)
        self._shape = y.shape[1:] if several else y.shape
        if self._kind == ".csv":
            self._add_rows(y, fields.get("answers"), alone=not several)
            return
        if self._answers is None:
            self._answers = self._begin((self._problems, *y.shape[1:]) if several else y.shape)
        self._answers.write(np.ascontiguousarray(y, np.float32).tobytes())

    def _add_rows(self, y: np.ndarray, answers: np.ndarray | None, *, alone: bool) -> None:
        """Write the next rows of a table, after its header; further answers follow the first."""
        header = None if self._written else self._names.header(self._shape, alone=alone)
        rows = self._names.rows(y, self._written, alone=alone)
        if answers is not None:
            further = _beside(answers, alone=alone)
            rows = ([*row, *more.ravel().tolist()] for row, more in zip(rows, further, strict=True))
            header = None if header is None else _numbered(header, *further.shape[1:])
        self._file.write(format_rows([] if header is None else [header], self._names.style))
        self._file.write(format_rows(rows, self._names.style))
        self._written += 1 if alone else len(y)

    def _begin(self, shape: tuple[int, ...]) -> IO[bytes]:
        """The place for the answers, the header of an array of all of them written."""
        place = (
            self._file
            if self._archive is None
            else self._archive.open("y.npy", "w", force_zip64=True)
        )
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(place, header)
        return place

    def _finish(self) -> None:
        """Write how the answers were found."""
        if self._archive is None or self._answers is None:
            return
        self._answers.close()
        for name, parts in self._fields.items():
            with self._archive.open(f"{name}.npy", "w") as place:
                whole = np.concatenate(parts) if parts[0].ndim else parts[0]
                np.lib.format.write_array(place, whole)
        alone = self._fields["abstained"][0].ndim == 0
        for name, texts in self._names.arrays(self._shape, alone=alone).items():
            with self._archive.open(f"{name}.npy", "w") as place:
                np.lib.format.write_array(place, texts)

    def _close(self) -> None:
        """Let go of the archive, also of one that was not finished."""
        if self._archive is not None:
            if self._answers is not None:
                self._answers.close()
            self._archive.close()


def _without(abstained: np.ndarray, numbers: Any) -> np.ndarray:
    """Numbers of every answer, NaN in place of those of answers that are left out."""
    numbers = np.asarray(numbers)
    left_out = abstained.reshape(abstained.shape + (1,) * (numbers.ndim - abstained.ndim))
    return np.where(left_out, np.nan, numbers)


def _beside(answers: np.ndarray, *, alone: bool) -> np.ndarray:
    """What stands in every row of a table after the first answer: rows x answers x numbers."""
    if not alone:
        return answers[:, 1:].reshape(len(answers), answers.shape[1] - 1, -1)
    rows = [np.atleast_2d(answer) for answer in answers[1:]]
    return np.stack(rows, axis=1)


def _numbered(header: list[str], further: int, numbers: int) -> list[str]:
    """A header with the names of the last so many columns again for every further answer."""
    own = header[-numbers:]
    return header + [f"{name}_{i}" for i in range(2, further + 2) for name in own]
