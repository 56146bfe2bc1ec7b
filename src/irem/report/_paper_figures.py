"""The figures of the paper, drawn from results."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from irem.experiments import Frames
from irem.report import _figures as figures
from irem.report._tables import METHOD_NAMES

_COLOURS = {
    "feedforward": "#6b7280",
    "recurrent": "#c2410c",
    "programmatic": "#7c3aed",
    "iterative-feedforward": "#2563eb",
    "irem": "#0f766e",
}
_WIDTHS = {"irem": 2.4}


def paper_figures(
    found: Mapping[str, Any] | None,
    composed: Sequence[Mapping[str, Any]] | None,
    denoised: Sequence[Mapping[str, Any]] | None = None,
) -> dict[str, Figure]:
    """Every figure of which there are numbers, by name."""
    drawn = {}
    if found is not None:
        drawn["teaser"] = _teaser(found["teaser"])
        drawn["steps-by-size"] = _steps_by_size(found["steps-by-size"])
        drawn["steps-by-difficulty"] = method_curves(found["steps-by-difficulty"])
        drawn["element-error"] = figures.element_error(np.asarray(found["element-error"]["errors"]))
        drawn["energy-landscape"] = energy_landscapes(found["energy-landscape"])
        drawn["composition-example"] = composition_example(found["composition-example"])
    if composed is not None:
        drawn["composition-curve"] = composition_curve(composed)
    if denoised is not None:
        drawn["denoising-steps"] = denoising_steps(denoised)
    return drawn


def method_curves(by_task: Mapping[str, Any]) -> Figure:
    """Error against steps: tasks across, difficulties down, a colour for each method."""
    figure, grid = _grid(2, len(by_task), 3.6, 2.8)
    for column, (task, curves) in zip(zip(*grid, strict=True), by_task.items(), strict=True):
        for axes, level in zip(column, ("same", "harder"), strict=True):
            length = max(len(by[level]) for by in curves["mse_by_step"].values())
            for method, by_level in curves["mse_by_step"].items():
                # A descent that has come to rest stays where it is.
                error = np.pad(by_level[level], (0, length - len(by_level[level])), mode="edge")
                width = _WIDTHS.get(method, 1.6)
                axes.semilogy(error, color=_COLOURS[method], linewidth=width)
            axes.axhline(curves["trivial"][level], color="#111827", linestyle=":", linewidth=1.1)
            axes.axvline(5, color="#9ca3af", linewidth=0.8)
            axes.set_title(f"{task}, {level}", fontsize=10)
            axes.set_xlim(0, length - 1)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in grid[-1]:
        axes.set_xlabel("steps taken")
    for row in grid:
        row[0].set_ylabel("mean squared error")
    methods = next(iter(by_task.values()))["mse_by_step"]
    keys = [figures.key(METHOD_NAMES[m], color=_COLOURS[m], linewidth=2) for m in methods]
    keys.append(figures.key("trivial", linestyle=":"))
    keys.append(figures.key("steps in training", color="#9ca3af", linewidth=0.8))
    figure.legend(handles=keys, frameon=False, loc="outside lower center", ncols=4)
    return figure


def energy_landscapes(by_task: Mapping[str, Any]) -> Figure:
    """Energy of candidates above the minimum against their distance from the truth."""
    figure, grid = _grid(1, len(by_task), 3.6, 3.2)
    for axes, (task, levels) in zip(grid[0], by_task.items(), strict=True):
        for level, points in levels.items():
            height, distance = np.asarray(points["height"]), np.asarray(points["distance"])
            above = height > 0
            label = f"{level}: rank correlation {points['rank_correlation']:.2f}"
            style = {"color": figures.COLOURS[level], "markersize": 3, "alpha": 0.5}
            axes.loglog(distance[above], height[above], ".", **style, label=label)
        axes.set_title(task, fontsize=10)
        axes.set_xlabel("squared distance from the truth")
        axes.legend(frameon=False, markerscale=3, fontsize=8, loc="upper left")
    grid[0][0].set_ylabel("energy above the minimum")
    return figure


def composition_curve(cells: Sequence[Mapping[str, Any]]) -> Figure:
    """Error against the number of nested additions; the paper's numbers as crosses."""
    figure, grid = _grid(1, 1, 6.4, 3.8)
    axes = grid[0][0]
    for method in dict.fromkeys(cell["method"] for cell in cells):
        curve = [cell for cell in cells if cell["method"] == method]
        operations = [cell["operations"] for cell in curve]
        seeds = np.asarray([cell["mse_by_seed"] for cell in curve])
        colour = _COLOURS[method]
        axes.fill_between(operations, seeds.min(1), seeds.max(1), color=colour, alpha=0.18, lw=0)
        axes.semilogy(operations, seeds.mean(1), color=colour, linewidth=_WIDTHS.get(method, 1.6))
        paper = [(c["operations"], c["paper"]) for c in curve if c["paper"] is not None]
        axes.plot(*zip(*paper, strict=True), "x", color=colour, markersize=7)
    axes.set_xlabel("additions nested")
    axes.set_ylabel("mean squared error")
    axes.set_xlim(1, max(cell["operations"] for cell in cells))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    methods = dict.fromkeys(cell["method"] for cell in cells)
    keys = [figures.key(METHOD_NAMES[m], color=_COLOURS[m], linewidth=2) for m in methods]
    keys.append(figures.key("paper", linestyle="", marker="x"))
    figure.legend(handles=keys, frameon=False, loc="outside right center")
    return figure


