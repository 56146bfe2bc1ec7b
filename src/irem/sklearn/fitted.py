"""A fitted model: its answers, their errors, and the rows it is measured by."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from irem.descent import Solution
from irem.errors import InputError
from irem.fitting.plans import Plan
from irem.formats import Vectors
from irem.methods import Scaled
from irem.sklearn.forms import Form
from irem.sklearn.rows import BLOCK, Rows, padded_length, power_of_two
from irem.training import Calibration, History, Run, Validation
from irem.trees import map_arrays

# First guesses of problems with several answers.
_STARTS = 8


@dataclasses.dataclass(frozen=True)
class Fitted:
    """A model and what belongs to it; arrays and settings alone, so that it can be pickled.

    Arguments:
        model: The model.
        plan: The settings that it was built with.
        held_out: Validation rows; `None` where there are too few.
        form: How rows are problems and answers.
    """

    model: Scaled
    plan: Plan
    held_out: Rows | None
    form: Form

    @property
    def format(self) -> Vectors:
        """What problems and answers look like to the model."""
        format_ = self.model.format
        assert isinstance(format_, Vectors)
        return format_

    @property
    def validation_rows(self) -> int:
        """Number of rows that were held out."""
        return 0 if self.held_out is None else len(self.held_out.y)

    def answers(self, x: np.ndarray) -> np.ndarray:
        """Return the answers, in 64 bits: they do not depend on the rows beside each problem."""
        if not self.model.method.gradient.ends_at_minimum:
            return np.asarray(self.solve(x).y, np.float64)
        size = min(padded_length(len(x)), BLOCK)
        parts = range(0, len(x), size)
        return np.concatenate([_minima(self.model, x[i : i + size], size) for i in parts])

    def solve(self, x: np.ndarray, **options: Any) -> Solution:
        """Return the answers with all that is known about them."""
        calibrations = None if self.calibration is None else (self.calibration,)
        return self._solve(x, calibrations, **options)

    def _solve(
        self, x: np.ndarray, calibrations: tuple[Calibration, ...] | None, **options: Any
    ) -> Solution:
        """Descend on problems, repeated up to a power of two: few sizes need few programs."""
        task: Any = self.model.task
        run = Run(task, (self.model,), 0, History.empty(1), {}, calibrations=calibrations)
        some = np.resize(x, (power_of_two(len(x)), *x.shape[1:]))
        solution = run.solve(some.astype(np.float32), **options)
        return jax.tree.map(lambda leaf: leaf[: len(x)], solution)

    @functools.cached_property
    def calibration(self) -> Calibration | None:
        """What error to expect of answers; `None` where too few rows were held out."""
        if self.held_out is None or self.validation_rows < Calibration.fewest:
            return None
        solution = self._solve(self.held_out.x, None)
        misses = np.square(np.asarray(solution.y, np.float64) - self.held_out.y)
        return Calibration.fit([solution], [misses.reshape(len(misses), -1).mean(axis=1)])

    def error(self, scale: np.ndarray) -> float:
        """Return the mean squared error on the rows held out, each entry divided by its scale."""
        held_out = self.held_out
        assert held_out is not None
        if not self.model.method.gradient.ends_at_minimum:
            return validation(held_out, scale, self.plan.several).error(self.model)
        misses = (self.answers(held_out.x) - held_out.y) / scale
        error = float(np.mean(np.square(misses)))
        return error if np.isfinite(error) else np.inf

    def check_problems(self, x: np.ndarray) -> None:
        """Refuse missing entries unless the model knows of them."""
        if not self.format.missing and np.isnan(x).any():
            raise InputError(
                "`X` has missing entries (NaN), and the rows that were fitted first had none; fit "
                "to rows of which some have missing entries, or impute them."
            )

    def check_answers(self, y: np.ndarray) -> None:
        """Refuse answers of another shape than those that were fitted first."""
        if y.shape[1:] != self.format.y_shape:
            raise InputError(
                f"`y` has answers of shape {y.shape[1:]}, and those that were fitted first have "
                f"{self.format.y_shape}; give answers of that shape, or fit without `warm_start`."
            )


def validation(held_out: Rows, scale: np.ndarray, several: bool) -> Validation:
    """Return what measures the error on rows held out.

    Arguments:
        held_out: The rows.
        scale: By what the errors of entries are divided.
        several: Whether a row may have several answers: the nearest of several counts then.
    """
    return Validation(held_out.problems(), scale=scale, starts=_STARTS if several else 1)


def _minima(model: Scaled, x: np.ndarray, size: int) -> np.ndarray:
    """The minima of the landscapes of problems, which are repeated up to a fixed number."""
    some = np.resize(x, (size, *x.shape[1:]))
    with jax.enable_x64(True):
        minima = _minima_in_double(model, jnp.asarray(some, jnp.float64))
    return np.asarray(minima)[: len(x)]


@eqx.filter_jit
def _minima_in_double(model: Scaled, x: Array) -> Array | None:
    """The minima, with weights that are widened to 64 bits."""
    wide = map_arrays(lambda a: a.astype(jnp.float64) if eqx.is_inexact_array(a) else a, model)
    return jax.vmap(wide.minimum)(x)
