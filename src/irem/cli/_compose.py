"""`irem compose`."""

from typing import Annotated

import numpy as np
import typer

import irem
from irem.cli._common import (
    Json,
    MaxSteps,
    Problems,
    RunFolder,
    Seed,
    StepName,
    StepSize,
    about,
    fresh_key,
    is_baseline,
    parse_step,
    print_json,
    refuse_steps,
)
from irem.descent import MAX_STEPS
from irem.experiments import PAPER_COMPOSITIONS

NAME = "compose"
HELP = "Apply a learned addition several times to its own output."
EXAMPLE = "Example: irem compose runs/add --operations 10 --json"


def command(
    context: typer.Context,
    run: RunFolder,
    operations: Annotated[int, typer.Option(help="How many additions are nested.")] = 10,
    problems: Problems = 1000,
    max_steps: MaxSteps = MAX_STEPS,
    step: StepName = None,
    step_size: StepSize = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Nest a learned addition."""
    loaded = irem.load(run)
    refuse_steps(context, loaded)
    at_paper_size = loaded.task == type(loaded.task)()
    paper = PAPER_COMPOSITIONS.get(loaded.settings["method"]["name"], {}) if at_paper_size else {}
    curves = [
        irem.compose(
            model,
            loaded.task,
            operations,
            problems=problems,
            max_steps=max_steps,
            step=parse_step(step, step_size),
            key=fresh_key(seed, "compose"),
        )
        for model in loaded.models
    ]
    curve = np.mean(curves, axis=0)
    if json:
        print_json(
            {
                **about(loaded),
                "operations": operations,
                "problems": problems,
                "max_steps": None if is_baseline(loaded) else max_steps,
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
