"""`irem reproduce`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from irem import report
from irem._checks import known
from irem._errors import InputError
from irem._files import write_whole
from irem.cli._common import Json, print_json
from irem.experiments import (
    EXPERIMENTS,
    FULL,
    QUICK,
    Study,
    committed_results,
    read_result,
    reproduce,
    strip_frames,
)

NAME = "reproduce"
HELP = "Make the paper's tables and figures again, beside the printed numbers."
EXAMPLE = "Example: irem reproduce table1 --quick"

_NAMES = (*EXPERIMENTS, "all")


def command(
    what: Annotated[str, typer.Argument(metavar="WHAT", help=f"One of {', '.join(_NAMES)}.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Minutes on two cores: less training, fewer seeds.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="The paper's settings and five seeds; for a GPU.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the reproduction; one that was stopped goes on where it was.",
            show_default="runs/reproduce-quick or -full",
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            help="For denoising: folder of pictures to train on, the last 16 of which are left "
            "out.",
            show_default="scikit-image's photographs",
        ),
    ] = None,
    test_images: Annotated[
        Path | None,
        typer.Option(
            help="For denoising: folder of pictures to test on.", show_default="those left out"
        ),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print the result that is kept and run nothing.")
    ] = False,
    commit: Annotated[
        str | None,
        typer.Option(help="Commit to write down, where git cannot tell it.", show_default="git"),
    ] = None,
    json: Json = False,
) -> None:
    """Run experiments, or show their results."""
    known("experiment", what, _NAMES)
    names = list(EXPERIMENTS) if what == "all" else [what]
    if (images or test_images) and (show or "denoising" not in names):
        raise InputError("--images and --test-images are for running denoising; leave them out.")
    if show:
        if quick or full or commit is not None:
            raise InputError("--show runs nothing; leave out --quick, --full and --commit.")
        folder = committed_results() if out is None else out
        found = report.read_results(folder) if what == "all" else {what: read_result(folder, what)}
        _print(list(found.values()), json, one=what != "all")
        return
    if quick == full:
        raise InputError("Choose one of --quick (minutes on two cores) and --full (for a GPU).")
    scale = QUICK if quick else FULL
    folder = Path("runs") / f"reproduce-{scale.name}" if out is None else out
    say = lambda line: typer.echo(f"irem: {line}", err=True)  # noqa: E731
    try:
        progress = sys.stderr.isatty()
        study = Study(
            folder,
            scale,
            images=images,
            test_images=test_images,
            commit=commit,
            say=say,
            progress=progress,
        )
        results = [reproduce(study, name) for name in names]
        if "denoising" in names:
            _draw_strip(study)
    except KeyboardInterrupt:
        say(f"Stopped; what is finished is kept in '{folder}', and the same command goes on.")
        raise typer.Exit(130) from None
    page = folder / "index.html"
    write_whole(page, report.reproduction_page(folder).encode())
    _print(results, json, one=what != "all")
    if not json:
        typer.echo(f"The page is '{page}'.")


def _draw_strip(study: Study) -> None:
    """A test picture after some of the steps, beside the page."""
    frames = strip_frames(study)
    if frames is not None:
        path = study.folder / "denoising-strip.png"
        write_whole(path, report.png(report.denoising_strip(frames)))
        study.say(f"A picture after some of its steps is in '{path}'.")


def _print(results: list[dict[str, Any]], json: bool, *, one: bool) -> None:
    """Print one result as its cells or figures, several as an object of those by name."""
    if json:
        found = {r["experiment"]: r.get("cells", r.get("figures")) for r in results}
        print_json(next(iter(found.values())) if one else found)
        return
    for result in results:
        typer.echo(report.as_text(result))
