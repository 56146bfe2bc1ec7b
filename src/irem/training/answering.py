"""Answers that are checked, and more thought about those that fail."""

import dataclasses
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PRNGKeyArray, PyTree

from irem.descent import (
    Energy,
    Solution,
    default_max_steps,
    default_retries,
    default_step,
    solve,
    solve_several,
    split_key,
)
from irem.verdicts import Verdict

_STEP = "lbfgs"
_MORE_STEPS = 4
_OF_TRAINING = ("fixed", "damped")


def solve_checked(
    model: Energy,
    x: Any,
    *,
    key: PRNGKeyArray | Key[Array, " problems"],
    retries: int | None = None,
    starts: int = 1,
    answers: int = 1,
    on_batch: Callable[[int], None] | None = None,
) -> Solution:
    """Answer problems, check the answers, and think longer about those that fail their check.

    The first try is `irem.solve` with the step rule and the budget of the model. Every other try
    begins at another first guess, descends by L-BFGS, and has four times as many steps; energies
    whose own rule is the step of training, as those of puzzles and mazes, keep rule and budget. Of
    all tries the answer with the smallest residual is returned, and the steps of all are counted.

    Arguments:
        model: A trained model.
        x: One problem, or problems along a leading axis.
        key: Where first guesses are drawn from, or one key for each problem.
        retries: How often an answer that fails is sought again; by default as often as the energy
            says, three times for most.
        starts: First guesses of the first try, of which the lowest energy wins.
        answers: How many different answers to list, as `irem.descent.solve_several` does, for
            problems that have several.
        on_batch: Called with a number of problems whenever so many more have had their first try.
    """
    given, alone = model.format.as_batch(x)
    x = model.format.padded(given)
    keys = split_key(key, jax.tree.leaves(x)[0].shape[0])
    first = {"key": keys, "starts": starts, "on_batch": on_batch}
    if answers > 1:
        solution = solve_several(model, x, answers=answers, **first)
    else:
        solution = solve(model, x, **first)
    retries = default_retries(model) if retries is None else retries
    options = again_by(model, x)
    for attempt in range(1, retries + 1):
        failed = _failed(solution)
        if not failed.size:
            break
        some, some_keys = _padded(x, failed), _padded(keys, failed)
        again = solve(
            model,
            some,
            key=jax.vmap(lambda k, a=attempt: jax.random.fold_in(k, a))(some_keys),
            **options,
        )
        solution = _better(solution, again, failed)
    solution = _cut(solution, model.format.answer_shape(_first(given)))
    return _first(solution) if alone else solution


def _first(tree: PyTree) -> PyTree:
    return jax.tree.map(operator.itemgetter(0), tree)


def _cut(solution: Solution, shape: tuple[int, ...] | None) -> Solution:
    """The solution without the entries of what problems were filled up with."""
    if shape is None or solution.y.shape[1:] == shape:
        return solution
    real = (..., *map(slice, shape))
    several = solution.answers
    cut = None if several is None else several[real]
    return dataclasses.replace(solution, y=solution.y[real], answers=cut)


def again_by(model: Energy, x: PyTree) -> dict[str, Any]:
    """Return the step rule and the step budget of further tries, as `solve` takes them.

    Arguments:
        model: A trained model.
        x: A batch of problems.
    """
    if default_step(model) in _OF_TRAINING:
        return {}
    return {"step": _STEP, "max_steps": _MORE_STEPS * default_max_steps(model, x)}


def _failed(solution: Solution) -> np.ndarray:
    """The problems whose answers failed, where there was a descent at all."""
    if solution.verdict is None:
        return np.zeros(0, int)
    return np.flatnonzero(
        (np.asarray(solution.verdict) == Verdict.FAILED) & (np.asarray(solution.steps) > 0)
    )


def _padded(tree: PyTree, indices: np.ndarray) -> PyTree:
    """Some of the problems, repeated up to a power of two: few sizes need few programs."""
    size = 1 << (len(indices) - 1).bit_length()
    chosen = np.resize(indices, size)
    return jax.tree.map(lambda leaf: leaf[chosen], tree)


def _better(solution: Solution, again: Solution, failed: np.ndarray) -> Solution:
    """The solution with those answers of another try that have a smaller residual."""
    again = jax.tree.map(lambda leaf: leaf[: len(failed)], again)
    old, new = np.asarray(solution.residual)[failed], np.asarray(again.residual)
    # A residual that is infinite is no smaller than another one.
    improved = (new < old) & np.asarray(again.answered)
    steps = solution.steps.at[failed].add(again.steps)
    where, source = jnp.asarray(failed[improved]), jnp.asarray(np.flatnonzero(improved))
    of_starts = {n: getattr(solution, n) for n in ("spread", "answers", "answer_energies")}
    chosen = jax.tree.map(
        lambda a, b: a.at[where].set(b[source]),
        dataclasses.replace(solution, **dict.fromkeys(of_starts)),
        dataclasses.replace(again, **dict.fromkeys(of_starts)),
    )
    return dataclasses.replace(chosen, steps=steps, **of_starts)
