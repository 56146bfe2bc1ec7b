"""Figures: functions from measured numbers to matplotlib figures."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, PowerNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from irem.evaluation.answers import draw_answer
from irem.evaluation.walks import Walk

COLOURS = {"same": "#0f766e", "harder": "#c2410c"}
"""One colour for each difficulty, the same in every figure."""
_STEPS = "#1d4ed8"
_LINES = ("-", "--", "-.")
_PATHS = ("#ffffff", "#fde047")
STYLE: dict[Any, Any] = {
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
    with rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        return figure, figure.add_subplot()


def loss_curve(iteration: np.ndarray, loss: np.ndarray) -> Figure:
    """Training loss against iterations; one line for each column of `loss`."""
    figure, axes = _axes()
    axes.semilogy(iteration, loss, color="#1d4ed8", linewidth=1.6)
    axes.set_xlabel("iteration")
    axes.set_ylabel("training loss")
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
    figure, axes = _axes(6.2, 3.6)
    for name, array in errors.items():
        steps, colour = np.arange(array.shape[1]), COLOURS[name]
        # Nearest: there is no value between a finite error and one that is not finite.
        low, high = np.percentile(array, [5, 95], axis=0, method="nearest")
        axes.fill_between(steps, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.semilogy(steps, array.mean(0), color=colour, linewidth=2)
        for level, line in ((paper, "--"), (trivial, ":")):
            value = level[name]
            if value is not None:
                axes.axhline(value, color=colour, linestyle=line, linewidth=1.2)
    _steps_axis(axes, [array.mean(0) for array in errors.values()])
    axes.set_ylabel("mean squared error")
    entries = [legend_entry(name, color=COLOURS[name], linewidth=2) for name in errors]
    if any(value is not None for value in paper.values()):
        entries.append(legend_entry("paper", linestyle="--"))
    entries += [
        legend_entry("trivial", linestyle=":"),
        legend_entry("5 to 95 %", linewidth=8, alpha=0.25, solid_capstyle="butt"),
    ]
    figure.legend(handles=entries, frameon=False, loc="outside right center")
    return figure


def error_by_size(
    errors: Mapping[str, Mapping[str, np.ndarray]], trivial: Mapping[str, float]
) -> Figure:
    """Mean error against the number of steps, a colour for each size.

    Arguments:
        errors: For each method, and each label of a size, an array of problems x steps. Methods
            differ in how their lines are broken.
        trivial: For each size, error of the predictor that learns nothing.
    """
    figure, axes = _axes(6.4, 3.8)
    colours = dict(zip(trivial, _shades(len(trivial)), strict=True))
    lines = dict(zip(errors, itertools.cycle(_LINES), strict=False))
    for method, by_size in errors.items():
        for size, array in by_size.items():
            axes.semilogy(array.mean(0), lines[method], color=colours[size], linewidth=2)
    for size, value in trivial.items():
        axes.axhline(value, color=colours[size], linestyle=":", linewidth=1.2)
    _steps_axis(axes, [a.mean(0) for by_size in errors.values() for a in by_size.values()])
    axes.set_ylabel("mean squared error")
    entries = [legend_entry(size, color=colour, linewidth=2) for size, colour in colours.items()]
    if len(errors) > 1:
        entries += [legend_entry(method, linestyle=line) for method, line in lines.items()]
    entries.append(legend_entry("trivial", linestyle=":"))
    figure.legend(handles=entries, frameon=False, loc="outside right center")
    return figure


def element_error(errors: np.ndarray) -> Figure:
    """Squared error of every entry (rows, as they are sorted) after every step (columns)."""
    figure, axes = _axes(5.2, 4.2)
    # Of the smallest errors only noise is left, and an error of 0 has no logarithm.
    low, high = max(np.percentile(errors, 1), 1e-9), errors.max()
    shades = LogNorm(vmin=low, vmax=max(high, 10 * low), clip=True)
    edges = np.arange(errors.shape[1] + 1) - 0.5
    rows = np.arange(errors.shape[0] + 1)
    shade = axes.pcolormesh(edges, rows, errors, norm=shades, cmap="magma", rasterized=True)
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.set_xlabel("steps taken (0 is the first guess)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("entries of the answer, largest first error on top")
    figure.colorbar(shade, ax=axes, label="squared error", extend="min")
    return figure


def steps_spent(steps: Mapping[str, np.ndarray], max_steps: int) -> Figure:
    """Steps that descents took by themselves: mean and 5 to 95 % for each label."""
    figure, axes = _axes()
    places = np.arange(len(steps))
    means = [s.mean() for s in steps.values()]
    low, high = np.transpose([np.percentile(s, [5, 95]) for s in steps.values()])
    axes.vlines(places, low, high, color=_STEPS, alpha=0.3, linewidth=9)
    axes.plot(places, means, "o", color=_STEPS, markersize=6)
    for place, mean in zip(places, means, strict=True):
        axes.annotate(
            f"{mean:.1f}", (place, mean), (10, 0), textcoords="offset points", va="center"
        )
    if max(high) >= max_steps:
        axes.axhline(max_steps, color="#6b7280", linestyle="--", linewidth=1)
        axes.annotate("budget", (-0.4, max_steps), (0, 3), textcoords="offset points", fontsize=8)
    axes.set_xticks(places, list(steps))
    axes.set_xlim(-0.5, len(steps) - 0.3)
    axes.set_ylim(0, 1.12 * max(high))
    axes.grid(visible=False, axis="x")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("steps taken: mean, 5 to 95 %")
    return figure


def energy_by_error(points: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Figure:
    """Energy above the minimum against the distance from the truth.

    Candidates below the minimum that descents found have no place on the scale; the legend says how
    many there are.
    """
    figure, axes = _axes()
    for name, (distance, height) in points.items():
        shown = height > 0
        below = "" if shown.all() else f" ({100 * np.mean(~shown):.2g} % lie below, not shown)"
        axes.loglog(
            distance[shown],
            height[shown],
            ".",
            color=COLOURS[name],
            markersize=3,
            alpha=0.5,
            label=name + below,
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
    bar = figure.colorbar(shade, ax=axes, label="energy", format="%.3g")
    bar.set_ticks(list(levels[::6]))
    return figure


def walk_strip(walk: Walk, panels: int = 8) -> Figure:
    """The answer to one problem after some numbers of steps, side by side."""
    shown = walk.thinned(panels)
    columns = min(len(shown.steps), 4)
    rows = -(-len(shown.steps) // columns)
    with rc_context(STYLE):
        figure = Figure(figsize=(2.5 * columns, 2.8 * rows), layout="constrained")
        for place, (steps, y) in enumerate(zip(shown.steps, shown.answers, strict=True)):
            axes = figure.add_subplot(rows, columns, place + 1)
            draw_answer(axes, walk.format, walk.x, y, walk.y)
            axes.set_title(_steps_in_words(steps), fontsize=10)
    return figure


def walk_frames(walk: Walk) -> Iterator[Figure]:
    """The answer to one problem after every step, one figure each, above its energy so far."""
    for last, (steps, y) in enumerate(zip(walk.steps, walk.answers, strict=True)):
        with rc_context(STYLE):
            figure = Figure(figsize=(3.6, 4.6), layout="constrained")
            above, below = figure.subplots(2, 1, height_ratios=(4, 1))
        draw_answer(above, walk.format, walk.x, y, walk.y)
        above.set_title(_steps_in_words(steps), fontsize=11)
        below.plot(walk.steps, walk.energies, color="#d1d5db", linewidth=1.2)
        below.plot(walk.steps[: last + 1], walk.energies[: last + 1], color=_STEPS, linewidth=1.8)
        below.plot(steps, walk.energies[last], "o", color=_STEPS, markersize=5)
        below.set_xlabel("steps", fontsize=9)
        below.set_ylabel("energy", fontsize=9)
        below.set_yticks([])
        below.xaxis.set_major_locator(MaxNLocator(5, integer=True))
        yield figure


def _steps_in_words(steps: int) -> str:
    return "first guess" if steps == 0 else f"{steps:,} step{'s' * (steps != 1)}"


def _steps_axis(axes: Axes, curves: Sequence[np.ndarray]) -> None:
    """Steps from 0 to where the last curve has converged."""
    axes.set_xlabel("steps taken (0 is the first guess)")
    axes.set_xlim(0, max(_converged_step(curve) for curve in curves))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _converged_step(curve: np.ndarray) -> int:
    """One more than the last step at which a curve was 1 % away from its end."""
    away = np.flatnonzero(~np.isclose(curve, curve[-1], rtol=0.01, atol=0.0))
    return min(int(away[-1]) + 2, len(curve) - 1) if away.size else 1


def _shades(number: int) -> np.ndarray:
    """So many colours from light to dark, the lightest still seen on white."""
    return colormaps["viridis_r"](np.linspace(0.15, 1.0, number))


def legend_entry(label: str, **style: Any) -> Line2D:
    """Return a line of a legend."""
    return Line2D([], [], **{"color": "#374151", "linewidth": 1.2, **style}, label=label)
