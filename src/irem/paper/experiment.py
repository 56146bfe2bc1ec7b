"""What an experiment is: how it runs, what its cells are, and how it is shown."""

import collections
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from irem.evaluation.tables import METHOD_NAMES, Table
from irem.paper.cells import Cell, Origin, as_plain
from irem.paper.scale import KeptScale, TrainedScale, kept_scale
from irem.paper.study import Study

if TYPE_CHECKING:
    import matplotlib.figure

Figures = Mapping[str, Mapping[str, Any]]
"""The numbers behind figures: by the name of a figure, plain values by what they are."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class About:
    """Which program ran an experiment, where and at which scale.

    Arguments:
        experiment: Name of the experiment.
        commit: The commit of the program that last ran it, if known.
        clean: Whether that program was the commit and nothing else; `None` if unknown.
        device: The device it last ran on.
        platform: Its kind, such as `gpu`.
        versions: Of this program and of those it uses.
        scale: Settings of the reproduction, as `Scale.as_dict` gave them when it ran.
        origins: Where the numbers behind figures come from, by figure.
    """

    experiment: str
    commit: str | None
    device: str
    platform: str
    versions: Mapping[str, str]
    scale: Mapping[str, Any]
    clean: bool | None = None
    origins: Mapping[str, Origin] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result(About):
    """What an experiment found, and where.

    Arguments:
        cells: The measurements of a table.
        figures: The numbers behind figures, for an experiment without a table.
    """

    cells: tuple[Cell, ...] = ()
    figures: Figures | None = None

    @property
    def file(self) -> str:
        """Name of the file that the result is kept in."""
        return f"{self.experiment}.json"

    def settings(self, kind: type[KeptScale]) -> KeptScale:
        """Return some of the settings of the reproduction.

        Raises:
            InputError: The result lacks them.
        """
        return kept_scale(kind, self.scale, f"'{self.file}': scale")

    @property
    def origin(self) -> str:
        """Devices, commits and versions of everything that was measured, in words."""
        versions = f"JAX {self.versions['jax']}, irem {self.versions['irem']}"
        last = Origin(commit=self.commit, device=self.device, clean=self.clean)
        measured = self.cells or tuple(self.origins.values()) or (last,)
        counts = collections.Counter(_in_words(part, self.device) for part in measured)
        whole = f"{len(measured)} {'cells' if self.cells else 'figures'}"
        noted = collections.Counter(part.note for part in measured if part.note)
        notes = "".join(f" {n} of {whole}: {note}" for note, n in noted.items())
        if len(counts) == 1:
            device, commit = next(iter(counts))
            return f"{device}, {versions}, {commit}.{notes}"
        parts = (f"{n} of {whole}: {', '.join(words)}" for words, n in counts.items())
        return f"{'; '.join(parts)}; {versions} when it last ran.{notes}"


def _in_words(origin: Origin, device: str) -> tuple[str, str]:
    """Device and commit; `device` is that of what names none."""
    commit = f"commit {origin.commit[:12]}" if origin.commit else "commit unknown"
    changed = " with uncommitted changes" if origin.clean is False else ""
    return origin.device or device, commit + changed


def as_json(result: Result) -> dict[str, Any]:
    """Return a result as plain values: what its file holds."""
    about = ("experiment", "commit", "device", "platform", "versions", "scale")
    values = {name: getattr(result, name) for name in about}
    if result.clean is not None:
        values["clean"] = result.clean
    if result.figures is None:
        return {**values, "cells": [cell.as_dict() for cell in result.cells]}
    origins = {"origins": as_plain(result.origins)} if result.origins else {}
    return {**values, **origins, "figures": dict(result.figures)}


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


def method_name(method: str) -> str:
    """Return a method as it is printed; one that has no other name goes by its own."""
    return METHOD_NAMES.get(method, method)


def describe_training(result: Result) -> str:
    """Return settings and origin of a result of the paper's trainings, in one sentence."""
    return training_sentence(result, result.settings(TrainedScale).vectors.iterations)


def training_sentence(result: Result, iterations: int) -> str:
    """Return that sentence for another number of iterations."""
    scale = result.settings(TrainedScale)
    vectors, graphs = scale.vectors, scale.graphs
    return (
        f"{result.file}: {scale.seeds} seeds, {scale.problems} test problems; "
        f"{iterations} iterations of {vectors.batch_size} fresh problems (graphs "
        f"{graphs.iterations} of {graphs.batch_size}), learning rate "
        f"{vectors.learning_rate} ({vectors.decay}); {result.origin}"
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
        figure_kinds: Types of the numbers of its figures, by name.
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
    figure_kinds: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    table: Callable[[Sequence[Any], str], Table] | None = None
    drawings: Mapping[str, Drawing] = dataclasses.field(default_factory=dict)
    describe: Callable[[Result], str] = describe_training
    sections: Callable[[Sequence[Any]], Sequence[Section]] = lambda _: ()
