"""`irem evaluate`."""

import dataclasses
from math import isnan
from typing import Annotated, Any

import typer

import irem
from irem.cli.common import (
    DescentOptions,
    DifficultyName,
    Json,
    Problems,
    RunFolder,
    Seed,
    about,
    fresh_key,
    parse_difficulty,
    print_json,
    progress_bar,
)
from irem.errors import InputError
from irem.evaluation import Evaluation
from irem.evaluation.tables import with_error
from irem.paper import printed_mse
from irem.training import Run

EXAMPLE = "Example: irem evaluate runs/add --difficulty harder --problems 1000 --json"


def command(
    run: RunFolder,
    descent: DescentOptions,
    difficulty: DifficultyName = "same",
    problems: Problems = 1000,
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
    how = descent.arguments(loaded)
    if halting is not None:
        loaded = _halting(loaded, halting)
    level = parse_difficulty(difficulty)
    with progress_bar("answering", problems * len(loaded.models)) as advance:
        options = {**how, "problems": problems, "on_batch": advance}
        key = fresh_key(seed, "evaluate")
        result = irem.evaluate(loaded, loaded.task, level, **options, key=key)
    lost = result.reasons["not-finite"]
    if lost:
        typer.echo(
            f"irem: {lost} descents met numbers that are not finite and were stopped at their last "
            "finite answer; a fixed step is too large for these problems: leave out --step.",
            err=True,
        )
    paper = printed_mse(loaded.settings["method"]["name"], loaded.task, level)
    if json:
        print_json({**about(loaded), **result.as_dict(), "paper_mse": paper})
        return
    for name, value in _rows(loaded, result, paper).items():
        if value is not None:
            typer.echo(f"{name:>14}  {value}")
    if result.mse > result.trivial_mse:
        typer.echo("irem: A predictor that learns nothing has a smaller error.", err=True)


def _rows(run: Run[Any], result: Evaluation, paper: float | None) -> dict[str, str | None]:
    """What is printed, by label."""
    errors = result.mse_by_model
    spread = f", {min(errors):.3g} to {max(errors):.3g} over models" if len(errors) > 1 else ""
    budget = "" if result.max_steps is None else f", budget {result.max_steps}"
    return {
        "task": f"{result.task}, {result.difficulty} ({result.problems} problems)",
        "trained": f"{run.iteration} of {run.settings['iterations']} iterations",
        "mse": f"{with_error(result.mse, result.mse_sem)} (standard error over problems{spread})",
        "paper": "not printed" if paper is None else f"{paper:.4f}",
        "trivial": f"{result.trivial_mse:.3g}",
        "best possible": "not known" if isnan(result.oracle_mse) else f"{result.oracle_mse:.3g}",
        "steps": f"{result.steps_mean:.1f} on average{budget}",
        "converged": None if result.converged is None else f"{100 * result.converged:.1f} %",
        "entries right": _share(result, "entries", "entries_right"),
        "exact": _share(result, "problems", "exact"),
    }


def _share(result: Evaluation, what: str, name: str) -> str | None:
    """A share of right answers beside that of the trivial predictor, where there are shares."""
    share, trivial = getattr(result, name), getattr(result, f"trivial_{name}")
    if share is None:
        return None
    decimals = max(1, len(str(result.problems)) - 3)  # one failure of all problems is seen
    shown = f"{100 * share:.{decimals}f} % of {what}, rounded"
    return f"{shown} (trivial {100 * trivial:.1f} %)"


def _halting(run: Run[Any], halting: str) -> Run[Any]:
    """The run with models that halt in another way."""
    if not isinstance(run.models[0], irem.PonderNet):
        raise InputError(
            f"--halting is for runs of programmatic, and '{run.path}' holds "
            f"{run.settings['method']['name']}; leave it out."
        )
    models = tuple(dataclasses.replace(model, halting=halting) for model in run.models)
    return dataclasses.replace(run, models=models)
