"""Problems that training never sees, by whose error it stops and chooses its weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from irem.checks import count
from irem.descent import Energy, solve
from irem.problem import Problem

if TYPE_CHECKING:
    from irem.training.run import History


@dataclasses.dataclass(frozen=True)
class Validation:
    """When training ends: once models no longer become better on problems that it never sees.

    The trained model has the weights with the least error on those problems.

    Arguments:
        problems: The problems with their answers.
        iterations: Most iterations of training.
        scale: By what the errors of entries are divided, so that they count alike.
        every: Iterations between two measurements, a multiple of 100.
        patience: After how many measurements without a smaller error training stops.
        starts: From how many first guesses each problem is answered; the answer nearest to the
            known one counts, for problems with several answers.
    """

    problems: Problem
    iterations: int = 10_000
    scale: Any = 1.0
    every: int = 500
    patience: int = 20
    starts: int = 1

    def __post_init__(self) -> None:
        """Refuse counts that are none."""
        for name in ("iterations", "every", "patience", "starts"):
            count(name, getattr(self, name))

    def error(self, model: Any) -> float:
        """Return the mean squared error of a model; infinite if an answer is not finite."""
        y = _minima(model, self.problems.x)
        if y is not None:
            errors = [self._errors(y)]
        else:
            starts = self.starts if isinstance(model, Energy) else 1
            solve_from = lambda start: solve(model, self.problems.x, key=jax.random.key(start))  # noqa: E731
            errors = [self._errors(solve_from(start).y) for start in range(starts)]
        error = float(np.mean(np.min(errors, axis=0)))
        return error if np.isfinite(error) else float("inf")

    def _errors(self, y: Any) -> np.ndarray:
        """The mean squared error of every answer over its real entries."""
        square = jnp.square((y - self.problems.y) / self.scale)
        axes, mask = tuple(range(1, square.ndim)), self.problems.mask
        return np.asarray(jnp.mean(square, axes, where=mask), np.float64)

    def errors(self, models: Sequence[Any]) -> np.ndarray:
        """Return the error of every model."""
        return np.array([self.error(model) for model in models])

    def is_due(self, done: int) -> bool:
        """Return whether models are measured after so many iterations."""
        return done % self.every == 0 or done == self.iterations

    def is_over(self, history: History) -> bool:
        """Return whether no model has become better for as long as `patience` says."""
        errors = history.validation_error
        measured = errors[~np.isnan(errors).all(axis=1)] if len(errors) else errors
        if not len(measured):
            return False
        since = len(measured) - 1 - np.argmin(np.nan_to_num(measured, nan=np.inf), axis=0)
        return bool((since >= self.patience).all())

    def describe(self) -> dict[str, int]:
        """Return the settings that a run keeps."""
        return {"every": self.every, "patience": self.patience, "starts": self.starts}


@eqx.filter_jit
def _minima(model: Any, x: PyTree) -> Array | None:
    """The answers at the minima of the landscapes, where a model computes them by itself."""
    minimum = getattr(model, "minimum", None)
    return None if minimum is None else jax.vmap(minimum)(x)


def is_best(history: History) -> np.ndarray:
    """Return of which models the last measured error is the smallest so far."""
    errors = history.validation_error
    return ~np.isnan(errors[-1]) & (errors[-1] <= np.nanmin(errors, axis=0, initial=np.inf))
