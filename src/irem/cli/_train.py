"""`irem train`."""

import inspect
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

import irem
from irem._checks import count, count_or_none, known
from irem._errors import InputError
from irem._keys import training_keys
from irem.cli._common import Json, about, is_given, print_json
from irem.learning import iterations_done, read_settings
from irem.methods import BASELINES, METHODS, build_methods

NAME = "train"
HELP = "Train a method on a task and keep the run in a folder."
EXAMPLE = "Example: irem train addition --iterations 10000 --seed 0 --out runs/add"


def command(
    context: typer.Context,
    task: Annotated[str, typer.Argument(help="Name of a task; see `irem tasks`.")],
    out: Annotated[Path, typer.Option(help="Folder to keep the run in.")],
    method: Annotated[
        str, typer.Option(help=f"What is trained: irem, or a baseline: {', '.join(BASELINES)}.")
    ] = "irem",
    energy: Annotated[
        str | None,
        typer.Option(help="For irem: mlp or gine; by default the one that fits the task."),
    ] = None,
    iterations: Annotated[int, typer.Option(help="Number of updates.")] = 10_000,
    batch_size: Annotated[
        int | None,
        typer.Option(help="Fresh problems in an iteration (paper: 128; graphs 64)."),
    ] = None,
    learning_rate: Annotated[float, typer.Option(help="Of Adam.")] = 1e-4,
    decay: Annotated[str, typer.Option(help="constant, or cosine down to zero.")] = "constant",
    clip_norm: Annotated[
        float | None, typer.Option(help="Largest norm of a gradient.", show_default="none")
    ] = None,
    num_steps: Annotated[int, typer.Option(help="Steps of reasoning in training.")] = 5,
    step_size: Annotated[
        float, typer.Option(help="For irem: size of a step of a descent.")
    ] = 100.0,
    gradient: Annotated[
        str,
        typer.Option(
            help="For irem: last-step or full-unroll, what the loss is differentiated through."
        ),
    ] = "last-step",
    replay: Annotated[
        int, typer.Option(help="For irem: capacity of the replay buffer; 0 for none.")
    ] = 10_000,
    variant: Annotated[
        str, typer.Option(help="Problems as in the program (released) or in the text (paper).")
    ] = "released",
    size: Annotated[
        int | None,
        typer.Option(help="Entries of a vector, or rows of a matrix.", show_default="paper"),
    ] = None,
    width: Annotated[
        int | None, typer.Option(help="Units of a hidden layer.", show_default="paper")
    ] = None,
    depth: Annotated[
        int | None, typer.Option(help="Number of hidden layers.", show_default="paper")
    ] = None,
    aggregate: Annotated[
        str | None,
        typer.Option(
            help="For graphs: mean of messages, which holds on larger ones, or sum as in GINE.",
            show_default="mean",
        ),
    ] = None,
    scratchpad: Annotated[
        int,
        typer.Option(
            help="For irem: numbers that are walked beside an answer, for graphs beside each node."
        ),
    ] = 0,
    precision: Annotated[str, typer.Option(help="default (fastest) or float32.")] = "default",
    seed: Annotated[int, typer.Option(help="Seed of the first model.")] = 0,
    seeds: Annotated[int, typer.Option(help="Number of models trained together.")] = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in the folder, if there is one.")
    ] = False,
    checkpoint_seconds: Annotated[
        float, typer.Option(help="Longest time between two checkpoints.")
    ] = 30.0,
    json: Json = False,
) -> None:
    """Train a method on a task; with --resume, options that are not given come from the run."""
    given = {name: value for name, value in context.params.items() if is_given(context, name)}
    chosen = {**context.params, **(_stored(out) if resume else {}), **given}
    seed, seeds, replay = chosen["seed"], chosen["seeds"], chosen["replay"]
    count("seeds", seeds)
    count_or_none("replay", replay)
    count_or_none("scratchpad", chosen["scratchpad"])
    sized = {} if chosen["size"] is None else {"size": chosen["size"]}
    problems = irem.tasks.get(task, variant=chosen["variant"], **sized)
    graphs = isinstance(problems, irem.tasks.AbstractGraphTask)
    known("method", chosen["method"], METHODS)
    _check_options(chosen["method"], given)
    settings = _method_settings(chosen, graphs)
    keys = training_keys(seed, seeds)
    methods = build_methods(problems, settings, keys=keys)
    if chosen["batch_size"] is None:
        chosen["batch_size"] = 64 if graphs else 128
    try:
        run = irem.train(
            problems,
            methods,
            key=keys,
            replay=_replay(chosen["method"], replay),
            progress=True,
            **{name: chosen[name] for name in _PASSED_ON},
        )
    except KeyboardInterrupt:
        typer.echo(f"irem: {_stopped(out, chosen['iterations'])}", err=True)
        raise typer.Exit(130) from None
    _report(run, json)


