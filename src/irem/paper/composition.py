"""Table 4 and its figure: learned additions applied to their own output, for all methods."""

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

import numpy as np

from irem.evaluation.composition import compose
from irem.evaluation.tables import Entry, Table, measured, number, printed
from irem.keys import fresh_key
from irem.paper.cells import ErrorCell, spread
from irem.paper.experiment import Drawing, Experiment, Result, method_name
from irem.paper.study import PAPER_METHODS, Study
from irem.paper.table1 import is_paper_task
from irem.tasks import AbstractTask

if TYPE_CHECKING:
    import matplotlib.figure

PAPER_COMPOSITIONS: Mapping[str, Mapping[int, float]] = MappingProxyType(
    {
        "feedforward": {2: 0.0445, 5: 0.2717, 10: 0.8898},
        "recurrent": {2: 2.1377, 5: 3.1861, 10: 4.8706},
        "programmatic": {2: 0.0203, 5: 0.1068, 10: 0.4587},
        "iterative-feedforward": {2: 0.0826, 5: 0.5930, 10: 3.6004},
        "irem": {2: 0.0014, 5: 0.0078, 10: 0.0422},
    }
)
"""Table 4: errors by method and number of nested additions."""

_SHOWN = (2, 5, 10)


def printed_compositions(method: str, task: AbstractTask) -> Mapping[int, float]:
    """Return the errors of Table 4 for a method by number of operations, if the paper prints any.

    Arguments:
        method: A name of `irem.methods.METHODS`.
        task: The paper composes additions; for other settings of them it prints nothing.
    """
    composed = task.name == "addition" and is_paper_task(task)
    return PAPER_COMPOSITIONS.get(method, {}) if composed else {}


@dataclasses.dataclass(frozen=True, kw_only=True)
class CompositionCell(ErrorCell):
    """The error after some nested additions.

    Arguments:
        operations: How many.
        problems: Test problems.
        run: Folder of the models within the study.
    """

    operations: int
    problems: int
    run: str


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is measured.

    Arguments:
        operations: Length of the curve; the paper's table has 2, 5 and 10.
        methods: Which methods.
    """

    operations: int = 20
    methods: tuple[str, ...] = PAPER_METHODS


SETTINGS = Settings()


def run(study: Study, settings: Settings = SETTINGS) -> list[CompositionCell]:
    """Return errors of every method after 1 to 20 nested additions."""
    task = study.tasks["addition"]
    return [
        cell
        for method in settings.methods
        for cell in study.cells(
            "composition",
            method,
            [CompositionCell],
            lambda m=method: _measure(study, task, m, settings.operations),
        )
    ]


def _measure(
    study: Study, task: AbstractTask, method: str, operations: int
) -> list[CompositionCell]:
    label = f"{task.name}-{method}"
    run, _ = study.trained(task, study.recipe(task, method), label)
    options = {"problems": study.scale.problems, "key": fresh_key(0, "compose")}
    curves = np.asarray([compose(model, task, operations, **options) for model in run.models])
    return [
        CompositionCell(
            task=task.name,
            method=method,
            operations=k,
            **vars(spread(curves[:, k - 1])),
            paper=PAPER_COMPOSITIONS[method].get(k),
            trivial=error_of_zero(k),
            best=0.0,
            problems=study.scale.problems,
            run=f"models/{label}",
            **study.origin(),
        )
        for k in range(1, operations + 1)
    ]


def error_of_zero(operations: int) -> float:
    """Return the error of answering zero: each of the operands has variance 1/3."""
    return (operations + 1) / 3


def table(cells: Sequence[CompositionCell], file: str) -> Table:
    """Methods down; 2, 5 and 10 nested additions across, and the end of the curve."""
    last = max(cell.operations for cell in cells)
    by_method: dict[str, dict[int, tuple[int, CompositionCell]]] = {}
    for index, cell in enumerate(cells):
        by_method.setdefault(cell.method, {})[cell.operations] = (index, cell)
    rows = []
    for method, curve in by_method.items():
        row = [Entry(method_name(method))]
        for k in _SHOWN:
            lowest = min((c[k][1].error for c in by_method.values() if k in c), default=None)
            index, cell = curve.get(k, (0, None))
            row.append(_entry(cell, file, index, strong=cell is not None and cell.error == lowest))
            row.append(Entry("" if cell is None else printed(cell.paper)))
        index, cell = curve.get(last, (0, None))
        rows.append((*row, _entry(cell, file, index)))
    floors = {cell.operations: number(cell.trivial) for cell in cells}
    rows.append(_floor_row("answering zero", [floors.get(k, "") for k in (*_SHOWN, last)]))
    rows.append(_floor_row("best possible", ["0"] * (len(_SHOWN) + 1)))
    across = [name for k in _SHOWN for name in (f"{k} operations", f"paper, {k}")]
    return Table(("method", *across, f"{last} operations"), tuple(rows), labels=1)


def _entry(cell: CompositionCell | None, file: str, index: int, *, strong: bool = False) -> Entry:
    """The error of a cell; empty where it is missing."""
    return Entry("") if cell is None else measured(cell, file, index, strong=strong)


def _floor_row(name: str, values: Sequence[str]) -> tuple[Entry, ...]:
    pairs = [entry for value in values[:-1] for entry in (Entry(value), Entry(""))]
    return (Entry(name), *pairs, Entry(values[-1]))


def draw_curve(result: Result) -> "matplotlib.figure.Figure":
    """Draw the error against the number of nested additions; the paper's numbers as crosses."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  (only drawing loads matplotlib)

    from irem.evaluation.drawing import legend_entry  # noqa: PLC0415
    from irem.paper import drawing  # noqa: PLC0415

    cells = cast("Sequence[CompositionCell]", result.cells)
    figure, ((axes,),) = drawing.grid(1, 1, 6.4, 3.8)
    methods = list(dict.fromkeys(cell.method for cell in cells))
    for method in methods:
        curve = [cell for cell in cells if cell.method == method]
        operations = [cell.operations for cell in curve]
        seeds = [np.asarray(cell.mse_by_seed or (None,), np.float64) for cell in curve]
        low, mean, high = np.transpose([(s.min(), s.mean(), s.max()) for s in seeds])
        colour, width = drawing.colour(method), drawing.line_width(method)
        axes.fill_between(operations, low, high, color=colour, alpha=0.18, lw=0)
        axes.semilogy(operations, mean, color=colour, linewidth=width)
        paper = [(c.operations, c.paper) for c in curve if c.paper is not None]
        crosses = np.reshape(np.asarray(paper, np.float64), (-1, 2))
        axes.plot(*crosses.T, "x", color=colour, markersize=7)
    axes.set_xlabel("additions nested")
    axes.set_ylabel("mean squared error")
    axes.set_xlim(1, max(2, *(cell.operations for cell in cells)))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    entries = drawing.method_entries(methods)
    entries.append(legend_entry("paper", linestyle="", marker="x"))
    figure.legend(handles=entries, frameon=False, loc="outside right center")
    return figure


EXPERIMENT = Experiment(
    name="composition",
    title="Table 4: additions applied to their own output",
    explanation=(
        "Every method adds to its own output, again and again. Operands are drawn from (-1, 1), so "
        "sums leave the range of training."
    ),
    run=run,
    kinds=(CompositionCell,),
    table=table,
    drawings={
        "composition-curve": Drawing(
            "Error against the number of nested additions: mean and range over seeds. Crosses: the "
            "paper.",
            draw_curve,
        )
    },
)
