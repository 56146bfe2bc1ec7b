"""Tables of numbers in .csv files, with the names of their columns and rows."""

import contextlib
import csv
import dataclasses
import io
import itertools
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from irem.errors import InputError
from irem.memory import check_memory

LARGEST_TABLE = 2e9
"""Most bytes that reading a table may take."""

# Of a table in text, for each byte of it: short cells are larger as strings and as numbers.
_BYTES_PER_BYTE = 20
_SHOWN = 20
# In the order in which they are tried.
_SEPARATORS = (";", ",", "\t")
_MISSING = frozenset(("", "na", "n/a"))
# Quoted cells may go on for several lines.
_LINES_OF_TWO_ROWS = 20
# So many rows or columns numbered from 0, as pandas writes them, are not there by chance.
_NUMBERED = 3


class Style(NamedTuple):
    """How the numbers of a table are written.

    Arguments:
        separator: What stands between two cells.
        decimal: What stands before decimals.
    """

    separator: str = ","
    decimal: str = "."


@dataclasses.dataclass(frozen=True)
class Table:
    """The numbers of a table with the names that it has.

    Arguments:
        values: The numbers by row and column; missing ones are NaN.
        columns: The names of the columns, where the table has a header row.
        index: The names of the rows, where the first column is text or has no name.
        index_name: What the header calls that first column.
        style: How the numbers are written.
    """

    values: np.ndarray
    columns: tuple[str, ...] | None
    index: tuple[str, ...] | None
    index_name: str | None
    style: Style

    @property
    def numbers(self) -> np.ndarray:
        """The numbers; a single row or column of a table without a header is a list of them."""
        flat = self.columns is None and 1 in self.values.shape
        return self.values.ravel() if flat else self.values


class Row(NamedTuple):
    """One row of a file.

    Arguments:
        number: Its place among the rows that are not blank, from 1.
        line: The line of the file that it ends in.
        cells: Its cells, without blanks around them.
    """

    number: int
    line: int
    cells: list[str]


class Numbers:
    """Reads the numbers in cells, which have one mark before decimals in the whole of a file.

    Arguments:
        separator: What separates the cells; a comma before decimals needs semicolons.
        unit: What messages count: rows, or lines of the file.
    """

    def __init__(self, separator: str, unit: str = "row") -> None:
        self._separator, self._unit = separator, unit
        self._decimal: str | None = None

    @property
    def style(self) -> Style:
        """How the cells that were read are written."""
        return Style(self._separator, self._decimal or ".")

    def __call__(self, cell: str, row: int, column: str | None = None) -> float:
        """Return the number in a cell; a blank one, NaN or NA is missing.

        Raises:
            ValueError: There is no number, or its decimals are unlike those before.
        """
        if cell.lower() in _MISSING:
            return float("nan")
        text = self._with_point(cell, row)
        if _may_be_number(text):
            with contextlib.suppress(ValueError):
                return float(text)
        where = f"{self._unit} {row}" + ("" if column is None else f", column '{_shown(column)}',")
        raise ValueError(f"'{_shown(cell)}' in {where} is not a number: {self._advice(cell, row)}")

    def of_row(self, cells: list[str], row: int, columns: Sequence[str | None]) -> list[float]:
        """Return the numbers in the cells of a row, at once where they are plain ones."""
        if self._separator != ";" and _may_be_number("".join(cells)):
            with contextlib.suppress(ValueError):
                return list(map(float, cells))
        named = itertools.zip_longest(cells, columns[: len(cells)])
        return [self(cell, row, column) for cell, column in named]

    def has_number(self, cell: str) -> bool:
        """Return whether a cell holds a number that is not missing."""
        with contextlib.suppress(ValueError):
            return not np.isnan(Numbers(self._separator)(cell, 1))
        return False

    def has_text(self, cell: str) -> bool:
        """Return whether a cell holds something that is neither a number nor missing."""
        return not (cell.lower() in _MISSING | {"nan"} or self.has_number(cell))

    def _with_point(self, cell: str, row: int) -> str:
        """A cell with a point before decimals, where it may have a comma."""
        mark = next((mark for mark in ",." if mark in cell), None)
        if self._separator != ";" or mark is None:
            return cell
        if self._decimal not in (None, mark):
            raise ValueError(
                f"'{_shown(cell)}' in {self._unit} {row} has another mark before decimals "
                "than other cells: write points or commas in all of them"
            )
        self._decimal = mark
        return cell.replace(",", ".") if cell.count(",") == 1 and "." not in cell else cell

    def _advice(self, cell: str, row: int) -> str:
        if row == 1 and not cell[0].isdecimal():
            return "if row 1 is a header, give every column a name that is not a number"
        if self._separator == "\t" and "," in cell:
            return "write a point, not a comma, before decimals"
        return "cells are separated by commas, semicolons or tabs"


