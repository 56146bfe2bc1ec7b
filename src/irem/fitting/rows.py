"""Rows of users: checked, put into one form, and divided into training and validation."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from irem import doors
from irem.checks import check_numbers
from irem.errors import InputError
from irem.formats import Graphs
from irem.problem import Graph, Problem
from irem.tasks import Arrays
from irem.tasks.arrays import HostRows, is_too_large

Names = tuple[tuple[str, ...] | None, tuple[str, ...] | None]
"""Of the columns of problems and of answers, where they have some."""

FEWEST_ROWS = 8
"""With fewer rows there is nothing to validate by."""

_MOST_HELD_OUT = 2000


def read_rows(
    x: Any,
    y: Any,
    *,
    kind: str | None = None,
    validation: float = 0.1,
    seed: int = 0,
    names: Names | None = None,
) -> Arrays:
    """Return rows as a task, of which some are held out for validation.

    Arguments:
        x: Problems along the first axis: an array, a frame of pandas, or a list of graphs or square
            matrices of different sizes. NaN in a problem means that an entry is missing.
        y: Their answers, of which every number is known.
        kind: One of `irem.tasks.KINDS`; by default as the shapes say.
        validation: Share of the rows that is held out, at most 2,000 rows.
        seed: Which rows are held out.
        names: What the columns of `x` and of `y` are called; by default as those of frames.

    Raises:
        ValueError: The rows are not numbers, do not belong together, or are too few.
    """
    if not 0 < validation < 1:
        raise InputError(f"`validation` must be between 0 and 1, got {validation}.")
    x_names, y_names = (_names(x), _names(y)) if names is None else names
    kind = _kind_of(x) if kind is None else kind
    if kind == "graphs":
        x, y, mask = _as_graphs(x, y)
    else:
        x, y, mask = _as_numbers("x", x, missing=kind == "vectors"), _as_numbers("y", y), None
    if kind == "pictures":
        _check_pictures(x, y)
    rows = y.shape[0] if y.ndim else 0
    _check_rows(x, rows)
    held, kept = _divide(rows, validation, seed)
    whole = (x, y, mask)
    held_out = Problem(*jax.tree.map(lambda leaf: _floats(leaf[held]), whole))
    if mask is None and is_too_large(x, y):  # rows on a disk stay there
        x, y = HostRows(x, kept), HostRows(y, kept)
    else:
        x, y, mask = jax.tree.map(lambda leaf: leaf[kept], whole)
    return Arrays(x, y, mask, held_out, kind, x_names=x_names, y_names=y_names)


def _check_rows(x: Any, rows: int) -> None:
    """Refuse problems without answers, and too few of them."""
    shape = jax.tree.leaves(x)[0].shape
    if not shape or shape[0] != rows:
        raise InputError(
            f"`x` has shape {shape}, and there are {rows} answers; expected as many problems as "
            "answers, along the first axis of both."
        )
    if rows < FEWEST_ROWS:
        samples = "1 sample" if rows == 1 else f"{rows} samples"
        raise InputError(
            f"`x` and `y` have {samples} (rows), and fitting needs at least {FEWEST_ROWS}, some of "
            "which are held out; give more of them."
        )
    if math.prod(shape[1:]) == 0:
        raise InputError(f"`x` has shape {shape}: a problem without numbers has no answer.")


def _check_pictures(x: np.ndarray, y: np.ndarray) -> None:
    """Refuse what is not a stack of grey pictures, with an answer of its size for each."""
    if x.ndim != 3 or x.shape != y.shape:
        raise InputError(
            f"`x` has shape {x.shape} and `y` {y.shape}; expected grey pictures along the first "
            "axis, of shape (n, height, width), and answers of the same shape."
        )


def _divide(rows: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows that are held out, and of the others, each in order."""
    held = min(max(1, round(share * rows)), _MOST_HELD_OUT, rows - 1)
    chosen = np.random.default_rng(seed).choice(rows, held, replace=False)
    is_held = np.zeros(rows, bool)
    is_held[chosen] = True
    return np.flatnonzero(is_held), np.flatnonzero(~is_held)


def _names(rows: Any) -> tuple[str, ...] | None:
    """The names of the columns of a frame, or of a series."""
    if hasattr(rows, "columns") and doors.is_frame(rows):
        return tuple(map(str, rows.columns))
    name = getattr(rows, "name", None)
    return (str(name),) if doors.is_series(rows) and name is not None else None


def _kind_of(x: Any) -> str:
    """Graphs where problems are graphs, or square matrices of different sizes; else vectors."""
    if isinstance(x, Graph) or (isinstance(x, list | tuple) and x and doors.is_graph(x[0])):
        return "graphs"
    if isinstance(x, list | tuple) and len({np.shape(one) for one in x}) > 1:
        square = all(np.ndim(one) == 2 and len(set(np.shape(one))) == 1 for one in x)
        if square:
            return "graphs"
    return "vectors"


def _as_graphs(x: Any, y: Any) -> tuple[Graph, np.ndarray, np.ndarray]:
    """Graphs and answers of different sizes, padded to the largest, and which pairs are real."""
    problems, alone = Graphs().as_batch(x)
    if alone:
        raise InputError("`x` is one graph; fitting needs a list or a stack of them.")
    nodes = np.asarray(problems.nodes)
    answers = list(y) if isinstance(y, list | tuple) else [np.asarray(one) for one in y]
    padded = np.zeros(problems.edges.shape)
    if len(answers) != len(padded):
        raise InputError(f"`x` has {len(padded)} graphs, and `y` {len(answers)} answers.")
    for i, answer in enumerate(answers):
        size = int(nodes[i].sum())
        matrix = _as_numbers(f"y[{i}]", answer)
        if matrix.shape not in ((size, size), padded.shape[1:]):
            raise InputError(
                f"`y[{i}]` has shape {matrix.shape}, and its graph {size} nodes; expected a number "
                f"for every pair, of shape ({size}, {size})."
            )
        padded[i, :size, :size] = matrix[:size, :size]
    return problems, padded, np.asarray(problems.pairs)


def _as_numbers(name: str, rows: Any, *, missing: bool = False) -> np.ndarray:
    """Rows as an array of NumPy, where they stay if they are one."""
    array = doors.as_array(rows)
    try:
        array = array if isinstance(array, np.ndarray) else np.asarray(array)
    except ValueError as error:
        raise InputError(
            f"`{name}` is not a rectangular array: {error}; only graphs may have different sizes."
        ) from error
    check_numbers(name, array, missing=missing)
    return array


def _floats(leaf: Any) -> Any:
    return jnp.asarray(leaf) if leaf.dtype == bool else jnp.asarray(leaf, float)
