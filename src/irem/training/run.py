"""A training run: in memory, and as a folder."""

from __future__ import annotations

import dataclasses
import itertools
import json
import operator
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from irem import tasks
from irem.checks import known
from irem.descent import Energy, Solution, content_keys, solve
from irem.doors import labels_of
from irem.errors import InputError
from irem.files import write_whole
from irem.json_text import dump, parse, read_json
from irem.methods import METHODS, AbstractMethod, build_method
from irem.tasks import AbstractTask
from irem.training.answering import solve_checked
from irem.training.calibration import Calibration, read_calibrations
from irem.training.checkpoint import ArrayFile
from irem.training.zoo_folder import ZOO, ZOO_FOLDER
from irem.trees import map_arrays
from irem.version import __version__

Model = TypeVar("Model")

FORMAT = 2
"""Version of the layout of a run folder; folders of other versions are refused."""

SETTINGS, CHECKPOINT = "run.json", "checkpoint.safetensors"

FIT = "fit.json"
"""The file of a run that `irem.fit` made with what it chose and what it measured."""

_NUMBERS_OF_A_REPORT = ("validation_mse", "validation_mse_sem", "trivial_mse", "steps_mean")
_REMAKE = "fit the run again in another folder"
# What histories of earlier versions lack.
_LATER = ("constant_error", "validation_error")
_FIRST_GUESS = 1.0
_MOST_TIMES_USUAL, _FAR_ABOVE_CONSTANT = 100, 10