_STORED = ("iterations", "batch_size", "learning_rate", "decay", "clip_norm", "precision")
_PASSED_ON = (*_STORED, "out", "resume", "checkpoint_seconds")


# Options that some methods have and others do not; a baseline takes those of its `for_task`.
_OF_METHODS = (
    "energy",
    "num_steps",
    "step_size",
    "gradient",
    "replay",
    "scratchpad",
    "width",
    "depth",
)


def _check_options(method: str, given: dict[str, Any]) -> None:
    """Refuse options that the method does not have."""
    if method == "irem":
        return
    accepted = inspect.signature(BASELINES[method].for_task).parameters
    for name in _OF_METHODS:
        if name in given and name not in accepted:
            option = name.replace("_", "-")
            raise InputError(f"--{option} is not an option of {method}; leave it out.")


def _method_settings(chosen: dict[str, Any], graphs: bool) -> dict[str, Any]:
    """What `build_method` needs."""
    name = chosen["method"]
    sizes = {n: chosen[n] for n in ("width", "depth", "aggregate") if chosen[n] is not None}
    if name == "irem":
        energy = chosen["energy"] or ("gine" if graphs else "mlp")
        own = {n: chosen[n] for n in ("num_steps", "step_size", "gradient")}
        if chosen["scratchpad"]:
            sizes["scratch"] = chosen["scratchpad"]
        return {"name": name, **own, "energy": {"name": energy, **sizes}}
    if "num_steps" in inspect.signature(BASELINES[name].for_task).parameters:
        sizes["num_steps"] = chosen["num_steps"]
    return {"name": name, **sizes}


def _replay(method: str, capacity: int) -> irem.Replay | irem.NoReplay | None:
    """The replay that was asked for, or none for the method's own."""
    if method != "irem":
        return None
    return irem.Replay(capacity) if capacity else irem.NoReplay()


def _stored(out: Path) -> dict[str, Any]:
    """The options that the run in `out` was started with, if there is one."""
    if not (out / "run.json").exists():
        typer.echo(f"irem: There is no run in '{out}' yet; starting one.", err=True)
        return {}
    stored = read_settings(out)
    try:
        method = dict(stored["method"])
        energy = dict(method.pop("energy", {"name": None}))
        names = {"method": method.pop("name"), "energy": energy.pop("name")}
        return {
            **{name: stored[name] for name in _STORED},
            **{**stored["task"]["settings"], **method, **energy, **names},
            "replay": stored["replay"].get("capacity", 0),
            "scratchpad": energy.get("scratch", 0),
            "seed": stored["keys"][0][-1],
            "seeds": len(stored["keys"]),
        }
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"'{out / 'run.json'}' is damaged: it lacks {error}.") from error


def _stopped(out: Path, iterations: int) -> str:
    done = iterations_done(out) if (out / "run.json").exists() else 0
    if not done:
        return f"Stopped before the first checkpoint; '{out}' holds nothing to go on with."
    if done == iterations:
        return f"Stopped at the end; all {done} iterations are kept in '{out}'."
    return f"Stopped; iteration {done} is kept in '{out}'. Go on with --resume."


def _report(run: Any, json: bool) -> None:
    skipped = int(run.history.skipped.sum())
    loss = [float(v) for v in run.history.loss[-1]]
    if json:
        print_json({**about(run), "out": str(run.path), "loss": loss, "skipped_updates": skipped})
        return
    losses = ", ".join(f"{v:.3g}" for v in loss)
    typer.echo(f"Trained {run.iteration} iterations; loss {losses}; kept in '{run.path}'.")
    if skipped:
        typer.echo(f"irem: {skipped} updates were not finite and were skipped.", err=True)
    typer.echo(f"Next: irem evaluate {shlex.quote(str(run.path))} --difficulty harder")
