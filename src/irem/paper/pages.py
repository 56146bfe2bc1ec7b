"""Results as one page, as Markdown, and as text for a terminal."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from irem.evaluation import page as html
from irem.evaluation.tables import Table
from irem.paper.experiment import Result, Section
from irem.paper.registry import EXPERIMENTS
from irem.paper.results import read_results
from irem.paper.scale import NamedScale

if TYPE_CHECKING:
    import matplotlib.figure

_TITLE = "Learning iterative reasoning, reproduced"
_INTRODUCTION = (
    "The tables and figures of 'Learning Iterative Reasoning through Energy Minimization' (Du, "
    "Li, Tenenbaum, Mordatch, ICML 2022), made again beside the printed numbers."
)
_QUICK = (
    "This is a quick reproduction: far less training than the paper's, fewer seeds, fewer test "
    "problems. Its numbers show that everything works and roughly how methods compare; for the "
    "paper's settings run with --full. "
)
_MOUSE = (
    " Rest the mouse on a number for its place in the result files and the number of every seed."
)
_FOOT = "Every number is in the JSON files beside this page, with each seed's value and settings."


def result_table(result: Result) -> Table | None:
    """Return the table of a result; `None` for the figures."""
    table = EXPERIMENTS[result.experiment].table
    return None if table is None else table(result.cells, result.file)


def as_text(result: Result) -> str:
    """Return one result for a terminal."""
    experiment, table = EXPERIMENTS[result.experiment], result_table(result)
    if table is None:
        return f"{experiment.title}: {', '.join(result.figures or ())}"
    return f"{experiment.title}\n\n{table.as_text()}\n\n{experiment.describe(result)}\n"


def reproduction_figures(
    results: Mapping[str, Result],
) -> "dict[str, matplotlib.figure.Figure]":
    """Return every figure of which there are numbers, by name."""
    return {
        name: drawing.draw(result)
        for result in results.values()
        for name, drawing in EXPERIMENTS[result.experiment].drawings.items()
    }


def reproduction_page(folder: Path) -> str:
    """Return one page with every table and figure in `folder` that needs nothing beside itself."""
    results = read_results(folder)
    parts = [html.paragraph(_scope(results) + _MOUSE)]
    for result in results.values():
        experiment, table = EXPERIMENTS[result.experiment], result_table(result)
        if table is None:
            continue
        parts += [html.heading(experiment.title), html.paragraph(experiment.explanation)]
        parts += [table.as_html(), html.paragraph(experiment.describe(result))]
        for section in experiment.sections(result.cells):
            parts += _section_html(section)
    return html.page(_TITLE, parts + _figures_html(results), _FOOT)


def reproduction_markdown(folder: Path) -> str:
    """Return every table in `folder` as Markdown."""
    results = read_results(folder)
    parts = [f"# {_TITLE}\n", _scope(results) + "\n"]
    for result in results.values():
        experiment, table = EXPERIMENTS[result.experiment], result_table(result)
        if table is None:
            continue
        parts += [f"## {experiment.title}\n", experiment.explanation + "\n"]
        parts += [table.as_markdown(), experiment.describe(result) + "\n"]
        for section in experiment.sections(result.cells):
            parts += _section_markdown(section)
    return "\n".join(parts)


def _figures_html(results: Mapping[str, Result]) -> list[str]:
    drawings = {n: d for name in results for n, d in EXPERIMENTS[name].drawings.items()}
    if not drawings:
        return []
    drawn = reproduction_figures(results)
    shown = [html.figure(drawn[n], d.caption, wide=d.wide) for n, d in drawings.items()]
    alone = [result for result in results.values() if result.figures is not None]
    sources = [EXPERIMENTS[result.experiment].describe(result) for result in alone]
    return [html.heading("Figures"), html.grid(shown), *map(html.paragraph, sources)]


def _section_html(section: Section) -> list[str]:
    parts = [html.heading(section.title)]
    parts += [html.paragraph(section.words)] if section.words else []
    parts += [section.table.as_html()] if section.table else []
    return parts + ([html.bullets(section.points)] if section.points else [])


def _section_markdown(section: Section) -> list[str]:
    parts = [f"### {section.title}\n"]
    parts += [section.words + "\n"] if section.words else []
    parts += [section.table.as_markdown()] if section.table else []
    points = "".join(f"{i}. {text}\n" for i, text in enumerate(section.points, start=1))
    return parts + ([points] if points else [])


def _scope(results: Mapping[str, Result]) -> str:
    """At which scale, in words; a quick reproduction says so first."""
    scales = {result.settings(NamedScale).name for result in results.values()}
    return _INTRODUCTION if scales == {"full"} else _QUICK + _INTRODUCTION
