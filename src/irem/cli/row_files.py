"""Problems with their answers in files, one row each."""

import csv
import dataclasses
import shlex
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from irem.checks import known
from irem.cli.csv_files import Numbers, Row, open_rows, read_table
from irem.cli.numpy_files import read_arrays, read_npy
from irem.errors import InputError
from irem.fitting.rows import Names
from irem.tasks import Arrays


class Rows(NamedTuple):
    """Problems with their answers.

    Arguments:
        x: The problems along the first axis.
        y: Their answers.
        names: What their columns are called, where they have names.
    """

    x: np.ndarray
    y: np.ndarray
    names: Names = (None, None)


@dataclasses.dataclass(frozen=True)
class Columns:
    """Which columns of a table are answers, and which are left out.

    Arguments:
        target: Names or numbers of columns with answers, separated by commas.
        ignore: The same for those that are left out.
    """

    target: str | None = None
    ignore: str | None = None


def read_rows(data: Path, y: Path | None, columns: Columns) -> Rows:
    """Return the rows in a .npz with `x` and `y`, in two .npy files, or in a .csv with a header.

    Arguments:
        data: The file of problems, which may have the answers as well.
        y: The .npy file of answers, where `data` is a .npy file of problems.
        columns: Which columns of a .csv are answers, and which are left out.
    """
    for path in (data, *([] if y is None else [y])):
        if not path.is_file():
            raise InputError(f"There is no file '{path}'.")
    if data.suffix == ".csv" and y is None:
        return _read_table(data, columns)
    if columns != Columns():
        raise InputError("--target and --ignore choose columns of one .csv file; leave them out.")
    return _read_numpy(data, y)


def read_rows_like(path: Path, task: Arrays) -> Rows:
    """Return rows in a .npz or .csv like those that a run was fitted to.

    Columns of a .csv are found by the names that the run knows, and others are ignored.
    """
    if not path.is_file():
        raise InputError(f"There is no file '{path}'.")
    if path.suffix != ".csv":
        return _read_numpy(path, None)
    if task.x_names is None or task.y_names is None:
        raise InputError(
            f"'{path}' is a table, and the run was fitted to arrays without names; give a .npz "
            "file with `x` and `y`."
        )
    table = read_table(path, (*task.x_names, *task.y_names))
    if table.columns is None:
        raise InputError(
            f"'{path}' has no header; give the columns the names {', '.join(task.x_names)} and "
            f"{', '.join(task.y_names)}."
        )
    return _divided(path, table.values, (task.x_names, task.y_names))


def _read_numpy(data: Path, y: Path | None) -> Rows:
    """The rows in one .npz or two .npy files."""
    if data.suffix == ".npz" and y is None:
        problems, answers = read_arrays(data, {"x": "the problems", "y": "their answers"})
        return Rows(problems, answers)
    if y is not None and (data.suffix, y.suffix) == (".npy", ".npy"):
        return Rows(read_npy(data, "x"), read_npy(y, "y"))
    given = f"'{data}'" if y is None else f"'{data}' and '{y}'"
    raise InputError(
        "Rows come from a .npz with `x` and `y`, from two .npy files, problems and answers, or "
        f"from a .csv with a header; got {given}."
    )


def _read_table(path: Path, columns: Columns) -> Rows:
    """The rows of a table with a header."""
    with open_rows(path) as (separator, rows):
        numbers = Numbers(separator)
        header = next(rows).cells
        _check_header(path, header, numbers)
        x, y = _choose(path, header, columns)
        values = _read_values(path, header, [*x, *y], len(x), rows, numbers)
    names = tuple(header[i] for i in x), tuple(header[i] for i in y)
    return _divided(path, values, names)


