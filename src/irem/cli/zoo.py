"""`irem zoo`."""

import dataclasses
from typing import Annotated

import typer

from irem.checks import known
from irem.cli.common import Json, print_json
from irem.training import ZOO, zoo

EXAMPLE = "Example: irem zoo denoise"


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="The model whose card is printed, with or without zoo: before it.",
            show_default="list all",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List the models, or print a card."""
    models = {model.name: model for model in zoo()}
    if name is not None:
        name = ZOO + name.removeprefix(ZOO)
        known("model", name, models)
        if json:
            print_json(dataclasses.asdict(models[name]))
        else:
            typer.echo(models[name].card.rstrip())
        return
    if json:
        rows = [dataclasses.asdict(model) for model in models.values()]
        print_json({"models": [{k: v for k, v in row.items() if k != "card"} for row in rows]})
        return
    for model in models.values():
        typer.echo(f"{model.name}  {model.summary}")
        energy = "no energy" if model.energy is None else f"energy {model.energy}"
        size = f"{model.parameters:,} parameters, {model.kilobytes:,} kB"
        typer.echo(f"    task {model.task}, {energy}, {size}")
