"""What the drawings of several experiments share: panels and colours."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from irem.paper.experiment import method_name

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure
    import matplotlib.lines

COLOURS = {
    "feedforward": "#6b7280",
    "recurrent": "#c2410c",
    "programmatic": "#7c3aed",
    "iterative-feedforward": "#2563eb",
    "irem": "#0f766e",
}
"""One colour for each method, the same in every figure."""


def colour(method: str) -> str:
    """Return the colour of a method; others than those of the paper share one."""
    return COLOURS.get(method, "#111827")


def line_width(method: str) -> float:
    """Return how thick the lines of a method are; IREM's stand out."""
    return 2.4 if method == "irem" else 1.6


def grid(
    rows: int, columns: int, width: float, height: float
) -> "tuple[matplotlib.figure.Figure, list[list[matplotlib.axes.Axes]]]":
    """Return a figure of panels, each as wide and high as given, and its axes by row."""
    from matplotlib import rc_context  # noqa: PLC0415  (only drawing loads matplotlib)
    from matplotlib.figure import Figure  # noqa: PLC0415

    from irem.evaluation.drawing import STYLE  # noqa: PLC0415

    with rc_context(STYLE):
        figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
    return figure, axes.tolist()


def method_entries(methods: Iterable[str]) -> "list[matplotlib.lines.Line2D]":
    """Return the legend entries of some methods."""
    from irem.evaluation.drawing import legend_entry  # noqa: PLC0415

    return [legend_entry(method_name(m), color=colour(m), linewidth=2) for m in methods]
