"""Figures: functions from measured numbers to matplotlib figures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

COLOURS = {"same": "#0f766e", "harder": "#c2410c"}
"""One colour for each difficulty, the same in every figure."""
_PATHS = ("#ffffff", "#fde047")
_STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e5e7eb",
    "axes.edgecolor": "#6b7280",
    "axes.labelcolor": "#111827",
    "xtick.color": "#374151",
    "ytick.color": "#374151",
    "font.size": 10,
    "svg.fonttype": "path",
}


def _axes(width: float = 5.2, height: float = 3.6) -> tuple[Figure, Axes]:
    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        return figure, figure.add_subplot()


def loss_curve(iteration: np.ndarray, loss: np.ndarray) -> Figure:
    """Training loss against iterations; one line for each column of `loss`."""
    figure, axes = _axes()
    axes.semilogy(iteration, loss, color="#1d4ed8", linewidth=1.6)
    axes.set_xlabel("iteration")
    axes.set_ylabel("training loss (squared error after 5 steps)")
    return figure


def error_by_step(
    errors: Mapping[str, np.ndarray],
    paper: Mapping[str, float | None],
    trivial: Mapping[str, float | None],
) -> Figure:
    """Error against the number of steps, with the paper's error and the trivial floor.

    Arguments:
        errors: For each difficulty an array of problems x steps; step 0 is the first guess.
        paper: The paper's error, where it prints one.
        trivial: Error of the predictor that learns nothing.
    """
    figure, axes = _axes()
    last = max(e.shape[1] for e in errors.values()) - 1
    for name, array in errors.items():
        steps, colour = np.arange(array.shape[1]), COLOURS[name]
        low, high = np.percentile(array, [5, 95], axis=0)
        axes.fill_between(steps, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.semilogy(steps, array.mean(0), color=colour, linewidth=2, label=name)
        for level, line, word in ((paper, "--", "paper"), (trivial, ":", "trivial")):
            value = level[name]
            if value is None:
                continue
            axes.axhline(value, color=colour, linestyle=line, linewidth=1)
            place = {"textcoords": "offset points", "ha": "right", "fontsize": 8}
            axes.annotate(f"{word}, {name}", (last, value), (0, 3), color=colour, **place)
    axes.set_xlabel("steps taken (0 is the first guess)")
    axes.set_ylabel("mean squared error")
    axes.set_xlim(0, last)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, loc="center right", bbox_to_anchor=(1.0, 0.62))
    return figure


def energy_by_error(points: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Energy above the minimum against the distance from the truth."""
    figure, axes = _axes()
    for name, (distance, height) in points.items():
        shown = height > 0
        axes.loglog(
            distance[shown],
            height[shown],
            ".",
            color=COLOURS[name],
            markersize=3,
            alpha=0.5,
            label=name,
        )
    axes.set_xlabel("mean squared distance of a candidate from the truth")
    axes.set_ylabel("its energy above the minimum")
    axes.legend(frameon=False, markerscale=3)
    return figure


def landscape(
    first: np.ndarray, second: np.ndarray, energies: np.ndarray, paths: Sequence[np.ndarray]
) -> Figure:
    """A slice of a landscape, and the paths walked on it from two first guesses."""
    figure, axes = _axes(5.2, 4.2)
    # Levels grow with a power of the height, so that the valley the paths end in is seen as well.
    low, high = energies.min(), energies.max()
    levels = low + (high - low) * np.linspace(0, 1, 30) ** 2.5
    shades = PowerNorm(gamma=0.4, vmin=low, vmax=high)
    shade = axes.contourf(first, second, energies, levels=levels, cmap="viridis", norm=shades)
    axes.contour(first, second, energies, levels=levels, colors="white", linewidths=0.3, alpha=0.4)
    label = {"textcoords": "offset points", "color": "white", "fontsize": 9}
    for path, colour in zip(paths, _PATHS, strict=False):
        style = {"color": colour, "markeredgecolor": "#111827", "markeredgewidth": 0.6}
        axes.plot(*path.T, "-*", linewidth=1.6, markersize=12, **style)
        axes.annotate("first guess", path[0], (8, 8), **label)
    axes.annotate("answer", (0, 0), (-12, -16), ha="right", **label)
    axes.set_xlim(first.min(), first.max())
    axes.set_ylim(second.min(), second.max())
    axes.grid(visible=False)
    axes.set_xlabel("towards one first guess")
    axes.set_ylabel("towards the other")
    bar = figure.colorbar(shade, ax=axes, label="energy", format="%.2g")
    bar.set_ticks(list(levels[::6]))
    return figure
