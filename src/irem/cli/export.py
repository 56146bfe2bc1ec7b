"""`irem export`."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

import irem
from irem.checks import known
from irem.cli.common import (
    DescentOptions,
    Json,
    RunFolder,
    about,
    check_output,
    load_energies,
    print_json,
    refuse_broken,
)
from irem.descent import PLATFORMS
from irem.errors import InputError
from irem.training import Run

EXAMPLE = "Example: irem export zoo:matrix-inverse inverse.bin --shape 5,5"


@dataclasses.dataclass(frozen=True)
class TargetOptions:
    """Which problems the exported function takes, and where it runs."""

    shape: Annotated[
        str | None,
        typer.Option(
            help="Shape of one problem, as 5,5; needed by models of problems of any size.",
            show_default="that of training",
        ),
    ] = None
    problems: Annotated[
        int | None, typer.Option(help="How many problems it takes.", show_default="any number")
    ] = None
    platforms: Annotated[
        str, typer.Option(help=f"Where it runs: any of {', '.join(PLATFORMS)}.")
    ] = "cpu,cuda"

    def arguments(self) -> dict[str, Any]:
        """Return them as `irem.export` takes them."""
        platforms = [name.strip() for name in self.platforms.split(",")]
        for name in platforms:
            known("platform", name, PLATFORMS)
        shape = None if self.shape is None else _sizes(self.shape)
        return {"shape": shape, "problems": self.problems, "platforms": platforms}


def command(
    run: RunFolder,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The file, ending in .bin.")],
    target: TargetOptions,
    descent: DescentOptions,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Compute so many steps for every problem.", show_default="until the slowest stops"
        ),
    ] = None,
    model: Annotated[int, typer.Option(help="Which model of a run with several seeds.")] = 0,
    json: Json = False,
) -> None:
    """Write a model as a file that solves without irem."""
    check_output(out, "An exported model goes", (".bin",))
    loaded = load_energies(run)
    if not 0 <= model < len(loaded.models):
        raise InputError(f"`model` must be from 0 to {len(loaded.models) - 1}, got {model}.")
    refuse_broken(loaded)
    options = target.arguments()
    shape = options.pop("shape")
    options |= {"steps": steps, **descent.arguments(loaded)}
    exported = irem.export(loaded.models[model], out, shape, **options)
    shape = list(exported.in_avals[0].shape[1:])
    told = {"problems": target.problems, "steps": steps, "platforms": list(exported.platforms)}
    told |= {"shape": shape, "dtype": str(exported.in_avals[0].dtype)}
    size = out.stat().st_size
    if json:
        print_json({**about(loaded), "out": str(out), "bytes": size, **told})
        return
    many = "Any number of" if target.problems is None else f"{target.problems}"
    typer.echo(
        f"Wrote {out}, {size / 1000:,.0f} kB for {' and '.join(exported.platforms)}. {many} "
        f"problems of shape {tuple(shape)} are answered by"
    )
    typer.echo(_THREE_LINES.format(out=out, dtype=told["dtype"]))
    typer.echo(_lacks(loaded))


_THREE_LINES = """
    from pathlib import Path; from jax import export; import numpy
    solve = export.deserialize(bytearray(Path("{out}").read_bytes())).call
    answer = solve(x, numpy.uint32(0))     # x of {dtype}, a seed; answer["y"], answer["converged"]
"""


def _lacks(run: Run[Any]) -> str:
    """What an exported model does not do, and who does."""
    checked = f"; `irem check {run.task.name} x.npy y.npy` checks its answers"
    named = checked if run.task.name in irem.tasks.TASKS else ""
    return (
        "It refuses no problem, checks no answer and expects no error, and does not try again "
        f"where a check fails{named}."
    )


def _sizes(text: str) -> tuple[int, ...]:
    """The sizes in a text such as 5,5."""
    try:
        return tuple(int(size) for size in text.split(","))
    except ValueError:
        raise InputError(
            f"--shape takes whole numbers with commas between them, such as 5,5, got '{text}'."
        ) from None
