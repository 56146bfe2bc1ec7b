"""What the task of a model knows of problems and answers: its domain and its check."""

import dataclasses
import warnings
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, PyTree

from irem.descent.solution import Reason, Solution
from irem.domain import Domain
from irem.errors import InputError
from irem.verdicts import Check, Verdict


@runtime_checkable
class Judge(Protocol):
    """As much of a task as `solve` needs to refuse problems and to check answers."""

    @property
    def domain(self) -> Domain:
        """Which problems are answered."""
        ...

    def check(self, x: PyTree, y: Any) -> Check:
        """Return a verdict and a residual for every answer of a batch."""
        ...


@runtime_checkable
class ChecksSteps(Protocol):
    """A task whose check is cheap enough for every step of a descent."""

    def holds(self, x: PyTree, y: Array) -> Bool[Array, ""]:
        """Return whether an answer to one problem passes `check`; pure JAX."""
        ...


def judge_of(model: Any) -> Judge | None:
    """Return the task that a model knows, if it knows one."""
    return getattr(model, "task", None)


def refuse(model: Any, x: PyTree, *, alone: bool) -> np.ndarray | None:
    """Return which problems of a batch are outside the domain of a model, and warn of them.

    Raises:
        ValueError: All of them are.
    """
    judge = judge_of(model)
    if judge is None or _is_traced(x):
        return None
    faults = judge.domain.faults(x)
    refused = np.array([fault is not None for fault in faults])
    if not refused.any():
        return refused
    first = int(refused.argmax())
    sentence = str(faults[first])
    if not alone and len(faults) > 1:
        number = "None" if refused.all() else f"{len(faults) - refused.sum()}"
        sentence = f"{number} of {len(faults)} problems are answered. Problem {first}: {sentence}"
    if refused.all():
        raise InputError(sentence)
    warnings.warn(sentence, stacklevel=3)
    return refused


def judged(
    model: Any, x: PyTree, solution: Solution, refused: np.ndarray | None = None
) -> Solution:
    """Return a solution with its verdicts, and no answer to problems that were refused."""
    judge = judge_of(model)
    if judge is None or _is_traced((x, solution.y)):
        return solution
    if refused is not None and refused.any():
        solution = _without_answers(solution, refused)
    check = judge.check(x, np.asarray(solution.y))
    finite = np.isfinite(np.asarray(solution.energy))
    verdict = np.where(finite, check.verdict, Verdict.FAILED)
    residual = jnp.asarray(check.residual, solution.y.dtype)
    return dataclasses.replace(solution, verdict=jnp.asarray(verdict, jnp.int32), residual=residual)


def refused(shape: tuple[int, ...]) -> Solution:
    """Return what `solve` would return for a batch of problems that are all refused.

    Arguments:
        shape: The shape of their answers, along a leading axis.
    """
    none = jnp.full(shape[0], jnp.nan)
    return Solution(
        y=jnp.full(shape, jnp.nan),
        energy=none,
        steps=jnp.zeros(shape[0], jnp.int32),
        converged=jnp.zeros(shape[0], bool),
        reason=jnp.full(shape[0], int(Reason.REFUSED)),
        first_energy=none,
        gradient_norm=none,
        verdict=jnp.full(shape[0], int(Verdict.FAILED), jnp.int32),
        residual=none,
    )


def _without_answers(solution: Solution, refused: np.ndarray) -> Solution:
    gone = jnp.asarray(refused)
    column = gone.reshape(-1, *(1,) * (solution.y.ndim - 1))
    changes: dict[str, Any] = {"y": jnp.where(column, jnp.nan, solution.y)}
    for name, value in (("energy", jnp.nan), ("steps", 0), ("reason", int(Reason.REFUSED))):
        changes[name] = jnp.where(gone, value, getattr(solution, name))
    if solution.converged is not None:
        changes["converged"] = solution.converged & ~gone
    return dataclasses.replace(solution, **changes)


def _is_traced(tree: PyTree) -> bool:
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))
