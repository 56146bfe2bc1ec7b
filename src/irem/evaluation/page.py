"""One self-contained HTML page."""

import base64
import html
import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import matplotlib.figure

_SECONDS_A_FRAME, _SECONDS_AT_END = 0.25, 2.5

_CSS = """
body { font: 16px/1.55 system-ui, sans-serif; color: #111827; background: #f9fafb; margin: 0; }
main { max-width: 84rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
p { max-width: 46rem; }
table { border-collapse: collapse; background: white; font-variant-numeric: tabular-nums;
  display: block; width: fit-content; max-width: 100%; overflow-x: auto; }
th, td { padding: .3rem .6rem; font-size: .9rem; border: 1px solid #e5e7eb; text-align: right; }
td { white-space: nowrap; }
th:first-child, td:first-child, .label { text-align: left; }
thead th { background: #f3f4f6; }
.best { font-weight: 700; color: #0f766e; }
.grid { display: grid; gap: 1.25rem;
  grid-template-columns: repeat(auto-fit, minmax(min(30rem, 100%), 1fr)); }
figure { margin: 0; background: white; border: 1px solid #e5e7eb; padding: 1rem; }
figure.wide { grid-column: 1 / -1; }
figure img { width: 100%; height: auto; }
figcaption { font-size: .9rem; color: #374151; }
code, pre { font: .875rem/1.5 ui-monospace, monospace; background: #f3f4f6; border-radius: .25rem; }
code { padding: .1rem .3rem; } pre { padding: .75rem 1rem; overflow-x: auto; }
footer { margin-top: 3rem; font-size: .85rem; color: #6b7280; }
"""


def text(words: str) -> str:
    """Return plain text as HTML."""
    return html.escape(words)


def paragraph(words: str) -> str:
    """Return a paragraph of plain text."""
    return f"<p>{text(words)}</p>"


def heading(words: str) -> str:
    """Return a section heading."""
    return f"<h2>{text(words)}</h2>"


def bullets(items: Sequence[str]) -> str:
    """Return a list of plain texts."""
    return "<ul>" + "".join(f"<li>{text(item)}</li>" for item in items) + "</ul>"


def commands(lines: Sequence[str]) -> str:
    """Return a block of commands to copy."""
    return f"<pre>{text(chr(10).join(lines))}</pre>"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], best: int | None = None) -> str:
    """Return a table of plain texts; the column `best` stands out."""
    head = "".join(f"<th>{text(cell)}</th>" for cell in header)
    marked = lambda i: ' class="best"' if i == best else ""  # noqa: E731
    body = "".join(
        "<tr>" + "".join(f"<td{marked(i)}>{text(c)}</td>" for i, c in enumerate(row)) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def image(drawing: "matplotlib.figure.Figure", kind: str = "png") -> bytes:
    """Return a figure as a file of the given kind: png, svg or pdf."""
    buffer = io.BytesIO()
    drawing.savefig(buffer, format=kind, dpi=160)
    return buffer.getvalue()


def animation(frames: "Iterable[matplotlib.figure.Figure]", kind: str = "gif") -> bytes:
    """Return figures one after another as a moving picture, gif or webp; the last one stays longer.

    It runs once and then stands still: people read what does not move.
    """
    from PIL import Image  # noqa: PLC0415  (only moving pictures need it)

    pictures = []
    for frame in frames:
        buffer = io.BytesIO()
        frame.savefig(buffer, format="png", dpi=100)
        pictures.append(Image.open(buffer).convert("RGB"))
    durations = [_SECONDS_A_FRAME] * (len(pictures) - 1) + [_SECONDS_AT_END]
    made, milliseconds = io.BytesIO(), [round(1000 * seconds) for seconds in durations]
    options: dict[str, Any] = {"lossless": True, "loop": 1} if kind == "webp" else {}
    first, *others = pictures
    first.save(made, kind, save_all=True, append_images=others, duration=milliseconds, **options)
    return made.getvalue()


def png(drawing: "matplotlib.figure.Figure") -> bytes:
    """Return a figure as a PNG file."""
    return image(drawing, "png")


def figure(drawing: "matplotlib.figure.Figure", caption: str, *, wide: bool = False) -> str:
    """Return a figure inside the page itself; its caption also serves those who cannot see it."""
    data = base64.b64encode(png(drawing)).decode()
    kind = ' class="wide"' if wide else ""
    return (
        f'<figure{kind}><img alt="{html.escape(caption, quote=True)}" '
        f'src="data:image/png;base64,{data}">'
        f"<figcaption>{text(caption)}</figcaption></figure>"
    )


def grid(figures: Sequence[str]) -> str:
    """Return figures side by side."""
    return f'<div class="grid">{"".join(figures)}</div>'


def page(title: str, parts: Sequence[str], foot: str) -> str:
    """Return a whole page that needs nothing beside itself."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{_CSS}</style></head>"
        f"<body><main><h1>{text(title)}</h1>{''.join(parts)}"
        f"<footer>{text(foot)}</footer></main></body></html>\n"
    )
