"""What several commands share."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from irem._checks import known
from irem._errors import InputError
from irem._json import dump
from irem._keys import check_seed as check_seed
from irem._keys import fresh_key as fresh_key
from irem.descent import DEFAULT_STEP, STEPS, AbstractStep, FixedStep
from irem.learning import Run, load
from irem.methods import AbstractBaseline

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
Seed = Annotated[int, typer.Option(help="Where problems and first guesses are drawn from.")]
Problems = Annotated[int, typer.Option(help="Number of fresh problems.")]
MaxSteps = Annotated[int, typer.Option(help="Step budget of every descent.")]
StepName = Annotated[
    str | None,
    typer.Option("--step", help=f"Step rule: {', '.join(STEPS)}.", show_default=DEFAULT_STEP),
]
StepSize = Annotated[
    float | None,
    typer.Option(help="Size of a fixed step (implies --step fixed).", show_default="as trained"),
]
RunFolder = Annotated[
    Path,
    typer.Argument(
        metavar="RUN",
        help="Folder made by `irem train`, or zoo:NAME for a model that comes along (`irem zoo`).",
    ),
]
DifficultyName = Annotated[
    str,
    typer.Option(
        help="same, harder or a number: of nodes for graphs, of the strength of noise for pictures."
    ),
]


@contextlib.contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error with rate and time left; yields what moves it on."""
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.advance(task, done)


def check_output(out: Path, what: str, suffixes: tuple[str, ...]) -> None:
    """Refuse, before any work is done, a place where `what` cannot be written."""
    if out.suffix not in suffixes:
        *most, last = suffixes
        raise InputError(f"{what} to a file ending in {', '.join(most)} or {last}, got '{out}'.")
    if out.is_dir() or not out.parent.is_dir():
        raise InputError(
            f"'{out}' cannot be written: it is a folder, or its folder does not exist."
        )


def parse_difficulty(text: str) -> str | int:
    """A number, of nodes or of noise, if it reads as a whole one, else a name."""
    try:
        return int(text)
    except ValueError:
        return text


def parse_step(name: str | None, size: float | None) -> AbstractStep | None:
    """The step rule that was asked for, or none for the default."""
    if name is not None:
        known("step rule", name, STEPS)
    if size is None:
        return None if name is None else STEPS[name]()
    if name not in (None, "fixed"):
        raise InputError(f"`step-size` is for a fixed step; {name} finds its own.")
    return FixedStep(size)


def load_energies(path: Path) -> Run:
    """The run in `path`, whose models must have an energy."""
    run = load(path)
    if is_baseline(run):
        raise InputError(
            f"'{path}' holds a {run.settings['method']['name']} network, which has no energy to "
            "walk on; `irem evaluate` and `irem compose` measure it."
        )
    return run


def is_baseline(run: Run) -> bool:
    """Whether the models of a run have no energy."""
    return isinstance(run.models[0], AbstractBaseline)


def refuse_steps(context: typer.Context, run: Run) -> None:
    """Refuse options about descents for a run whose models make none."""
    for name in ("max_steps", "step", "step_size"):
        if is_baseline(run) and is_given(context, name):
            option, method = name.replace("_", "-"), run.settings["method"]["name"]
            raise InputError(
                f"--{option} is about descents on an energy, and '{run.path}' holds a {method} "
                "network, which has its own steps; leave it out."
            )


def is_given(context: typer.Context, name: str) -> bool:
    """Whether an option was given, and does not just have its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def about(run: Run) -> dict[str, Any]:
    """What every JSON object says of the run it is about."""
    method = run.settings["method"]
    energy = method.get("energy")
    return {
        "task": run.task.name,
        "variant": run.task.variant,
        "method": method["name"],
        "energy": None if energy is None else energy["name"],
        "scratchpad": None if energy is None else energy.get("scratch", 0),
        "iterations": run.iteration,
        "models": len(run.models),
    }


def print_json(value: Any) -> None:
    """Print one JSON value; numbers that are not finite become null, as JSON has none."""
    typer.echo(dump(value))
