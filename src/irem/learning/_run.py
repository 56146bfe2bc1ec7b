"""A training run: in memory, and as a folder."""

from __future__ import annotations

import dataclasses
import json
import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from irem import tasks
from irem._checks import known
from irem._errors import InputError
from irem._files import write_whole
from irem._trees import map_arrays
from irem._version import __version__
from irem.descent import Calibration
from irem.learning._checkpoint import load_arrays
from irem.methods import AbstractMethod, build_method
from irem.tasks import AbstractTask

FORMAT = 1
"""Version of the layout of a run folder; a folder with a higher one is refused."""

SETTINGS, CHECKPOINT, CALIBRATION = "run.json", "checkpoint.safetensors", "calibration.json"


@dataclasses.dataclass(frozen=True)
class History:
    """What was measured in training, one entry for every chunk of iterations and seed.

    Arguments:
        iteration: The iteration at which a chunk ended.
        loss: Mean loss over the chunk, by chunk and seed.
        gradient_norm: Mean norm of the gradient over the chunk, by chunk and seed.
        skipped: Updates of the chunk that were skipped because they were not finite.
    """

    iteration: np.ndarray
    loss: np.ndarray
    gradient_norm: np.ndarray
    skipped: np.ndarray

    @staticmethod
    def empty(seeds: int) -> History:
        """The history before the first chunk."""
        none = np.zeros((0, seeds), np.float32)
        return History(np.zeros(0, np.int32), none, none, none.astype(np.int32))

    def append(self, iteration: int, loss: Any, norm: Any, skipped: Any) -> History:
        """This history with one more chunk."""
        new = (iteration, loss, norm, skipped)
        old = (self.iteration, self.loss, self.gradient_norm, self.skipped)
        return History(
            *(np.concatenate([o, np.asarray([n], o.dtype)]) for o, n in zip(old, new, strict=True))
        )


@dataclasses.dataclass(frozen=True)
class Run:
    """What training returns and `load` reads.

    Arguments:
        task: The task trained on.
        models: The trained methods, one for each seed.
        iteration: Iterations done.
        history: What was measured on the way.
        settings: Everything the run was made with.
        path: The folder it is kept in, if any.
        calibrations: What `irem calibrate` found for each model, if it was run.
    """

    task: AbstractTask
    models: tuple[Any, ...]
    iteration: int
    history: History
    settings: dict[str, Any]
    path: Path | None = None
    calibrations: tuple[Calibration, ...] | None = None

    @property
    def model(self) -> Any:
        """The trained method of a run with one seed."""
        if len(self.models) != 1:
            raise InputError(
                f"This run holds {len(self.models)} models, one for each seed; choose one with "
                "`run.models[i]`."
            )
        return self.models[0]


def load(
    path: str | Path, *, task: AbstractTask | None = None, like: AbstractMethod | None = None
) -> Run:
    """Read the run in the folder `path`.

    Arguments:
        path: A folder that `irem.train(..., out=path)` or `irem train --out` made, or the name of a
            model that comes with irem, such as `zoo:denoise`.
        task: For runs on a task of one's own: that task.
        like: For runs with an energy of one's own: one method of the same form.
    """
    path = find_run(path)
    settings = read_settings(path)
    if not (path / CHECKPOINT).exists():
        raise InputError(
            f"The run in '{path}' was stopped before its first checkpoint; start it again with "
            "--resume."
        )
    try:
        if task is None:
            task = tasks.get(settings["task"]["name"], **settings["task"]["settings"])
        seeds = len(settings["keys"])
        methods = _skeleton(task, settings["method"], seeds, like)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"'{path / SETTINGS}' is damaged: it lacks or spoils {error}.") from error
    stacked = load_arrays(path / CHECKPOINT, methods, prefix="['state'].method")
    models, history = unstack(stacked, seeds), load_history(path, seeds)
    done = iterations_done(path)
    calibrations = read_calibrations(path, done, seeds)
    return Run(task, models, done, history, settings, path, calibrations)


ZOO = "zoo:"
"""What the name of a model that comes with irem begins with."""

_ZOO_FOLDER = Path(__file__).parents[1] / "zoo"


def find_run(path: str | Path) -> Path:
    """The folder of a run, which may be given as the name of a model that comes with irem."""
    if not str(path).startswith(ZOO):
        return Path(path)
    name = str(path).removeprefix(ZOO)
    known("model", name, zoo_names())
    return _ZOO_FOLDER / name


