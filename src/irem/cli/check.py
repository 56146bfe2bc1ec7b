"""`irem check`."""

import operator
from pathlib import Path
from typing import Annotated, Any

import jax
import numpy as np
import typer

from irem import tasks
from irem.checks import known
from irem.cli import arrays
from irem.cli.common import Json, print_json
from irem.cli.problem_files import read_answers, read_problems
from irem.errors import InputError
from irem.tasks import AbstractTask
from irem.verdicts import Verdict

EXAMPLE = "Example: irem check shortest-path lengths.csv distances.csv"


def command(
    task: Annotated[str, typer.Argument(metavar="TASK", help="Name of a task (`irem tasks`).")],
    x: Annotated[Path, typer.Argument(metavar="X", help="Problems: .npy, .npz or .csv.")],
    y: Annotated[Path, typer.Argument(metavar="Y", help="Answers to them, whoever found them.")],
    problems: arrays.Problems = None,
    json: Json = False,
) -> None:
    """Check answers to problems; exit code 1 where one of them does not hold."""
    known("task", task, tasks.TASKS)
    judge = for_users(task)
    stack, alone, names = read_problems(x, judge, judge.any_size, problems)
    batch, _ = judge.any_size.as_batch(stack)
    answers = _answers(judge, batch, read_answers(y, judge, names), alone)
    faults = judge.domain.faults(batch)
    refused = np.array([fault is not None for fault in faults])
    verdict, residual = judge.check(batch, answers)
    counts: dict[str, Any] = {"problems": len(verdict)}
    for kind in Verdict:
        counts[kind.label] = int(((verdict == kind) & ~refused).sum())
    counts["refused"] = int(refused.sum())
    known_residuals = residual[~refused & ~np.isnan(residual)]
    largest = float(known_residuals.max()) if known_residuals.size else None
    if json:
        print_json({"task": task, **counts, "largest_residual": largest})
    else:
        _tell(counts, largest)
    failed = np.flatnonzero((verdict == Verdict.FAILED) & ~refused)
    for i in np.flatnonzero(refused)[:3]:
        typer.echo(f"irem: {names.about(i, str(faults[i]))}", err=True)
    if failed.size:
        listed = ", ".join(map(str, failed[:5])) + (" ..." if failed.size > 5 else "")
        typer.echo(f"irem: the check failed for {listed}.", err=True)
    if refused.all():
        raise typer.Exit(2)
    if failed.size or refused.any():
        raise typer.Exit(1)


def for_users(name: str) -> AbstractTask:
    """Return a task as users mean it: with the wide domain, where it has one."""
    kind = tasks.TASKS[name]
    return tasks.get(name, variant="wide") if "wide" in kind.variants else tasks.get(name)


def _tell(counts: dict[str, Any], largest: float | None) -> None:
    labels = {"failed": "failed", "unchecked": "cannot be checked", "refused": "refused"}
    parts = [f"Verified {counts['verified']} of {counts['problems']}"]
    parts += [f"{counts[name]} {words}" for name, words in labels.items() if counts[name]]
    worst = "" if largest is None else f"; the largest residual is {largest:.2g}"
    typer.echo(f"{', '.join(parts)}{worst}.")


def _answers(task: AbstractTask, x: Any, y: np.ndarray, alone: bool) -> np.ndarray:
    """The answers as a stack, one for each problem."""
    number = jax.tree.leaves(x)[0].shape[0]
    shape = task.any_size.answer_shape(jax.tree.map(operator.itemgetter(0), x))
    assert shape is not None
    expected = (number, *shape)
    if y.size != np.prod(expected) or (y.shape[0] != number and not alone):
        of_one = expected[1:] if alone else expected
        raise InputError(f"`y` has shape {y.shape}; the answers to `x` have shape {of_one}.")
    return np.asarray(y, np.float64).reshape(expected)