def read_csv(path: Path) -> np.ndarray:
    """Return the numbers of a table; a blank cell is NaN, and no row is a comment.

    A single row or column becomes a list of numbers, where the table has no header row.
    """
    return read_table(path).numbers


def read_table(path: Path, columns: Sequence[str] | None = None) -> Table:
    """Return the numbers of a table and its names.

    Cells are separated by commas, semicolons or tabs and may be quoted. The first row is a header
    if it has names. Where there are semicolons, decimals may follow a comma.

    Arguments:
        path: The file.
        columns: Which columns are read, in this order; others are ignored. It does not matter to a
            table without a header.
    """
    with open_rows(path) as (separator, rows):
        first, numbers = next(rows), Numbers(separator)
        has_names = any(map(numbers.has_text, first.cells)) or set(first.cells) >= set(
            columns or ()
        )
        if columns is None or not has_names:
            return _read_all(first, rows, numbers)
        places = _find_columns(path, first.cells, columns)
        return _read_some(first, rows, numbers, places)


@contextlib.contextmanager
def open_rows(path: Path) -> Iterator[tuple[str, Iterator[Row]]]:
    """Open a table and yield what separates its cells, and its rows, of which there is one.

    What is wrong with the table, a `ValueError`, becomes a sentence that names the file.
    """
    check_memory(
        f"The table in '{path}'",
        _BYTES_PER_BYTE * path.stat().st_size,
        "give it as a .npy file, which is read page by page",
        limit=LARGEST_TABLE,
    )
    try:
        with path.open(encoding="utf-8-sig") as file:
            separator = _find_separator(file)
            file.seek(0)
            yield separator, _rows(file, separator)
    except InputError:
        raise
    except UnicodeDecodeError as error:
        raise InputError(f"'{path}' is not a table of numbers (it is not UTF-8 text).") from error
    except (ValueError, csv.Error) as error:
        raise InputError(f"'{path}' is not a table of numbers ({error}).") from error


