"""One problem or several: what a user means by `x` and `y0`."""

from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree

from irem.checks import numeric
from irem.errors import InputError
from irem.formats import AbstractFormat, Stacks


def as_problems(
    format_: AbstractFormat, x: Any, y0: Any = None, starts: int = 1
) -> tuple[PyTree, bool]:
    """Return `x` as a checked batch of problems, and whether it was one problem alone.

    A hand-written energy cannot tell one problem from a stack by its shape, but by that of its
    first guess: one that has the shape of an answer is the guess of one problem. With `x=None`, for
    functions of the answer alone, there are as many problems as first guesses; where the energy
    does not know the shape of its answers, a vector or a number is one guess.

    Arguments:
        format_: What problems and answers look like.
        x: What the user gave.
        y0: The first guesses that the user gave, or `None`.
        starts: Number of starts of every problem.
    """
    if not isinstance(format_, Stacks):
        return format_.as_batch(x)
    shape = None if y0 is None else numeric("y0", y0).shape
    alone = _is_alone(format_.y_shape, shape, starts, without_x=x is None)
    if x is not None:
        one = jax.tree.map(lambda leaf: numeric("x", leaf, keep_integers=True)[None], x)
        return (one, True) if alone else format_.as_batch(x)
    if shape is None and format_.y_shape is None:
        raise InputError(
            "`x=None` is for functions of the answer alone: give a first guess `y0`, or a stack of "
            "them, or build the energy with `from_function(f, answer_shape=...)`."
        )
    problems = 1 if alone or shape is None else shape[0]
    return format_.as_batch(np.zeros(problems, np.float32))[0], alone


def _is_alone(
    answer: tuple[int, ...] | None, guess: tuple[int, ...] | None, starts: int, *, without_x: bool
) -> bool:
    """Return whether a first guess of this shape is that of one problem."""
    several = (starts,) if starts > 1 else ()
    if guess is None:
        return without_x
    if answer is None:
        return without_x and len(guess) <= 1 + len(several)
    return guess == (*several, *answer)
