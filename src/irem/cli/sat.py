"""`irem sat`."""

from pathlib import Path
from typing import Annotated

import typer

from irem.apps.sat import as_literals, read_dimacs, satisfy
from irem.cli.common import Json, MaxSteps, Seed, fresh_key, print_json, progress_bar
from irem.descent import MAX_STEPS

EXAMPLE = "Example: irem sat formula.cnf   (exit code 10: satisfiable, 0: unknown)"

_LINE = 78


def command(
    formula: Annotated[Path, typer.Argument(metavar="FORMULA", help="A file in DIMACS form.")],
    starts: Annotated[int, typer.Option(help="Descents side by side.")] = 32,
    rounds: Annotated[
        int, typer.Option(help="Most rounds; weights of unsatisfied clauses rise in between.")
    ] = 20,
    max_steps: MaxSteps = MAX_STEPS,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Satisfy a formula."""
    asked = read_dimacs(formula)
    with progress_bar("rounds", rounds) as advance:
        options = {"starts": starts, "rounds": rounds, "max_steps": max_steps}
        found = satisfy(asked, **options, on_round=advance, key=fresh_key(seed, "satisfy"))
    literals = None if found.assignment is None else as_literals(found.assignment).tolist()
    if json:
        print_json(
            {
                "status": "UNKNOWN" if literals is None else "SATISFIABLE",
                "variables": asked.variables,
                "clauses": len(asked.literals),
                "assignment": literals,
                "unsatisfied": found.unsatisfied,
                "descents": found.descents,
                "rounds": found.rounds,
            }
        )
    elif literals is None:
        typer.echo("s UNKNOWN")
    else:
        typer.echo("s SATISFIABLE")
        for line in _wrapped([*literals, 0]):
            typer.echo(f"v {line}")
    raise typer.Exit(0 if literals is None else 10)


def _wrapped(numbers: list[int]) -> list[str]:
    """Numbers in lines of at most the length that solvers print."""
    lines = [""]
    for number in map(str, numbers):
        if lines[-1] and len(lines[-1]) + len(number) + 3 > _LINE:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + number
    return lines
