"""`irem recipes`."""

from typing import Annotated

import typer

from irem.cli.common import Json, print_json
from irem.errors import InputError
from irem.tasks import TASKS
from irem.training import Recipe, recipe_comment, recipe_names

EXAMPLE = "Example: irem recipes matrix-inverse --show best"


def command(
    task: Annotated[
        str | None,
        typer.Argument(metavar="TASK", help="Of this task alone.", show_default="all tasks"),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(help="Print this recipe of the task, every default written out."),
    ] = None,
    json: Json = False,
) -> None:
    """List the recipes, or print one."""
    if task is not None:
        TASKS[task]
    if show is not None:
        if task is None:
            raise InputError(f"Say of which task: `irem recipes TASK --show {show}`.")
        recipe = Recipe.named(task, show).complete()
        if json:
            print_json({"task": task, "recipe": show, "settings": dict(recipe.settings)})
        else:
            typer.echo(recipe.as_toml().rstrip())
        return
    rows = [
        {"task": of, "recipe": name, "summary": recipe_comment(of, name)}
        for of in (TASKS if task is None else [task])
        for name in recipe_names(of)
    ]
    if json:
        print_json({"recipes": rows})
        return
    for row in rows:
        typer.echo(f"{row['task']:<21} {row['recipe']:<6} {row['summary']}")
    typer.echo(
        "`irem recipes TASK --show NAME` prints one, `irem train TASK --recipe NAME` uses it."
    )