def composition_example(example: Mapping[str, Any]) -> Figure:
    """Four operands, their sum as IREM finds it, and the true one: nine entries each as 3 x 3."""
    parts = [*example["operands"], example["answer"], example["truth"]]
    titles = ["", "", "", "", "IREM", "exact"]
    signs = ["+", "+", "+", "=", "", ""]
    figure, grid = _grid(1, len(parts), 1.75, 1.9)
    for axes, values, title, sign in zip(grid[0], parts, titles, signs, strict=True):
        colour = _COLOURS["irem"] if title == "IREM" else "#111827"
        axes.set_axis_off()
        axes.set_title(title, fontsize=10, color=colour)
        for (i, j), value in np.ndenumerate(np.reshape(values, (3, 3))):
            place = (0.15 + 0.33 * j, 0.8 - 0.3 * i)
            axes.text(*place, f"{value:.3f}", ha="center", va="center", fontsize=8.5, color=colour)
        for edge, way in ((-0.02, 1), (0.98, -1)):
            bracket = ([edge + 0.05 * way, edge, edge, edge + 0.05 * way], [0.97, 0.97, 0.03, 0.03])
            axes.plot(*bracket, color=colour, linewidth=1.1, clip_on=False)
        axes.text(1.09, 0.5, sign, ha="center", va="center", fontsize=13, clip_on=False)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
    return figure


def _teaser(found: Mapping[str, Any]) -> Figure:
    first, second = np.meshgrid(found["first"], found["second"])
    paths = [np.asarray(path) for path in found["paths"]]
    return figures.landscape(first, second, np.asarray(found["energies"]), paths)


def _steps_by_size(found: Mapping[str, Any]) -> Figure:
    errors = {
        METHOD_NAMES[method]: {size: np.asarray([curve]) for size, curve in by_size.items()}
        for method, by_size in found["mse_by_step"].items()
    }
    return figures.error_by_size(errors, found["trivial"])


def _grid(rows: int, columns: int, width: float, height: float) -> tuple[Figure, list[list[Axes]]]:
    with rc_context(figures.STYLE):
        size = (width * columns, height * rows)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
    return figure, axes.tolist()


def denoising_steps(cells: Sequence[Mapping[str, Any]]) -> Figure:
    """Quality against steps, a line for each strength of noise; unseen ones are dashed.

    Of the descents there are, those of the last one.
    """
    walked = [cell for cell in cells if "psnr_by_step" in cell]
    walked = [cell for cell in walked if cell["method"] == walked[-1]["method"]]
    figure, ((axes,),) = _grid(1, 1, 5.6, 3.6)
    colours = colormaps["viridis"](np.linspace(0, 0.85, len(walked)))
    for cell, colour in zip(walked, colours, strict=True):
        steps = [int(t) for t in cell["psnr_by_step"]]
        label = f"noise {cell['sigma']}" + ("" if cell["seen"] else ", not seen in training")
        style = "-" if cell["seen"] else "--"
        axes.plot(steps, list(cell["psnr_by_step"].values()), style, color=colour, label=label)
    axes.axvline(5, color="#9ca3af", linewidth=0.8)
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xlim(0, max(map(int, walked[0]["psnr_by_step"])))
    axes.set_xticks([0, 2, 5, 10, 50, 200], ["0", "2", "5", "10", "50", "200"])
    axes.set_xlabel("steps tried")
    axes.set_ylabel("quality (PSNR, dB)")
    axes.legend(fontsize=8, frameon=False)
    return figure


def denoising_strip(frames: Frames, what: str | None = None) -> Figure:
    """The same piece of a picture after some of the steps, and the clean one if it is known."""
    pictures = list(frames.pictures) + ([] if frames.clean is None else [frames.clean])
    titles = [f"{t} steps" if t else what or "noisy" for t in frames.steps]
    if frames.quality is not None:
        titles = [f"{t}\n{q:.1f} dB" for t, q in zip(titles, frames.quality, strict=True)]
        titles.append("clean\n")
    figure = Figure(figsize=(2.0 * len(pictures), 2.6), layout="constrained")
    for axes, picture, title in zip(
        figure.subplots(1, len(pictures)), pictures, titles, strict=True
    ):
        axes.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axes.set_title(title, fontsize=9)
        axes.set_axis_off()
    return figure


def sat_curves(found: Mapping[str, Any]) -> Figure:
    """3-SAT: cost of an evaluation, descents by clause ratio, and a network's share."""
    figure, ((cost, ratios, network),) = _grid(1, 3, 3.8, 3.0)
    variables = [row["variables"] for row in found["evaluations"]]
    times = [float(np.median(row["microseconds"])) for row in found["evaluations"]]
    cost.loglog(variables, times, "o-", color=_COLOURS["irem"])
    linear = times[-1] / variables[-1] * np.asarray(variables)
    cost.loglog(variables, linear, ":", color="#6b7280", label="in proportion")
    cost.set_xlabel("variables, clause ratio 4")
    cost.set_ylabel("microseconds an evaluation")
    cost.legend(frameon=False, fontsize=8)
    rows = found["ratios"]
    descents = [row["descents_mean"] for row in rows]
    ratios.plot([row["ratio"] for row in rows], descents, "o-", color=_COLOURS["irem"])
    ratios.set_ylim(0)
    ratios.set_xlabel("clauses a variable (100 variables)")
    ratios.set_ylabel("descents until satisfied, mean")
    for name, kind, label in (("irem", "sizes", "descent"), ("feedforward",) * 2 + ("network",)):
        shares = [100 * row["solved"] / row["formulas"] for row in found[kind]]
        sizes = [row["variables"] for row in found[kind]]
        network.semilogx(sizes, shares, "o-", color=_COLOURS[name], label=label)
    network.set_ylim(-4, 104)
    network.set_xlabel("variables, clause ratio 3.5")
    network.set_ylabel("satisfiable formulas solved, %")
    network.legend(frameon=False, fontsize=8, loc="center right")
    return figure
