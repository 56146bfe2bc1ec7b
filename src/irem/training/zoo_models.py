"""The models that come with irem."""

import dataclasses
from math import prod
from pathlib import Path

from irem.training.checkpoint import ArrayFile
from irem.training.run import CHECKPOINT, SETTINGS, ZOO, ZOO_FOLDER, models_prefix, read_settings

CARD = "README.md"


@dataclasses.dataclass(frozen=True)
class ZooModel:
    """A model that comes with irem, described.

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


def zoo(folder: Path = ZOO_FOLDER) -> tuple[ZooModel, ...]:
    """Return the models in a folder, by default those that come with irem, by name.

    None is built: headers tell their sizes.

    Examples:
        >>> [model.task for model in zoo() if model.name == "zoo:denoise"]
        ['denoise']
    """
    paths = sorted(path for path in folder.iterdir() if (path / SETTINGS).is_file())
    return tuple(_describe(path) for path in paths)


def _describe(path: Path) -> ZooModel:
    settings, weights = read_settings(path), path / CHECKPOINT
    energy = settings.get("energy")
    card = (path / CARD).read_text(encoding="utf-8")
    with ArrayFile.open(weights) as arrays:
        shapes = arrays.shapes(models_prefix(settings))
    return ZooModel(
        name=ZOO + path.name,
        task=settings["task"]["name"],
        energy=None if energy is None else energy["name"],
        # The models of a run with several seeds are stacked along the first axis.
        parameters=sum(prod(shape[1:]) for shape in shapes.values()),
        kilobytes=round(weights.stat().st_size / 1000),
        summary=_first_line(card),
        card=card,
    )


def _first_line(card: str) -> str:
    """The first line of text below the heading."""
    lines = (line.strip() for line in card.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")
