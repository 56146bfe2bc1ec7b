"""Nested reasoning: a learned operation applied to its own output."""

from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from irem.checks import count
from irem.descent import Step, solve
from irem.errors import InputError
from irem.evaluation.scores import Answering
from irem.tasks import AbstractTask


@runtime_checkable
class Composable(Protocol):
    """A task whose answer can be part of the next problem, such as an addition."""

    def operands(
        self, key: PRNGKeyArray, operations: int, problems: int
    ) -> Float[Array, "operations_and_one problems ..."]:
        """Draw the operands of so many nested operations."""
        ...

    def join(
        self, y: Float[Array, "problems ..."], operand: Float[Array, "problems ..."]
    ) -> Float[Array, "problems ..."]:
        """Return the problems that apply the operation to answers and operands."""
        ...


def compose(
    model: Answering,
    task: AbstractTask,
    operations: int,
    *,
    problems: int = 1000,
    max_steps: int | None = None,
    step: Step | float | str | None = None,
    key: PRNGKeyArray,
) -> list[float]:
    r"""Return the error after each of `operations` nested operations (Section 4.4 of the paper).

    $\hat y^k = \mathrm{Alg}_\theta(\hat y^{k-1}, y_k)$. For additions the operands are uniform in
    (-1, 1) and the truth is their sum, so the operands leave the range of training as `k` grows.

    Returns:
        The elementwise mean squared error after 1, 2, ..., `operations` operations.
    """
    options = {"problems": problems, "max_steps": max_steps, "step": step}
    return [float(e.mean()) for e in nested_errors(model, task, operations, **options, key=key)]


def nested_errors(
    model: Answering,
    task: AbstractTask,
    operations: int,
    *,
    problems: int = 1000,
    max_steps: int | None = None,
    step: Step | float | str | None = None,
    key: PRNGKeyArray,
) -> np.ndarray:
    """Return the error of every problem after each nested operation: operations x problems.

    Arguments are those of `compose`, which returns the means over problems.
    """
    count("operations", operations)
    count("problems", problems)
    if not isinstance(task, Composable):
        raise InputError(f"Only a learned addition can be composed, and this is '{task.name}'.")
    key_operands, key = jax.random.split(key)
    operands = task.operands(key_operands, operations, problems)
    guess = truth = operands[0]
    errors = []
    for k in range(1, operations + 1):
        x, key_step = task.join(guess, operands[k]), jax.random.fold_in(key, k)
        found = solve(model, x, key=key_step, step=step, max_steps=max_steps)
        missing = ~found.answered.reshape(-1, *(1,) * (guess.ndim - 1))
        guess = jnp.where(missing, jnp.nan, found.y)
        truth = task.oracle(task.join(truth, operands[k]))
        square = jnp.square(guess - truth).reshape(problems, -1)
        errors.append(np.asarray(square.mean(1), np.float64))
    return np.stack(errors)
