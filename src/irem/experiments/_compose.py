"""Nested reasoning: a learned addition applied to its own output."""

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from irem._checks import count
from irem._errors import InputError
from irem.descent import MAX_STEPS, AbstractStep
from irem.experiments._evaluate import Answering, ask
from irem.tasks import AbstractTask, Addition


def compose(
    model: Answering,
    task: AbstractTask,
    operations: int,
    *,
    problems: int = 1000,
    max_steps: int = MAX_STEPS,
    step: AbstractStep | float | None = None,
    key: PRNGKeyArray,
) -> list[float]:
    r"""Error after each of `operations` nested additions (Section 4.4 of the paper).

    $\hat y^k = \mathrm{Alg}_\theta(\hat y^{k-1}, y_k)$ with uniform $y_0, \dots, y_K$ in (-1, 1).
    The truth is their sum, so the operands leave the range of training as `k` grows.

    Returns:
        The elementwise mean squared error after 1, 2, ..., `operations` additions.
    """
    count("operations", operations)
    count("problems", problems)
    if not isinstance(task, Addition):
        raise InputError(f"Only a learned addition can be composed, and this is '{task.name}'.")
    key_operands, key = jax.random.split(key)
    shape = (operations + 1, problems, task.size)
    operands = jax.random.uniform(key_operands, shape, minval=-1.0, maxval=1.0)
    guess = truth = operands[0]
    errors = []
    for k in range(1, operations + 1):
        x = jnp.stack([guess, operands[k]], axis=1)
        key_step = jax.random.fold_in(key, k)
        found = ask(model, x, key=key_step, step=step, max_steps=max_steps)
        guess = jnp.where(found.sound[:, None], found.y, jnp.nan)
        truth = truth + operands[k]
        errors.append(float(jnp.mean(jnp.square(guess - truth))))
    return errors
