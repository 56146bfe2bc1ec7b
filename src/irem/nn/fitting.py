"""Whether a network takes the problems of a task, and whether it can be compiled."""

from typing import Any

from irem.checks import count, count_or_zero
from irem.errors import InputError
from irem.formats import AbstractFormat
from irem.settings import HasFormat

MOST_LAYERS = 100
"""With more layers of a kind, compiling a program of training takes hours."""


def check_depth(name: str, value: object, *, may_be_zero: bool = False) -> None:
    """Refuse a number of layers that is not a count, or too large to be compiled."""
    (count_or_zero if may_be_zero else count)(name, value)
    if int(value) > MOST_LAYERS:  # pyright: ignore[reportArgumentType]
        raise InputError(
            f"`{name}` must be at most {MOST_LAYERS}, got {value}: programs of more layers take "
            "too long to compile."
        )


def require(task: HasFormat, kind: type[AbstractFormat]) -> Any:
    """Return the format of a task if it is of this kind, or refuse the task."""
    if not isinstance(task.format, kind):
        raise InputError(
            f"This network needs {kind.noun}, and '{task.name}' has {task.format.noun}; leave its "
            "name out for the one that fits."
        )
    return task.format
