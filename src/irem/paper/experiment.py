"""What an experiment is: how it runs, what its cells are, and how it is shown."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from irem.evaluation.tables import Table
from irem.paper.cells import Cell
from irem.paper.study import Study

if TYPE_CHECKING:
    import matplotlib.figure

Figures = Mapping[str, Mapping[str, Any]]
"""The numbers behind figures: by the name of a figure, plain values by what they are."""


@dataclasses.dataclass(frozen=True)
class Result:
    """What an experiment found, and where.

    Arguments:
        experiment: Name of the experiment.
        commit: The commit of the program, if known.
        device: The device it last ran on.
        platform: Its kind, such as `gpu`.
        versions: Of this program and of those it uses.
        scale: Settings of the reproduction, as `Scale.as_dict` gave them when it ran.
        cells: The measurements of a table.
        figures: The numbers behind figures, for an experiment without a table.
    """

    experiment: str
    commit: str | None
    device: str
    platform: str
    versions: Mapping[str, str]
    scale: Mapping[str, Any]
    cells: tuple[Cell, ...] = ()
    figures: Figures | None = None

    @property
    def file(self) -> str:
        """Name of the file that the result is kept in."""
        return f"{self.experiment}.json"

    @property
    def origin(self) -> str:
        """Device, versions and commit, in words."""
        made_by = f"{self.device}, JAX {self.versions['jax']}, irem {self.versions['irem']}"
        return made_by + (f", commit {self.commit[:12]}." if self.commit else ".")


def as_json(result: Result) -> dict[str, Any]:
    """Return a result as plain values: what its file holds."""
    about = {f.name: getattr(result, f.name) for f in dataclasses.fields(result)[:-2]}
    if result.figures is not None:
        return {**about, "figures": dict(result.figures)}
    return {**about, "cells": [cell.as_dict() for cell in result.cells]}


@dataclasses.dataclass(frozen=True)
class Drawing:
    """A figure that is drawn from a result.

    Arguments:
        caption: What it shows, also for those who cannot see it.
        draw: Draws it.
        wide: Whether it takes the whole width of a page.
    """

    caption: str
    draw: "Callable[[Result], matplotlib.figure.Figure]"
    wide: bool = False


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of a page below the table of an experiment: words, a table, or a list."""

    title: str
    words: str = ""
    table: Table | None = None
    points: tuple[str, ...] = ()


def describe_training(result: Result) -> str:
    """Return settings and origin of a result of the paper's trainings, in one sentence."""
    return training_sentence(result, result.scale["vectors"]["iterations"])


def training_sentence(result: Result, iterations: int) -> str:
    """Return that sentence for another number of iterations."""
    scale, vectors, graphs = result.scale, result.scale["vectors"], result.scale["graphs"]
    return (
        f"{result.file}: {scale['seeds']} seeds, {scale['problems']} test problems; "
        f"{iterations} iterations of {vectors['batch_size']} fresh problems (graphs "
        f"{graphs['iterations']} of {graphs['batch_size']}), learning rate "
        f"{vectors['learning_rate']} ({vectors['decay']}); {result.origin}"
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Experiment:
    """A table or the figures of the paper, or a measurement beside them.

    Arguments:
        name: Name on the command line and of the file of results.
        title: Heading of its table.
        run: Measures it; returns cells, or the numbers of figures if there is no table.
        explanation: What the table shows, for a page.
        kinds: Types of its cells.
        table: Makes the table of cells and the name of their file.
        drawings: Figures by name.
        describe: Makes the sentence that names settings and origin of a result.
        sections: Makes what a page has below the table.
    """

    name: str
    title: str
    run: Callable[[Study], Sequence[Cell] | Figures]
    explanation: str = ""
    kinds: tuple[type[Cell], ...] = ()
    table: Callable[[Sequence[Any], str], Table] | None = None
    drawings: Mapping[str, Drawing] = dataclasses.field(default_factory=dict)
    describe: Callable[[Result], str] = describe_training
    sections: Callable[[Sequence[Any]], Sequence[Section]] = lambda _: ()
