"""The tables of the paper, made from results."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from irem.experiments import PRINTED_DENOISING
from irem.report._tables import METHOD_NAMES, Cell, Table, measured, number, printed, with_spread
from irem.tasks import LARGEST_SIGMA

_LEVELS = ("same", "harder")

# At most this much above the paper's number counts as reached.
_REACHED = 1.1

Cells = list[dict[str, Any]]


def result_table(result: Mapping[str, Any]) -> Table:
    """The table of any experiment but the figures."""
    name = result["experiment"]
    return _TABLES[name](result["cells"], f"{name}.json")


def table1(cells: Cells, file: str) -> Table:
    """Tasks and methods down, difficulties and their floors across; the lowest error stands out."""
    grouped: dict[tuple[str, str], dict[str, tuple[int, dict[str, Any]]]] = {}
    for index, cell in enumerate(cells):
        grouped.setdefault((cell["task"], cell["method"]), {})[cell["difficulty"]] = (index, cell)
    lowest = {(c["task"], c["difficulty"]): _lowest(cells, c) for c in cells}
    rows = []
    for (task, method), levels in grouped.items():
        row = [Cell(task), Cell(METHOD_NAMES[method])]
        for level in _LEVELS:
            index, cell = levels[level]
            strong = error(cell) == lowest[task, level]
            row += [measured(cell, file, index, strong=strong), Cell(printed(cell["paper"]))]
            row += [Cell(number(cell["trivial"])), Cell(number(cell["best"]))]
        row.append(Cell(f"{levels['same'][1]['parameters']:,}"))
        rows.append(tuple(row))
    across = [
        (level, f"paper, {level}", f"trivial, {level}", f"best, {level}") for level in _LEVELS
    ]
    return Table(("task", "method", *across[0], *across[1], "parameters"), tuple(rows))


def irem_table(cells: Cells, file: str) -> Table:
    """IREM alone: one row for each task and difficulty."""
    rows = []
    for index, cell in enumerate(cells):
        if cell["method"] != "irem":
            continue
        baselines = [c for c in _alike(cells, cell) if c["method"] != "irem"]
        best = min(baselines, key=error) if baselines else None
        rows.append(
            (
                Cell(cell["task"]),
                Cell(cell["difficulty"]),
                measured(cell, file, index, strong=best is None or error(cell) < error(best)),
                Cell(printed(cell["paper"])),
                Cell("" if best is None else f"{with_spread(best)} ({best['method']})"),
                Cell(number(cell["trivial"])),
                Cell(number(cell["best"])),
                Cell(f"{cell['steps_mean']:.0f}"),
            )
        )
    header = ("task", "difficulty", "irem", "IREM in the paper", "best baseline", "trivial")
    return Table((*header, "best possible", "steps"), tuple(rows))


def comparison(cells: Cells, file: str) -> Table:
    """Cell by cell against the paper: the ratio, and what it means."""
    rows = []
    for index, cell in enumerate(cells):
        if cell["paper"] is None:
            continue
        ratio = error(cell) / cell["paper"]
        rows.append(
            (
                Cell(cell["task"]),
                Cell(cell["difficulty"]),
                Cell(METHOD_NAMES[cell["method"]]),
                measured(cell, file, index),
                Cell(printed(cell["paper"])),
                Cell(f"{ratio:.2f}"),
                Cell(_verdict(cell["method"], ratio)),
                Cell(_rank(cells, cell)),
            )
        )
    header = (
        "task",
        "difficulty",
        "method",
        "here",
        "paper",
        "ratio",
        "verdict",
        "rank here/paper",
    )
    return Table(header, tuple(rows), labels=3)


def contradictions(cells: Cells, file: str) -> Table:
    """Pairs of methods whose order here is not the paper's, with the range over seeds of both."""
    rows = []
    for one, other in itertools.permutations(cells, 2):
        same_place = one["task"] == other["task"] and one["difficulty"] == other["difficulty"]
        if not same_place or None in (one["paper"], other["paper"]):
            continue
        if one["paper"] < other["paper"] and error(one) > error(other):
            row = [Cell(one["task"]), Cell(one["difficulty"])]
            for cell in (one, other):
                row += [Cell(METHOD_NAMES[cell["method"]]), Cell(printed(cell["paper"]))]
                row.append(Cell(_range(cell), f"{file}: cells[{cells.index(cell)}].mse_by_seed"))
            rows.append(tuple(row))
    better, worse = ("better in the paper", "paper", "here"), ("better here", "paper", "here")
    return Table(("task", "difficulty", *better, *worse), tuple(rows))


