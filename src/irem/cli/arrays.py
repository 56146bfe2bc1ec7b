"""Reading problems from files, and writing answers to them."""

from __future__ import annotations

import contextlib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated, BinaryIO

import numpy as np
import typer

from irem.cli import common as _common
from irem.cli.csv_files import read_csv
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


def check_output(out: Path, x: Path) -> None:
    """Refuse, before any work is done, a place where answers cannot be written."""
    _common.check_output(out, "Answers go", _SUFFIXES)
    if _common.is_same_file(out, x):
        raise InputError(f"'{out}' holds the problems; choose another file for the answers.")


def read(path: Path, name: str = "x") -> np.ndarray:
    """The array in a .npy, .npz or .csv file; a .npy stays on the disk. Nothing is executed.

    Arguments:
        path: The file.
        name: What the array is called in a .npz that holds several: `x` problems, `y` answers.
    """
    what = "problems" if name == "x" else "answers"
    if path.suffix not in _SUFFIXES:
        raise InputError(
            f"{what.capitalize()} come from a file ending in .npy, .npz or .csv, got '{path}'."
        )
    if not path.is_file():
        raise InputError(f"There is no file '{path}'.")
    if path.suffix == ".csv":
        return read_csv(path)
    return read_npy(path, name) if path.suffix == ".npy" else read_npz(path, name, what)


class Writer:
    """Answers on their way to a file, page after page.

    A .npy holds the answers alone, a .npz also how they were found, a .csv a table: one answer as
    it is shaped, several as one flat row each.
    """

    def __init__(self, path: Path, file: BinaryIO, problems: int) -> None:
        self._kind, self._file, self._problems = path.suffix, file, problems
        self._fields: dict[str, list[np.ndarray]] = {}
        self._archive = zipfile.ZipFile(file, "w") if self._kind == ".npz" else None
        self._answers: IO[bytes] | None = None

    @staticmethod
    @contextlib.contextmanager
    def open(path: Path, problems: int) -> Iterator[Writer]:
        """A writer whose file takes its name when the context ends, whole or not at all."""
        with whole_file(path) as file:
            writer = Writer(path, file, problems)
            try:
                yield writer
                writer._finish()
            finally:
                writer._close()

    def add(self, solution: Solution, abstained: np.ndarray) -> None:
        """Write the next answers; those that are left out become NaN."""
        several = np.ndim(solution.steps) > 0
        y = np.asarray(solution.y)
        y = np.where(
            abstained.reshape(abstained.shape + (1,) * (y.ndim - abstained.ndim)), np.nan, y
        )
        fields = {"abstained": abstained}
        for name in _FIELDS:
            if getattr(solution, name) is not None:
                fields[name] = np.asarray(getattr(solution, name))
        for name, value in fields.items():
            self._fields.setdefault(name, []).append(value)
        if self._kind == ".csv":
            table = y.reshape(len(y), -1) if several else np.atleast_2d(y)
            np.savetxt(self._file, table, delimiter=",", fmt="%.9g")  # all digits of 32 bits
            return
        if self._answers is None:
            self._answers = self._begin((self._problems, *y.shape[1:]) if several else y.shape)
        self._answers.write(np.ascontiguousarray(y, np.float32).tobytes())

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

    def _close(self) -> None:
        """Let go of the archive, also of one that was not finished."""
        if self._archive is not None:
            if self._answers is not None:
                self._answers.close()
            self._archive.close()
