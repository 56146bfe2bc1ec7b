"""What a fitted run is worth, beside what would have been simpler."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from irem.descent import solve
from irem.evaluation import problem_errors, standard_error
from irem.evaluation.tables import Entry, Table, with_error
from irem.problem import Problem
from irem.tasks import Arrays


@dataclasses.dataclass(frozen=True)
class Report:
    """What was measured of a fitted run, on the validation problems.

    Arguments:
        energy: Name of the energy.
        parameters: Number of its weights.
        relative: Whether numbers are measured in units of their own problem, as in
            `irem.methods.RELATIVE`.
        validation_mse: Mean squared error of its answers; where a problem may have several, of the
            one of up to four listed answers that is nearest to the known one.
        validation_mse_sem: Standard error of that over problems.
        trivial_mse: Error of the mean answer of training.
        feedforward_mse: Error of a feedforward network of the same size and training time; `None`
            where none was trained.
        steps_mean: Mean number of steps of a descent.
        iterations: Iterations of training whose weights were kept or tried after.
        seconds: Time of choosing and training.
        problems: Number of validation problems.
    """

    energy: str
    parameters: int
    relative: str
    validation_mse: float
    validation_mse_sem: float
    trivial_mse: float
    feedforward_mse: float | None
    steps_mean: float
    iterations: int
    seconds: float
    problems: int

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return dataclasses.asdict(self)

    def table(self) -> Table:
        """Return the table that is printed."""
        mine = f"{self.energy} energy, {self.steps_mean:.1f} steps"
        rows = [
            (mine, with_error(self.validation_mse, self.validation_mse_sem)),
            ("feedforward net, same size and time", _shown(self.feedforward_mse)),
            ("mean answer", _shown(self.trivial_mse)),
        ]
        entries = tuple(tuple(map(Entry, row)) for row in rows)
        return Table(("model", "validation mse"), entries, labels=1)


def trivial_error(task: Arrays, problems: Problem) -> float:
    """Return the error of the mean answer of training."""
    return float(problem_errors(task.trivial(problems.x), problems).mean())


def baseline_error(model: Any, problems: Problem, key: Any) -> float:
    """Return the error of a baseline."""
    return float(problem_errors(solve(model, problems.x, key=key).y, problems).mean())


def mean_error(errors: np.ndarray) -> tuple[float, float]:
    """Return the mean of errors, and its standard error."""
    return float(errors.mean()), standard_error(errors)


def _shown(error: float | None) -> str:
    return "not measured" if error is None else f"{error:.3g}"