def ablation(cells: Cells, file: str) -> Table:
    """Replay and truncation down; error, pace and memory across."""
    rows = []
    for index, cell in enumerate(cells):
        paper_costs = ("paper_speed", "paper_memory")
        speed, memory = ("" if cell[n] is None else f"{cell[n]} %" for n in paper_costs)
        rows.append(
            (
                Cell("yes" if cell["replay"] else "no"),
                Cell("yes" if cell["truncate"] else "no"),
                Cell(cell["difficulty"]),
                measured(cell, file, index),
                Cell(printed(cell["paper"])),
                Cell(number(cell["trivial"])),
                Cell(number(cell["best"])),
                Cell(number(float(np.median(cell["ms_per_iteration"])))),
                Cell(f"{cell['speed']:.0f} %"),
                Cell(speed),
                Cell(f"{cell['temporary_bytes'] / 1e6:.1f}"),
                Cell(f"{cell['memory']:.0f} %"),
                Cell(memory),
            )
        )
    header = ("replay", "truncated", "difficulty", "error", "paper", "trivial", "best")
    costs = ("ms an iteration", "speed", "paper", "MB at work", "memory", "paper")
    return Table((*header, *costs), tuple(rows), labels=3)


def step_size(cells: Cells, file: str) -> Table:
    """Step sizes down, difficulties across."""
    rows = [
        (
            Cell(str(cell["step_size"])),
            Cell(cell["difficulty"]),
            measured(cell, file, index),
            Cell(printed(cell["paper"])),
            Cell(number(cell["trivial"])),
            Cell(number(cell["best"])),
            Cell(f"{cell['steps_mean']:.0f}"),
        )
        for index, cell in enumerate(cells)
    ]
    header = ("step size", "difficulty", "error", "paper", "trivial", "best", "steps")
    return Table(header, tuple(rows))


def composition(cells: Cells, file: str) -> Table:
    """Methods down; 2, 5 and 10 nested additions across, and the end of the curve."""
    shown = (2, 5, 10)
    last = max(cell["operations"] for cell in cells)
    by_method: dict[str, dict[int, tuple[int, dict[str, Any]]]] = {}
    for index, cell in enumerate(cells):
        by_method.setdefault(cell["method"], {})[cell["operations"]] = (index, cell)
    rows = []
    for method, curve in by_method.items():
        row = [Cell(METHOD_NAMES[method])]
        for k in shown:
            index, cell = curve[k]
            strong = error(cell) == min(error(c[k][1]) for c in by_method.values())
            row += [measured(cell, file, index, strong=strong), Cell(printed(cell["paper"]))]
        row.append(measured(curve[last][1], file, curve[last][0]))
        rows.append(tuple(row))
    floor_of = {cell["operations"]: number(cell["trivial"]) for cell in cells}
    floors = [floor_of[k] for k in (*shown, last)]
    trivial = (Cell(floors[0]), Cell(""), Cell(floors[1]), Cell(""), Cell(floors[2]), Cell(""))
    rows.append((Cell("answering zero"), *trivial, Cell(floors[3])))
    rows.append((Cell("best possible"), *(Cell("" if i % 2 else "0") for i in range(6)), Cell("0")))
    across = [name for k in shown for name in (f"{k} operations", f"paper, {k}")]
    return Table(("method", *across, f"{last} operations"), tuple(rows), labels=1)


