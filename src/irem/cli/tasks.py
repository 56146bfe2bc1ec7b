"""`irem tasks`."""

from typing import Any

import typer

import irem
from irem.cli.common import Json, print_json
from irem.paper import PAPER_TABLE1

EXAMPLE = "Example: irem tasks --json"


def command(json: Json = False) -> None:
    """List the tasks."""
    rows: list[dict[str, Any]] = []
    for name, task in irem.tasks.TASKS.items():
        floors = {
            difficulty: {
                "paper_mse": PAPER_TABLE1.get((name, "irem", difficulty)),
                "trivial_mse": task.trivial_mse.get(difficulty),
                "oracle_mse": task.oracle_mse.get(difficulty),
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
            paper, trivial, best = (
                "" if v is None else f"{v:.4f}" for v in row[difficulty].values()
            )
            if trivial:
                typer.echo(f"    {difficulty:<27}{paper:>15}{trivial:>10}{best:>10}")
        if row["task"] == irem.tasks.Denoise.name:
            typer.echo("    the errors depend on the pictures; see `irem reproduce denoising`")
