"""What error to expect of an answer, from how it was found."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import jax.numpy as jnp
import numpy as np

from irem.descent import Solution
from irem.errors import InputError
from irem.files import write_whole
from irem.tasks import Arrays
from irem.training.zoo_folder import is_in_zoo

if TYPE_CHECKING:
    from irem.training.run import Run

CALIBRATION = "calibration.json"
"""The file of a run folder that holds the calibrations of its models."""

_RIDGE = 1e-4
_CLIP = 4.0  # statistics beyond so many deviations count as there
_KNOTS = 64
# How far a statistic may lie outside the range of the validation problems, as a share of it.
_MARGIN = 0.5
_TINY = 1e-30
_STATISTICS = 10
# How many numbers the fields of a calibration have.
_LENGTHS = dict.fromkeys(("centre", "scale", "low", "high"), _STATISTICS) | {
    "weights": 1 + _STATISTICS + _STATISTICS * (_STATISTICS + 1) // 2
}


@dataclasses.dataclass(frozen=True)
class Calibration:
    """A map from the statistics of a descent to the error of its answer, fitted on known answers.

    The logarithm of the error is a quadratic function of the energy of the answer, the height of
    the descent, the gradient that is left, the steps taken and the size of the answer; a monotone
    function then takes it to the mean error of validation problems with such a score. Problems
    whose statistics lie far outside those of the validation problems have no expected error: it is
    infinite. What a check knows comes first: the residual of an answer that is verified bounds its
    error, whatever its problem is like.

    Arguments:
        centre: Means of the statistics.
        scale: Their standard deviations.
        low: Least values that are familiar.
        high: Largest values that are familiar.
        weights: Coefficients of the quadratic function.
        scores: Knots of the monotone function.
        errors: Its values there.
    """

    centre: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    weights: np.ndarray
    scores: np.ndarray
    errors: np.ndarray

    fewest: ClassVar[int] = 50
    """Least number of validation problems to fit to."""

    @staticmethod
    def fit(solutions: Sequence[Solution], by_shape: Sequence[np.ndarray]) -> Calibration:
        """Fit to answers of validation problems, of one or more shapes, and their errors."""
        errors = np.concatenate([np.asarray(e, np.float64) for e in by_shape])
        statistics = np.concatenate([_statistics(s) for s in solutions])
        usable = np.isfinite(statistics).all(1) & np.isfinite(errors)
        if usable.sum() < Calibration.fewest:
            raise InputError(
                f"A calibration needs at least {Calibration.fewest} validation problems that were "
                f"answered, got {usable.sum()}."
            )
        statistics, errors = statistics[usable], errors[usable]
        margin = _MARGIN * np.ptp(statistics, axis=0) + 1e-6
        centre, scale = statistics.mean(0), statistics.std(0) + 1e-9
        design = _quadratic(statistics, centre, scale)
        target = np.log(errors + _TINY)
        # Scores of problems that the weights were not fitted to, so that the errors are honest.
        scores = np.empty_like(errors)
        half = np.arange(len(errors)) % 2 == 0
        for part in (half, ~half):
            scores[part] = design[part] @ _regress(design[~part], target[~part])
        from scipy import optimize  # noqa: PLC0415  (half a second that only fitting should cost)

        order = np.argsort(scores)
        monotone = optimize.isotonic_regression(errors[order]).x
        knots = np.unique(np.linspace(0, len(order) - 1, _KNOTS).astype(int))
        return Calibration(
            centre=centre,
            scale=scale,
            low=statistics.min(0) - margin,
            high=statistics.max(0) + margin,
            weights=_regress(design, target),
            scores=scores[order][knots],
            errors=monotone[knots],
        )

    def expected_error(self, solution: Solution) -> np.ndarray:
        """The mean squared error to expect of each answer; infinite where nothing like it is known.

        The result has the shape of `solution.steps` and is never NaN: it is infinite too where the
        statistics of a descent are not finite. Of an answer that is verified, no more is expected
        than its residual allows.
        """
        statistics = _statistics(solution)
        finite = np.where(np.isfinite(statistics), statistics, 0)
        scores = _quadratic(finite, self.centre, self.scale) @ self.weights
        errors = np.interp(scores, self.scores, self.errors)
        familiar = ((statistics >= self.low) & (statistics <= self.high)).all(1)
        expected = np.minimum(np.where(familiar, errors, np.inf), _bound(solution))
        # What is not known counts as infinite: no bound that is asked for admits it.
        return np.where(np.isnan(expected), np.inf, expected).reshape(np.shape(solution.steps))

    def annotate(self, solution: Solution) -> Solution:
        """The solution with `expected_error` filled in."""
        expected = jnp.asarray(self.expected_error(solution))
        return dataclasses.replace(solution, expected_error=expected)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {f.name: getattr(self, f.name).tolist() for f in dataclasses.fields(self)}

    @staticmethod
    def from_dict(values: dict[str, Any]) -> Calibration:
        """What `as_dict` wrote."""
        names = {f.name for f in dataclasses.fields(Calibration)}
        if set(values) != names:
            raise InputError(f"a calibration has the fields {', '.join(sorted(names))}")
        arrays = {name: _numbers(name, v) for name, v in values.items()}
        for name, length in _LENGTHS.items():
            if len(arrays[name]) != length:
                raise InputError(f"'{name}' must have {length} numbers, got {len(arrays[name])}")
        knots = arrays["scores"]
        if not 0 < len(knots) == len(arrays["errors"]) or (np.diff(knots) < 0).any():
            raise InputError("'scores' must ascend, with as many 'errors', at least one")
        if not (arrays["scale"] > 0).all() or (arrays["errors"] < 0).any():
            raise InputError("'scale' must be above 0, and 'errors' not below")
        return Calibration(**arrays)


def read_calibrations(run: Run) -> tuple[Calibration, ...] | None:
    """The calibrations kept in the folder of a run, if they belong to its present state."""
    if run.path is None or not (file := run.path / CALIBRATION).exists():
        return None
    try:
        kept = json.loads(file.read_text())
        given = kept["calibrations"]
        if not isinstance(given, list) or not all(isinstance(c, dict) for c in given):
            raise InputError("'calibrations' must be a list of objects")
        calibrations = tuple(map(Calibration.from_dict, given))
        current = kept["iteration"] == run.iteration and len(calibrations) == len(run.models)
    except OSError as error:
        raise InputError(f"'{file}' cannot be read ({error.strerror}); remove it.") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"'{file}' is truncated or damaged ({error}); {_cure(run, run.path)}."
        ) from error
    return calibrations if current else None


def _cure(run: Run, path: Path) -> str:
    """What to do where the calibrations of a run are damaged."""
    if is_in_zoo(path):
        return "install irem again"
    quoted = shlex.quote(str(path))
    if isinstance(run.task, Arrays):
        return f"remove it, and make it again with `irem fit DATA --out {quoted} --resume`"
    return f"make it again with `irem calibrate {quoted}`"


def _numbers(name: str, value: Any) -> np.ndarray:
    """A list of finite numbers as JSON has them."""
    plain = isinstance(value, list) and all(type(v) in (int, float) for v in value)
    # Of JSON, whole numbers may have more digits than a float has room for.
    if not plain or not all(abs(v) <= sys.float_info.max for v in value):
        raise InputError(f"'{name}' must be a list of finite numbers")
    return np.asarray(value, np.float64)


def write_calibrations(run: Run, calibrations: Sequence[Calibration]) -> None:
    """Keep calibrations in the folder of a run, with the state of training they belong to."""
    assert run.path is not None
    kept = {"iteration": run.iteration, "calibrations": [c.as_dict() for c in calibrations]}
    write_whole(run.path / CALIBRATION, (json.dumps(kept) + "\n").encode())


def _bound(solution: Solution) -> np.ndarray:
    """The mean squared error that the residuals of verified answers allow; infinite for others."""
    if solution.residual is None:
        return np.full(np.size(solution.steps), np.inf)
    residual = np.atleast_1d(np.asarray(solution.residual, np.float64))
    verified = np.atleast_1d(np.asarray(solution.verified))
    return np.where(verified, np.square(residual) * _mean(np.square(_entries(solution))), np.inf)


def _entries(solution: Solution) -> np.ndarray:
    """The entries of every answer that are numbers, and NaN in place of those that are not."""
    y = np.asarray(solution.y, np.float64).reshape(np.size(solution.steps), -1)
    return np.where(np.isfinite(y), y, np.nan)


def _mean(entries: np.ndarray) -> np.ndarray:
    """The mean over the entries of every answer that are numbers."""
    number = (~np.isnan(entries)).sum(1)
    return np.where(number > 0, np.nansum(entries, 1) / np.maximum(number, 1), np.nan)


def _regress(design: np.ndarray, target: np.ndarray) -> np.ndarray:
    square = design.T @ design + _RIDGE * len(design) * np.eye(design.shape[1])
    return np.linalg.solve(square, design.T @ target)


def _quadratic(statistics: np.ndarray, centre: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """One, every statistic, and every product of two of them."""
    z = np.clip((statistics - centre) / scale, -_CLIP, _CLIP)
    products = [z[:, [i]] * z[:, i:] for i in range(z.shape[1])]
    return np.concatenate([np.ones((len(z), 1)), z, *products], axis=1)


def _statistics(solution: Solution) -> np.ndarray:
    """What is known of every descent without its answer: problems x statistics."""
    energy = np.atleast_1d(np.asarray(solution.energy, np.float64))
    first = np.atleast_1d(np.asarray(solution.first_energy, np.float64))
    gradient = np.atleast_1d(np.asarray(solution.gradient_norm, np.float64))
    steps = np.atleast_1d(np.asarray(solution.steps, np.float64))
    y = _entries(solution)
    entries, mean = y.shape[1], _mean(y)
    with np.errstate(invalid="ignore", over="ignore"):
        columns = [
            energy,
            np.log(np.abs(first - energy) + 1e-9),
            np.log(gradient / np.sqrt(entries) + 1e-12),
            np.log1p(steps),
            mean,
            np.log(_mean(np.square(y)) + 1e-12),
            np.log(np.sqrt(_mean(np.square(y - mean[:, None]))) + 1e-9),
            np.log(np.nanmax(np.abs(y), axis=1, initial=0.0) + 1e-9),
            np.log(_mean(y**4) + 1e-12),
            np.full(len(energy), np.log(entries)),
        ]
    return np.stack(columns, axis=1)
