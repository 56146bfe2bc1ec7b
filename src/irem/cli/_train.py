"""`irem train`."""

from pathlib import Path
from typing import Annotated

import typer

from irem.cli._common import Json, print_json

NAME = "train"
HELP = "Train a method on a task and keep the run in a folder."
EXAMPLE = "Example: irem train addition --iterations 10000 --seed 0 --out runs/add"


def command(
    task: Annotated[str, typer.Argument(help="Name of a task; see `irem tasks`.")],
    out: Annotated[Path, typer.Option(help="Folder to keep the run in.")],
    method: Annotated[str, typer.Option(help="What is trained.")] = "irem",
    energy: Annotated[
        str | None, typer.Option(help="mlp or gine; by default the one that fits the task.")
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
    num_steps: Annotated[int, typer.Option(help="Steps of a descent in training.")] = 5,
    step_size: Annotated[float, typer.Option(help="Size of a step of a descent.")] = 100.0,
    gradient: Annotated[
        str, typer.Option(help="last-step or full-unroll: what the loss is differentiated through.")
    ] = "last-step",
    replay: Annotated[
        int, typer.Option(help="Capacity of the replay buffer; 0 for none.")
    ] = 10_000,
    variant: Annotated[
        str, typer.Option(help="Problems as the released program or as the paper's text has them.")
    ] = "released",
    size: Annotated[
        int | None,
        typer.Option(help="Entries of a vector, or rows of a matrix.", show_default="paper"),
    ] = None,
    width: Annotated[
        int | None, typer.Option(help="Units of a hidden layer.", show_default="paper")
    ] = None,
    aggregate: Annotated[
        str | None,
        typer.Option(
            help="For gine: mean, which holds on larger graphs, or sum as in the paper.",
            show_default="mean",
        ),
    ] = None,
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
    """Train a method on a task."""
    import equinox as eqx
    import jax
    import numpy as np

    import irem
    from irem._checks import count
    from irem._errors import InputError
    from irem.methods import build_method

    count("seeds", seeds)
    if replay < 0:
        raise InputError(f"`replay` must be 0 or more, got {replay}.")
    if not 0 <= seed <= 2**32 - seeds:
        raise InputError(f"`seed` must be a whole number from 0 to 4294967295, got {seed}.")
    problems = irem.tasks.get(task, variant=variant, **({} if size is None else {"size": size}))
    graphs = isinstance(problems, irem.tasks.AbstractGraphTask)
    settings = {
        "name": method,
        "num_steps": num_steps,
        "step_size": step_size,
        "gradient": gradient,
        "energy": {
            "name": energy or ("gine" if graphs else "mlp"),
            **{
                name: value
                for name, value in (("width", width), ("aggregate", aggregate))
                if value is not None
            },
        },
    }
    build_method(problems, settings, key=jax.random.key(0))  # says what is wrong, if anything
    keys = jax.vmap(jax.random.key)(np.arange(seed, seed + seeds, dtype=np.uint32))
    pairs = jax.vmap(jax.random.split)(keys)
    methods = eqx.filter_vmap(lambda key: build_method(problems, settings, key=key))(pairs[:, 0])
    try:
        run = irem.train(
            problems,
            methods,
            iterations=iterations,
            batch_size=batch_size or (64 if graphs else 128),
            learning_rate=learning_rate,
            decay=decay,
            clip_norm=clip_norm,
            replay=irem.Replay(replay) if replay else irem.NoReplay(),
            precision=precision,
            key=pairs[:, 1],
            out=out,
            resume=resume,
            checkpoint_seconds=checkpoint_seconds,
            progress=True,
        )
    except KeyboardInterrupt:
        typer.echo(f"irem: Stopped; the run is kept in '{out}'. Go on with --resume.", err=True)
        raise typer.Exit(130) from None
    _report(run, json)


def _report(run, json: bool) -> None:  # noqa: ANN001
    skipped = int(run.history.skipped.sum())
    loss = [float(v) for v in run.history.loss[-1]]
    if json:
        from irem.cli._common import about

        print_json({**about(run), "out": str(run.path), "loss": loss, "skipped_updates": skipped})
        return
    losses = ", ".join(f"{v:.3g}" for v in loss)
    typer.echo(f"Trained {run.iteration} iterations; loss {losses}; kept in '{run.path}'.")
    if skipped:
        typer.echo(f"irem: {skipped} updates were not finite and were skipped.", err=True)
    typer.echo(f"Next: irem evaluate {run.path} --difficulty harder")
