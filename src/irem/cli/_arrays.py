"""Reading problems from files, and writing answers to them."""

import io
import zipfile
import zlib
from pathlib import Path

import numpy as np

from irem._errors import InputError
from irem._files import write_whole
from irem.descent import Solution

_SUFFIXES = (".npy", ".npz", ".csv")


def check_output(out: Path, x: Path) -> None:
    """Refuse, before any work is done, a place where answers cannot be written."""
    if out.suffix not in _SUFFIXES:
        raise InputError(f"Answers go to a file ending in .npy, .npz or .csv, got '{out}'.")
    if out.is_dir() or not out.parent.is_dir():
        raise InputError(
            f"'{out}' cannot be written: it is a folder, or its folder does not exist."
        )
    if out.exists() and x.exists() and out.samefile(x):
        raise InputError(f"'{out}' holds the problems; choose another file for the answers.")


def read(path: Path) -> np.ndarray:
    """The array in a .npy, .npz or .csv file. Nothing in it is executed."""
    if path.suffix not in _SUFFIXES:
        raise InputError(f"Problems come from a file ending in .npy, .npz or .csv, got '{path}'.")
    if not path.is_file():
        raise InputError(f"There is no file '{path}'.")
    try:
        if path.suffix == ".csv":
            return _read_csv(path)
        loaded = np.load(path, allow_pickle=False)
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        what = "table of numbers" if path.suffix == ".csv" else "NumPy file of numbers"
        reason = str(error).partition(";")[0].partition("(")[0].strip().rstrip(".")
        raise InputError(f"'{path}' is not a {what} ({reason}).") from error
    if not isinstance(loaded, np.lib.npyio.NpzFile):
        return loaded
    with loaded:
        return _only(loaded, path)


def _read_csv(path: Path) -> np.ndarray:
    """Numbers separated by commas, without a header row."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    if not any(lines):
        raise ValueError("it is empty")
    return np.loadtxt(lines, delimiter=",", ndmin=1)


def _only(archive: np.lib.npyio.NpzFile, path: Path) -> np.ndarray:
    """The array called `x`, or the only one there is."""
    names = archive.files
    if "x" not in names and len(names) != 1:
        raise InputError(
            f"'{path}' holds {len(names)} arrays ({', '.join(names)}); call the problems `x`."
        )
    try:
        return archive["x" if "x" in names else names[0]]
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"'{path}' is damaged: its arrays cannot be read.") from error


def write(path: Path, solution: Solution) -> None:
    """Write the answers, whole or not at all; a .npz also keeps how they were found.

    A .csv holds a table: one answer as it is shaped, several as one flat row each.
    """
    y = np.asarray(solution.y)
    buffer = io.BytesIO()
    if path.suffix == ".npy":
        np.save(buffer, y)
    elif path.suffix == ".npz":
        fields = ("y", "energy", "steps", "converged", "reason")
        np.savez(buffer, **{n: np.asarray(getattr(solution, n)) for n in fields})  # pyright: ignore[reportArgumentType]
    else:
        several = np.ndim(solution.steps) > 0
        np.savetxt(buffer, y.reshape(len(y), -1) if several else np.atleast_2d(y), delimiter=",")
    write_whole(path, buffer.getvalue())
