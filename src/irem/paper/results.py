"""Results of experiments: made, kept in files and read again."""

from pathlib import Path
from typing import Any

from irem.errors import InputError
from irem.files import write_whole
from irem.json_text import dump, read_json
from irem.paper.cells import from_plain, read_cell, read_plain
from irem.paper.experiment import About, Experiment, Figures, Result, as_json
from irem.paper.registry import EXPERIMENTS
from irem.paper.scale import NamedScale, kept_scale
from irem.paper.study import Study

_REMAKE = "take it from where it was copied, or make it again with `irem reproduce`"


def reproduce(study: Study, what: str | Experiment) -> Result:
    """Run one experiment, or what is left of it, and keep its result in the study's folder.

    Arguments:
        study: Where it runs.
        what: Its name, or an experiment that is not registered.
    """
    experiment = EXPERIMENTS[what] if isinstance(what, str) else what
    with study.hold():
        found: Any = experiment.run(study)
        content: dict[str, Any] = {"cells": tuple(found)}
        if experiment.table is None:
            content = {"figures": found, "origins": study.origins(experiment.name, found)}
        result = Result(experiment=experiment.name, **study.about(), **content)
        text = dump(as_json(result), indent=1) + "\n"
        write_whole(study.folder / result.file, text.encode())
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
    given = read_json(path, _REMAKE)
    if not isinstance(given, dict) or given.get("experiment") != name:
        raise InputError(f"'{path}' is not a result of {name}.")
    content = "figures" if experiment.table is None else "cells"
    found: Any = given.pop(content, None)
    kept = from_plain(About, given, f"'{path}'")
    _check_about(kept, f"'{path}'")
    if not _is_filled(found, dict if content == "figures" else list):
        raise InputError(f"'{path}' is damaged (it has no {content}); {_REMAKE}.")
    if experiment.table is None:
        return Result(**vars(kept), figures=_checked_figures(experiment, found, f"'{path}'"))
    where = f"'{path}': cells"
    cells = (read_cell(experiment.kinds, c, f"{where}[{i}]") for i, c in enumerate(found))
    return Result(**vars(kept), cells=tuple(cells))


def _is_filled(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and bool(value)


def _check_about(kept: About, where: str) -> None:
    """Refuse a result that does not say what sentences about it need."""
    kept_scale(NamedScale, kept.scale, f"{where}: scale")
    for name in ("irem", "jax"):
        if name not in kept.versions:
            raise InputError(f"{where}: versions lacks the field '{name}'.")


def _checked_figures(experiment: Experiment, found: dict[str, Any], where: str) -> Figures:
    """The numbers of figures as they stand in the file, all of their types and none missing."""
    for name, kind in experiment.figure_kinds.items():
        if name not in found:
            raise InputError(f"{where}: figures lacks the field '{name}'.")
        read_plain(kind, found[name], f"{where}: figures, field '{name}',")
    return found


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
