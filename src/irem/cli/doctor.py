"""`irem doctor`."""

from typing import Annotated

import typer

from irem import compiled
from irem.cli.common import Json, print_json
from irem.machine import Machine, examine
from irem.memory import size_text

EXAMPLE = "Example: irem doctor --clear"


def command(
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove the compiled programs that are kept.")
    ] = False,
    json: Json = False,
) -> None:
    """Tell what irem runs on, and what is wrong."""
    if clear:
        _clear(json)
        return
    machine = examine()
    if json:
        print_json(machine.as_dict())
    else:
        _tell(machine)
    if machine.wrong:
        raise typer.Exit(1)


def _clear(json: bool) -> None:
    removed = compiled.clear()
    programs, size = (0, 0) if removed is None else removed[1:]
    if json:
        print_json({"removed_programs": programs, "removed_bytes": size})
    else:
        typer.echo(f"Removed {programs} compiled programs, {size_text(size)}.")


def _tell(machine: Machine) -> None:
    rows = {
        "versions": ", ".join(f"{name} {version}" for name, version in machine.versions.items()),
        "devices": ", ".join(machine.devices) or "none",
        "cores": str(machine.threads),
        "free memory": size_text(machine.memory),
        "precision": f"products of matrices in {machine.precision} in training, in float32 in "
        f"answers; {'64' if machine.double else '32'} bits",
        "variables": ", ".join(f"{n}={v}" for n, v in machine.flags.items()) or "none",
        "programs": _programs(machine.cache),
    }
    for name, value in rows.items():
        typer.echo(f"{name:<14}{value}")
    for sentence in machine.wrong or ["Nothing is wrong."]:
        typer.echo(sentence)


def _programs(cache: compiled.Kept | None) -> str:
    if cache is None:
        return "not kept"
    return (
        f"{cache.programs} compiled, {size_text(cache.size)} of at most "
        f"{size_text(compiled.limit())}, in {cache.folder}"
    )
