"""`irem train`."""

import inspect
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import irem
from irem._checks import count, count_or_none, known
from irem._errors import InputError
from irem._keys import training_keys
from irem.cli._common import Json, about, is_given, print_json
from irem.energy import ENERGIES
from irem.learning import iterations_done, read_settings
from irem.methods import BASELINES, METHODS, build_methods
from irem.tasks import AbstractTask

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
        typer.Option(
            help=f"For irem: {', '.join(ENERGIES)}; by default the one that fits the task."
        ),
    ] = None,
    iterations: Annotated[int, typer.Option(help="Number of updates.")] = 10_000,
    batch_size: Annotated[
        int | None,
        typer.Option(
            help="Fresh problems in an iteration.",
            show_default="128 as in the paper; graphs 64; pictures, pair and table 32",
        ),
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(help="Of Adam.", show_default="1e-4; pictures 7e-4; pair and table 2e-3"),
    ] = None,
    decay: Annotated[
        str | None,
        typer.Option(
            help="constant, or cosine down to zero.",
            show_default="constant; pictures, pair and table cosine",
        ),
    ] = None,
    clip_norm: Annotated[
        float | None,
        typer.Option(
            help="Largest norm of a gradient.",
            show_default="none; pictures 0.05; pair and table 0.5",
        ),
    ] = None,
    num_steps: Annotated[int, typer.Option(help="Steps of reasoning in training.")] = 5,
    step_size: Annotated[
        float | None,
        typer.Option(
            help="For irem: size of a step of a descent.",
            show_default="100; pictures, pair and table 1",
        ),
    ] = None,
    gradient: Annotated[
        str,
        typer.Option(
            help="For irem: last-step or full-unroll, what the loss is differentiated through."
        ),
    ] = "last-step",
    replay: Annotated[
        int | None,
        typer.Option(
            help="For irem: capacity of the replay buffer; 0 for none.",
            show_default="10000; pictures 4096",
        ),
    ] = None,
    clip_replay: Annotated[
        float | None,
        typer.Option(
            help="For irem: largest size of a replayed entry.",
            show_default="none; pictures 2; pair and table 3",
        ),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(
            help="Problems as in the program (released) or in the text (paper).",
            show_default="released; pictures paper",
        ),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            help="Entries of a vector, rows of a matrix, or height and width of a patch.",
            show_default="paper; patches 64",
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            help="For denoise: a folder of pictures.", show_default="scikit-image's photographs"
        ),
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(help="For denoise, feedforward: unet or dncnn.", show_default="unet"),
    ] = None,
    bias: Annotated[
        bool | None,
        typer.Option(
            "--bias/--no-bias",
            help="For denoise: whether convolutions add a bias.",
            show_default="no bias; dncnn bias",
        ),
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(help="Units of a hidden layer.", show_default="paper; pair and table 32"),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(help="Number of hidden layers.", show_default="paper; pair and table 1"),
    ] = None,
    look: Annotated[
        int | None,
        typer.Option(
            help="For pair and table: layers that see the problem alone.", show_default="1"
        ),
    ] = None,
    products: Annotated[
        int | None,
        typer.Option(help="For pair and table: products of a layer.", show_default="16"),
    ] = None,
    maxima: Annotated[
        int | None, typer.Option(help="For pair: maxima of a layer.", show_default="16")
    ] = None,
    means: Annotated[
        bool | None,
        typer.Option(
            "--means/--no-means",
            help="For pair: whether pairs hear the means of their row and column.",
            show_default="means",
        ),
    ] = None,
    activation: Annotated[
        str | None,
        typer.Option(help="For pair and table: swish, or none for a bowl.", show_default="swish"),
    ] = None,
    aggregate: Annotated[
        str | None,
        typer.Option(
            help="For graphs: mean of messages or paths, which holds on larger ones, or sum.",
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
    stored = _stored(out) if resume else {}
    chosen = {**context.params, **stored, **given}
    problems = _problems(task, chosen)
    defaults = _defaults(problems.kind, chosen)
    chosen |= {n: v for n, v in defaults.items() if n not in {**stored, **given}}
    seed, seeds = chosen["seed"], chosen["seeds"]
    count("seeds", seeds)
    count_or_none("replay", chosen["replay"])
    count_or_none("scratchpad", chosen["scratchpad"])
    known("method", chosen["method"], METHODS)
    _check_options(chosen["method"], given)
    settings = _method_settings(chosen)
    keys = training_keys(seed, seeds)
    methods = build_methods(problems, settings, keys=keys)
    try:
        run = irem.train(
            problems,
            methods,
            key=keys,
            replay=_replay(chosen),
            progress=True,
            **{name: chosen[name] for name in _PASSED_ON},
        )
    except KeyboardInterrupt:
        typer.echo(f"irem: {_stopped(out, chosen['iterations'])}", err=True)
        raise typer.Exit(130) from None
    _report(run, json)


_STORED = ("iterations", "batch_size", "learning_rate", "decay", "clip_norm", "precision")
_PASSED_ON = (*_STORED, "out", "resume", "checkpoint_seconds")


# What options are where they are not given, by the kind of problems.
_VECTORS = {
    "energy": "mlp",
    "batch_size": 128,
    "learning_rate": 1e-4,
    "decay": "constant",
    "step_size": 100.0,
    "replay": 10_000,
}
_IMAGES = {
    "energy": "conv",
    "batch_size": 32,
    "learning_rate": 7e-4,
    "decay": "cosine",
    "clip_norm": 0.05,
    "step_size": 1.0,
    "replay": 4096,
    "clip_replay": 2.0,
}
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "vectors": _VECTORS,
    "graphs": {**_VECTORS, "energy": "gine", "batch_size": 64},
    "images": _IMAGES,
}
_STRUCTURED = {
    "batch_size": 32,
    "learning_rate": 2e-3,
    "decay": "cosine",
    "clip_norm": 0.5,
    "step_size": 1.0,
    "clip_replay": 3.0,
}
# What the energy has instead, if it is one of these.
_BY_ENERGY: Mapping[str, Mapping[str, Any]] = {"pair": _STRUCTURED, "table": _STRUCTURED}


def _defaults(kind: str, chosen: Mapping[str, Any]) -> Mapping[str, Any]:
    by_energy = _BY_ENERGY.get(chosen["energy"], {}) if chosen["method"] == "irem" else {}
    return {**_DEFAULTS[kind], **by_energy}


def _problems(name: str, chosen: dict[str, Any]) -> AbstractTask:
    """The task with those of its settings that were chosen."""
    names = ("variant", "size", "columns", "given", "images", "scales", "hold_out")
    settings = {n: chosen[n] for n in names if chosen.get(n) is not None}
    if settings.get("images") is not None:
        settings["images"] = str(settings["images"])
    return irem.tasks.get(name, **settings)


# Options that some methods have and others do not; a baseline takes those of its `for_task`.
_OF_METHODS = (
    "energy",
    "num_steps",
    "step_size",
    "gradient",
    "replay",
    "clip_replay",
    "scratchpad",
    "width",
    "depth",
    "look",
    "products",
    "maxima",
    "means",
    "activation",
    "network",
    "bias",
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


def _method_settings(chosen: dict[str, Any]) -> dict[str, Any]:
    """What `build_method` needs."""
    name = chosen["method"]
    names = ("width", "depth", "look", "products", "maxima", "means", "activation")
    names += ("aggregate", "power", "bias", "network", "head")
    sizes = {n: chosen[n] for n in names if chosen.get(n) is not None}
    if name == "irem":
        energy = chosen["energy"]
        own = {n: chosen[n] for n in ("num_steps", "step_size", "gradient")}
        if chosen["scratchpad"]:
            sizes["scratch"] = chosen["scratchpad"]
        return {"name": name, **own, "energy": {"name": energy, **sizes}}
    if "num_steps" in inspect.signature(BASELINES[name].for_task).parameters:
        sizes["num_steps"] = chosen["num_steps"]
    return {"name": name, **sizes}


def _replay(chosen: dict[str, Any]) -> irem.Replay | irem.NoReplay | None:
    """The replay that was asked for, or none for the method's own."""
    if chosen["method"] != "irem":
        return None
    capacity = chosen["replay"]
    return irem.Replay(capacity, chosen["clip_replay"]) if capacity else irem.NoReplay()


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
            "clip_replay": stored["replay"].get("clip"),
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
