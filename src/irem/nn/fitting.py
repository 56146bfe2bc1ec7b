"""Whether a network takes the problems of a task."""

from typing import Any

from irem.errors import InputError
from irem.formats import AbstractFormat
from irem.settings import HasFormat


def require(task: HasFormat, kind: type[AbstractFormat]) -> Any:
    """Return the format of a task if it is of this kind, or refuse the task."""
    if not isinstance(task.format, kind):
        raise InputError(
            f"This network needs {kind.noun}, and '{task.name}' has {task.format.noun}; leave its "
            "name out for the one that fits."
        )
    return task.format
