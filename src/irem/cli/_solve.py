"""`irem solve`."""

from pathlib import Path
from typing import Annotated

import jax
import numpy as np
import typer

import irem
from irem._errors import InputError
from irem.cli import _arrays
from irem.cli._common import (
    Json,
    MaxSteps,
    RunFolder,
    Seed,
    StepName,
    StepSize,
    about,
    fresh_key,
    parse_step,
    print_json,
    progress_bar,
)
from irem.descent import MAX_STEPS

NAME = "solve"
HELP = "Answer the problems in a file (.npy, .npz or .csv) with a trained run."
EXAMPLE = "Example: irem solve runs/add x.npy --out y.npy"


def command(
    run: RunFolder,
    x: Annotated[Path, typer.Argument(metavar="X", help="One problem, or a stack of problems.")],
    out: Annotated[Path, typer.Option(help="Where the answers go: .npy, .npz or .csv.")],
    max_steps: MaxSteps = MAX_STEPS,
    step: StepName = None,
    step_size: StepSize = None,
    model: Annotated[int, typer.Option(help="Which model of a run with several seeds.")] = 0,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Answer problems."""
    _arrays.check_output(out, x)
    loaded = irem.load(run)
    if not 0 <= model < len(loaded.models):
        raise InputError(f"`model` must be from 0 to {len(loaded.models) - 1}, got {model}.")
    chosen, problems = loaded.models[model], _arrays.read(x)
    total = jax.tree.leaves(chosen.as_batch(problems)[0])[0].shape[0]
    with progress_bar("answering", total) as advance:
        solution = irem.solve(
            chosen,
            problems,
            key=fresh_key(seed, "solve"),
            max_steps=max_steps,
            step=parse_step(step, step_size),
            on_batch=advance,
        )
    _arrays.write(out, solution)
    steps, converged = np.atleast_1d(solution.steps), np.atleast_1d(solution.converged)
    if json:
        print_json(
            {
                **about(loaded),
                "problems": len(steps),
                "out": str(out),
                "shape": list(solution.y.shape),
                "max_steps": max_steps,
                "steps_mean": float(steps.mean()),
                "converged": float(converged.mean()),
                "energy_mean": float(np.mean(solution.energy)),
                "reasons": solution.reasons(),
            }
        )
        return
    what = "one problem" if len(steps) == 1 else f"{len(steps)} problems"
    typer.echo(
        f"Answered {what} in {steps.mean():.1f} steps on average; "
        f"{100 * converged.mean():.1f} % converged; written to '{out}'."
    )
    if not converged.all():
        typer.echo(
            f"irem: {(~converged).sum()} of {len(steps)} had not settled after {max_steps} steps "
            "and may be wrong: too little training, or a problem unlike those of training.",
            err=True,
        )