def protocol(cells: Cells, file: str) -> Table:
    """The error at the end of training beside the smallest one on the way."""
    rows = [
        (
            Cell(cell["task"]),
            Cell(cell["difficulty"]),
            Cell(with_spread(cell["last"]), f"{file}: cells[{index}].last"),
            measured(cell, file, index),
            Cell(printed(cell["paper"])),
            Cell(number(cell["trivial"])),
            Cell(number(cell["best"])),
        )
        for index, cell in enumerate(cells)
    ]
    header = ("task", "difficulty", "after training", "smallest on test problems", "paper")
    return Table((*header, "trivial", "best"), tuple(rows))


def scratchpad(cells: Cells, file: str) -> Table:
    """Tasks and sizes of the scratchpad down; errors at rest and after a chosen number of steps."""
    stopped = [{**cell, **cell["stopped"]} for cell in cells]
    rows = []
    for index, (cell, early) in enumerate(zip(cells, stopped, strict=True)):
        chosen = f"{file}: cells[{index}].stopped"
        lowest = error(early) == _lowest(stopped, early)
        rows.append(
            (
                Cell(cell["task"]),
                Cell(cell["difficulty"]),
                Cell(str(cell["scratchpad"])),
                measured(cell, file, index, strong=error(cell) == _lowest(cells, cell)),
                Cell(f"{cell['steps_mean']:.0f}"),
                Cell(with_spread(early), chosen, lowest),
                Cell(str(early["max_steps"])),
                Cell(printed(cell["paper"])),
                Cell(number(cell["trivial"])),
                Cell(number(cell["best"])),
                Cell(str(cell["width"])),
                Cell(f"{cell['parameters']:,}"),
            )
        )
    walked = ("error", "steps", "error after chosen steps", "those steps")
    header = ("task", "difficulty", "scratchpad", *walked, "IREM in the paper", "trivial", "best")
    return Table((*header, "width", "parameters"), tuple(rows))


def structure(cells: Cells, file: str) -> Table:
    """Tasks and difficulties down; the error, its floors, and what more steps do to it."""
    walked = [t for t in _STEPS if any(t in cell.get("error_by_step", {}) for cell in cells)]
    rows = []
    for index, cell in enumerate(cells):
        by_step, steps = cell.get("error_by_step", {}), cell.get("steps_mean")
        rows.append(
            (
                Cell(cell["task"]),
                Cell(cell["difficulty"]),
                measured(cell, file, index),
                Cell(printed(cell["paper"])),
                Cell(number(cell["trivial"])),
                Cell(number(cell["best"])),
                Cell("" if steps is None else f"{steps:.0f}"),
                *(Cell("" if s is None else f"{100 * s:.2f} %") for s in _shares(cell)),
                *(Cell(number(by_step[t]) if t in by_step else "") for t in walked),
            )
        )
    header = ("task", "problems", "error", "IREM in the paper", "trivial", "best", "steps")
    header += ("entries right", "all right")
    return Table((*header, *(f"after {t}" for t in walked)), tuple(rows), labels=2)


# Those of training, ten times and a hundred times as many; results have more.
_STEPS = ("5", "50", "500")


def _shares(cell: dict[str, Any]) -> tuple[float | None, float | None]:
    """Of entries, and of problems with every entry, that are right after rounding."""
    return cell.get("entries_right"), cell.get("exact")


def stability(cells: Cells, file: str) -> Table:
    """Tasks, energies and what training has down; both difficulties across."""
    grouped: dict[tuple[str, str, str], dict[str, tuple[int, dict[str, Any]]]] = {}
    for index, cell in enumerate(cells):
        place = (cell["task"], cell["energies"], cell["variant"])
        grouped.setdefault(place, {})[cell["difficulty"]] = (index, cell)
    rows = []
    for place, levels in grouped.items():
        row = [Cell(place[0]), Cell(place[1]), Cell(place[2].replace("-", " "))]
        row += [measured(cell, file, index) for index, cell in (levels[d] for d in _LEVELS)]
        cell = levels["same"][1]
        row.append(Cell("" if cell["skipped"] is None else f"{cell['skipped']:,}"))
        rows.append(tuple(row))
    return Table(("task", "energy", "training", *_LEVELS, "skipped updates"), tuple(rows), labels=3)


