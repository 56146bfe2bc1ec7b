"""`irem calibrate`."""

import os

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
    refuse_broken,
    refuse_fitted,
)
from irem.errors import InputError
from irem.evaluation import Calibration, read_calibrations, write_calibrations
from irem.evaluation.tables import Entry, Table, with_error
from irem.tasks import Arrays
from irem.training import Run, is_in_zoo

EXAMPLE = "Example: irem calibrate runs/add --json"

NOT_CALIBRATED = (
    f"it has no calibration, because fewer than {Calibration.fewest} rows were held out, or "
    "because it was stopped: fit it with more rows, or go on with `irem fit --resume`"
)
"""What to say of a run of `irem fit` without expected errors."""


def command(
    run: RunFolder,
    problems: Problems = 1000,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Calibrate a run on validation problems, and check it on fresh ones."""
    loaded = load_energies(run)
    known = read_calibrations(loaded) if isinstance(loaded.task, Arrays) else None
    refuse_fitted(loaded, NOT_CALIBRATED if known is None else "`irem fit` has calibrated it")
    _check_writable(loaded)
    calibrations = _fit(loaded, problems, seed)
    _keep(loaded, calibrations)
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
    typer.echo(_table(reports).as_text())
    typer.echo(
        "± is the standard error over problems; 'without 10 %' is the error when the tenth with "
        "the largest expected errors is left out, 'rank' Spearman's correlation of expected and "
        "true errors."
    )


def _table(reports: list[list[irem.Trust]]) -> Table:
    """What is printed: means over models, one row for each difficulty."""
    rows = []
    for parts in zip(*reports, strict=True):
        mean = lambda name, parts=parts: float(np.mean([getattr(p, name) for p in parts]))  # noqa: E731
        texts = (
            str(parts[0].difficulty),
            with_error(mean("mse"), mean("mse_sem")),
            f"{mean('expected'):.3g}",
            with_error(mean("abstaining"), mean("abstaining_sem")),
            f"{mean('rank_correlation'):.2f}",
        )
        rows.append(tuple(map(Entry, texts)))
    return Table(("problems", "mse", "expected", "without 10 %", "rank"), tuple(rows), labels=1)


def calibrate(run: Run, problems: int, seed: int) -> tuple[irem.Calibration, ...]:
    """Calibrate every model of a run on validation problems, and keep that in its folder.

    Nothing is kept of a model of the zoo, whose folder belongs to the package. Where the folder
    cannot be written, that is said, and the calibrations serve this once.
    """
    calibrations = _fit(run, problems, seed)
    try:
        _keep(run, calibrations)
    except OSError as error:
        typer.echo(
            f"irem: the calibration is not kept: '{run.path}' cannot be written "
            f"({error.strerror}).",
            err=True,
        )
    return calibrations


def _fit(run: Run, problems: int, seed: int) -> tuple[irem.Calibration, ...]:
    refuse_broken(run)
    key = fresh_key(seed, "calibrate")
    total = len(run.task.calibration_difficulties) * problems * len(run.models)
    with progress_bar("calibrating", total) as advance:
        options = {"problems": problems, "on_batch": advance, "key": key}
        return tuple(irem.calibrate(m, run.task, **options) for m in run.models)


def _keep(run: Run, calibrations: tuple[irem.Calibration, ...]) -> None:
    assert run.path is not None
    if not is_in_zoo(run.path):
        write_calibrations(run, calibrations)


def _check_writable(run: Run) -> None:
    """Refuse, before any work is done, a folder in which a calibration cannot be kept."""
    assert run.path is not None
    if not is_in_zoo(run.path) and not os.access(run.path, os.W_OK):
        raise InputError(
            f"A calibration cannot be kept in '{run.path}', which is read-only; copy the run to "
            "another folder and calibrate that."
        )
