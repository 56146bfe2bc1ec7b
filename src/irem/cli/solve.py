"""`irem solve`."""

import dataclasses
import functools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
import typer

import irem
from irem.checks import count, positive
from irem.cli import arrays
from irem.cli.calibrate import NOT_CALIBRATED, calibrate
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
    refuse_fitted,
)
from irem.cli.devices import DeviceOptions
from irem.cli.documents import SUFFIXES, Documents
from irem.cli.hosts import answer_own_part
from irem.cli.names import AbstractNames, NodeNames
from irem.cli.problem_files import read_problems
from irem.cli.tally import Tally
from irem.descent import Energy, Solution, default_max_steps
from irem.errors import InputError
from irem.evaluation import Calibration, read_calibrations
from irem.hosts import first_alone, hosts, is_first
from irem.problem import Graph
from irem.tasks import AbstractTask
from irem.training import Run, solve_checked

EXAMPLE = "Example: irem solve zoo:shortest-path lengths.csv --out distances.csv"

_CALIBRATION_PROBLEMS = 1000


@dataclasses.dataclass(frozen=True)
class StartOptions:
    """How many first guesses and answers every problem has, and where guesses are drawn from."""

    starts: Annotated[
        int, typer.Option(help="First guesses for each problem; the lowest energy wins.")
    ] = 1
    answers: Annotated[
        int,
        typer.Option(help="Different answers to list, of runs that `irem fit --several` made."),
    ] = 1

    def check(self, run: Run[Any], descent: DescentOptions) -> None:
        """Refuse several answers where no problem has more than one, or of other descents."""
        count("answers", self.answers)
        if self.answers == 1:
            return
        validation = run.settings.get("validation", {})
        # With several answers, validation counts the nearest of several starts.
        if validation.get("starts", 1) == 1:
            raise InputError(
                f"--answers lists several answers of a run that `irem fit --several` made, and "
                f"'{run.path}' is none; leave it out."
            )
        if descent != DescentOptions():
            raise InputError(
                "Several answers are found by the default step rule and budget; leave out --step "
                "and --max-steps, or leave out --answers."
            )

    restarts: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Further first guesses for answers that fail their check.",
            show_default="that of the model",
        ),
    ] = None
    seed: Seed = 0

    def arguments(self) -> dict[str, int]:
        """Return them as `irem.solve` takes them."""
        several = {} if self.answers == 1 else {"answers": self.answers}
        return {"starts": self.starts, **several}

    def checked_arguments(self) -> dict[str, int]:
        """Return them as `solve_checked` takes them."""
        more = {} if self.restarts is None else {"retries": self.restarts}
        return {**self.arguments(), **more}


@dataclasses.dataclass(frozen=True)
class AbstainOptions:
    """Which answers are left out."""

    only_verified: Annotated[
        bool, typer.Option("--only-verified", help="Write NaN for answers that are not verified.")
    ] = False
    max_error: Annotated[
        float | None,
        typer.Option(
            help="Abstain (answer NaN) where the expected mean squared error is larger.",
            show_default="answer all",
        ),
    ] = None


def command(
    run: RunFolder,
    x: Annotated[
        Path,
        typer.Argument(
            metavar="X",
            help="One problem or several: .npy, .npz or .csv; of graphs also .graphml or .gml, of "
            "puzzles, mazes and sums .txt, of mazes .png.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Where the answers go: .npy, .npz, .csv; .txt or .png as X.")
    ],
    descent: DescentOptions,
    abstain: AbstainOptions,
    search: StartOptions,
    devices: DeviceOptions,
    model: Annotated[int, typer.Option(help="Which model of a run with several seeds.")] = 0,
    problems: arrays.Problems = None,
    json: Json = False,
) -> None:
    """Answer problems, and check the answers."""
    with devices.entered():
        _command(run, x, out, descent, abstain, search, model, problems, json)


