"""What several commands share."""

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import equinox as eqx
import jax
import typer

from irem.descent import STEPS, FixedStep, Step, default_max_steps
from irem.errors import DivergenceError, InputError
from irem.json_text import dump
from irem.keys import check_seed as check_seed
from irem.keys import fresh_key as fresh_key
from irem.methods import AbstractBaseline
from irem.tasks import Arrays
from irem.training import Run, load

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Seed = Annotated[int, typer.Option(help="Seed of problems and first guesses.")]
Problems = Annotated[int, typer.Option(help="Number of fresh problems.")]
MaxSteps = Annotated[int, typer.Option(help="Step budget of every descent.")]
StepName = Annotated[
    str | None,
    typer.Option(
        "--step",
        help=f"Step rule: {', '.join(STEPS)}; or a number, the size of a fixed step.",
        show_default="that of the model",
    ),
]
RunFolder = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="Folder made by `irem train` or `irem fit`, or zoo:NAME for a model that comes along "
        "(`irem zoo`).",
    ),
]
DifficultyName = Annotated[
    str,
    typer.Option(
        help="same, harder or a number: of nodes for graphs, of the strength of noise for pictures."
    ),
]


@dataclasses.dataclass(frozen=True)
class DescentOptions:
    """How answers are found."""

    max_steps: Annotated[
        int | None,
        typer.Option(help="Step budget of every descent.", show_default="that of the model"),
    ] = None
    step: StepName = None

    def arguments(self, run: Run[Any]) -> dict[str, Any]:
        """Return them as `irem.solve` takes them; a baseline, which has its own steps, has none."""
        if is_baseline(run):
            for name in ("max_steps", "step"):
                if getattr(self, name) is not None:
                    option, method = name.replace("_", "-"), run.settings["method"]["name"]
                    raise InputError(
                        f"--{option} is about descents on an energy, and '{run.path}' holds a "
                        f"{method} network, which has its own steps; leave it out."
                    )
        return {"max_steps": self.max_steps, "step": parse_step(self.step)}


@contextlib.contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Draw a bar on standard error with rate and time left; yield what advances it."""
    from rich import progress  # noqa: PLC0415  (not needed where nothing is drawn)
    from rich.console import Console  # noqa: PLC0415

    columns = (
        progress.TextColumn(what),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    hidden = not console.is_terminal
    with progress.Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.advance(task, done)


def check_output(out: Path, what: str, suffixes: tuple[str, ...]) -> None:
    """Refuse, before any work is done, a place where `what` cannot be written."""
    if out.suffix not in suffixes:
        *most, last = suffixes
        ending = f"{', '.join(most)} or {last}" if most else last
        raise InputError(f"{what} to a file ending in {ending}, got '{out}'.")
    if out.is_dir() or not out.parent.is_dir():
        raise InputError(
            f"'{out}' cannot be written: it is a folder, or its folder does not exist."
        )


def is_same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, which need not exist; links are followed."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and one.samefile(other)


def parse_difficulty(text: str) -> str | int:
    """Return a number, of nodes or of noise, if it reads as a whole one, else a name."""
    try:
        return int(text)
    except ValueError:
        return text


def parse_step(text: str | None) -> Step | None:
    """Return the step rule of that name, a fixed step of that size, or `None` for the default."""
    if text is None:
        return None
    try:
        size = float(text)
    except ValueError:
        return STEPS[text]()
    return FixedStep(size)


def load_energies(path: Path) -> Run[Any]:
    """Return the run in `path`, whose models must have an energy."""
    run = load(path)
    if is_baseline(run):
        raise InputError(
            f"'{path}' holds a {run.settings['method']['name']} network, which has no energy to "
            "descend on; `irem evaluate` and `irem compose` measure it."
        )
    return run


def refuse_fitted(run: Run[Any], advice: str) -> None:
    """Refuse a run of `irem fit`, whose problems are not kept with it, and say what to do."""
    if isinstance(run.task, Arrays):
        raise InputError(
            f"The run in '{run.path}' was fitted to rows of your own, which are not kept with it; "
            f"{advice}."
        )


def refuse_broken(run: Run[Any]) -> None:
    """Refuse to measure models whose weights are not finite: no problem has an answer."""
    for i, model in enumerate(run.models):
        arrays = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
        if not all(bool(jax.numpy.isfinite(array).all()) for array in arrays):
            raise DivergenceError(
                f"No problem has an answer: weights of model {i} in '{run.path}' are not finite; "
                "train it again with a smaller learning rate."
            )


def budget(run: Run[Any], max_steps: int | None) -> int | None:
    """Return the step budget of the descents of a run; a baseline has none."""
    if is_baseline(run):
        return None
    return default_max_steps(run.models[0]) if max_steps is None else max_steps


def is_baseline(run: Run[Any]) -> bool:
    """Return whether the models of a run have no energy."""
    return isinstance(run.models[0], AbstractBaseline)


def about(run: Run[Any]) -> dict[str, Any]:
    """Return what every JSON object says of the run it is about."""
    energy = run.settings.get("energy")
    return {
        "task": run.task.name,
        "variant": run.task.variant,
        "method": run.settings["method"]["name"],
        "energy": None if energy is None else energy["name"],
        "scratchpad": None if energy is None else energy.get("scratch", 0),
        "iterations": run.iteration,
        "models": len(run.models),
    }


def print_json(value: Any) -> None:
    """Print one JSON value; numbers that are not finite become null, as JSON has none."""
    typer.echo(dump(value))