def format_rows(rows: Iterable[Sequence[str | float]], style: Style) -> bytes:
    """Return rows of names and numbers as text, with all digits of 32 bits."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=style.separator, lineterminator="\n")
    for row in rows:
        writer.writerow([c if isinstance(c, str) else _formatted(c, style) for c in row])
    return text.getvalue().encode()


def _formatted(number: float, style: Style) -> str:
    return f"{number:.9g}".replace(".", style.decimal)


def _rows(file: Iterable[str], separator: str) -> Iterator[Row]:
    """The rows of a file that are not blank."""
    reader = csv.reader(file, delimiter=separator, skipinitialspace=True, strict=True)
    number = 0
    for cells in reader:
        if len(cells) > 1 or any(cell.strip() for cell in cells):
            number += 1
            yield Row(number, reader.line_num, [cell.strip() for cell in cells])
    if not number:
        raise ValueError("it is empty")


def _find_separator(file: Iterable[str]) -> str:
    """The first separator that splits the first two rows into as many cells, if one does."""
    lines = list(itertools.islice((line for line in file if line.strip()), _LINES_OF_TWO_ROWS))
    present = [separator for separator in _SEPARATORS if any(separator in line for line in lines)]
    for separator in present:
        with contextlib.suppress(csv.Error):
            rows = itertools.islice(_rows(lines, separator), 2)
            widths = {len(row.cells) for row in rows}
            if len(widths) == 1 and widths != {1}:
                return separator
    return present[0] if present else ","


def _read_all(first: Row, rows: Iterator[Row], numbers: Numbers) -> Table:
    """All columns of a table; whether there is a header and an index is known at its end."""
    names = [cell if numbers.has_text(cell) else None for cell in first.cells]
    cells, labels, widths = array("d"), [], {len(first.cells)}
    for row in rows:
        labels.append(row.cells[0])
        widths.add(len(row.cells))
        cells.extend(numbers.of_row(row.cells[1:], row.number, names[1:]))
    has_header = len(widths) == 1 and _is_header(first.cells, labels, numbers)
    top = [] if has_header else [[numbers(cell, 1) for cell in first.cells]]
    if len(widths) > 1:
        raise ValueError(f"its rows have from {min(widths)} to {max(widths)} cells")
    values = np.frombuffer(cells).reshape(len(labels), len(first.cells) - 1)
    if has_header and _is_index(first.cells, labels, numbers):
        return _with_index(first.cells, values, labels, numbers.style)
    column = [numbers(label, row, names[0]) for row, label in enumerate(labels, start=2)]
    values = np.column_stack([np.array(column, np.float64), values])
    if has_header:
        return Table(values, tuple(first.cells), None, None, numbers.style)
    return Table(np.vstack([*top, values]), None, None, None, numbers.style)


def _with_index(
    header: Sequence[str], values: np.ndarray, labels: Sequence[str], style: Style
) -> Table:
    """A table whose first column has the names of its rows."""
    name, *columns = header
    if not columns:
        raise ValueError("it has no column of numbers")
    return Table(values, tuple(columns), tuple(labels), name, style)


def _read_some(first: Row, rows: Iterator[Row], numbers: Numbers, places: list[int]) -> Table:
    """Some columns of a table with a header."""
    columns, cells, labels = tuple(first.cells[i] for i in places), array("d"), []
    for row in rows:
        if len(row.cells) != len(first.cells):
            raise ValueError(
                f"row {row.number} has {len(row.cells)} cells, and its header {len(first.cells)}"
            )
        labels.append(row.cells[0])
        cells.extend(numbers.of_row([row.cells[i] for i in places], row.number, columns))
    if not labels:
        raise ValueError("it has no row after its header")
    has_index = 0 not in places and _is_index(first.cells, labels, numbers)
    index = (tuple(labels), first.cells[0]) if has_index else (None, None)
    values = np.frombuffer(cells).reshape(len(labels), -1)
    return Table(values, columns, *index, numbers.style)


def _find_columns(path: Path, header: Sequence[str], columns: Sequence[str]) -> list[int]:
    """The places of columns, found by their names."""
    for name in columns:
        if header.count(name) != 1:
            number = "no column" if name not in header else "more than one column"
            raise InputError(
                f"'{path}' has {number} '{_shown(name)}'; the model takes the columns "
                f"{', '.join(columns)}."
            )
    return [header.index(name) for name in columns]


def _is_header(first: Sequence[str], labels: Sequence[str], numbers: Numbers) -> bool:
    """Whether the first row has names.

    It has if most of its cells are text, or if numbers in it are names: those of the rows as well,
    or of columns beside rows with names, or numbered from 0 as pandas writes them.
    """
    if not labels:
        return False
    num_texts = sum(map(numbers.has_text, first))
    num_numbers = sum(map(numbers.has_number, first))
    if num_texts > num_numbers:
        return True
    if any(map(numbers.has_text, first[1:])):
        return False
    if first[0]:
        return num_texts > 0 and list(first[1:]) == list(labels)
    return any(map(numbers.has_text, labels)) or _is_numbered(first[1:], labels)


def _is_index(first: Sequence[str], labels: Sequence[str], numbers: Numbers) -> bool:
    """Whether the first column of a table with a header has the names of its rows."""
    if not first[0] or list(first[1:]) == list(labels):
        return True
    return sum(map(numbers.has_text, labels)) > sum(map(numbers.has_number, labels))


def _is_numbered(columns: Sequence[str], rows: Sequence[str]) -> bool:
    """Whether columns and rows are numbered from 0, and there are more than by chance."""
    numbered = all([str(i) for i in range(len(axis))] == list(axis) for axis in (columns, rows))
    return numbered and max(len(columns), len(rows)) >= _NUMBERED


def _may_be_number(text: str) -> bool:
    """Whether a text has none of what only Python takes: underscores, digits of any alphabet."""
    return text.isascii() and "_" not in text


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
