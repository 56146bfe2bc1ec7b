"""The paper from one command: experiments by name, and the files their results are kept in."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from irem._checks import known
from irem._errors import InputError
from irem._files import write_whole
from irem._json import dump
from irem.experiments._ablation import ablation
from irem.experiments._composition import composition
from irem.experiments._denoising import denoising
from irem.experiments._paper_figures import figures
from irem.experiments._protocol import protocol
from irem.experiments._scratchpad import scratchpad
from irem.experiments._stability import stability
from irem.experiments._step_size import step_size
from irem.experiments._structure import structure
from irem.experiments._study import Study
from irem.experiments._table1 import longer, sums, table1

EXPERIMENTS: Mapping[str, Callable[[Study], Any]] = MappingProxyType(
    {
        "table1": table1,
        "ablation": ablation,
        "step-size": step_size,
        "composition": composition,
        "denoising": denoising,
        "figures": figures,
        "sums": sums,
        "longer": longer,
        "protocol": protocol,
        "scratchpad": scratchpad,
        "structure": structure,
        "stability": stability,
    }
)
"""Every experiment by name: tables return a list of cells, `figures` a mapping of figures."""


def reproduce(study: Study, name: str) -> dict[str, Any]:
    """Run one experiment, or what is left of it, and keep its result in the study's folder."""
    known("experiment", name, EXPERIMENTS)
    found = EXPERIMENTS[name](study)
    kind = "cells" if isinstance(found, list) else "figures"
    result = {"experiment": name, **study.about(), kind: found}
    write_whole(result_path(study.folder, name), (dump(result, indent=1) + "\n").encode())
    return result


def result_path(folder: Path, name: str) -> Path:
    """Where the result of an experiment is kept in a folder of results."""
    return folder / f"{name}.json"


def read_result(folder: Path, name: str) -> dict[str, Any]:
    """A result that was kept, or a sentence that says why there is none."""
    known("experiment", name, EXPERIMENTS)
    path = result_path(folder, name)
    if not path.is_file():
        raise InputError(
            f"There is no result of {name} in '{folder}'; make it with `irem reproduce {name} "
            "--quick` or `--full`."
        )
    try:
        result = json.loads(path.read_text())
    except ValueError as error:
        raise InputError(f"'{path}' is damaged ({error}).") from error
    if not isinstance(result, dict) or result.get("experiment") != name:
        raise InputError(f"'{path}' is not a result of {name}.")
    return result


def committed_results() -> Path:
    """The folder of results that comes with this program."""
    package = Path(__file__).parents[1]
    inside, beside = package / "results", package.parents[1] / "results"
    for folder in (inside, beside):
        if folder.is_dir():
            return folder
    raise InputError("This installation has no committed results; give a folder with --out.")
