"""`irem fit`."""

import dataclasses
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from irem.cli import row_files
from irem.cli.common import Json, about, check_seed, print_json
from irem.errors import InputError
from irem.fitting import Effort, Report, fit_rows, read_rows
from irem.interrupt import exit_code
from irem.tasks import Arrays
from irem.training import Calibration, Checkpoints, Run, iterations_done, read_calibrations
from irem.training.run import SETTINGS

EXAMPLE = "Example: irem fit houses.csv --target price --ignore town --out runs/houses"

_MINUTES = Effort().minutes


@dataclasses.dataclass(frozen=True)
class ColumnOptions:
    """Which columns of a table are what."""

    target: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME",
            help="Columns of a .csv that are the answers: their names, or their numbers from 1.",
            show_default=False,
        ),
    ] = None
    ignore: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME", help="Columns of a .csv to leave out.", show_default="none"
        ),
    ] = None


@dataclasses.dataclass(frozen=True)
class ModelOptions:
    """What is fitted, and for how long."""

    energy: Annotated[
        str | None, typer.Option(help="Name of an energy.", show_default="chosen by trials")
    ] = None
    several: Annotated[
        bool,
        typer.Option(
            "--several", help="A problem may have several answers, of which a row has one."
        ),
    ] = False
    minutes: Annotated[
        float | None,
        typer.Option(
            help="Time of choosing settings and training; the comparison takes as long again.",
            show_default=f"{_MINUTES:g}",
        ),
    ] = None
    iterations: Annotated[
        int | None,
        typer.Option(
            help="Number of updates instead: nothing is tried out, and the same fit again has the "
            "same result.",
            show_default="as time allows",
        ),
    ] = None
    no_compare: Annotated[
        bool, typer.Option("--no-compare", help="Do not train a feedforward network to compare.")
    ] = False

    def effort(self) -> Effort:
        """Return how much is spent."""
        compare = not self.no_compare
        if self.iterations is None:
            minutes = _MINUTES if self.minutes is None else self.minutes
            return Effort(minutes=minutes, compare=compare)
        if self.minutes is not None:
            raise InputError(
                "--minutes and --iterations both say how long to train; leave one out."
            )
        return Effort(iterations=self.iterations, trial_share=0.0, compare=compare)


@dataclasses.dataclass(frozen=True)
class RowOptions:
    """How rows are read and divided."""

    kind: Annotated[
        str | None,
        typer.Option(
            help="What problems are: vectors, graphs or pictures.",
            show_default="graphs of different sizes, else vectors",
        ),
    ] = None
    validation: Annotated[float, typer.Option(help="Share of the rows to hold out.")] = 0.1

    def task(self, rows: row_files.Rows, seed: int) -> Arrays:
        """Return the rows as a task, of which some are held out."""
        if rows.names != (None, None) and self.kind not in (None, "vectors"):
            raise InputError(
                f"The rows of a table are vectors, not {self.kind}; give {self.kind} as arrays in "
                "a .npz file, or leave out --kind."
            )
        options = {"kind": self.kind, "validation": self.validation, "names": rows.names}
        return read_rows(rows.x, rows.y, **options, seed=seed)


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """Where the run is kept."""

    out: Annotated[Path, typer.Option(help="Folder to keep the run in.")]
    seed: Annotated[
        int, typer.Option(help="Seed of held-out rows, weights and all other random choices.")
    ] = 0
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the fit in the folder, if there is one.")
    ] = False


def command(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Problems and answers: a .npz with x and y, or a .csv with a header and --target; "
            "or a .npy of problems.",
        ),
    ],
    columns: ColumnOptions,
    rows: RowOptions,
    model: ModelOptions,
    run: RunOptions,
    y: Annotated[Path | None, typer.Argument(metavar="Y", help="A .npy of their answers.")] = None,
    json: Json = False,
) -> None:
    """Fit an energy to rows, and measure it on those that are held out."""
    check_seed(run.seed)
    effort, checkpoints = model.effort(), Checkpoints(run.out, run.resume)
    checkpoints.check()
    read = row_files.read_rows(data, y, row_files.Columns(columns.target, columns.ignore))
    task = rows.task(read, run.seed)
    options = {"energy": model.energy, "several": model.several, "effort": effort}
    try:
        fitted = fit_rows(task, **options, seed=run.seed, out=checkpoints, progress=True)
    except KeyboardInterrupt:
        typer.echo(f"irem: {_stopped(run.out)}", err=True)
        raise typer.Exit(exit_code()) from None
    _tell(fitted, data.suffix, json)
    _warn(fitted)


def _stopped(out: Path) -> str:
    done = iterations_done(out) if (out / SETTINGS).exists() else 0
    if not done:
        return "Stopped before the first checkpoint of training; nothing of it is kept."
    return f"Stopped; iteration {done} is kept in '{out}'. Go on with --resume."


def _report(run: Run[Any]) -> Report:
    assert run.report is not None
    return Report(**run.report)


def _tell(run: Run[Any], suffix: str, json: bool) -> None:
    """Print what was measured."""
    report = _report(run)
    if json:
        calibrated = read_calibrations(run) is not None
        found = {**report.as_dict(), "calibrated": calibrated, "out": str(run.path)}
        print_json({**about(run), **found})
        return
    typer.echo(report.table().as_text())
    typer.echo(
        f"± is the standard error over {report.problems} rows that were held out. The energy has "
        f"{report.parameters:,} parameters, trained {report.iterations:,} iterations in "
        f"{report.seconds:.0f} s; kept in '{run.path}'."
    )
    new, answers = ("new.csv", "y.csv") if suffix == ".csv" else ("x.npy", "y.npy")
    typer.echo(f"Next: irem solve {shlex.quote(str(run.path))} {new} --out {answers}")


def _warn(run: Run[Any]) -> None:
    """Say on standard error what to expect no more of."""
    report = _report(run)
    if not report.validation_mse < report.trivial_mse:
        typer.echo(
            "irem: The mean answer has no larger error: nothing was learned that holds for rows "
            "held out. Give more rows or more time.",
            err=True,
        )
    if report.problems < Calibration.fewest:
        typer.echo(
            f"irem: Only {report.problems} rows were held out, too few to learn which error to "
            f"expect of an answer, which takes {Calibration.fewest}; give more rows, or a larger "
            "--validation.",
            err=True,
        )
