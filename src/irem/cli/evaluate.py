"""`irem evaluate`."""

import dataclasses
import math
from pathlib import Path
from typing import Annotated, Any

import typer
from jaxtyping import PRNGKeyArray

import irem
from irem.checks import check_numbers, count
from irem.cli.common import (
    DescentOptions,
    DifficultyName,
    Json,
    RunFolder,
    Seed,
    about,
    fresh_key,
    parse_difficulty,
    print_json,
    progress_bar,
    refuse_fitted,
)
from irem.cli.row_files import read_rows_like
from irem.errors import InputError
from irem.evaluation import Evaluation, TestSet, draw, floors, score
from irem.evaluation.tables import with_error
from irem.paper import printed_mse
from irem.tasks import Arrays
from irem.training import Run

EXAMPLE = "Example: irem evaluate runs/add --difficulty harder --problems 1000 --json"

_PROBLEMS, _SAME = 1000, "same"


@dataclasses.dataclass(frozen=True)
class TestOptions:
    """Which problems are answered."""

    difficulty: DifficultyName = _SAME
    problems: Annotated[
        int | None, typer.Option(help="Number of fresh problems.", show_default=str(_PROBLEMS))
    ] = None
    data: Annotated[
        Path | None,
        typer.Option(
            help="Rows to measure a run of `irem fit` on: a .npz with x and y, or a .csv with the "
            "columns of both.",
            show_default=False,
        ),
    ] = None

    def draw(self, run: Run[Any], key: PRNGKeyArray) -> tuple[TestSet, PRNGKeyArray]:
        """Return the problems, and the key of first guesses."""
        if self.data is not None:
            return self._read(self.data, run), key
        refuse_fitted(run, "give others to measure it on, with --data test.npz or a .csv")
        problems = _PROBLEMS if self.problems is None else self.problems
        count("problems", problems)
        return draw(run.task, parse_difficulty(self.difficulty), problems, key)

    def _read(self, path: Path, run: Run[Any]) -> TestSet:
        """The problems of a file with their answers, of which the mean is the floor."""
        task = run.task
        if not isinstance(task, Arrays):
            raise InputError(
                f"--data is for runs of `irem fit`, and '{run.path}' was trained on {task.name}, "
                "which draws its problems; leave it out."
            )
        if self.problems is not None or self.difficulty != _SAME:
            raise InputError(
                "With --data all rows of the file are answered; leave out --problems and "
                "--difficulty."
            )
        tests = _rows_like(path, task)
        batch = tests.problems()
        return TestSet(tests, "data", batch, floors(tests, batch))


def command(
    run: RunFolder,
    descent: DescentOptions,
    tests: TestOptions,
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
    drawn, key = tests.draw(loaded, fresh_key(seed, "evaluate"))
    with progress_bar("answering", len(drawn.batch.y) * len(loaded.models)) as advance:
        result = score(loaded, drawn, **how, on_batch=advance, key=key)
    lost = result.reasons["not-finite"]
    if lost:
        typer.echo(
            f"irem: {lost} descents met numbers that are not finite and were stopped at their last "
            "finite answer; a fixed step is too large for these problems: leave out --step.",
            err=True,
        )
    paper = printed_mse(loaded.settings["method"]["name"], loaded.task, drawn.difficulty)
    if json:
        print_json({**about(loaded), **result.as_dict(), "paper_mse": paper})
        return
    for name, value in _rows(loaded, result, paper).items():
        if value is not None:
            typer.echo(f"{name:>14}  {value}")
    if result.mse > result.trivial_mse:
        typer.echo("irem: A predictor that learns nothing has a smaller error.", err=True)


def _rows_like(path: Path, task: Arrays) -> Arrays:
    """The rows in a file, which have to be like those that a run was fitted to."""
    x, y, _ = read_rows_like(path, task)
    check_numbers("x", x, missing=bool(task.missing))
    check_numbers("y", y)
    stack, alone = task.format.as_stack(x)
    own = stack.shape[1:] if task.y_shape is None or task.kind != "vectors" else task.y_shape
    if alone or y.shape not in ((len(x), *own), (len(x), math.prod(own))):
        raise InputError(
            f"'{path}' has problems of shape {x.shape} and answers of shape {y.shape}; expected "
            f"problems along the first axis, and answers of shape {(len(x), *own)}."
        )
    described = {"kind": task.kind, "missing": task.missing}
    return Arrays(stack, y.reshape(len(x), *own), **described)


def _rows(run: Run[Any], result: Evaluation, paper: float | None) -> dict[str, str | None]:
    """What is printed, by label."""
    errors = result.mse_by_model
    spread = f", {min(errors):.3g} to {max(errors):.3g} over models" if len(errors) > 1 else ""
    budget = "" if result.max_steps is None else f", budget {result.max_steps}"
    fitted = isinstance(run.task, Arrays)
    best = "not known" if math.isnan(result.oracle_mse) else f"{result.oracle_mse:.3g}"
    return {
        "task": f"{result.task}, {result.difficulty} ({result.problems} problems)",
        "trained": f"{run.iteration} of {run.settings['iterations']} iterations",
        "mse": f"{with_error(result.mse, result.mse_sem)} (standard error over problems{spread})",
        "paper": None if fitted else "not printed" if paper is None else f"{paper:.4f}",
        "mean answer" if fitted else "trivial": f"{result.trivial_mse:.3g}",
        "best possible": None if fitted else best,
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
