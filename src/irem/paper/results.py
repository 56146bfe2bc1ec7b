"""Results of experiments: made, kept in files and read again."""

import json
from pathlib import Path

from irem.errors import InputError
from irem.files import write_whole
from irem.json_text import dump
from irem.paper.cells import read_cell
from irem.paper.experiment import Experiment, Result, as_json
from irem.paper.registry import EXPERIMENTS
from irem.paper.study import Study

_ABOUT = ("commit", "device", "platform", "versions", "scale")


def reproduce(study: Study, what: str | Experiment) -> Result:
    """Run one experiment, or what is left of it, and keep its result in the study's folder.

    Arguments:
        study: Where it runs.
        what: Its name, or an experiment that is not registered.
    """
    experiment = EXPERIMENTS[what] if isinstance(what, str) else what
    found = experiment.run(study)
    found = {"figures": found} if experiment.table is None else {"cells": tuple(found)}
    result = Result(experiment=experiment.name, **study.about(), **found)  # pyright: ignore[reportArgumentType]
    path = study.folder / result.file
    write_whole(path, (dump(as_json(result), indent=1) + "\n").encode())
    return result


def read_result(folder: Path, name: str) -> Result:
    """Return a result that was kept.

    Raises:
        InputError: There is no such result in the folder, or it is damaged.
    """
    experiment, path = EXPERIMENTS[name], folder / f"{name}.json"
    if not path.is_file():
        raise InputError(
            f"There is no result of {name} in '{folder}'; make it with `irem reproduce {name} "
            "--quick` or `--full`."
        )
    try:
        given = json.loads(path.read_text())
    except ValueError as error:
        raise InputError(f"'{path}' is damaged ({error}).") from error
    if not isinstance(given, dict) or given.get("experiment") != name:
        raise InputError(f"'{path}' is not a result of {name}.")
    content = "figures" if experiment.table is None else "cells"
    for field in (*_ABOUT, content):
        if field not in given:
            raise InputError(f"'{path}' is damaged (it lacks '{field}').")
    about = {field: given[field] for field in _ABOUT}
    if experiment.table is None:
        return Result(name, **about, figures=given["figures"])
    where = f"'{path}': cells"
    cells = (read_cell(experiment.kinds, c, f"{where}[{i}]") for i, c in enumerate(given["cells"]))
    return Result(name, **about, cells=tuple(cells))


def read_results(folder: Path) -> dict[str, Result]:
    """Return the results in a folder by name, in the order of `EXPERIMENTS`; at least one."""
    if not folder.is_dir():
        raise InputError(f"There is no folder '{folder}'; `irem reproduce` makes one.")
    found = {n: read_result(folder, n) for n in EXPERIMENTS if (folder / f"{n}.json").is_file()}
    if not found:
        raise InputError(
            f"'{folder}' holds no results; make them with `irem reproduce table1 --quick`."
        )
    return found


def committed_results() -> Path:
    """Return the folder of results that comes with this program."""
    package = Path(__file__).parents[1]
    inside, beside = package / "results", package.parents[1] / "results"
    for folder in (inside, beside):
        if folder.is_dir():
            return folder
    raise InputError("This installation has no committed results; give a folder with --out.")
