"""`irem reproduce`."""

import dataclasses
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from irem.checks import known
from irem.cli.common import Json, print_json
from irem.errors import InputError
from irem.files import write_whole
from irem.interrupt import exit_code
from irem.paper import (
    EXPERIMENTS,
    FULL,
    QUICK,
    Study,
    as_json,
    as_text,
    committed_results,
    read_result,
    read_results,
    reproduce,
    reproduction_page,
)

EXAMPLE = "Example: irem reproduce table1 --quick"

_NAMES = (*EXPERIMENTS, "all")


@dataclasses.dataclass(frozen=True)
class ScaleOptions:
    """How much is run, or whether anything is."""

    quick: Annotated[
        bool, typer.Option("--quick", help="Minutes on two cores: less training, fewer seeds.")
    ] = False
    full: Annotated[
        bool, typer.Option("--full", help="The paper's settings and five seeds; for a GPU.")
    ] = False
    show: Annotated[
        bool, typer.Option("--show", help="Print the result that is kept and run nothing.")
    ] = False


@dataclasses.dataclass(frozen=True)
class DataOptions:
    """Pictures for denoising, and puzzles."""

    images: Annotated[
        Path | None,
        typer.Option(
            help="For denoising: folder of pictures to train on, the last 16 of which are held "
            "out.",
            show_default="scikit-image's photographs",
        ),
    ] = None
    test_images: Annotated[
        Path | None,
        typer.Option(
            help="For denoising: folder of pictures to test on.", show_default="those held out"
        ),
    ] = None
    puzzles: Annotated[
        Path | None,
        typer.Option(
            help="For puzzles: file with lines of Sudoku puzzles of 17 givens to test on as well.",
            show_default="none",
        ),
    ] = None
    training_puzzles: Annotated[
        Path | None,
        typer.Option(
            help="For puzzle-training: file of Sudokus to train on, as tools/make_puzzles.py "
            "makes it.",
            show_default="the few that come along",
        ),
    ] = None

    def check(self, names: list[str]) -> None:
        """Refuse data that no experiment which is to run takes."""
        if (self.images or self.test_images) and "denoising" not in names:
            raise InputError(
                "--images and --test-images are for running denoising; leave them out."
            )
        if self.puzzles and "puzzles" not in names:
            raise InputError("--puzzles is for running puzzles; leave it out.")
        if self.training_puzzles and "puzzle-training" not in names:
            raise InputError("--training-puzzles is for running puzzle-training; leave it out.")


def command(
    what: Annotated[str, typer.Argument(metavar="WHAT", help=f"One of {', '.join(_NAMES)}.")],
    scale: ScaleOptions,
    data: DataOptions,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the reproduction; one that was stopped goes on where it was.",
            show_default="runs/reproduce-quick or -full",
        ),
    ] = None,
    commit: Annotated[
        str | None,
        typer.Option(
            help="Commit of this program to write down, where git cannot tell it.",
            show_default="git",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Run experiments, or show their results."""
    known("experiment", what, _NAMES)
    names = list(EXPERIMENTS) if what == "all" else [what]
    data.check([] if scale.show else names)
    if scale.show:
        if scale.quick or scale.full or commit is not None:
            raise InputError("--show runs nothing; leave out --quick, --full and --commit.")
        _show(what, committed_results() if out is None else out, json)
        return
    if scale.quick == scale.full:
        raise InputError("Choose one of --quick (minutes on two cores) and --full (for a GPU).")
    size = QUICK if scale.quick else FULL
    folder = Path("runs") / f"reproduce-{size.name}" if out is None else out
    try:
        study = Study(
            folder,
            size,
            images=data.images,
            test_images=data.test_images,
            puzzles=data.puzzles,
            training_puzzles=data.training_puzzles,
            commit=commit,
            say=_say,
            progress=sys.stderr.isatty(),
        )
        page = folder / "index.html"
        with study.hold():
            results = [reproduce(study, name) for name in names]
            write_whole(page, reproduction_page(folder).encode())
    except KeyboardInterrupt:
        _say(f"Stopped; what is finished is kept in '{folder}', and the same command goes on.")
        raise typer.Exit(exit_code()) from None
    _print(results, json, one=what != "all")
    if not json:
        typer.echo(f"The page is '{page}'.")


def _say(line: str) -> None:
    typer.echo(f"irem: {line}", err=True)


def _show(what: str, folder: Path, json: bool) -> None:
    """Print results that are kept."""
    found = read_results(folder) if what == "all" else {what: read_result(folder, what)}
    _print(list(found.values()), json, one=what != "all")


def _print(results: list[Any], json: bool, *, one: bool) -> None:
    """Print one result as an object with its cells, several as an object of those by name."""
    if json:
        found = {result.experiment: as_json(result) for result in results}
        print_json(next(iter(found.values())) if one else found)
        return
    for result in results:
        typer.echo(as_text(result))
