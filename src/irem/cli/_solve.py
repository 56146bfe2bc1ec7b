"""`irem solve`."""

import dataclasses
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
import typer

import irem
from irem._checks import positive
from irem._errors import InputError
from irem._interrupt import Interrupt
from irem.cli import _arrays
from irem.cli._calibrate import calibrate
from irem.cli._common import (
    Json,
    MaxSteps,
    RunFolder,
    Seed,
    StepName,
    StepSize,
    about,
    fresh_key,
    load_energies,
    parse_step,
    print_json,
    progress_bar,
)
from irem.descent import MAX_STEPS, Solution, Walkable

NAME = "solve"
HELP = "Answer the problems in a file (.npy, .npz or .csv) with a trained run."
EXAMPLE = "Example: irem solve runs/add x.npy --out y.npy"

_CALIBRATION_PROBLEMS = 1000
_IN_MEMORY = 2**23  # numbers; larger files are answered page by page


def command(
    run: RunFolder,
    x: Annotated[Path, typer.Argument(metavar="X", help="One problem, or a stack of problems.")],
    out: Annotated[Path, typer.Option(help="Where the answers go: .npy, .npz or .csv.")],
    max_error: Annotated[
        float | None,
        typer.Option(
            help="Abstain (answer NaN) where the expected mean squared error is larger.",
            show_default="answer all",
        ),
    ] = None,
    starts: Annotated[
        int, typer.Option(help="First guesses for each problem; the lowest energy wins.")
    ] = 1,
    max_steps: MaxSteps = MAX_STEPS,
    step: StepName = None,
    step_size: StepSize = None,
    model: Annotated[int, typer.Option(help="Which model of a run with several seeds.")] = 0,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Answer problems."""
    _arrays.check_output(out, x)
    rule = parse_step(step, step_size)
    if max_error is not None:
        positive("max-error", max_error)
        if rule is not None or max_steps != MAX_STEPS:
            raise InputError(
                "Expected errors are calibrated for the default step rule and budget; leave out "
                "--step, --step-size and --max-steps, or leave out --max-error."
            )
    loaded = load_energies(run)
    if not 0 <= model < len(loaded.models):
        raise InputError(f"`model` must be from 0 to {len(loaded.models) - 1}, got {model}.")
    problems, chosen = _arrays.read(x), loaded.models[model]
    total = _count(chosen, problems)
    options: dict[str, Any] = {"starts": starts, "max_steps": max_steps, "step": rule}
    if max_error is not None:
        options["calibration"] = _calibration(loaded, model)
    tally = _Tally(decided=0 if loaded.task.binary else None)
    try:
        with (
            progress_bar("answering", total) as advance,
            _arrays.Writer.open(out, total) as writer,
            Interrupt("Stopping; Ctrl-C again stops at once.") as interrupt,
        ):

            def on_batch(done: int) -> None:
                advance(done)
                # In the middle of other work an exception may get lost.
                if interrupt.asked:
                    raise KeyboardInterrupt

            options["on_batch"] = on_batch
            for solution in _solutions(chosen, problems, fresh_key(seed, "solve"), options):
                abstained = _abstained(solution, max_error)
                writer.add(solution, abstained)
                tally.add(solution, abstained)
    except KeyboardInterrupt:
        typer.echo(f"irem: interrupted; '{out}' is as it was before.", err=True)
        raise typer.Exit(130) from None
    if json:
        print_json(
            {
                **about(loaded),
                "problems": tally.problems,
                "out": str(out),
                "shape": tally.shape(total),
                "max_steps": max_steps,
                "steps_mean": tally.steps / tally.problems,
                "converged": tally.converged / tally.problems,
                "energy_mean": tally.energy / tally.problems,
                "reasons": dict(tally.reasons),
                "starts": starts,
                "max_error": max_error,
                "abstained": tally.abstained,
                "unfamiliar": tally.unfamiliar,
                **({} if tally.decided is None else {"decided": tally.decided / tally.problems}),
            }
        )
        return
    _tell(tally, out, max_steps, max_error)


@dataclasses.dataclass
class _Tally:
    """What is said of all answers together; `decided` where they are to be 0 or 1."""

    problems: int = 0
    steps: int = 0
    converged: int = 0
    abstained: int = 0
    unfamiliar: int = 0
    decided: int | None = None
    energy: float = 0.0
    reasons: Counter[str] = dataclasses.field(default_factory=Counter)
    answer: tuple[int, ...] = ()
    alone: bool = False

    def add(self, solution: Solution, abstained: np.ndarray) -> None:
        self.alone = np.ndim(solution.steps) == 0
        self.answer = solution.y.shape if self.alone else solution.y.shape[1:]
        self.problems += np.size(solution.steps)
        self.steps += int(np.sum(solution.steps))
        self.converged += int(np.sum(solution.converged))
        self.abstained += int(abstained.sum())
        self.energy += float(np.asarray(solution.energy, np.float64).sum())
        self.reasons.update(solution.reasons())
        if solution.expected_error is not None:
            self.unfamiliar += int(np.isinf(solution.expected_error).sum())
        if self.decided is not None:
            self.decided += int(np.sum(np.asarray(solution.decided) & ~abstained))

    def shape(self, problems: int) -> list[int]:
        return list(self.answer) if self.alone else [problems, *self.answer]


def _count(model: Walkable, problems: np.ndarray) -> int:
    """How many problems there are; a file too large for memory is a stack of them."""
    if _is_large(problems):
        model.as_batch(problems[:1])
        return len(problems)
    return jax.tree.leaves(model.as_batch(problems)[0])[0].shape[0]


def _is_large(problems: np.ndarray) -> bool:
    square = problems.ndim == 2 and problems.shape[0] == problems.shape[1]
    return problems.size > _IN_MEMORY and problems.ndim > 1 and not square


def _solutions(
    model: Walkable, problems: np.ndarray, key: jax.Array, options: dict[str, Any]
) -> Iterator[Solution]:
    if _is_large(problems):
        return irem.solve_pages(model, problems, key=key, **options)
    return iter([irem.solve(model, problems, key=key, **options)])


def _calibration(run: irem.Run, model: int) -> irem.Calibration:
    """The calibration kept with the run; made now if there is none."""
    calibrations = run.calibrations
    if calibrations is None:
        typer.echo("irem: calibrating the run once, on validation problems.", err=True)
        calibrations = calibrate(run, _CALIBRATION_PROBLEMS, 0)
    return calibrations[model]


def _abstained(solution: Solution, max_error: float | None) -> np.ndarray:
    if max_error is None or solution.expected_error is None:
        return np.zeros(np.shape(solution.steps), bool)
    return np.asarray(solution.expected_error) > max_error


def _tell(tally: _Tally, out: Path, max_steps: int, max_error: float | None) -> None:
    decided = ""
    if tally.decided is not None:
        decided = f"{100 * tally.decided / tally.problems:.1f} % decided; "
    what = "one problem" if tally.problems == 1 else f"{tally.problems} problems"
    typer.echo(
        f"Answered {what} in {tally.steps / tally.problems:.1f} steps on average; "
        f"{100 * tally.converged / tally.problems:.1f} % converged; {decided}written to '{out}'."
    )
    if max_error is not None:
        typer.echo(
            f"Abstained from {tally.abstained} of {tally.problems}: their expected error is above "
            f"{max_error:g} ({tally.unfamiliar} are unlike the validation problems); their answers "
            "are NaN."
        )
    lost = tally.problems - tally.converged
    if lost:
        typer.echo(
            f"irem: {lost} of {tally.problems} had not settled after {max_steps} steps and may be "
            "wrong: too little training, or a problem unlike those of training.",
            err=True,
        )
