"""Fresh problems to begin with."""

from __future__ import annotations

import dataclasses
import math
import secrets
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from irem.checks import count
from irem.errors import InputError
from irem.problem import Graph
from irem.puzzles import Puzzle
from irem.serve.models import ServedModel
from irem.tasks import Difficulty

_NUMBER = 3
_LARGEST = 101
_SMALL = {"addition": 12, "matrix-completion": 10}
_EASY = {"sudoku": "easy", "denoise": 25}


def examples(
    model: ServedModel, *, hard: bool = False, size: int | None = None, seed: int | None = None
) -> list[dict[str, Any]]:
    """Return a few problems of the task of a model, with a line about each.

    Arguments:
        model: The model.
        hard: Whether they are harder than those of training.
        size: How large they are, where the task has sizes.
        seed: What they are drawn from; by default they are new every time.
    """
    task = model.run.task
    if size is not None:
        count("size", size, most=_LARGEST)
    difficulty: Difficulty = "harder" if hard else _EASY.get(task.name, "same")
    sized = "size" in task.settings() and task.name != "denoise"
    if sized:
        own = size or (None if hard else _SMALL.get(task.name))
        task = task if own is None else dataclasses.replace(task, size=own)  # pyright: ignore[reportCallIssue]
    elif size is not None:
        difficulty = size
    try:
        key = jax.random.key(secrets.randbits(32) if seed is None else seed)
        batch = task.batch(key, _NUMBER, difficulty)
    except (FileNotFoundError, LookupError) as error:
        raise InputError(f"There are no examples of '{task.name}' here ({error}).") from error
    name = "hard" if hard else "easy" if difficulty == "easy" else "new"
    rows = (jax.tree.map(lambda leaf, i=i: np.asarray(leaf)[i], batch.x) for i in range(_NUMBER))
    return [
        {"label": f"{name}, {_size(x)}", "problem": model.kind.problem(_unpadded(x))} for x in rows
    ]


def _unpadded(x: PyTree) -> PyTree:
    """Return a graph without the nodes that only fill it up."""
    if not isinstance(x, Graph):
        return x
    nodes = np.asarray(x.nodes)
    edges = np.asarray(x.edges)[np.ix_(nodes, nodes)]
    return jax.tree.unflatten(jax.tree.structure(x), (edges, nodes[nodes]))


def _size(x: PyTree) -> str:
    if isinstance(x, Puzzle):
        return f"{int((np.asarray(x.known) == 1).sum())} givens"
    if isinstance(x, Graph):
        return f"{int(np.asarray(x.nodes).sum())} nodes"
    shape = np.shape(x)
    return " x ".join(map(str, shape)) if math.prod(shape) > shape[0] else f"{shape[0]} numbers"
