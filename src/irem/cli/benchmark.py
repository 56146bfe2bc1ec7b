"""`irem benchmark`."""

from pathlib import Path
from typing import Annotated

import typer

from irem.checks import known
from irem.cli.common import Json, check_output, print_json
from irem.files import write_whole
from irem.json_text import dump
from irem.performance import MEASUREMENTS, as_text, report
from irem.performance.base import FULL, QUICK

EXAMPLE = "Example: irem benchmark --quick --only cold-start --out performance.json"


def command(
    out: Annotated[
        Path | None, typer.Option(help="A .json for what was measured.", show_default="none")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Measure this alone; may be given several times: {', '.join(MEASUREMENTS)}.",
            show_default="all",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rounds, a minute or two.")] = False,
    json: Json = False,
) -> None:
    """Measure the costs of irem over those of named peers on this machine."""
    if out is not None:
        check_output(out, "Measurements go", (".json",))
    names = list(MEASUREMENTS) if not only else list(dict.fromkeys(only))
    for name in names:
        known("measurement", name, MEASUREMENTS)
    result = report(names, QUICK if quick else FULL, lambda line: typer.echo(line, err=True))
    if out is not None:
        write_whole(out, (dump(result, indent=1) + "\n").encode())
    if json:
        print_json(result)
        return
    typer.echo(as_text(result))