def _command(
    run: Path,
    x: Path,
    out: Path,
    descent: DescentOptions,
    abstain: AbstainOptions,
    search: StartOptions,
    model: int,
    problems: int | None,
    json: bool,
) -> None:
    _check_files(x, out)
    max_error = abstain.max_error
    _check_error(max_error, descent)
    loaded = load_energies(run)
    search.check(loaded, descent)
    options = {**descent.arguments(loaded), **search.arguments()}
    if not 0 <= model < len(loaded.models):
        raise InputError(f"`model` must be from 0 to {len(loaded.models) - 1}, got {model}.")
    chosen = loaded.models[model]
    pages = _read(x, out, chosen, loaded.task, problems)
    if search.answers > 1:
        _check_several(out, pages)
    _check_domain(chosen, pages)
    trust = first_alone(
        lambda: None if max_error is None else (_calibration(loaded, model), max_error)
    )
    tally = Tally(loaded.task.binary, options["max_steps"] or _budget(chosen, pages))
    # Who sets the rule or the budget of a descent gets that descent and no other.
    by = irem.solve if descent != DescentOptions() else solve_checked
    if by is solve_checked:
        options = search.checked_arguments()
    elif search.restarts:
        raise InputError(
            "Restarts keep the step rule and the budget of the model; leave out --step and "
            "--max-steps, or leave out --restarts."
        )
    options |= {"by": by, "key": fresh_key(search.seed, "solve")}
    solutions = functools.partial(pages.solutions, **options)
    if hosts() > 1:
        if isinstance(pages, Documents):
            raise InputError(
                f"'{x}' is answered by one host; leave out --hosts, or give a file of numbers."
            )
        solutions = answer_own_part(pages, out, **options)
        if not is_first():
            return
    _answer(pages, out, solutions, _Filter(abstain.only_verified, trust), tally)
    tally.faults = _faults(chosen, pages) if tally.refused else ()
    if json:
        asked = {"max_error": max_error, "max_steps": tally.max_steps}
        asked |= dataclasses.asdict(search)
        if not isinstance(pages, Documents):  # which may be of several sizes
            asked["shape"] = tally.shape(pages.problems)
        print_json({**about(loaded), "out": str(out), **asked, **tally.as_dict()})
    else:
        tally.tell(out, max_error)
    _warn(pages, tally)
    if tally.unanswered:
        raise typer.Exit(1)


def _read(
    x: Path, out: Path, model: Energy, task: AbstractTask, problems: int | None
) -> "Pages | Documents":
    """Read the problems in a file, in whichever form it has them."""
    if x.suffix in SUFFIXES:
        documents = Documents.read(x, model)
        if out.suffix != x.suffix:
            raise InputError(
                f"The answers to '{x}' go to a file ending in {x.suffix}, got '{out}'."
            )
        return documents
    return Pages.read(x, model, task, problems)


def _check_files(x: Path, out: Path) -> None:
    """Refuse a place where answers cannot be written; texts and pictures are answered by such."""
    is_document = x.suffix == out.suffix and x.suffix in SUFFIXES
    arrays.check_output(out, x, *([x.suffix] if is_document else []))


