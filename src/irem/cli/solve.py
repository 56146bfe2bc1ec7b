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
from irem.checks import positive
from irem.cli import arrays
from irem.cli.calibrate import calibrate
from irem.cli.common import (
    DescentOptions,
    Json,
    RunFolder,
    Seed,
    about,
    fresh_key,
    load_energies,
    print_json,
    progress_bar,
)
from irem.descent import Energy, Solution
from irem.errors import InputError
from irem.evaluation import Calibration, read_calibrations
from irem.interrupt import Interrupt
from irem.training import Run

EXAMPLE = "Example: irem solve runs/add x.npy --out y.npy"

_CALIBRATION_PROBLEMS = 1000


def command(
    run: RunFolder,
    x: Annotated[
        Path,
        typer.Argument(metavar="X", help="One problem, or a stack of problems: .npy, .npz, .csv."),
    ],
    out: Annotated[Path, typer.Option(help="Where the answers go: .npy, .npz or .csv.")],
    descent: DescentOptions,
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
    model: Annotated[int, typer.Option(help="Which model of a run with several seeds.")] = 0,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Answer problems."""
    arrays.check_output(out, x)
    _check_error(max_error, descent)
    loaded = load_energies(run)
    options = {**descent.arguments(loaded), "starts": starts}
    if not 0 <= model < len(loaded.models):
        raise InputError(f"`model` must be from 0 to {len(loaded.models) - 1}, got {model}.")
    pages = Pages.read(x, loaded.models[model])
    trust = None if max_error is None else (_calibration(loaded, model), max_error)
    tally = _Tally(decided=0 if loaded.task.binary else None)
    try:
        _answer(pages, out, {**options, "key": fresh_key(seed, "solve")}, trust, tally)
    except KeyboardInterrupt:
        typer.echo(f"irem: interrupted; '{out}' is as it was before.", err=True)
        raise typer.Exit(130) from None
    if json:
        asked = {"starts": starts, "max_error": max_error, "max_steps": options["max_steps"]}
        shape = tally.shape(pages.problems)
        print_json({**about(loaded), "out": str(out), "shape": shape, **asked, **tally.as_dict()})
        return
    tally.tell(out, options["max_steps"], max_error)


@dataclasses.dataclass(frozen=True)
class Pages:
    """The problems of a file, answered at once or, if they are many, page by page.

    Arguments:
        model: What answers them.
        x: The problems.
        problems: How many there are.
        page_size: How many make a page; `None` where all are answered at once.
    """

    model: Energy
    x: np.ndarray
    problems: int
    page_size: int | None

    @staticmethod
    def read(path: Path, model: Energy, largest: int = 2**23) -> "Pages":
        """Read the problems in a file; one with more than `largest` numbers is a stack of them."""
        x = arrays.read(path)
        square = x.ndim == 2 and x.shape[0] == x.shape[1]
        if x.size > largest and x.ndim > 1 and not square:
            model.format.as_batch(x[:1])
            return Pages(model, x, len(x), max(1, largest // (x.size // len(x))))
        batch, _ = model.format.as_batch(x)
        return Pages(model, x, jax.tree.leaves(batch)[0].shape[0], None)

    def solutions(self, options: dict[str, Any]) -> Iterator[Solution]:
        """Answer the problems."""
        if self.page_size is None:
            return iter([irem.solve(self.model, self.x, **options)])
        return irem.solve_pages(self.model, self.x, page_size=self.page_size, **options)


def _answer(
    pages: Pages,
    out: Path,
    options: dict[str, Any],
    trust: tuple[Calibration, float] | None,
    tally: "_Tally",
) -> None:
    """Answer all problems and write the answers as they come, whole or not at all."""
    with (
        progress_bar("answering", pages.problems) as advance,
        arrays.Writer.open(out, pages.problems) as writer,
        Interrupt("Stopping; Ctrl-C again stops at once.") as interrupt,
    ):

        def on_batch(done: int) -> None:
            advance(done)
            # In the middle of other work an exception may get lost.
            if interrupt.asked:
                raise KeyboardInterrupt

        for solution in pages.solutions({**options, "on_batch": on_batch}):
            abstained = np.zeros(np.shape(solution.steps), bool)
            if trust is not None:
                calibration, max_error = trust
                solution = calibration.annotate(solution)
                abstained = np.asarray(solution.expected_error) > max_error
            writer.add(solution, abstained)
            tally.add(solution, abstained)


@dataclasses.dataclass
class _Tally:
    """What is reported of all answers together; `decided` where they are to be 0 or 1."""

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
        self.converged += int(np.sum(np.asarray(solution.converged)))
        self.abstained += int(abstained.sum())
        self.energy += float(np.asarray(solution.energy, np.float64).sum())
        self.reasons.update(solution.reasons())
        if solution.expected_error is not None:
            self.unfamiliar += int(np.isinf(solution.expected_error).sum())
        if self.decided is not None:
            self.decided += int(np.sum(np.asarray(solution.decided) & ~abstained))

    def shape(self, problems: int) -> list[int]:
        return list(self.answer) if self.alone else [problems, *self.answer]

    def as_dict(self) -> dict[str, Any]:
        decided = {} if self.decided is None else {"decided": self.decided / self.problems}
        return {
            "problems": self.problems,
            "steps_mean": self.steps / self.problems,
            "converged": self.converged / self.problems,
            "energy_mean": self.energy / self.problems,
            "reasons": dict(self.reasons),
            "abstained": self.abstained,
            "unfamiliar": self.unfamiliar,
            **decided,
        }

    def tell(self, out: Path, max_steps: int, max_error: float | None) -> None:
        decided = ""
        if self.decided is not None:
            decided = f"{100 * self.decided / self.problems:.1f} % decided; "
        what = "one problem" if self.problems == 1 else f"{self.problems} problems"
        typer.echo(
            f"Answered {what} in {self.steps / self.problems:.1f} steps on average; "
            f"{100 * self.converged / self.problems:.1f} % converged; {decided}written to '{out}'."
        )
        if max_error is not None:
            typer.echo(
                f"Abstained from {self.abstained} of {self.problems}: their expected error is "
                f"above {max_error:g} ({self.unfamiliar} are unlike the validation problems); "
                "their answers are NaN."
            )
        lost = self.problems - self.converged
        if lost:
            typer.echo(
                f"irem: {lost} of {self.problems} had not converged after {max_steps} steps and "
                "may be wrong: too little training, or a problem unlike those of training.",
                err=True,
            )


def _check_error(max_error: float | None, descent: DescentOptions) -> None:
    """Refuse an error that is not positive, and expected errors of other descents."""
    if max_error is None:
        return
    positive("max-error", max_error)
    if descent != DescentOptions():
        raise InputError(
            "Expected errors are calibrated for the default step rule and budget; leave out --step "
            "and --max-steps, or leave out --max-error."
        )


def _calibration(run: Run[Any], model: int) -> Calibration:
    """The calibration kept with the run; made now if there is none."""
    calibrations = read_calibrations(run)
    if calibrations is None:
        typer.echo("irem: calibrating the run once, on validation problems.", err=True)
        calibrations = calibrate(run, _CALIBRATION_PROBLEMS, 0)
    return calibrations[model]
