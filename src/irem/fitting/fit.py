"""`fit`: from rows to a trained and calibrated run."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from irem.checks import positive
from irem.descent import Solution
from irem.errors import InputError
from irem.evaluation import problem_errors
from irem.fitting.plans import Plan, count_parameters, first_plans
from irem.fitting.report import Report, baseline_error, mean_error, trivial_error
from irem.fitting.rows import read_rows
from irem.fitting.trials import AVERAGE, CHUNK, CLIP_NORM, Length, Trial, choose, replay_of
from irem.keys import fresh_key
from irem.methods import AbstractMethod
from irem.problem import Problem
from irem.tasks import Arrays
from irem.training import (
    CALIBRATION,
    FIT,
    Adam,
    Calibration,
    Checkpoints,
    NoReplay,
    Run,
    Validation,
    iterations_done,
    read_plan,
    read_report,
    solve_checked,
    train,
    write_calibrations,
    write_plan,
)
from irem.training.run import SETTINGS


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much is spent on a fit.

    Arguments:
        minutes: Longest time of choosing settings and training.
        iterations: Number of updates instead, for a fit that can be repeated to the bit.
        batch_size: Rows of an iteration.
        width: Units of a layer of energies for vectors.
        trial_share: Share of the time for short trials of settings; with 0 there are none.
        trial_iterations: Iterations of a trial, where the number of `iterations` is given.
        compare: Whether a feedforward network is trained as well, which takes as long again.
    """

    minutes: float = 2.0
    iterations: int | None = None
    batch_size: int = 64
    width: int = 128
    trial_share: float = 0.35
    trial_iterations: int = 1000
    compare: bool = True

    def __post_init__(self) -> None:
        """Refuse no time at all."""
        positive("minutes", self.minutes)

    @property
    def trial_length(self) -> Length:
        """How long a trial is: a fixed number of iterations where that of training is."""
        iterations = None if self.iterations is None else self.trial_iterations
        return Length(_SHARE_OF_A_TRIAL * 60 * self.minutes, iterations)

    def length(self, pace: float, spent: float) -> int:
        """Return how many iterations of so many seconds are left after some time is spent."""
        if self.iterations is not None:
            return self.iterations
        left = max(60 * self.minutes - spent, 0.25 * 60 * self.minutes)
        return max(CHUNK, int(left / pace) // CHUNK * CHUNK)


_SHARE_OF_A_TRIAL = 0.04
# Measurements of a training, and after how many without a smaller error it stops.
_MEASUREMENTS, _PATIENCE = 40, 15
_VALIDATION_ROWS = 512
_SEVERAL = 4


def fit(
    x: Any,
    y: Any,
    *,
    energy: str | Mapping[str, Any] | None = None,
    several: bool = False,
    kind: str | None = None,
    validation: float = 0.1,
    effort: Effort | float | None = None,
    seed: int = 0,
    out: str | Path | Checkpoints | None = None,
    progress: bool | str = False,
) -> Run[Any]:
    """Fit an energy to problems and answers of one's own.

    Some rows are held out for validation. Units of `x` and `y` are learned and kept with the model.
    Energy, units, step size and learning rate are chosen by short trials, and training stops when
    the error on validation problems no longer falls, or when its time is over. The run has the best
    weights and a calibration: every answer of `run.solve(x)` has an `expected_error`.

    Arguments:
        x: Problems along the first axis: an array, a frame of pandas, or a list of graphs or square
            matrices of different sizes. NaN means that an entry of a problem is missing.
        y: Their answers.
        energy: Name of an energy, or its name and settings; by default chosen.
        several: Whether a problem may have several answers, of which a row knows one: training then
            asks that one of several descents finds it, and `run.solve(x, answers=4)` lists several.
        kind: `"vectors"`, `"graphs"` or `"pictures"`; by default as the shapes say.
        validation: Share of the rows that is held out.
        effort: Minutes of choosing and training, or an `Effort`; by default two minutes. A
            feedforward network to compare with takes as long again.
        seed: Which rows are held out, initial weights, and all other random choices.
        out: Folder to keep the run in, or `Checkpoints(folder, resume=True)` to go on with it.
        progress: As in `irem.train`.

    Returns:
        A run; `run.report` has what was measured.

    Examples:
        >>> import irem, numpy as np
        >>> x = np.random.default_rng(0).normal(size=(200, 3))
        >>> short = irem.Effort(iterations=200, trial_share=0.0, compare=False)
        >>> run = irem.fit(x, x.sum(axis=1), effort=short)
        >>> run.solve(x[:5]).y.shape, run.report["energy"]
        ((5,), 'equations')
    """
    task = read_rows(x, y, kind=kind, validation=validation, seed=seed)
    options = {"energy": energy, "several": several, "effort": effort}
    return fit_rows(task, **options, seed=seed, out=out, progress=progress)


def fit_rows(
    task: Arrays,
    *,
    energy: str | Mapping[str, Any] | None = None,
    several: bool = False,
    effort: Effort | float | None = None,
    seed: int = 0,
    out: str | Path | Checkpoints | None = None,
    progress: bool | str = False,
) -> Run[Any]:
    """Fit an energy to rows that `read_rows` returned; all else is as in `fit`."""
    folder = Checkpoints(out) if isinstance(out, str | Path) else out
    if folder is not None:
        folder.check()
    chosen = {"name": energy} if isinstance(energy, str) else energy
    key, say = fresh_key(seed, "fit"), _teller(progress)
    fitting = _Fitting(task, _as_effort(effort), key, several, say)
    choice = _kept_choice(folder, _fingerprint(task, seed), chosen)
    if choice is None:
        choice = fitting.choose(chosen)
        if folder is not None:
            kept = {"rows": _fingerprint(task, seed), **choice.as_dict()}
            folder = dataclasses.replace(folder, plan=kept)
    return fitting.finished(choice, folder, progress)


@dataclasses.dataclass(frozen=True)
class _Choice:
    """What short trials chose.

    Arguments:
        plan: The settings.
        iterations: For how long they are trained.
        seconds: The time of choosing, and of training before the run was stopped.
    """

    plan: Plan
    iterations: int
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return {**vars(self), "plan": self.plan.as_dict()}


@dataclasses.dataclass(frozen=True)
class _Fitting:
    """Rows, and how they are fitted.

    Arguments:
        task: The rows.
        effort: How much is spent.
        key: Source of all randomness.
        several: Whether a problem may have several answers.
        say: Told in a sentence what is done.
    """

    task: Arrays
    effort: Effort
    key: PRNGKeyArray
    several: bool
    say: Callable[[str], None]

    @property
    def problems(self) -> Problem:
        """The validation problems."""
        return self.task.problems("same")

    def validation(self, iterations: int) -> Validation:
        """Return when a training of at most so many iterations ends."""
        some = jax.tree.map(lambda leaf: leaf[:_VALIDATION_ROWS], self.problems)
        every = max(CHUNK, iterations // _MEASUREMENTS // CHUNK * CHUNK)
        starts = _SEVERAL if self.several else 1
        return Validation(some, iterations, _scale(self.task), every, _PATIENCE, starts)

    def choose(self, energy: Mapping[str, Any] | None) -> _Choice:
        """Return the best plan of short trials, and how many iterations to train it for."""
        effort, begun = self.effort, time.monotonic()
        plans = first_plans(self.task, energy, width=effort.width, several=self.several)
        if effort.trial_share == 0 and effort.iterations is not None:
            return _Choice(plans[-1], effort.iterations, 0.0)
        trial = choose(
            self.task,
            plans,
            self.validation(effort.trial_iterations),
            length=effort.trial_length,
            batch_size=effort.batch_size,
            seconds=effort.trial_share * 60 * effort.minutes,
            key=self.key,
            on_trial=lambda t: self.say(_trial_sentence(t)),
        )
        spent = time.monotonic() - begun
        return _Choice(trial.plan, effort.length(trial.pace, spent), spent)

    def finished(
        self, choice: _Choice, folder: Checkpoints | None, progress: bool | str
    ) -> Run[Any]:
        """Return the run that is trained by a plan and measured, unless both were done before."""
        plan, begun = choice.plan, time.monotonic()
        try:
            run = train(
                self.task,
                plan.build(self.task, key=jax.random.fold_in(self.key, 0)),
                replay=replay_of(plan),
                out=folder,
                progress=progress,
                **self._options(plan.learning_rate, choice.iterations),
            )
        except KeyboardInterrupt:
            _keep(folder, seconds=choice.seconds + time.monotonic() - begun)
            raise
        report = None if run.path is None else read_report(run.path)
        if report is not None and _is_up_to_date(run, report):
            return dataclasses.replace(run, report=report)
        seconds = choice.seconds + time.monotonic() - begun
        _keep(folder, seconds=seconds)
        return self.measured(run, plan, seconds)

    def _options(self, learning_rate: float, iterations: int) -> dict[str, Any]:
        return {
            "iterations": self.validation(iterations),
            "batch_size": self.effort.batch_size,
            "optimiser": Adam(learning_rate, decay="cosine", clip_norm=CLIP_NORM),
            "average": AVERAGE,
            "key": jax.random.fold_in(self.key, 1),
        }

    def measured(self, run: Run[Any], plan: Plan, seconds: float) -> Run[Any]:
        """Return the run with its calibration and its report, and keep both in its folder."""
        problems, model = self.problems, run.model
        key, answers = jax.random.fold_in(self.key, 2), _SEVERAL if self.several else 1
        solution = solve_checked(model, problems.x, key=key, answers=answers)
        errors = _nearest_errors(solution, problems)
        mse, sem = mean_error(errors)
        feedforward = self._feedforward(plan, model, seconds) if self.effort.compare else None
        report = Report(
            energy=plan.energy["name"],
            parameters=count_parameters(model),
            relative=plan.relative,
            validation_mse=mse,
            validation_mse_sem=sem,
            trivial_mse=trivial_error(self.task, problems),
            feedforward_mse=feedforward,
            steps_mean=float(np.mean(solution.steps)),
            iterations=run.iteration,
            seconds=seconds,
            problems=len(errors),
        )
        enough = len(errors) >= Calibration.fewest
        calibrations = (Calibration.fit([solution], [errors]),) if enough else None
        run = dataclasses.replace(run, calibrations=calibrations, report=report.as_dict())
        if run.path is not None:
            if calibrations is not None:
                write_calibrations(run, calibrations)
            write_plan(run.path, {**read_plan(run.path), "report": report.as_dict()})
        return run

    def _feedforward(self, plan: Plan, model: Any, seconds: float) -> float:
        """The error of a feedforward network of the same size after the same time."""
        self.say("training a feedforward network of the same size for as long, to compare")
        key = jax.random.fold_in(self.key, 3)
        baseline = plan.baseline(self.task, count_parameters(model), key=key)
        iterations = self.effort.iterations
        if iterations is None:
            begun = time.monotonic()
            pace = _pace(self, baseline, plan.learning_rate)
            left = max(seconds - (time.monotonic() - begun), 0.25 * seconds)
            iterations = max(CHUNK, int(left / pace) // CHUNK * CHUNK)
        options = self._options(plan.learning_rate, iterations)
        trained = train(self.task, baseline, replay=NoReplay(), **options)
        return baseline_error(trained.model, self.problems, key)


def _nearest_errors(solution: Solution, problems: Problem) -> np.ndarray:
    """The errors of answers; of several answers to a problem, that of the nearest one."""
    if solution.answers is None:
        return problem_errors(solution.y, problems)
    listed = np.moveaxis(np.asarray(solution.answers), 1, 0)
    return np.nanmin([problem_errors(jnp.asarray(y), problems) for y in listed], axis=0)


def _pace(fitting: _Fitting, method: AbstractMethod, learning_rate: float) -> float:
    """Seconds of an iteration of a method, once its program is compiled."""
    times = []
    for chunks in (1, 4):
        begun = time.monotonic()
        options = fitting._options(learning_rate, chunks * CHUNK)
        train(fitting.task, method, replay=NoReplay(), **options)
        times.append(time.monotonic() - begun)
    return max(times[1] / (4 * CHUNK), 1e-6)


def _kept_choice(
    folder: Checkpoints | None, rows: str, energy: Mapping[str, Any] | None
) -> _Choice | None:
    """What was chosen for the run that is resumed, if there is one, for the same rows."""
    if folder is None or not folder.resume:
        return None
    if not (folder.path / FIT).exists():
        _refuse_other_run(folder.path)
        return None
    kept = read_plan(folder.path)
    if kept.get("rows") != rows:
        raise InputError(
            f"The run in '{folder.path}' was fitted to other rows, or with another seed or kind; "
            "give the same ones, or choose another folder."
        )
    try:
        choice = _Choice(Plan(**kept["plan"]), kept["iterations"], kept["seconds"])
        name = choice.plan.energy["name"]
    except (KeyError, TypeError) as error:
        raise InputError(
            f"'{folder.path / FIT}' is damaged: it lacks or spoils {error}; fit the run again in "
            "another folder."
        ) from error
    if energy is not None and energy.get("name", name) != name:
        raise InputError(
            f"The run in '{folder.path}' is fitted with the energy '{name}', not with "
            f"'{energy['name']}'; leave the energy out, or choose another folder."
        )
    return choice


def _is_up_to_date(run: Run[Any], report: Mapping[str, Any]) -> bool:
    """Whether a report is whole and about the present weights, and a calibration beside it."""
    assert run.path is not None
    if set(report) != {field.name for field in dataclasses.fields(Report)}:
        return False
    calibrated = report["problems"] < Calibration.fewest or (run.path / CALIBRATION).exists()
    return report["iterations"] == run.iteration and calibrated


def _refuse_other_run(path: Path) -> None:
    """Refuse to go on with a run that something else has trained."""
    if (path / SETTINGS).exists() and iterations_done(path):
        raise InputError(
            f"The run in '{path}' was not made by `irem.fit` or `irem fit`; choose another folder."
        )


def _keep(folder: Checkpoints | None, seconds: float) -> None:
    """Keep the time that was spent on a run so far, where it is in a folder."""
    if folder is not None and (folder.path / FIT).exists():
        write_plan(folder.path, {**read_plan(folder.path), "seconds": seconds})


def _as_effort(effort: Effort | float | None) -> Effort:
    if effort is None:
        return Effort()
    return effort if isinstance(effort, Effort) else Effort(minutes=effort)


def _scale(task: Arrays) -> np.ndarray:
    """By what the errors of entries are divided: their standard deviation in training."""
    rows = task.problems("train")
    if task.kind != "vectors":
        return np.asarray(max(float(np.std(rows.y)), 1e-12))
    spread = np.asarray(rows.y, np.float64).std(0)
    return np.where(spread > 0, spread, 1.0)


def _fingerprint(task: Arrays, seed: int) -> str:
    """A short text that tells rows from others: of their shapes and the first of them."""
    rows = task.problems("train")
    digest = hashlib.sha256(repr((seed, task.settings(), task.rows)).encode())
    for leaf in jax.tree.leaves(rows):
        digest.update(np.asarray(leaf[:1000]).tobytes())
    return digest.hexdigest()[:16]


def _teller(progress: bool | str) -> Callable[[str], None]:
    if not progress:
        return lambda _: None
    from rich.console import Console  # noqa: PLC0415  (not needed where nothing is told)

    console = Console(stderr=True, highlight=False)
    return lambda sentence: console.print(sentence, soft_wrap=True)


def _trial_sentence(trial: Trial) -> str:
    plan = trial.plan
    settings = ", ".join(f"{k} {v}" for k, v in plan.energy.items() if k != "name")
    return (
        f"tried {plan.energy['name']} ({settings}), units {plan.relative}, step size "
        f"{plan.step_size:g}, learning rate {plan.learning_rate:g}: error {trial.error:.3g}"
    )