def _divided(path: Path, values: np.ndarray, names: Names) -> Rows:
    """The columns of a table as problems and answers; a single answer is a number."""
    x_names, y_names = names
    assert x_names is not None
    assert y_names is not None
    x, y = values[:, : len(x_names)], values[:, len(x_names) :]
    if np.isnan(y).any():
        row, column = np.argwhere(np.isnan(y))[0]
        raise InputError(
            f"'{path}' has no number in row {row + 2}, column '{y_names[column]}', which is an "
            "answer; fill it in, or remove the row."
        )
    return Rows(x, y[:, 0] if len(y_names) == 1 else y, names)


def _check_header(path: Path, header: Sequence[str], numbers: Numbers) -> None:
    """Refuse a first row that has no names."""
    if not any(map(numbers.has_text, header)):
        raise InputError(
            f"'{path}' has no header: its first row holds numbers; put a row with the names of "
            "the columns before it."
        )
    if "" in header[1:]:
        raise InputError(f"Column {header.index('', 1) + 1} of '{path}' has no name; give it one.")


def _choose(path: Path, header: Sequence[str], columns: Columns) -> tuple[list[int], list[int]]:
    """The places of the columns of problems and of answers."""
    # A first column without a name has the names of rows.
    ignored = {*_find(path, header, columns.ignore), *([] if header[0] else [0])}
    y = [place for place in _find(path, header, columns.target) if place not in ignored]
    if not y:
        raise InputError(
            f"Say which columns of '{path}' are the answers, with --target; its columns are "
            f"{', '.join(filter(None, header))}."
        )
    x = [place for place in range(len(header)) if place not in {*y, *ignored}]
    if not x:
        raise InputError(f"'{path}' has no column left for the problems; choose fewer others.")
    for place in (*x, *y):
        if header.count(header[place]) > 1:
            raise InputError(
                f"'{path}' has more than one column '{header[place]}'; give each its own name."
            )
    return x, y


def _find(path: Path, header: Sequence[str], text: str | None) -> list[int]:
    """The places of the columns in a text like `price,3`: by name, or else counted from 1."""
    if text is None:
        return []
    parts = [text] if text in header else next(csv.reader([text], skipinitialspace=True))
    places = []
    for name in filter(None, map(str.strip, parts)):
        if name not in header and name.isdecimal() and 0 < int(name) <= len(header):
            places.append(int(name) - 1)
            continue
        known(f"column of '{path}'", name, header)
        places += [i for i, other in enumerate(header) if other == name]
    return places


def _read_values(
    path: Path,
    header: Sequence[str],
    places: list[int],
    num_problems: int,
    rows: Iterator[Row],
    numbers: Numbers,
) -> np.ndarray:
    """The numbers of the columns at some places, the first of which are those of problems."""
    names, values = [header[i] for i in places], array("d")
    for row in rows:
        if len(row.cells) != len(header):
            raise ValueError(
                f"row {row.number} has {len(row.cells)} cells, and its header {len(header)}"
            )
        cells = [row.cells[i] for i in places]
        try:
            values.extend(numbers.of_row(cells, row.number, names))
        except ValueError:
            texts = {n: c for n, c in zip(names, cells, strict=True) if numbers.has_text(c)}
            _refuse_text(path, row.number, texts, names[:num_problems])
            raise
    return np.frombuffer(values).reshape(-1, len(places))


def _refuse_text(path: Path, row: int, texts: dict[str, str], problems: Sequence[str]) -> None:
    """Refuse columns that hold text, by name."""
    if not texts:
        return
    listed = ", ".join(f"'{name}'" for name in texts)
    one = len(texts) == 1
    named = [name for name in texts if name in problems]
    option = shlex.quote(",".join(f'"{name}"' if "," in name else name for name in named))
    leave = f"leave {'it' if one else 'them'} out with --ignore {option}, or " if named else ""
    raise InputError(
        f"The {'column' if one else 'columns'} {listed} of '{path}' {'holds' if one else 'hold'} "
        f"text ('{next(iter(texts.values()))[:20]}' in row {row}); {leave}encode "
        f"{'it' if one else 'them'} as numbers."
    )
