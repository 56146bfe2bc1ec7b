"""`irem solve`."""

import functools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

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
    budget,
    fresh_key,
    load_energies,
    print_json,
    progress_bar,
)
from irem.cli.tally import Tally
from irem.descent import Energy, Solution
from irem.errors import InputError
from irem.evaluation import Calibration, read_calibrations
from irem.interrupt import Interrupt
from irem.training import Run, solve_checked

EXAMPLE = "Example: irem solve zoo:shortest-path lengths.csv --out distances.csv"

_CALIBRATION_PROBLEMS = 1000


def command(
    run: RunFolder,
    x: Annotated[
        Path,
        typer.Argument(metavar="X", help="One problem, or a stack of problems: .npy, .npz, .csv."),
    ],
    out: Annotated[Path, typer.Option(help="Where the answers go: .npy, .npz or .csv.")],
    descent: DescentOptions,
    only_verified: Annotated[
        bool, typer.Option("--only-verified", help="Write NaN for answers that are not verified.")
    ] = False,
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
    """Answer problems, and check the answers."""
    arrays.check_output(out, x)
    _check_error(max_error, descent)
    loaded = load_energies(run)
    options = {**descent.arguments(loaded), "starts": starts}
    if not 0 <= model < len(loaded.models):
        raise InputError(f"`model` must be from 0 to {len(loaded.models) - 1}, got {model}.")
    pages = Pages.read(x, loaded.models[model])
    chosen = loaded.models[model]
    trust = None if max_error is None else (_calibration(loaded, model), max_error)
    tally = Tally(loaded.task.binary, budget(loaded, options["max_steps"]))
    # Who sets the rule or the budget of a descent gets that descent and no other.
    by = irem.solve if descent != DescentOptions() else solve_checked
    if by is solve_checked:
        options = {"starts": starts}
    try:
        _answer(
            pages,
            out,
            functools.partial(pages.solutions, by=by, key=fresh_key(seed, "solve"), **options),
            _Filter(only_verified, trust),
            tally,
        )
    except KeyboardInterrupt:
        typer.echo(f"irem: interrupted; '{out}' is as it was before.", err=True)
        raise typer.Exit(130) from None
    tally.faults = _faults(chosen, pages) if tally.refused else ()
    if json:
        asked = {"starts": starts, "max_error": max_error, "max_steps": tally.max_steps}
        shape = tally.shape(pages.problems)
        print_json({**about(loaded), "out": str(out), "shape": shape, **asked, **tally.as_dict()})
    else:
        tally.tell(out, max_error)
    tally.warn()
    if tally.unanswered:
        raise typer.Exit(1)


class Pages(NamedTuple):
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

    def solutions(self, *, by: Any, **options: Any) -> Iterator[Solution]:
        """Answer the problems by a function like `irem.solve`."""
        if self.page_size is None:
            return iter([by(self.model, self.x, **options)])
        return irem.solve_pages(self.model, self.x, page_size=self.page_size, by=by, **options)


class _Filter(NamedTuple):
    """Which answers are left out: those not verified, or with too large an expected error."""

    only_verified: bool
    trust: tuple[Calibration, float] | None

    def __call__(self, solution: Solution) -> tuple[Solution, np.ndarray]:
        """Return the solution with what is expected of it, and which answers are left out."""
        left_out = np.zeros(np.shape(solution.steps), bool)
        if self.trust is not None:
            calibration, max_error = self.trust
            solution = calibration.annotate(solution)
            left_out |= np.asarray(solution.expected_error) > max_error
        if self.only_verified:
            verified = solution.verified
            left_out |= True if verified is None else ~np.asarray(verified)
        return solution, left_out


def _answer(pages: Pages, out: Path, solutions: Any, keep: _Filter, tally: Tally) -> None:
    """Answer all problems and write the answers as they come, whole or not at all."""
    with (
        progress_bar("answering", pages.problems) as advance,
        arrays.Writer.open(out, pages.problems) as writer,
        Interrupt("Stopping; Ctrl-C again stops at once.") as interrupt,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UserWarning)  # refused problems are told below

        def on_batch(done: int) -> None:
            advance(done)
            # In the middle of other work an exception may get lost.
            if interrupt.asked:
                raise KeyboardInterrupt

        for solution in solutions(on_batch=on_batch):
            solution, left_out = keep(solution)
            writer.add(solution, left_out)
            tally.add(solution, left_out)


def _faults(model: Any, pages: Pages) -> tuple[str, ...]:
    """Why the first few problems that are refused are, with their places."""
    size = pages.page_size or pages.problems
    for first in range(0, pages.problems, size):
        some = pages.x if pages.page_size is None else pages.x[first : first + size]
        faults = enumerate(model.task.domain.faults(model.format.as_batch(some)[0]), first)
        told = [f"Problem {i}: {fault}" for i, fault in faults if fault is not None]
        if told:
            return tuple(told[:3])
    return ()


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
