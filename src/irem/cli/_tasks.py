"""`irem tasks`."""

from typing import Annotated, Any

import typer

from irem.cli._common import Json, fresh_key, print_json, start_jax

NAME = "tasks"
HELP = "List the tasks with the paper's numbers and the floors, measured on fresh problems."
EXAMPLE = "Example: irem tasks --problems 1000"


def command(
    problems: Annotated[int, typer.Option(help="Problems on which floors are measured.")] = 200,
    json: Json = False,
) -> None:
    """List the tasks."""
    start_jax()
    import irem
    from irem.experiments import floors

    rows = []
    for name in irem.tasks.TASKS:
        task = irem.tasks.get(name)
        row: dict[str, Any] = {"task": name, "asks": task.summary}
        for difficulty in ("same", "harder"):
            batch = task.batch(fresh_key(0, "tasks"), problems, difficulty)
            trivial, best, _ = floors(task, batch)
            row[difficulty] = {
                "paper_mse": task.paper_mse[difficulty],
                "trivial_mse": trivial,
                "oracle_mse": best,
            }
        rows.append(row)
        if not json:
            _show(row)
    if json:
        print_json({"problems": problems, "tasks": rows})


def _show(row: dict) -> None:
    typer.echo(f"{row['task']}: {row['asks']}")
    for difficulty in ("same", "harder"):
        values = row[difficulty]
        typer.echo(
            f"  {difficulty:<7} IREM in the paper {values['paper_mse']:.4f}   trivial predictor "
            f"{values['trivial_mse']:.4f}   best possible {values['oracle_mse']:.4f}"
        )
