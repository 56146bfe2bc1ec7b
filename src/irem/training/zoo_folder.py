"""Where the models that come with irem are."""

from pathlib import Path

ZOO = "zoo:"
"""What the name of a model that comes with irem begins with."""

ZOO_FOLDER = Path(__file__).parents[1] / "zoo"
"""The folder of the models that come with irem."""


def is_in_zoo(path: Path) -> bool:
    """Return whether a folder belongs to the zoo, to which nothing is written."""
    return path.parent == ZOO_FOLDER
