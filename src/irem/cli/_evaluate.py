"""`irem evaluate`."""

import dataclasses
from math import isnan
from typing import Annotated

import typer

import irem
from irem._errors import InputError
from irem.cli._common import (
    DifficultyName,
    Json,
    MaxSteps,
    Problems,
    RunFolder,
    Seed,
    StepName,
    StepSize,
    about,
    fresh_key,
    parse_difficulty,
    parse_step,
    print_json,
    progress_bar,
    refuse_steps,
)
from irem.descent import MAX_STEPS

NAME = "evaluate"
HELP = "Answer fresh problems with a trained run and measure the error."
EXAMPLE = "Example: irem evaluate runs/add --difficulty harder --problems 1000 --json"


def command(
    context: typer.Context,
    run: RunFolder,
    difficulty: DifficultyName = "same",
    problems: Problems = 1000,
    max_steps: MaxSteps = MAX_STEPS,
    step: StepName = None,
    step_size: StepSize = None,
    halting: Annotated[
        str | None,
        typer.Option(
            help="For programmatic: sample a step to halt at, or expected.", show_default="sample"
        ),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Measure the error of a run."""
    loaded = irem.load(run)
    refuse_steps(context, loaded)
    if halting is not None:
        loaded = _halting(loaded, halting)
    with progress_bar("answering", problems * len(loaded.models)) as advance:
        result = irem.evaluate(
            loaded,
            loaded.task,
            parse_difficulty(difficulty),
            problems=problems,
            max_steps=max_steps,
            step=parse_step(step, step_size),
            on_batch=advance,
            key=fresh_key(seed, "evaluate"),
        )
    lost = result.reasons["not-finite"]
    if lost:
        typer.echo(
            f"irem: {lost} descents left the numbers and were stopped at their last finite answer; "
            "a fixed step is too large for these problems: leave out --step-size.",
            err=True,
        )
    if json:
        print_json({**about(loaded), **result.as_dict()})
        return
    spread = f", {min(result.mse_by_model):.3g} to {max(result.mse_by_model):.3g} over models"
    paper = "not printed" if result.paper_mse is None else f"{result.paper_mse:.4f}"
    for name, value in {
        "task": f"{result.task}, {result.difficulty} ({problems} problems)",
        "trained": f"{loaded.iteration} of {loaded.settings['iterations']} iterations",
        "mse": f"{result.mse:.3g} (standard error {result.mse_sem:.1g}"
        + (spread if len(result.mse_by_model) > 1 else "")
        + ")",
        "paper": paper,
        "trivial": f"{result.trivial_mse:.3g}",
        "best possible": "not known" if isnan(result.oracle_mse) else f"{result.oracle_mse:.3g}",
        "steps": f"{result.steps_mean:.1f} on average"
        + ("" if result.max_steps is None else f", budget {result.max_steps}"),
        "converged": None if result.converged is None else f"{100 * result.converged:.1f} %",
        "entries right": _share("entries", result.entries_right, result.trivial_entries_right),
        "exact": _share("problems", result.exact, result.trivial_exact),
    }.items():
        if value is not None:
            typer.echo(f"{name:>14}  {value}")
    if result.mse > result.trivial_mse:
        typer.echo("irem: A predictor that learns nothing has a smaller error.", err=True)


def _share(what: str, share: float | None, trivial: float | None) -> str | None:
    """A share of right answers beside that of the trivial predictor, where there are shares."""
    if share is None or trivial is None:
        return None
    return f"{100 * share:.1f} % of {what}, rounded (trivial {100 * trivial:.1f} %)"


def _halting(run: irem.Run, halting: str) -> irem.Run:
    """The run with models that halt in another way."""
    if not isinstance(run.models[0], irem.PonderNet):
        raise InputError(
            f"--halting is for runs of programmatic, and '{run.path}' holds "
            f"{run.settings['method']['name']}; leave it out."
        )
    models = tuple(dataclasses.replace(model, halting=halting) for model in run.models)
    return dataclasses.replace(run, models=models)
