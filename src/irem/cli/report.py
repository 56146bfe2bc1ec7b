"""`irem report`."""

from pathlib import Path
from typing import Annotated

import typer

from irem.cli.common import Json, check_output, print_json
from irem.files import write_whole
from irem.paper import committed_results, read_results, reproduction_markdown, reproduction_page

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
    renderers = {".html": reproduction_page, ".md": reproduction_markdown}
    check_output(out, "A report goes", tuple(renderers))
    folder = committed_results() if folder is None else folder
    results = read_results(folder)
    write_whole(out, renderers[out.suffix](folder).encode())
    if json:
        print_json({"results": list(results), "folder": str(folder), "out": str(out)})
        return
    typer.echo(f"Rendered {', '.join(results)}; written to '{out}'.")
