"""`irem compose`."""

from typing import Annotated

import numpy as np
import typer

import irem
from irem.cli.common import (
    DescentOptions,
    Json,
    Problems,
    RunFolder,
    Seed,
    about,
    budget,
    fresh_key,
    print_json,
)
from irem.evaluation import nested_errors, standard_error
from irem.evaluation.tables import Entry, Table, printed, with_error
from irem.paper import printed_compositions

EXAMPLE = "Example: irem compose runs/add --operations 10 --json"


def command(
    run: RunFolder,
    descent: DescentOptions,
    operations: Annotated[int, typer.Option(help="How many additions are nested.")] = 10,
    problems: Problems = 1000,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Nest a learned addition."""
    loaded = irem.load(run)
    options = {**descent.arguments(loaded), "problems": problems}
    key = fresh_key(seed, "compose")
    errors = np.stack(
        [nested_errors(m, loaded.task, operations, **options, key=key) for m in loaded.models]
    )
    curve, by_problem = errors.mean((0, 2)), errors.mean(0)
    spread = [standard_error(e) for e in by_problem]
    paper = printed_compositions(loaded.settings["method"]["name"], loaded.task)
    if json:
        print_json(
            {
                **about(loaded),
                "operations": operations,
                "problems": problems,
                "max_steps": budget(loaded, options["max_steps"]),
                "mse": float(curve[-1]),
                "mse_sem": spread[-1],
                "mse_by_model": errors[:, -1].mean(1).tolist(),
                "mse_by_operations": curve.tolist(),
                "mse_sem_by_operations": spread,
                "paper_mse": paper.get(operations),
            }
        )
        return
    rows = tuple(
        (Entry(str(k)), Entry(with_error(mse, sem)), Entry(printed(paper.get(k))))
        for k, (mse, sem) in enumerate(zip(curve.tolist(), spread, strict=True), start=1)
    )
    typer.echo(Table(("operations", "mse ± standard error", "paper"), rows, labels=0).as_text())
