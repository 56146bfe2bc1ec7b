"""`irem demo`."""

from pathlib import Path
from typing import Annotated

import typer

from irem._checks import count
from irem._files import write_whole
from irem.cli._common import Json, check_seed, print_json
from irem.experiments import demo
from irem.report import demo_figures, demo_page, png

NAME = "demo"
HELP = "Learn to invert matrices on this machine in about two minutes, and write a page."
EXAMPLE = "Example: irem demo --out runs/demo"


def command(
    out: Annotated[Path, typer.Option(help="Folder for the run and its page.")] = Path("runs/demo"),
    iterations: Annotated[int, typer.Option(help="Number of updates.")] = 700,
    size: Annotated[int, typer.Option(help="Rows of a matrix.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 0,
    json: Json = False,
) -> None:
    """Train, evaluate, and write a page."""
    check_seed(seed)
    count("iterations", iterations)
    count("size", size)
    typer.echo(f"Learning to invert matrices of {size} x {size} by energy minimisation.", err=True)
    result = demo(out, iterations=iterations, size=size, seed=seed)
    drawn = demo_figures(result)
    for name, figure in drawn.items():
        write_whole(out / f"{name}.png", png(figure))
    page = out / "index.html"
    write_whole(page, demo_page(result, drawn).encode())
    if json:
        print_json(
            {
                "page": str(page),
                "evaluations": {d: e.as_dict() for d, e in result.evaluations.items()},
                "other_sizes": {n: e.as_dict() for n, e in result.other_sizes.items()},
            }
        )
        return
    typer.echo(f"{'':>8}{'mse':>10}{'paper':>10}{'trivial':>10}{'steps':>8}")
    sizes = {f"{n} x {n}": score for n, score in result.other_sizes.items()}
    for name, score in {**result.evaluations, **sizes}.items():
        paper = "" if score.paper_mse is None else f"{score.paper_mse:.4f}"
        typer.echo(
            f"{name:>8}{score.mse:>10.2g}{paper:>10}{score.trivial_mse:>10.3g}"
            f"{score.steps_mean:>8.1f}"
        )
    typer.echo(f"Open {page} in a browser.")
