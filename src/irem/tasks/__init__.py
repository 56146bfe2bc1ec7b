"""Problems with known answers, each with its floors."""

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from irem._checks import known
from irem.tasks._addition import Addition as Addition
from irem.tasks._connected_components import ConnectedComponents as ConnectedComponents
from irem.tasks._denoise import LARGEST_SIGMA as LARGEST_SIGMA
from irem.tasks._denoise import Denoise as Denoise
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
"""The tasks of the paper's first table by name, in its order."""

ALL_TASKS: Mapping[str, type[AbstractTask]] = MappingProxyType({**TASKS, Denoise.name: Denoise})
"""Every task that can be named on the command line."""


def get(name: str, **settings: Any) -> AbstractTask:
    """The task called `name`, made with `settings`.

    Examples:
        >>> get("shortest-path", variant="paper").variant
        'paper'
    """
    known("task", name, ALL_TASKS)
    accepted = [field.name for field in dataclasses.fields(ALL_TASKS[name])]
    for setting in settings:
        known(f"setting of the task '{name}'", setting, accepted)
    return ALL_TASKS[name](**settings)
