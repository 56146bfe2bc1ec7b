"""`irem tasks`."""

from typing import Any

import typer

import irem
from irem.cli._common import Json, print_json

NAME = "tasks"
HELP = "List the tasks with the paper's errors and the floors."
EXAMPLE = "Example: irem tasks --json"


def command(json: Json = False) -> None:
    """List the tasks."""
    rows: list[dict[str, Any]] = []
    for name, task in irem.tasks.TASKS.items():
        floors = {
            difficulty: {
                "paper_mse": task.paper_mse[difficulty],
                "trivial_mse": task.trivial_mse[difficulty],
                "oracle_mse": task.oracle_mse[difficulty],
            }
            for difficulty in ("same", "harder")
        }
        rows.append({"task": name, "asks": task.summary, **floors})
    if json:
        print_json({"tasks": rows})
        return
    typer.echo(
        f"{'elementwise mean squared error':<31}{'IREM in paper':>15}{'trivial':>10}{'best':>10}"
    )
    for row in rows:
        typer.echo(f"{row['task']}: {row['asks']}")
        for difficulty in ("same", "harder"):
            paper, trivial, best = row[difficulty].values()
            typer.echo(f"    {difficulty:<27}{paper:>15.4f}{trivial:>10.4f}{best:>10.4f}")
