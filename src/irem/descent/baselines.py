"""Answers of methods without an energy, in the form of those that have one."""

import operator
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int, Key, PRNGKeyArray, PyTree

from irem.descent.footprint import check_program, check_trajectory
from irem.descent.protocols import Baseline
from irem.descent.solution import Solution, Trajectory
from irem.descent.starts import split_key
from irem.errors import InputError

# More problems at the same time would take gigabytes for graphs of 30 nodes.
_BATCH_SIZE = 256


def as_baseline(model: Any) -> Baseline:
    """Return a model that is a baseline, and refuse any other; energies are known before."""
    if not isinstance(model, Baseline):
        raise InputError(
            f"`solve` takes an energy or a trained model, got a {type(model).__name__}; of a run "
            "pass `run.model`."
        )
    return model


def answer_all(
    baseline: Baseline,
    x: PyTree,
    *,
    key: PRNGKeyArray | Key[Array, " problems"] | None,
    num_steps: int | None,
) -> Solution:
    """Return the answers of a baseline to a batch of problems.

    Arguments:
        baseline: The baseline.
        x: The problems.
        key: Source of the random numbers of all problems, or one key for each.
        num_steps: How many steps the trajectory has; `None` for no trajectory.
    """
    if key is None:
        raise InputError("A baseline draws random numbers: pass `key=jax.random.key(seed)`.")
    problems = jax.tree.leaves(x)[0].shape[0]
    keys = split_key(key, problems)
    shape = baseline.format.answer_shape(jax.tree.map(operator.itemgetter(0), x))
    check_program(_answers, (baseline, x, keys), min(problems, _BATCH_SIZE), shape or ())
    y, steps = _answers(baseline, x, keys)
    if num_steps is None:
        return Solution(y=y, energy=None, steps=steps)
    check_trajectory(y, num_steps)
    trajectory = Trajectory(_by_step(baseline, x, keys, num_steps))
    return Solution(y=y, energy=None, steps=steps, trajectory=trajectory)


def refuse_options_of_descents(given: dict[str, bool]) -> None:
    """Refuse options that a baseline has no use for.

    Arguments:
        given: For every option that concerns descents, whether it was given.
    """
    names = [f"`{name}`" for name, is_given in given.items() if is_given]
    if names:
        listed = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
        verb = "are" if names[1:] else "is"
        raise InputError(
            f"{listed} {verb} for descents on an energy; a baseline has its own steps."
        )


@eqx.filter_jit
def _answers(
    baseline: Any, x: PyTree, keys: Key[Array, " problems"]
) -> tuple[Float[Array, "problems ..."], Int[Array, " problems"]]:
    def one(item: tuple[PyTree, PRNGKeyArray]) -> tuple[Array, Array]:
        return baseline.answer(item[0], key=item[1])

    return jax.lax.map(one, (x, keys), batch_size=_BATCH_SIZE)


@eqx.filter_jit
def _by_step(
    baseline: Any, x: PyTree, keys: Key[Array, " problems"], num_steps: int
) -> Float[Array, "problems steps ..."]:
    def one(item: tuple[PyTree, PRNGKeyArray]) -> Array:
        return baseline.predict(item[0], num_steps, key=item[1]).ys

    return jax.lax.map(one, (x, keys), batch_size=_BATCH_SIZE)
