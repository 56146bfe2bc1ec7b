"""Problems with known answers, each with its floors."""

import dataclasses as _dataclasses
from typing import Any as _Any

from irem.checks import known as _known
from irem.errors import InputError as _InputError
from irem.settings import Registry as _Registry
from irem.tasks.addition import Addition as Addition
from irem.tasks.arrays import Arrays as Arrays
from irem.tasks.base import AbstractTask as AbstractTask
from irem.tasks.base import Difficulty as Difficulty
from irem.tasks.colouring import Colouring as Colouring
from irem.tasks.connected_components import ConnectedComponents as ConnectedComponents
from irem.tasks.denoise import LARGEST_SIGMA as LARGEST_SIGMA
from irem.tasks.denoise import Denoise as Denoise
from irem.tasks.edge_copy import EdgeCopy as EdgeCopy
from irem.tasks.graphs import AbstractGraphTask as AbstractGraphTask
from irem.tasks.latin import Latin as Latin
from irem.tasks.matrix_completion import MatrixCompletion as MatrixCompletion
from irem.tasks.matrix_inverse import MatrixInverse as MatrixInverse
from irem.tasks.maze import Maze as Maze
from irem.tasks.prefix_sums import PrefixSums as PrefixSums
from irem.tasks.queens import Queens as Queens
from irem.tasks.shortest_path import ShortestPath as ShortestPath
from irem.tasks.sudoku import Sudoku as Sudoku

TASKS: _Registry[type[AbstractTask]] = _Registry(
    "task",
    {
        task.name: task
        for task in (
            EdgeCopy,
            ConnectedComponents,
            ShortestPath,
            Addition,
            MatrixCompletion,
            MatrixInverse,
            Denoise,
            Sudoku,
            Queens,
            Latin,
            Colouring,
            PrefixSums,
            Maze,
        )
    },
)
"""Every task that can be named on the command line."""


def get(name: str, **settings: _Any) -> AbstractTask:
    """Return the task called `name`, made with `settings`.

    Examples:
        >>> get("shortest-path", variant="paper").variant
        'paper'
    """
    if name == Arrays.name:  # of a run: what its rows looked like
        described = {n: tuple(v) if isinstance(v, list) else v for n, v in settings.items()}
        return Arrays(**described)  # pyright: ignore[reportArgumentType]
    accepted = [field.name for field in _dataclasses.fields(TASKS[name])]
    for setting in settings:
        _known(f"setting of the task '{name}'", setting, accepted)
    for field in _dataclasses.fields(TASKS[name]):
        required = field.default is field.default_factory is _dataclasses.MISSING
        if required and field.name not in settings:
            raise _InputError(
                f"The task '{name}' needs a value for `{field.name}`, which is not among its "
                "settings; make the task yourself and pass it on."
            )
    return TASKS[name](**settings)
