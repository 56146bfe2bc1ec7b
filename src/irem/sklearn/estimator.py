"""`EnergyRegressor`: an energy with the interface of scikit-learn."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from irem.checks import count, numeric, positive
from irem.descent import Solution
from irem.errors import InputError
from irem.fitting import trials
from irem.fitting.plans import Plan, first_plans
from irem.keys import fresh_key
from irem.methods import Scaled
from irem.sklearn.fitted import Fitted, validation
from irem.sklearn.forms import Form, flat
from irem.sklearn.rows import FEWEST_VALIDATION, Rows
from irem.sklearn.training import Length, Measurement, train
from irem.training import Calibration

_TRIAL_ITERATIONS, _TRIAL_SHARE = 1000, 0.35
_SEEDS = 2**31


class EnergyRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A regressor whose answer is the minimum of a learned energy.

    Columns of `X` and `y` are measured in units that are learned from the rows of training. NaN in
    `X` means that an entry is missing, if rows of training had missing entries.

    Arguments:
        energy: Name of an energy, or a mapping of its name and settings; by default `"equations"`,
            whose one minimum is the answer; where `several` is true, one with several minima.
        several: Whether a row may have several answers, of which `y` has one: `predict` returns the
            one of lowest energy, `solve(X, answers=4)` lists several.
        width: Units of each hidden layer of the energy that is chosen by default.
        batch_size: Rows of an iteration.
        max_iter: Most iterations of training; multiples of 25 take the least time.
        minutes: Time of trials and training instead of `max_iter`.
        trials: Whether short trials choose structure, units and learning rate by the error on
            validation rows; they take a minute or more.
        validation_fraction: Share of the rows that is held out, by whose error training stops and
            from which expected errors are learned. If that is fewer than 10 rows, none is held out.
        x_shape: Shape of one problem, if a row of `X` is a flattened array.
        y_shape: Shape of one answer, if a row of `y` is a flattened array.
        warm_start: Whether `fit` goes on from the current weights and units.
        random_state: Source of validation rows, initial weights and batches; with a whole number
            `fit` can be repeated to the bit, unless `minutes` are given.
        verbose: Whether to print every measurement.

    Attributes:
        n_iter_: Iterations of training so far.
        n_features_in_: Number of columns of `X`.
        feature_names_in_: Their names, if `X` was a frame.
        history_: What was measured in training, as arrays by name: `iteration`, `loss`, and
            `validation_error`, the mean squared error on validation rows in units of the variance
            of `y`, NaN where there are none.

    Examples:
        >>> import numpy as np
        >>> from irem.sklearn import EnergyRegressor
        >>> X = np.random.default_rng(0).normal(size=(300, 3))
        >>> model = EnergyRegressor(max_iter=100, random_state=0).fit(X, X[:, 0] * X[:, 1])
        >>> model.predict(X[:5]).shape
        (5,)
    """

    def __init__(
        self,
        *,
        energy: str | Mapping[str, Any] | None = None,
        several: bool = False,
        width: int = 128,
        batch_size: int = 128,
        max_iter: int = 500,
        minutes: float | None = None,
        trials: bool = False,
        validation_fraction: float = 0.1,
        x_shape: tuple[int, ...] | None = None,
        y_shape: tuple[int, ...] | None = None,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.energy = energy
        self.several = several
        self.width = width
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.minutes = minutes
        self.trials = trials
        self.validation_fraction = validation_fraction
        self.x_shape = x_shape
        self.y_shape = y_shape
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> EnergyRegressor:
        """Fit an energy to rows.

        Arguments:
            X: Problems: a table with one row for each, or with `x_shape` an array of that shape
                for each. NaN means that an entry is missing.
            y: Their answers: one number or one row for each, or with `y_shape` an array of that
                shape.
        """
        self._check_parameters()
        begun = time.monotonic()
        previous = getattr(self, "_fitted", None) if self.warm_start else None
        rows, form = self._read(X, y, previous, fewest=2)
        seed = check_random_state(self.random_state).randint(_SEEDS)
        rows, held_out = rows.divide(self.validation_fraction, seed)
        key = fresh_key(seed, "fit")
        if previous is None:
            self._forget()
            previous = self._untrained(rows, held_out, form, key)
        fitted = dataclasses.replace(previous, held_out=held_out)
        length = self._length(time.monotonic() - begun)
        return self._train(fitted, rows, length, key, validate=held_out is not None)

    def partial_fit(self, X: Any, y: Any) -> EnergyRegressor:
        """Go on with training, on other rows: about one pass over them, at least 25 iterations.

        The first call learns the units and makes the weights. None of the rows is held out: there
        are expected errors only where `fit` came before.

        Arguments:
            X: Problems, as in `fit`.
            y: Their answers.
        """
        self._check_parameters()
        fitted = getattr(self, "_fitted", None)
        rows, form = self._read(X, y, fitted, fewest=1)
        seed = check_random_state(self.random_state).randint(_SEEDS)
        key = jax.random.fold_in(fresh_key(seed, "part"), getattr(self, "n_iter_", 0))
        if fitted is None:
            fitted = self._untrained(rows, None, form, key)
        length = Length.one_pass(len(rows.x), self.batch_size)
        return self._train(fitted, rows, length, key, validate=False)

    def predict(self, X: Any, return_error: bool = False) -> Any:
        """Return the answers: one number or one row for every row of `X`.

        An array of problems with more than two axes has answers of the shape `y_shape`.

        Arguments:
            X: Problems, as in `fit`.
            return_error: Whether to return also the mean squared error to expect of every answer;
                infinite where a problem is unlike all validation rows.
        """
        x, is_flat = self._problems(X)
        fitted: Fitted = self._fitted
        y = fitted.answers(x)
        y = fitted.form.numbers(y.reshape(len(y), -1) if is_flat else y)
        if not return_error:
            return y
        if fitted.calibration is None:
            raise InputError(
                f"`return_error=True` needs at least {Calibration.fewest} validation rows, and "
                f"{fitted.validation_rows} were held out; fit to more rows, or with a larger "
                "`validation_fraction`."
            )
        return y, np.asarray(fitted.solve(x).expected_error, np.float64)

    def solve(self, X: Any, **options: Any) -> Solution:
        """Descend the energy, and return the answers with all that is known about them.

        Arguments:
            X: Problems, as in `fit`.
            options: As for `irem.Run.solve`; `answers=4` lists up to four answers of a row, the one
                of lowest energy first.

        Returns:
            A solution whose fields have an axis of rows; with an `expected_error` if at least 50
            rows were held out for validation.
        """
        x, _ = self._problems(X)
        solution = self._fitted.solve(x, **options)
        numbers, answers = self._fitted.form.numbers, solution.answers
        several = None if answers is None else numbers(answers)
        return dataclasses.replace(solution, y=numbers(solution.y), answers=several)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_parameters(self) -> None:
        """Refuse settings that cannot be trained with."""
        for name in ("width", "batch_size", "max_iter"):
            count(name, getattr(self, name))
        if self.minutes is not None:
            positive("minutes", self.minutes)
        if not 0 < self.validation_fraction < 1:
            raise InputError(
                f"`validation_fraction` must be between 0 and 1, got {self.validation_fraction}."
            )

    def _forget(self) -> None:
        """Drop what an earlier training has left."""
        for name in ("_fitted", "n_iter_", "history_"):
            vars(self).pop(name, None)

    def _read(self, X: Any, y: Any, previous: Fitted | None, *, fewest: int) -> tuple[Rows, Form]:
        """The rows, checked and in their shapes, and how they are problems and answers."""
        X, y = validate_data(
            self,
            flat(X, self.x_shape),
            flat(y, self.y_shape),
            reset=previous is None,
            dtype=np.float64,
            ensure_all_finite="allow-nan",
            ensure_min_samples=fewest,
            multi_output=True,
            y_numeric=True,
        )
        form = previous.form if previous else Form(self.x_shape, self.y_shape, y.ndim == 1)
        x, answers = form.problems(X), form.answers(y)
        missing = bool(np.isnan(x).any())
        if previous is not None:
            previous.check_problems(x)
            previous.check_answers(answers)
            missing = previous.format.missing
        x, answers = numeric("X", x, missing=True), numeric("y", answers)
        return Rows(np.asarray(x), np.asarray(answers), missing), form

    def _problems(self, X: Any) -> tuple[np.ndarray, bool]:
        """Problems in their shape, and whether they came as flat rows."""
        check_is_fitted(self)
        form = self._fitted.form
        rows = flat(X, form.x_shape)
        checked: Any = validate_data(
            self, rows, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"
        )
        x = form.problems(checked)
        self._fitted.check_problems(x)
        numeric("X", x, missing=True)
        return x, rows is X

    def _untrained(
        self, rows: Rows, held_out: Rows | None, form: Form, key: PRNGKeyArray
    ) -> Fitted:
        """A model with initial weights, in units of the rows."""
        plan = self._plan(rows, held_out, key)
        task = rows.padded().task()
        model = plan.build(task, key=jax.random.fold_in(key, 0)).bound_to(task)
        return Fitted(model, plan, held_out, form)

    def _plan(self, rows: Rows, held_out: Rows | None, key: PRNGKeyArray) -> Plan:
        """What is trained: as the parameters say, or as short trials choose."""
        energy = {"name": self.energy} if isinstance(self.energy, str) else self.energy
        task = rows.padded().task()
        plans = first_plans(task, energy, width=self.width, several=self.several)
        if not self.trials:
            return plans[-1]
        if held_out is None:
            raise InputError(
                f"`trials=True` needs `fit` with at least {FEWEST_VALIDATION} validation rows; "
                "give more rows, or a larger `validation_fraction`."
            )
        seconds = math.inf if self.minutes is None else _TRIAL_SHARE * 60 * self.minutes
        return trials.choose(
            rows.task(held_out),
            plans,
            validation(held_out, rows.scale, self.several),
            length=trials.Length(math.inf, _TRIAL_ITERATIONS),
            batch_size=self.batch_size,
            seconds=seconds,
            key=key,
            on_trial=lambda trial: self._say(f"tried {trial.plan}: error {trial.error:.3g}"),
        ).plan

    def _length(self, spent: float) -> Length:
        """How long training goes on after some seconds of choosing settings."""
        if self.minutes is None:
            return Length(self.max_iter)
        return Length(None, max(60 * self.minutes - spent, (1 - _TRIAL_SHARE) * 60 * self.minutes))

    def _say(self, sentence: str) -> None:
        if self.verbose:
            print(sentence)

    def _train(
        self, fitted: Fitted, rows: Rows, length: Length, key: PRNGKeyArray, *, validate: bool
    ) -> EnergyRegressor:
        """Train, and keep the model and what was measured."""

        def error(model: Scaled) -> float:
            return dataclasses.replace(fitted, model=model).error(rows.scale)

        trained = train(
            fitted.model,
            fitted.plan,
            rows,
            length,
            batch_size=self.batch_size,
            key=jax.random.fold_in(key, 1),
            error=error if validate else None,
            on_measurement=lambda m: self._say(_sentence(m)),
        )
        before = getattr(self, "n_iter_", 0)
        self._fitted = dataclasses.replace(fitted, model=trained.model)
        self.history_ = _joined(getattr(self, "history_", {}), trained.measurements, before)
        self.n_iter_ = before + trained.iterations
        return self


def _sentence(measured: Measurement) -> str:
    error = measured.validation_error
    known = "" if math.isnan(error) else f", validation error {error:.3g}"
    return f"iteration {measured.iteration}: loss {measured.loss:.3g}{known}"


def _joined(
    history: Mapping[str, np.ndarray], measured: list[Measurement], before: int
) -> dict[str, np.ndarray]:
    """A history with further measurements, whose iterations count from those before."""
    later = [m._replace(iteration=before + m.iteration) for m in measured]
    columns = {name: np.array([getattr(m, name) for m in later]) for name in Measurement._fields}
    return {name: np.append(history.get(name, new[:0]), new) for name, new in columns.items()}
