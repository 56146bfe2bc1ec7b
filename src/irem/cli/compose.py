"""`irem compose`."""

from typing import Annotated

import numpy as np
import typer

import irem
from irem.cli.common import (
    DescentOptions,
    Json,
    Problems,
    RunFolder,
    Seed,
    about,
    budget,
    fresh_key,
    print_json,
)
from irem.paper import printed_compositions

EXAMPLE = "Example: irem compose runs/add --operations 10 --json"


def command(
    run: RunFolder,
    descent: DescentOptions,
    operations: Annotated[int, typer.Option(help="How many additions are nested.")] = 10,
    problems: Problems = 1000,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Nest a learned addition."""
    loaded = irem.load(run)
    options = {**descent.arguments(loaded), "problems": problems}
    key = fresh_key(seed, "compose")
    curves = [
        irem.compose(model, loaded.task, operations, **options, key=key) for model in loaded.models
    ]
    curve = np.mean(curves, axis=0)
    paper = printed_compositions(loaded.settings["method"]["name"], loaded.task)
    if json:
        print_json(
            {
                **about(loaded),
                "operations": operations,
                "problems": problems,
                "max_steps": budget(loaded, options["max_steps"]),
                "mse": float(curve[-1]),
                "mse_by_model": [c[-1] for c in curves],
                "mse_by_operations": [float(v) for v in curve],
                "paper_mse": paper.get(operations),
            }
        )
        return
    typer.echo(f"{'operations':>10}  {'mse':>9}  {'paper':>9}")
    for k, value in enumerate(curve, start=1):
        printed = f"{paper[k]:9.4f}" if k in paper else ""
        typer.echo(f"{k:>10}  {value:9.3g}  {printed}")
