"""`irem calibrate`."""

import numpy as np
import typer

import irem
from irem.cli.common import (
    Json,
    Problems,
    RunFolder,
    Seed,
    about,
    fresh_key,
    load_energies,
    print_json,
    progress_bar,
)
from irem.evaluation import write_calibrations
from irem.training import Run, is_in_zoo

EXAMPLE = "Example: irem calibrate runs/add --json"


def command(
    run: RunFolder,
    problems: Problems = 1000,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Calibrate a run on validation problems, and check it on fresh ones."""
    loaded = load_energies(run)
    calibrations = calibrate(loaded, problems, seed)
    key = fresh_key(seed, "trust")
    with progress_bar("checking", 2 * problems * len(loaded.models)) as advance:
        options = {"problems": problems, "on_batch": advance, "key": key}
        reports = [
            irem.trust(model, loaded.task, calibration, **options)
            for model, calibration in zip(loaded.models, calibrations, strict=True)
        ]
    if json:
        trust = [[part.as_dict() for part in parts] for parts in reports]
        print_json({**about(loaded), "problems": problems, "trust": trust})
        return
    typer.echo(f"{'problems':>10}  {'mse':>9}  {'expected':>9}  {'without 10 %':>12}  {'rank':>5}")
    for parts in zip(*reports, strict=True):
        mse, expected, rest, rank = np.mean(
            [(p.mse, p.expected, p.abstaining, p.rank_correlation) for p in parts], axis=0
        )
        name = str(parts[0].difficulty)
        typer.echo(f"{name:>10}  {mse:9.3g}  {expected:9.3g}  {rest:12.3g}  {rank:5.2f}")
    typer.echo(
        "'without 10 %' is the error when the tenth with the largest expected errors is left out, "
        "'rank' Spearman's correlation of expected and true errors."
    )


def calibrate(run: Run, problems: int, seed: int) -> tuple[irem.Calibration, ...]:
    """Calibrate every model of a run on validation problems, and keep that in its folder.

    Nothing is kept of a model of the zoo, whose folder belongs to the package.
    """
    key = fresh_key(seed, "calibrate")
    total = len(run.task.calibration_difficulties) * problems * len(run.models)
    with progress_bar("calibrating", total) as advance:
        options = {"problems": problems, "on_batch": advance, "key": key}
        calibrations = tuple(irem.calibrate(m, run.task, **options) for m in run.models)
    assert run.path is not None
    if not is_in_zoo(run.path):
        write_calibrations(run, calibrations)
    return calibrations
