"""`irem demo`."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from irem.checks import count
from irem.cli.common import Json, check_seed, print_json
from irem.evaluation.page import png
from irem.files import write_whole
from irem.paper import Demo, demo, demo_figures, demo_page

EXAMPLE = "Example: irem demo --out runs/demo"

# Compiling takes a third of the time; less of LLVM's optimisation pays here.
_QUICK_TO_COMPILE = "--xla_backend_optimization_level=1"
# Something new is printed at least so often, also while a program is being compiled.
_SECONDS = 4.0


def command(
    out: Annotated[Path, typer.Option(help="Folder for the run and its page.")] = Path("runs/demo"),
    iterations: Annotated[int, typer.Option(help="Number of updates.")] = 300,
    size: Annotated[int, typer.Option(help="Rows of a matrix in training.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 0,
    json: Json = False,
) -> None:
    """Train, evaluate, and write a page."""
    # JAX reads it when it is first used. What a user has set is kept.
    os.environ.setdefault("XLA_FLAGS", _QUICK_TO_COMPILE)
    check_seed(seed)
    count("iterations", iterations)
    count("size", size)
    page = out / "index.html"
    with _stages() as say:
        result = demo(out, iterations=iterations, size=size, seed=seed, progress="lines", say=say)
        drawn = demo_figures(result, say=say)
        for name, figure in drawn.items():
            write_whole(out / f"{name}.png", png(figure))
        write_whole(page, demo_page(result, drawn).encode())
    if json:
        rows = [{"size": r.size, **r.found.as_dict(), "paper_mse": r.paper} for r in result.rows]
        print_json({"page": str(page), "evaluations": rows})
        return
    _tell(result)
    typer.echo(f"Open {page} in a browser.")


@contextlib.contextmanager
def _stages() -> Iterator[Callable[[str], None]]:
    """Yield what begins a stage; a thread prints how long it has been going on."""
    begun, stage, ended = time.monotonic(), "starting", threading.Event()

    def seconds() -> str:
        return f"{time.monotonic() - begun:5.0f} s"

    def say(line: str) -> None:
        nonlocal stage
        stage = line
        typer.echo(f"{seconds()}  {line}", err=True)

    def remind() -> None:
        while not ended.wait(_SECONDS):
            typer.echo(f"{seconds()}  ... {stage}", err=True)

    thread = threading.Thread(target=remind, daemon=True)
    thread.start()
    try:
        yield say
    finally:
        ended.set()
        thread.join()


def _tell(result: Demo) -> None:
    typer.echo(f"{'matrices':>16}{'mse':>10}{'paper':>10}{'trivial':>10}{'steps':>8}")
    for row in result.rows:
        paper = "" if row.paper is None else f"{row.paper:.4f}"
        found = row.found
        typer.echo(
            f"{row.label:>16}{found.mse:>10.2g}{paper:>10}{found.trivial_mse:>10.3g}"
            f"{found.steps_mean:>8.1f}"
        )
