"""Tables of numbers in .csv files."""

from array import array
from pathlib import Path

import numpy as np

from irem.errors import InputError
from irem.memory import check_memory

LARGEST_TABLE = 2e9
"""Most bytes that reading a table may take."""

# Of a table in text, for each byte of it: short cells are larger as strings and as numbers.
_BYTES_PER_BYTE = 20
_SHOWN = 20


def read_csv(path: Path) -> np.ndarray:
    """Return the numbers of a table separated by commas or semicolons; an empty cell is NaN.

    A single row or column becomes a list of numbers. There is no header row, and no row is a
    comment.
    """
    check_memory(
        f"The table in '{path}'",
        _BYTES_PER_BYTE * path.stat().st_size,
        "give it as a .npy file, which is read page by page",
        limit=LARGEST_TABLE,
    )
    try:
        table = _read(path)
    except UnicodeDecodeError as error:
        raise InputError(f"'{path}' is not a table of numbers (it is not UTF-8 text).") from error
    except ValueError as error:
        raise InputError(f"'{path}' is not a table of numbers ({error}).") from error
    return table.ravel() if 1 in table.shape else table


def _read(path: Path) -> np.ndarray:
    numbers, widths, separator = array("d"), set(), None
    rows = 0
    with path.open(encoding="utf-8-sig") as file:
        for line in file:
            if not line.strip():
                continue
            rows += 1
            separator = separator or (";" if ";" in line else ",")
            cells = line.split(separator)
            widths.add(len(cells))
            numbers.extend(_number(cell, rows, separator) for cell in cells)
    if not rows:
        raise ValueError("it is empty")
    if len(widths) > 1:
        raise ValueError(f"its rows have from {min(widths)} to {max(widths)} cells")
    return np.frombuffer(numbers).reshape(rows, -1)


def _number(cell: str, row: int, separator: str) -> float:
    """The number in a cell; nothing in it is a number that is missing."""
    cell = cell.strip()
    if not cell:
        return float("nan")
    try:
        # Python's numbers may have underscores between digits, and digits of any alphabet.
        if cell.isascii() and "_" not in cell:
            return float(cell)
    except ValueError:
        pass
    shown = cell if len(cell) <= _SHOWN else f"{cell[:_SHOWN]}..."
    problem = f"'{shown}' in row {row} is not a number"
    if separator == ";" and "," in cell:
        raise ValueError(f"{problem}: write a point, not a comma, before decimals")
    if row == 1 and cell[0].isalpha():
        raise ValueError(f"{problem}: if this is a header, remove it")
    raise ValueError(f"{problem}: cells are separated by commas or semicolons")
