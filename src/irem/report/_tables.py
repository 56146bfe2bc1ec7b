"""Results as tables: for a page, for Markdown, for a terminal."""

import dataclasses
import html
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

METHOD_NAMES = {
    "feedforward": "feedforward",
    "recurrent": "recurrent (LSTM)",
    "programmatic": "programmatic (PonderNet)",
    "iterative-feedforward": "iterative feedforward",
    "irem": "IREM",
}
"""Methods as they are printed."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """What is printed, where it comes from, and whether it stands out."""

    text: str
    source: str = ""
    strong: bool = False


@dataclasses.dataclass(frozen=True)
class Table:
    """A header and rows of cells; the first `labels` columns are words, the rest numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    labels: int = 2

    def as_html(self) -> str:
        """A table whose every number names its source when the mouse rests on it."""
        kinds = [' class="label"' if i < self.labels else "" for i in range(len(self.header))]
        names = zip(kinds, self.header, strict=True)
        head = "".join(f"<th{kind}>{html.escape(name)}</th>" for kind, name in names)
        rows = "".join(f"<tr>{''.join(map(self._html_cell, row))}</tr>" for row in self._marked())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def as_markdown(self) -> str:
        """A table of a Markdown page."""
        lines = [self.header, ("---",) * len(self.header)]
        lines += [tuple(f"**{c.text}**" if c.strong else c.text for c in r) for r in self.rows]
        return "".join("| " + " | ".join(line) + " |\n" for line in lines)

    def as_text(self) -> str:
        """Columns for a terminal."""
        lines = [list(self.header), *([c.text for c in row] for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]

        def padded(line: Sequence[str]) -> str:
            cells = (
                text.ljust(width) if i < self.labels else text.rjust(width)
                for i, (text, width) in enumerate(zip(line, widths, strict=True))
            )
            return "  ".join(cells).rstrip()

        return "\n".join(map(padded, lines))

    def _marked(self) -> list[tuple[tuple[Cell, bool], ...]]:
        """Every cell with whether it is a label."""
        return [tuple((c, i < self.labels) for i, c in enumerate(row)) for row in self.rows]

    @staticmethod
    def _html_cell(marked: tuple[Cell, bool]) -> str:
        cell, is_label = marked
        classes = " ".join(name for name in (cell.strong and "best", is_label and "label") if name)
        kind = f' class="{classes}"' if classes else ""
        title = f' title="{html.escape(cell.source, quote=True)}"' if cell.source else ""
        return f"<td{kind}{title}>{html.escape(cell.text)}</td>"


def number(value: float | None, digits: int = 3) -> str:
    """So many digits that count, with an exponent if small; nothing where there is no number."""
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
    """A number of the paper, with its four decimals."""
    return "" if value is None else f"{value:.4f}"


def measured(cell: Mapping[str, Any], file: str, index: int, *, strong: bool = False) -> Cell:
    """Mean and standard deviation over seeds, with every seed's number as the source."""
    seeds = ", ".join(number(v, 4) or "not finite" for v in cell["mse_by_seed"])
    return Cell(with_spread(cell), f"{file}: cells[{index}]; seeds: {seeds}", strong)


def with_spread(cell: Mapping[str, Any]) -> str:
    """Mean and standard deviation over seeds; an error that is not finite is not hidden."""
    if cell["mean"] is None:
        return "not finite"
    spread = "" if cell["std"] is None else f" ± {number(cell['std'], 1)}"
    return number(cell["mean"]) + spread