@dataclasses.dataclass(frozen=True)
class History:
    """What was measured in training, one entry for every chunk of iterations and seed.

    Arguments:
        iteration: The iteration at which a chunk ended.
        loss: Mean loss over the chunk, by chunk and seed.
        gradient_norm: Mean norm of the gradient over the chunk, by chunk and seed.
        skipped: Updates of the chunk that were skipped because they were not finite.
        constant_error: Mean error of the best constant answer to the problems of the chunk, by
            chunk and seed; NaN in runs of irem 0.2 and before.
        validation_error: Error on validation problems at the end of the chunk, by chunk and seed;
            NaN where it was not measured.
    """

    iteration: np.ndarray
    loss: np.ndarray
    gradient_norm: np.ndarray
    skipped: np.ndarray
    constant_error: np.ndarray
    validation_error: np.ndarray = dataclasses.field(default=None)  # pyright: ignore[reportAssignmentType]

    def __post_init__(self) -> None:
        """Fill in errors that were never measured."""
        if self.validation_error is None:
            nothing = np.full_like(self.loss, np.nan)
            object.__setattr__(self, "validation_error", nothing)

    @staticmethod
    def empty(seeds: int) -> History:
        """Return the history before the first chunk."""
        like = History.shapes(0, seeds)
        return History(**{name: np.zeros(form.shape, form.dtype) for name, form in like.items()})

    @staticmethod
    def shapes(chunks: int, seeds: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shape of every field of a history of so many chunks."""
        by_seed = jax.ShapeDtypeStruct((chunks, seeds), np.float32)
        return {
            "iteration": jax.ShapeDtypeStruct((chunks,), np.int32),
            "loss": by_seed,
            "gradient_norm": by_seed,
            "skipped": jax.ShapeDtypeStruct((chunks, seeds), np.int32),
            "constant_error": by_seed,
            "validation_error": by_seed,
        }

    def append(self, **chunk: Any) -> History:
        """Return this history with one more chunk, given by field."""
        old = vars(self)
        return History(
            **{n: np.concatenate([old[n], np.asarray([v], old[n].dtype)]) for n, v in chunk.items()}
        )

    def with_validation(self, errors: np.ndarray) -> History:
        """Return this history with the errors on validation problems of its last chunk."""
        last = np.asarray([errors], self.validation_error.dtype)
        return dataclasses.replace(
            self, validation_error=np.concatenate([self.validation_error[:-1], last])
        )

    @property
    def diverging(self) -> np.ndarray:
        """Of which models most updates of the last chunk were not finite."""
        before = self.iteration[-2] if len(self.iteration) > 1 else 0
        return 2 * self.skipped[-1] > self.iteration[-1] - before

    @property
    def good(self) -> np.ndarray:
        """Which models were good in the last chunk; before the first one, none.

        Most of their updates were finite, and their loss was at most a hundred times the error of
        the best constant answer or the size of a first guess, which is 1. Where that error is not
        known, every finite loss is good.
        """
        if not len(self.iteration):
            return np.zeros(self.loss.shape[1], bool)
        usual = np.maximum(self.constant_error[-1], _FIRST_GUESS)
        limit = np.where(np.isnan(usual), np.finfo(np.float32).max, _MOST_TIMES_USUAL * usual)
        return ~self.diverging & (self.loss[-1] <= limit)

    @property
    def far_above_constant(self) -> np.ndarray:
        """Which models ended with a loss over ten times the error of the best constant answer."""
        if not len(self.iteration):
            return np.zeros(self.loss.shape[1], bool)
        constant = self.constant_error[-1]
        return (constant > 0) & (self.loss[-1] > _FAR_ABOVE_CONSTANT * constant)


@dataclasses.dataclass(frozen=True)
class Run(Generic[Model]):
    """What training returns and `load` reads.

    Arguments:
        task: The task trained on.
        models: The trained methods, one for each seed.
        iteration: Iterations done.
        history: What was measured on the way.
        settings: Everything the run was made with.
        path: The folder it is kept in, if any.
        calibrations: What error to expect of answers, for each model, where that was learned and
            is not kept in the folder.
        report: What `irem.fit` measured, by name; `None` for other runs.
    """

    task: AbstractTask
    models: tuple[Model, ...]
    iteration: int
    history: History
    settings: dict[str, Any]
    path: Path | None = None
    calibrations: tuple[Calibration, ...] | None = None
    report: dict[str, Any] | None = None

    @property
    def model(self) -> Model:
        """The trained method of a run with one seed."""
        if len(self.models) != 1:
            raise InputError(
                f"This run holds {len(self.models)} models, one for each seed; choose one with "
                "`run.models[i]`."
            )
        return self.models[0]

    @property
    def diverged(self) -> tuple[int, ...]:
        """Which models diverged: most of their last updates, or their weights, are not finite."""
        finite = [_is_finite(model) for model in self.models]
        diverging = self.history.diverging if len(self.history.iteration) else [False] * len(finite)
        return tuple(i for i, fine in enumerate(finite) if not fine or diverging[i])

    def solve(self, x: Any, *, key: PRNGKeyArray | None = None, **options: Any) -> Solution:
        """Answer problems with the model of a run with one seed, and check the answers.

        Of a calibrated run every answer has an `expected_error`.

        Arguments:
            x: One problem, or problems along a leading axis: arrays, frames of pandas, graphs.
            key: Where first guesses are drawn from; by default from the numbers of each problem, so
                that its answer does not depend on the problems beside it.
            options: As for `irem.training.solve_checked`: `answers`, `retries`, `starts`,
                `on_batch`.

        Examples:
            >>> import irem, numpy as np
            >>> answer = irem.load("zoo:matrix-inverse").solve(np.diag([1.0, 2.0, 4.0]))
            >>> bool(answer.verified), answer.y.diagonal().round(2).tolist()
            (True, [1.0, 0.5, 0.25])
        """
        model: Any = self.model
        if not isinstance(model, Energy):
            key = jax.random.key(0) if key is None else key
            return solve(model, x, key=key, **options)
        batch, alone = model.format.as_batch(x)
        keys = content_keys(model.format.padded(batch)) if key is None else key
        solution = solve_checked(model, batch, key=keys, **options)
        calibrations = self.calibrations or read_calibrations(self)
        if calibrations is not None:
            solution = calibrations[0].annotate(solution)
        return jax.tree.map(operator.itemgetter(0), solution) if alone else solution

    def predict(self, x: Any) -> Any:
        """Return the answers alone, in the form of the problems.

        A frame of pandas has a frame with the same index for its answers, a graph of networkx a
        mapping by the names of its nodes, a list a list, and an array an array of NumPy.
        """
        names = getattr(self.task, "y_names", None)
        return labels_of(x).attach(np.asarray(self.solve(x).y), names)


def load(
    path: str | Path, *, task: AbstractTask | None = None, like: AbstractMethod | None = None
) -> Run[Any]:
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
            f"The run in '{path}' has no checkpoint: it was stopped, or diverged, before its first "
            "checkpoint; start it again with --resume."
        )
    try:
        if task is None:
            task = tasks.get(**settings["task"])
        seeds = len(read_keys(settings))
        methods = _skeleton(task, method_settings(settings), seeds, like)
        prefix = models_prefix(settings)
    except InputError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InputError(f"'{path / SETTINGS}' is damaged: it lacks or spoils {error}.") from error
    with ArrayFile.open(path / CHECKPOINT) as file:
        stacked = file.read(methods, prefix)
        done, history = read_history(file, seeds)
    models = tuple(model.bound_to(task) for model in unstack(stacked, seeds))
    return Run(task, models, done, history, settings, path, report=read_report(path))


def method_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return of the settings of a run those from which its method is built."""
    name = settings["method"]["name"]
    parts = METHODS[name].parts if name in METHODS else ()
    return {section: settings[section] for section in ("method", *parts)}


def models_prefix(settings: Mapping[str, Any]) -> str:
    """Return where in a checkpoint the weights of the trained models stand."""
    if settings.get("validation"):
        return "['best']"
    averaged = settings["average"]["name"] != "none"
    return "['state'].average" if averaged else "['state'].method"


def read_report(path: Path) -> dict[str, Any] | None:
    """Return what `irem.fit` measured of the run in `path`; `None` where it did not."""
    if not (path / FIT).exists():
        return None
    kept = read_plan(path).get("report")
    if kept is None:
        return None
    # What was not finite is null in a file.
    unknown = dict.fromkeys(_NUMBERS_OF_A_REPORT, np.nan)
    return {n: unknown.get(n) if value is None else value for n, value in kept.items()}


def find_run(path: str | Path) -> Path:
    """Return the folder of a run, which may be given as the name of a model of the zoo."""
    if not str(path).startswith(ZOO):
        return Path(path)
    name = str(path).removeprefix(ZOO)
    known("model", name, zoo_names())
    return ZOO_FOLDER / name


def zoo_names() -> list[str]:
    """Return the names of the models that come with irem, without `zoo:` before them."""
    return sorted(p.name for p in ZOO_FOLDER.iterdir() if (p / SETTINGS).is_file())


def iterations_done(path: Path) -> int:
    """Return the iteration of the last checkpoint in `path`; 0 where there is none."""
    if not (path / CHECKPOINT).exists():
        return 0
    seeds = len(read_keys(read_settings(path)))
    with ArrayFile.open(path / CHECKPOINT) as file:
        return read_history(file, seeds)[0]


def read_history(file: ArrayFile, seeds: int) -> tuple[int, History]:
    """Return the iterations done, and the history, that a checkpoint keeps beside its state."""
    counts = {"iteration": (seeds,), "chunks": ()}
    like = {name: jax.ShapeDtypeStruct(shape, np.int32) for name, shape in counts.items()}
    done = np.asarray(file.read(like["iteration"], "['state'].iteration"))
    chunks = int(file.read(like["chunks"], "['chunks']"))
    shapes = History.shapes(chunks, seeds)
    kept = file.shapes("['history']")
    shapes = {n: s for n, s in shapes.items() if n not in _LATER or f"['history']['{n}']" in kept}
    arrays = {name: np.asarray(a) for name, a in file.read(shapes, "['history']").items()}
    ends = [0, *arrays["iteration"].tolist()]
    if any(end <= before for before, end in itertools.pairwise(ends)) or (done != ends[-1]).any():
        raise InputError(
            f"'{file.path}' is damaged: its state is of iteration {done.tolist()}, its history of "
            f"{ends[-1]}; restore it, or train the run again."
        )
    unknown = np.full((chunks, seeds), np.nan, np.float32)
    return ends[-1], History(**{**dict.fromkeys(_LATER, unknown), **arrays})


def read_keys(settings: Mapping[str, Any]) -> list[list[int]]:
    """Return the random keys that a run began with, one for each model, as its settings say."""
    keys = settings.get("keys")
    if not (isinstance(keys, list) and keys and all(_is_key_data(key) for key in keys)):
        raise InputError(f"The {SETTINGS} of the run is damaged: its `keys` are {keys!r:.50}.")
    return keys


def _is_key_data(key: Any) -> bool:
    """Whether a value is a list of two or more whole numbers below 2**32."""
    return (
        isinstance(key, list)
        and len(key) > 1
        and all(type(number) is int and 0 <= number < 2**32 for number in key)
    )


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings of the run in `path`, or refuse the folder with the reason."""
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
        settings = parse((path / SETTINGS).read_bytes())
        written, version = int(settings["format"]), settings["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"'{path / SETTINGS}' is truncated or damaged ({error}).") from error
    if written > FORMAT:
        raise InputError(
            f"The run in '{path}' was written by irem {version} in format {written}; this is "
            f"irem {__version__}, which reads format {FORMAT}: install a newer irem."
        )
    if written < FORMAT:
        raise InputError(
            f"The run in '{path}' was written by irem {version} in format {written}; this is "
            f"irem {__version__}, which reads format {FORMAT}: convert it with "
            f"`python tools/upgrade_run.py {path}` from the source of irem."
        )
    return settings


def _is_finite(model: Any) -> bool:
    arrays = jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array))
    return all(bool(np.isfinite(np.asarray(array)).all()) for array in arrays)


def write_settings(path: Path, settings: dict[str, Any]) -> None:
    """Keep the settings of a run in its folder."""
    write_whole(path / SETTINGS, (json.dumps(settings, indent=2) + "\n").encode())


def read_plan(path: Path) -> dict[str, Any]:
    """Return what `irem.fit` kept in the folder of a run."""
    kept = read_json(path / FIT, _REMAKE)
    if not isinstance(kept, dict) or not isinstance(kept.get("report", {}), dict):
        raise InputError(f"'{path / FIT}' is damaged; {_REMAKE}.")
    return kept


def write_plan(path: Path, plan: Mapping[str, Any]) -> None:
    """Keep what `irem.fit` chose, and what it measured, in the folder of a run."""
    write_whole(path / FIT, (dump(plan, indent=2) + "\n").encode())


def unstack(methods: AbstractMethod, seeds: int) -> tuple[AbstractMethod, ...]:
    """Return one method for each entry of the leading seed axis."""
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
