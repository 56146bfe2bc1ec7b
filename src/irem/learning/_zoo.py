"""The models that come with irem."""

import dataclasses
from math import prod
from pathlib import Path

from irem.learning._checkpoint import array_shapes
from irem.learning._run import CHECKPOINT, ZOO, find_run, read_settings, zoo_names

CARD = "README.md"


@dataclasses.dataclass(frozen=True)
class ZooModel:
    """What is told of a model that comes with irem.

    Arguments:
        name: Its name as `irem.load` takes it.
        task: Name of the task it was trained on.
        energy: Name of its energy; `None` for a baseline.
        parameters: How many numbers of it are trained.
        kilobytes: Size of its weights on the disk.
        summary: The first line of its card.
        card: What it is, how it was trained and what it cannot do, as Markdown.
    """

    name: str
    task: str
    energy: str | None
    parameters: int
    kilobytes: int
    summary: str
    card: str


def zoo() -> tuple[ZooModel, ...]:
    """The models that come with irem, by name. None is built: headers tell their sizes.

    Example:
        >>> [model.task for model in zoo() if model.name == "zoo:denoise"]
        ['denoise']
    """
    return tuple(_describe(ZOO + name) for name in zoo_names())


def _describe(name: str) -> ZooModel:
    path = find_run(name)
    settings, weights = read_settings(path), path / CHECKPOINT
    energy = settings["method"].get("energy")
    card = (path / CARD).read_text(encoding="utf-8")
    return ZooModel(
        name=name,
        task=settings["task"]["name"],
        energy=None if energy is None else energy["name"],
        parameters=_count_parameters(weights),
        kilobytes=round(weights.stat().st_size / 1000),
        summary=_first_line(card),
        card=card,
    )


def _count_parameters(weights: Path) -> int:
    """Of one model; those of a run with several seeds are stacked along the first axis."""
    return sum(prod(shape[1:]) for shape in array_shapes(weights, "['state'].method"))


def _first_line(card: str) -> str:
    """The first line of text below the heading."""
    lines = (line.strip() for line in card.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")