class Pages(NamedTuple):
    """The problems of a file, answered at once or, if they are many, page by page.

    Arguments:
        model: What answers them.
        x: The problems, along the first axis.
        alone: Whether the file holds one problem, without an axis of problems.
        page_size: How many make a page; `None` where all are answered at once.
        names: What the file calls them.
    """

    model: Energy
    x: np.ndarray | Graph
    alone: bool
    page_size: int | None
    names: AbstractNames

    @staticmethod
    def read(
        path: Path,
        model: Energy,
        task: AbstractTask,
        problems: int | None = None,
        largest: int = 2**23,
    ) -> "Pages":
        """Read the problems in a file; of more than `largest` numbers, page by page."""
        x, alone, names = read_problems(path, task, model.format, problems)
        if isinstance(x, Graph):
            return Pages(model, x, alone, None, names)
        paged = x.size > largest and len(x) > 1
        page_size = max(1, largest // (x.size // len(x))) if paged else None
        model.format.as_batch(x[:page_size])
        return Pages(model, x, alone, page_size, names)

    @property
    def problems(self) -> int:
        """How many there are."""
        return len(self.x.edges) if isinstance(self.x, Graph) else len(self.x)

    def part(self, rows: slice) -> "Pages":
        """Return some of the problems; the others are not read from an array on the disk."""
        return self._replace(x=jax.tree.map(lambda leaf: leaf[rows], self.x))

    def parts(self) -> Iterator[tuple[int, Any]]:
        """Yield the problems of every page, with the place of the first of them."""
        if self.page_size is None or isinstance(self.x, Graph):
            yield 0, self.x
            return
        for first in range(0, self.problems, self.page_size):
            yield first, self.x[first : first + self.page_size]

    def writer(self, out: Path) -> Any:
        """Return what takes the answers on their way to a file."""
        return arrays.Writer.open(out, self.problems, self.names)

    def solutions(self, *, by: Any, **options: Any) -> Iterator[Solution]:
        """Answer the problems by a function like `irem.solve`."""
        if self.page_size is not None and not isinstance(self.x, Graph):
            return irem.solve_pages(self.model, self.x, page_size=self.page_size, by=by, **options)
        found = by(self.model, self.x, **options)
        return iter([jax.tree.map(lambda leaf: leaf[0], found) if self.alone else found])


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
            # An expected error that is NaN is not small.
            left_out |= ~(np.asarray(solution.expected_error) <= max_error)
        if self.only_verified:
            verified = solution.verified
            left_out |= True if verified is None else ~np.asarray(verified)
        return solution, left_out


def _answer(
    pages: Pages | Documents, out: Path, solutions: Any, keep: _Filter, tally: Tally
) -> None:
    """Answer all problems and write the answers as they come, whole or not at all."""
    with (
        progress_bar("answering", pages.problems) as advance,
        pages.writer(out) as writer,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UserWarning)  # refused problems are told below
        for solution in solutions(on_batch=advance):
            solution, left_out = keep(solution)
            writer.add(solution, left_out)
            tally.add(solution, left_out)


def _budget(model: Energy, pages: Pages | Documents) -> int:
    """Return the step budget where none is given; of problems of several sizes the largest."""
    return max(default_max_steps(model, stack) for _, stack in pages.parts())


def _warn(pages: Pages | Documents, tally: Tally) -> None:
    """Say on standard error which answers not to rely on, or were not written."""
    tally.warn()
    if isinstance(pages, Documents):
        pages.warn(tally.unverified)


def _faults(model: Any, pages: Pages | Documents) -> tuple[str, ...]:
    """Why the first few problems that are refused are, with their places or names."""
    for first, some in pages.parts():
        faults = enumerate(model.task.domain.faults(model.format.as_batch(some)[0]), first)
        told = [pages.names.about(i, fault) for i, fault in faults if fault is not None]
        if told:
            return tuple(told[:3])
    return ()


def _check_domain(model: Any, pages: Pages | Documents) -> None:
    """Refuse problems that are all outside the domain, in the words of their file."""
    if isinstance(pages, Documents):
        pages.refuse_all()
        return
    if pages.names.nodes(0) is None or model.task is None:
        return
    faults = model.task.domain.faults(model.format.as_batch(pages.x)[0])
    if faults[0] is not None and None not in faults:
        told = pages.names.renamed if pages.alone else pages.names.about
        raise InputError(told(0, faults[0]))


def _check_several(out: Path, pages: Pages | Documents) -> None:
    """Refuse a list of pairs, which has one place for the number of a pair."""
    if out.suffix == ".csv" and isinstance(pages.names, NodeNames):
        raise InputError(
            f"A list of pairs of nodes has room for one answer; write several to a .npz file in "
            f"place of '{out}'."
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
        refuse_fitted(run, f"{NOT_CALIBRATED}, or leave out --max-error")
        typer.echo("irem: calibrating the run once, on validation problems.", err=True)
        calibrations = calibrate(run, _CALIBRATION_PROBLEMS, 0)
    return calibrations[model]
