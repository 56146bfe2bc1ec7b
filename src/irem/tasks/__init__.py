"""Problems with known answers, each with its floors."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from irem._checks import known
from irem.tasks._addition import Addition as Addition
from irem.tasks._connected_components import ConnectedComponents as ConnectedComponents
from irem.tasks._edge_copy import EdgeCopy as EdgeCopy
from irem.tasks._graphs import AbstractGraphTask as AbstractGraphTask
from irem.tasks._matrix_completion import MatrixCompletion as MatrixCompletion
from irem.tasks._matrix_inverse import MatrixInverse as MatrixInverse
from irem.tasks._shortest_path import ShortestPath as ShortestPath
from irem.tasks.base import AbstractTask as AbstractTask
from irem.tasks.base import Difficulty as Difficulty

TASKS: Mapping[str, type[AbstractTask]] = MappingProxyType(
    {
        task.name: task
        for task in (
            EdgeCopy,
            ConnectedComponents,
            ShortestPath,
            Addition,
            MatrixCompletion,
            MatrixInverse,
        )
    }
)
"""Every task by its name, in the order of the paper's table."""


def get(name: str, **settings: Any) -> AbstractTask:
    """The task called `name`, made with `settings`.

    Example:
        >>> get("shortest-path", variant="paper").variant
        'paper'
    """
    known("task", name, TASKS)
    accepted = [field.name for field in dataclasses.fields(TASKS[name])]
    for setting in settings:
        known(f"setting of the task '{name}'", setting, accepted)
    return TASKS[name](**settings)
