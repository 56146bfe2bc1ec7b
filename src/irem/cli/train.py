"""`irem train`."""

import dataclasses
import shlex
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from irem.checks import count
from irem.cli.common import Json, about, print_json
from irem.cli.devices import DeviceOptions
from irem.errors import InputError
from irem.hosts import is_first
from irem.interrupt import exit_code
from irem.keys import training_keys
from irem.training import (
    BEST,
    FIT,
    PAPER,
    Checkpoints,
    Recipe,
    Run,
    iterations_done,
    parse_override,
    read_keys,
    read_settings,
)

EXAMPLE = "Example: irem train addition --set energy.width=64 --out runs/add"

_SUFFIX = ".toml"


@dataclasses.dataclass(frozen=True)
class RecipeOptions:
    """What is trained, and how."""

    recipe: Annotated[
        str | None,
        typer.Option(
            help="Name of a recipe (`irem recipes`), or a file of your own that ends in .toml.",
            show_default="best; of a baseline paper",
        ),
    ] = None
    set: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Override a key of the recipe; may be repeated."),
    ] = None
    method: Annotated[
        str | None,
        typer.Option(
            help="irem, feedforward, recurrent, programmatic or iterative-feedforward.",
            show_default="the recipe's",
        ),
    ] = None
    iterations: Annotated[
        int | None, typer.Option(help="Number of updates.", show_default="the recipe's")
    ] = None
    batch_size: Annotated[
        int | None,
        typer.Option(help="Fresh problems in an iteration.", show_default="the recipe's"),
    ] = None

    def changes(self) -> dict[str, Any]:
        """Return what was asked for by key of the recipe."""
        short = {
            "method.name": self.method,
            "iterations": self.iterations,
            "batch_size": self.batch_size,
        }
        given = {key: value for key, value in short.items() if value is not None}
        return {**dict(map(parse_override, self.set or ())), **given}

    def read(self, task: str, stored: Recipe | None) -> Recipe:
        """Return the recipe with its changes; by default that of the run which is resumed."""
        changes = self.changes()
        recipe = stored
        if self.recipe is not None and self.recipe.endswith(_SUFFIX):
            recipe = Recipe.read(Path(self.recipe), task)
        elif self.recipe is not None or stored is None:
            is_baseline = changes.get("method.name", "irem") != "irem"
            recipe = Recipe.named(task, self.recipe or (PAPER if is_baseline else BEST))
        assert recipe is not None
        return recipe.override(changes)


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """Where the run is kept."""

    out: Annotated[Path, typer.Option(help="Folder to keep the run in.")]
    seed: Annotated[int | None, typer.Option(help="Seed of the first model.", show_default="0")] = (
        None
    )
    seeds: Annotated[
        int | None, typer.Option(help="Number of models trained together.", show_default="1")
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in the folder, if there is one.")
    ] = False
    checkpoint_seconds: Annotated[
        float, typer.Option(help="Longest time between two checkpoints.")
    ] = 30.0


def command(
    task: Annotated[str, typer.Argument(metavar="TASK", help="Name of a task; see `irem tasks`.")],
    what: RecipeOptions,
    run: RunOptions,
    devices: DeviceOptions,
    json: Json = False,
) -> None:
    """Train; with --resume, what is not given comes from the run."""
    with devices.entered():
        _command(task, what, run, json)


def _command(task: str, what: RecipeOptions, run: RunOptions, json: bool) -> None:
    stored = _stored(run.out) if run.resume else None
    recipe = what.read(task, None if stored is None else Recipe.of_run(stored))
    if recipe.settings["task"]["name"] != task:
        raise InputError(f"'{run.out}' holds a run on {recipe.settings['task']['name']}.")
    seed, seeds = _seeds(run, stored)
    count("seeds", seeds)
    checkpoints = Checkpoints(run.out, run.resume, run.checkpoint_seconds)
    keys = training_keys(seed, seeds)
    try:
        trained = recipe.train(keys=keys, out=checkpoints, progress=True)
    except KeyboardInterrupt:
        typer.echo(f"irem: {_stopped(run.out, recipe.length('iterations'))}", err=True)
        raise typer.Exit(exit_code()) from None
    if is_first():
        _report(trained, json)
        _warn(trained)
    if trained.diverged:
        raise typer.Exit(1)


def _stored(out: Path) -> dict[str, Any] | None:
    """The settings of the run in `out`, if there is one."""
    if not (out / "run.json").exists():
        typer.echo(f"irem: There is no run in '{out}' yet; starting one.", err=True)
        return None
    if (out / FIT).exists():
        raise InputError(
            f"'{out}' holds a run that `irem fit` made; go on with `irem fit DATA --out "
            f"{shlex.quote(str(out))} --resume`."
        )
    return read_settings(out)


def _seeds(run: RunOptions, stored: dict[str, Any] | None) -> tuple[int, int]:
    """The first seed and their number: as given, of the run that is resumed, or 0 and 1."""
    keys = [[0]] if stored is None else read_keys(stored)
    seed, seeds = keys[0][-1], len(keys)
    return seed if run.seed is None else run.seed, seeds if run.seeds is None else run.seeds


def _stopped(out: Path, iterations: int) -> str:
    done = iterations_done(out) if (out / "run.json").exists() else 0
    if not done:
        return f"Stopped before the first checkpoint; '{out}' holds nothing to go on with."
    if done == iterations:
        return f"Stopped at the end; all {done} iterations are kept in '{out}'."
    return f"Stopped; iteration {done} is kept in '{out}'. Go on with --resume."


def _report(run: Run[Any], json: bool) -> None:
    history = run.history
    loss = [float(v) for v in history.loss[-1]]
    if json:
        found = {
            "out": str(run.path),
            "loss": loss,
            "constant_error": [float(v) for v in history.constant_error[-1]],
            "far_above_constant": np.flatnonzero(history.far_above_constant).tolist(),
            "skipped_updates": int(history.skipped.sum()),
            "diverged": list(run.diverged),
        }
        print_json({**about(run), **found})
        return
    losses = ", ".join(f"{v:.3g}" for v in loss)
    typer.echo(f"Trained {run.iteration} iterations; loss {losses}; kept in '{run.path}'.")
    typer.echo(f"Next: irem evaluate {shlex.quote(str(run.path))} --difficulty harder")


def _warn(run: Run[Any]) -> None:
    """Say on standard error what is wrong with the trained models."""
    history = run.history
    skipped = int(history.skipped.sum())
    if skipped:
        typer.echo(f"irem: {skipped} updates were not finite and were skipped.", err=True)
    for i in np.flatnonzero(history.far_above_constant):
        loss, constant = history.loss[-1, i], history.constant_error[-1, i]
        typer.echo(
            f"irem: The loss of model {i}, {loss:.3g}, is far above the error of the best constant "
            f"answer, {constant:.3g}: it has learned nothing. Train longer, or with a smaller "
            "learning rate, a smaller step size or clipped gradients.",
            err=True,
        )
    if run.diverged:
        broken = ", ".join(map(str, run.diverged))
        typer.echo(
            f"irem: {len(run.diverged)} of {len(run.models)} models diverged (model {broken}): "
            "their last updates or their weights are not finite. The other models are kept and "
            "sound; train the diverged ones again with a smaller learning rate.",
            err=True,
        )
