"""Results as tables: for a page, for Markdown, for a terminal."""

import dataclasses
import html
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Protocol, runtime_checkable

METHOD_NAMES = {
    "feedforward": "feedforward",
    "recurrent": "recurrent (LSTM)",
    "programmatic": "programmatic (PonderNet)",
    "iterative-feedforward": "iterative feedforward",
    "irem": "IREM",
}
"""Methods as they are printed."""


@runtime_checkable
class HasSpread(Protocol):
    """An error over seeds; `None` stands for a number that is not finite."""

    @property
    def mean(self) -> float | None:
        """Mean over seeds."""
        ...

    @property
    def std(self) -> float | None:
        """Standard deviation over seeds; `None` for one seed."""
        ...

    @property
    def mse_by_seed(self) -> Sequence[float | None]:
        """The error of every seed."""
        ...


@dataclasses.dataclass(frozen=True)
class Entry:
    """One place of a table.

    Arguments:
        text: What is printed.
        source: Where it comes from.
        strong: Whether it stands out.
    """

    text: str
    source: str = ""
    strong: bool = False


@dataclasses.dataclass(frozen=True)
class Table:
    """A header and rows of entries; the first `labels` columns are words, the rest numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    labels: int = 2

    def as_html(self) -> str:
        """Return an HTML table whose every number names its source when the mouse rests on it."""
        kinds = [' class="label"' if i < self.labels else "" for i in range(len(self.header))]
        names = zip(kinds, self.header, strict=True)
        head = "".join(f"<th{kind}>{html.escape(name)}</th>" for kind, name in names)
        rows = "".join(f"<tr>{''.join(map(self._html_entry, row))}</tr>" for row in self._marked())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def as_markdown(self) -> str:
        """Return a table of a Markdown page."""
        lines = [self.header, ("---",) * len(self.header)]
        lines += [tuple(f"**{c.text}**" if c.strong else c.text for c in r) for r in self.rows]
        return "".join("| " + " | ".join(line) + " |\n" for line in lines)

    def as_text(self) -> str:
        """Return columns for a terminal."""
        lines = [list(self.header), *([c.text for c in row] for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]

        def padded(line: Sequence[str]) -> str:
            cells = (
                text.ljust(width) if i < self.labels else text.rjust(width)
                for i, (text, width) in enumerate(zip(line, widths, strict=True))
            )
            return "  ".join(cells).rstrip()

        return "\n".join(map(padded, lines))

    def _marked(self) -> list[tuple[tuple[Entry, bool], ...]]:
        """Every entry with whether it is a label."""
        return [tuple((c, i < self.labels) for i, c in enumerate(row)) for row in self.rows]

    @staticmethod
    def _html_entry(marked: tuple[Entry, bool]) -> str:
        entry, is_label = marked
        classes = " ".join(n for n in (entry.strong and "best", is_label and "label") if n)
        kind = f' class="{classes}"' if classes else ""
        title = f' title="{html.escape(entry.source, quote=True)}"' if entry.source else ""
        return f"<td{kind}{title}>{html.escape(entry.text)}</td>"


def number(value: float | None, digits: int = 3) -> str:
    """Return so many significant digits, with an exponent if small; nothing for `None`."""
    if value is None:
        return ""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    if int(exponent) < _SMALLEST_POWER:
        return f"{mantissa}e{int(exponent)}"
    return f"{Decimal(f'{mantissa}e{exponent}'):f}"


# Numbers below this power of ten have an exponent: nobody counts more zeros.
_SMALLEST_POWER = -5


def with_error(value: float | None, error: float | None) -> str:
    """Return a value and its standard error, with no more digits than the error supports.

    The error has one digit, or two where it begins with a 1; the value ends at the same place. An
    error that is zero or not known says nothing about digits.

    Examples:
        >>> with_error(0.034271, 0.0107), with_error(0.0110012, 0.00004)
        ('0.034 ± 0.011', '0.01100 ± 0.00004')
        >>> with_error(4.18e-7, 3.1e-8), with_error(3e-9, 2e-8), with_error(2.0, 0.0)
        ('4.2e-7 ± 0.3e-7', '0e-8 ± 2e-8', '2.00 ± 0')
    """
    if value is None or not math.isfinite(value):
        return "not finite"
    if error is None or not math.isfinite(error):
        return number(value)
    if error == 0:
        return f"{number(value)} ± 0"
    last = _last_place(error)
    power = max(_power(round(part, -last)) for part in (value, error) if round(part, -last))
    if power >= _SMALLEST_POWER and last >= _SMALLEST_POWER - 2:
        return f"{_rounded(value, last)} ± {_rounded(error, last)}"
    scaled = [_rounded(part / 10.0**power, last - power) for part in (value, error)]
    return " ± ".join(f"{part}e{power}" for part in scaled)


def _last_place(error: float) -> int:
    """The power of ten of the last digit that an error supports."""
    mantissa, exponent = f"{error:.1e}".split("e")
    return int(exponent) - 1 if mantissa.startswith("1") else int(exponent)


def _power(value: float) -> int:
    return int(f"{value:e}".split("e")[1])


def _rounded(value: float, place: int) -> str:
    """Round to a power of ten, without an exponent."""
    return f"{value:,.{-place}f}" if place <= 0 else f"{round(value, -place):,.0f}"


def printed(value: float | None) -> str:
    """Return a number of the paper with its four decimals; nothing for `None`."""
    return "" if value is None else f"{value:.4f}"


def measured(cell: HasSpread, file: str, index: int, *, strong: bool = False) -> Entry:
    """Return mean and standard deviation over seeds, with every seed's number as the source."""
    seeds = ", ".join(number(v, 4) or "not finite" for v in cell.mse_by_seed)
    return Entry(with_spread(cell), f"{file}: cells[{index}]; seeds: {seeds}", strong)


def with_spread(cell: HasSpread) -> str:
    """Return mean and standard deviation over seeds; an error that is not finite is not hidden.

    All seeds are measured on the same problems, often a thousand, which tell no more than three
    digits however well seeds agree.
    """
    if cell.mean and cell.std and _last_place(cell.std) < _power(cell.mean) - 2:
        return f"{number(cell.mean)} ± {number(cell.std, 1)}"
    return with_error(cell.mean, cell.std)