def zoo_names() -> list[str]:
    """The models that come with irem, without `zoo:` before their names."""
    return sorted(p.name for p in _ZOO_FOLDER.iterdir() if (p / SETTINGS).is_file())


def is_in_zoo(path: Path) -> bool:
    """Whether a folder is that of a model that comes with irem, to which nothing is written."""
    return path.parent == _ZOO_FOLDER


def read_calibrations(path: Path, iteration: int, seeds: int) -> tuple[Calibration, ...] | None:
    """The calibrations kept in a run folder, if they belong to its present state."""
    file = path / CALIBRATION
    if not file.exists():
        return None
    try:
        kept = json.loads(file.read_text())
        calibrations = tuple(Calibration.from_dict(c) for c in kept["calibrations"])
        current = kept["iteration"] == iteration and len(calibrations) == seeds
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"'{file}' is truncated or damaged ({error}); run `irem calibrate {path}` again."
        ) from error
    return calibrations if current else None


def write_calibrations(path: Path, iteration: int, calibrations: Sequence[Calibration]) -> None:
    """Keep calibrations in a run folder, with the state of training they belong to."""
    kept = {"iteration": iteration, "calibrations": [c.as_dict() for c in calibrations]}
    write_whole(path / CALIBRATION, (json.dumps(kept) + "\n").encode())


def iterations_done(path: Path) -> int:
    """How far the run in `path` had got at its last checkpoint; 0 where there is none."""
    if not (path / CHECKPOINT).exists():
        return 0
    seeds = len(read_settings(path)["keys"])
    like = np.zeros(seeds, np.int32)
    return int(load_arrays(path / CHECKPOINT, like, "['state'].iteration")[0])


def load_history(path: Path, seeds: int) -> History:
    """The history kept beside the state in a run folder."""
    with_length = load_arrays(path / CHECKPOINT, {"chunks": np.zeros((), np.int32)})
    chunks = int(with_length["chunks"])
    per_seed = np.zeros((chunks, seeds), np.float32)
    like = History(np.zeros(chunks, np.int32), per_seed, per_seed, per_seed.astype(np.int32))
    arrays = load_arrays(path / CHECKPOINT, {"history": dataclasses.asdict(like)})["history"]
    return History(**{name: np.asarray(array) for name, array in arrays.items()})


def read_settings(path: Path) -> dict[str, Any]:
    """The settings of the run in `path`, or a sentence that says why there is none."""
    if not path.exists():
        raise InputError(
            f"There is no run at '{path}'; make one with `irem train TASK --out {path}`."
        )
    if not (path / SETTINGS).is_file():
        raise InputError(
            f"'{path}' is not a run (it has no {SETTINGS}); give the folder that "
            "`irem train --out` made."
        )
    try:
        settings = json.loads((path / SETTINGS).read_text())
        written, version = int(settings["format"]), settings["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"'{path / SETTINGS}' is truncated or damaged ({error}).") from error
    if written > FORMAT:
        raise InputError(
            f"The run in '{path}' was written by irem {version} in format {written}; this is "
            f"irem {__version__}, which reads up to format {FORMAT}: install a newer irem."
        )
    return settings


def write_settings(path: Path, settings: dict[str, Any]) -> None:
    """Keep the settings of a run in its folder."""
    write_whole(path / SETTINGS, (json.dumps(settings, indent=2) + "\n").encode())


def unstack(methods: AbstractMethod, seeds: int) -> tuple[AbstractMethod, ...]:
    """One method for each entry of the leading seed axis."""
    return tuple(map_arrays(operator.itemgetter(i), methods) for i in range(seeds))


def _skeleton(
    task: AbstractTask, settings: dict[str, Any], seeds: int, like: AbstractMethod | None
) -> AbstractMethod:
    """A stack of methods whose arrays are mere shapes."""

    def build(key: PRNGKeyArray) -> AbstractMethod:
        return build_method(task, settings, key=key) if like is None else like

    keys = jax.random.split(jax.random.key(0), seeds)
    # Every output gets the seed axis, also one that does not depend on the key.
    stacked = eqx.filter_vmap(build, out_axes=eqx.if_array(0))
    return eqx.filter_eval_shape(stacked, keys)
