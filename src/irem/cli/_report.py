"""`irem report`."""

from pathlib import Path
from typing import Annotated

import typer

from irem import report
from irem._files import write_whole
from irem.cli._common import Json, check_output, print_json
from irem.experiments import committed_results

NAME = "report"
HELP = "Render results of `irem reproduce` as one HTML page or as Markdown."
EXAMPLE = "Example: irem report runs/reproduce-quick --out report.html"


def command(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RESULTS]",
            help="Folder of a reproduction; by default the results that come with irem.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where it goes: .html or .md.")] = Path("report.html"),
    json: Json = False,
) -> None:
    """Render a folder of results."""
    renderers = {".html": report.reproduction_page, ".md": report.reproduction_markdown}
    check_output(out, "A report goes", tuple(renderers))
    folder = committed_results() if folder is None else folder
    results = report.read_results(folder)
    write_whole(out, renderers[out.suffix](folder).encode())
    if json:
        print_json({"results": list(results), "folder": str(folder), "out": str(out)})
        return
    typer.echo(f"Rendered {', '.join(results)}; written to '{out}'.")