# What stands in the table of denoising, in its order.
_DENOISERS = {
    "noisy": "noisy picture",
    "non-local-means": "non-local means",
    "dncnn-bias": "DnCNN",
    "dncnn": "DnCNN without biases",
    "unet-bias": "U-Net",
    "unet": "U-Net without biases",
    "irem": "IREM",
    "unet-longer": "U-Net without biases, longer",
    "irem-longer": "IREM, longer",
}


def denoising(cells: Cells, file: str) -> Table:
    """Methods down, strengths of noise across; the best of what was measured here stands out."""
    sigmas = list(dict.fromkeys(cell["sigma"] for cell in cells))
    best = {s: max(c["psnr"] for c in cells if c["sigma"] == s) for s in sigmas}
    by_method: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for index, cell in enumerate(cells):
        by_method.setdefault(cell["method"], []).append((index, cell))
    rows = []
    for method, found in by_method.items():
        row = [Cell(_DENOISERS[method])]
        for index, cell in found:
            source = f"{file}: cells[{index}]"
            row.append(Cell(f"{cell['psnr']:.2f}", source, cell["psnr"] == best[cell["sigma"]]))
        steps, parameters = (found[0][1].get(n) for n in ("steps_mean", "parameters"))
        row.append(Cell("" if parameters is None else f"{parameters:,}"))
        row.append(Cell("" if steps is None else f"{steps:.0f}"))
        rows.append(tuple(row))
    for name, values in PRINTED_DENOISING.items():
        numbers = (Cell(f"{values[s]:.2f}" if s in values else "") for s in sigmas)
        rows.append((Cell(f"{name}, printed"), *numbers, Cell(""), Cell("")))
    marks = [f"{s}" if s <= LARGEST_SIGMA else f"{s} (not seen)" for s in sigmas]
    return Table(("method", *marks, "parameters", "steps"), tuple(rows), labels=1)


_TABLES: Mapping[str, Callable[[Cells, str], Table]] = {
    "table1": table1,
    "sums": table1,
    "longer": table1,
    "ablation": ablation,
    "step-size": step_size,
    "composition": composition,
    "protocol": protocol,
    "denoising": denoising,
    "scratchpad": scratchpad,
    "structure": structure,
    "stability": stability,
}


def _alike(cells: Cells, cell: dict[str, Any]) -> Cells:
    """All methods on the task and difficulty of `cell`."""
    place = (cell["task"], cell["difficulty"])
    return [c for c in cells if (c["task"], c["difficulty"]) == place]


def _lowest(cells: Cells, cell: dict[str, Any]) -> float:
    return min(error(c) for c in _alike(cells, cell))


def error(cell: dict[str, Any]) -> float:
    """The mean error; infinite where it was not finite."""
    return float("inf") if cell["mean"] is None else cell["mean"]


def _range(cell: dict[str, Any]) -> str:
    """Smallest and largest error of a seed."""
    if None in cell["mse_by_seed"]:
        return "not finite"
    return f"{number(min(cell['mse_by_seed']), 4)} to {number(max(cell['mse_by_seed']), 4)}"


def _verdict(method: str, ratio: float) -> str:
    if method == "irem":
        return "reached" if ratio <= _REACHED else "not reached"
    if ratio > _REACHED:
        return "worse than printed"
    return "better than printed" if ratio < 1 / _REACHED else "as printed"


def _rank(cells: Cells, cell: dict[str, Any]) -> str:
    """Place among the methods, here and in the paper; 1 is the smallest error."""
    others = _alike(cells, cell)
    here = sum(error(o) < error(cell) for o in others)
    return f"{here + 1}/{1 + sum(o['paper'] < cell['paper'] for o in others)}"
