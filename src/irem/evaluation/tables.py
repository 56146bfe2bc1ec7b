"""Results as tables: for a page, for Markdown, for a terminal."""

import dataclasses
import html
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


def printed(value: float | None) -> str:
    """Return a number of the paper with its four decimals; nothing for `None`."""
    return "" if value is None else f"{value:.4f}"


def measured(cell: HasSpread, file: str, index: int, *, strong: bool = False) -> Entry:
    """Return mean and standard deviation over seeds, with every seed's number as the source."""
    seeds = ", ".join(number(v, 4) or "not finite" for v in cell.mse_by_seed)
    return Entry(with_spread(cell), f"{file}: cells[{index}]; seeds: {seeds}", strong)


def with_spread(cell: HasSpread) -> str:
    """Return mean and standard deviation over seeds; an error that is not finite is not hidden."""
    if cell.mean is None:
        return "not finite"
    spread = "" if cell.std is None else f" ± {number(cell.std, 1)}"
    return number(cell.mean) + spread
