"""The folder of a run: made, taken up again, and held by one process at a time."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from irem.errors import InputError
from irem.files import is_unfinished, remove_unfinished
from irem.hosts import first_alone, gather_numbers, is_first
from irem.locks import locked
from irem.methods import AbstractMethod
from irem.training.algorithm1 import TrainState
from irem.training.checkpoint import ArrayFile, keep_arrays, save_arrays
from irem.training.optimisers import fixes_length
from irem.training.run import (
    CHECKPOINT,
    FIT,
    SETTINGS,
    History,
    iterations_done,
    models_prefix,
    read_history,
    read_settings,
    write_plan,
    write_settings,
)
from irem.training.scalars import EVENTS

Weights = AbstractMethod | None
"""The weights of all models of a run, as a stack of methods."""

_FINISHED = "finished"


@dataclasses.dataclass(frozen=True)
class Checkpoints:
    """The folder that a run is kept in, and how often.

    Arguments:
        folder: Where settings, whole state and TensorBoard scalars go.
        resume: Go on with the run in the folder, if there is one. On the same device the result is
            bit for bit that of a run which was never stopped.
        seconds: At most this much work is lost to a crash, and one chunk of 100 iterations.
        plan: What `irem.fit` chose, which is kept beside the settings.
    """

    folder: str | Path
    resume: bool = False
    seconds: float = 30.0
    plan: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse a time below zero."""
        if not self.seconds >= 0:
            raise InputError(
                f"`seconds` between checkpoints must be 0 or more, got {self.seconds}."
            )

    @property
    def path(self) -> Path:
        """The folder as a path."""
        return Path(self.folder)

    def check(self) -> None:
        """Refuse a folder that holds something else, or a run that is not to be resumed."""
        _check_usable(self.path, self.resume)


class RunFolder:
    """A folder that this process writes to and no other; of several hosts, the first one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._holds_good = self._has_saved = False

    @staticmethod
    @contextlib.contextmanager
    def hold(path: Path, settings: dict[str, Any], *, resume: bool) -> Iterator[RunFolder]:
        """Make the folder, or check that the run in it may be taken up with `settings`.

        A run without a checkpoint, which was stopped before the first one, is begun anew. The
        folder stays locked until the context ends; a process that is killed lets go of it.
        """
        with contextlib.ExitStack() as stack:
            first_alone(lambda: stack.enter_context(_taken(path, settings, resume)))
            yield RunFolder(path)

    def start(
        self, settings: dict[str, Any], states: TrainState, history: History
    ) -> tuple[TrainState, History]:
        """Keep the settings, and return the saved state and history if there are any."""
        found = first_alone(lambda: self._start(settings, states, history))
        states, history = self._read(states, history) if found is None else found
        done = gather_numbers(history.iteration[-1] if len(history.iteration) else 0)
        if len(set(done.ravel())) > 1:
            raise InputError(
                f"Not every host finds the same checkpoint in '{self.path}' (iterations "
                f"{', '.join(f'{n:.0f}' for n in done.ravel())}); choose a folder on a disk that "
                "all of them see."
            )
        return states, history

    def _start(
        self, settings: dict[str, Any], states: TrainState, history: History
    ) -> tuple[TrainState, History]:
        if is_finished(self.path):
            raise InputError(
                f"The run in '{self.path}' is finished and keeps its models alone, so that "
                "training cannot go on; choose another folder."
            )
        states, history = self._read(states, history)
        done = history.iteration[-1] if len(history.iteration) else 0
        if done > settings["iterations"]:
            raise InputError(
                f"The run in '{self.path}' has done {done} iterations already, more than the "
                f"{settings['iterations']} asked for."
            )
        write_settings(self.path, settings)
        return states, history

    def _read(self, states: TrainState, history: History) -> tuple[TrainState, History]:
        """The saved state and history, or those given where there are none."""
        if not (self.path / CHECKPOINT).exists():
            return states, history
        with ArrayFile.open(self.path / CHECKPOINT) as file:
            _, history = read_history(file, states.iteration.shape[0])
            states = file.read(states, "['state']")
        self._holds_good = bool(history.good.any())
        return states, history

    def keep_plan(self, plan: Mapping[str, Any] | None) -> None:
        """Keep what `irem.fit` chose, where it has made a choice."""
        if plan is not None and is_first():
            write_plan(self.path, plan)

    def best(self, best: Weights) -> Weights:
        """Return the best weights that are kept in the folder, or those given where none are."""
        if best is None or not (self.path / CHECKPOINT).exists():
            return best
        with ArrayFile.open(self.path / CHECKPOINT) as file:
            return file.read(best, "['best']")

    def save(
        self, states: TrainState, history: History, best: Weights = None, *, last: bool = False
    ) -> None:
        """Keep state and history, unless no model is good and a state that was is kept.

        Arguments:
            states: The whole state.
            history: What was measured on the way.
            best: The weights with the least error on validation problems, if there are such.
            last: Whether training is over; the state is then kept whatever it is like.
        """
        good = bool(history.good.any())
        if self._holds_good and not (good or last):
            return
        chunks = np.asarray(len(history.iteration), np.int32)
        kept = {"state": states, "history": dataclasses.asdict(history), "chunks": chunks}
        if is_first():
            save_arrays(self.path / CHECKPOINT, kept if best is None else {**kept, "best": best})
        self._holds_good, self._has_saved = good, True

    def keep_good(self) -> str:
        """Drop what was saved of a run that diverged if it was never good; say what is kept."""
        if not is_first():
            return "The first host says what is kept."
        if self._has_saved and not self._holds_good:
            (self.path / CHECKPOINT).unlink()
        reached = iterations_done(self.path)
        if not reached:
            return f"No state before was good, and none is kept; '{self.path}' can be used again."
        good = "last good state" if self._holds_good else "state"
        return f"The {good}, of iteration {reached}, is kept in '{self.path}'."


def finish(path: Path, *, half: bool = False) -> None:
    """Keep of a run its models and its history; optimiser and replay buffer are dropped.

    They are most of a checkpoint, and of no use once training is over.

    Arguments:
        path: The folder of the run.
        half: Whether the models are kept in half precision, to take less room.
    """
    with _locked(path):
        settings = read_settings(path)
        models = models_prefix(settings)
        kept = (models, "['state'].iteration", "['history']", "['chunks']")
        write_settings(path, {**settings, _FINISHED: True})
        keep_arrays(path / CHECKPOINT, kept, half=models if half else None)


def is_finished(path: Path) -> bool:
    """Return whether the run in `path` was given to `finish`."""
    return (path / SETTINGS).exists() and bool(read_settings(path).get(_FINISHED))


def _check_usable(path: Path, resume: bool) -> None:
    if path.exists() and not path.is_dir():
        raise InputError(f"'{path}' is a file; choose a folder for the run.")
    if not path.exists() or all(is_unfinished(file, SETTINGS) for file in path.iterdir()):
        return  # what a run that was killed at birth leaves behind is no run
    if not (path / SETTINGS).exists():
        raise InputError(f"'{path}' exists and is not a run; choose another folder.")
    if not resume and not _is_only_begun(path):
        raise InputError(
            f"'{path}' already holds a run; pass --resume to go on with it, or choose another "
            "folder."
        )


def _is_only_begun(path: Path) -> bool:
    """Whether a folder holds a run without a checkpoint, and nothing of anybody else."""
    read_settings(path)
    return all(
        file.name in (SETTINGS, FIT)
        or file.name.startswith(EVENTS)
        or is_unfinished(file, SETTINGS)
        or is_unfinished(file, CHECKPOINT)
        for file in path.iterdir()
    )


@contextlib.contextmanager
def _taken(path: Path, settings: dict[str, Any], resume: bool) -> Iterator[None]:
    """A folder that is made, or locked if the run in it may be taken up with `settings`."""
    _check_usable(path, resume)
    path.mkdir(parents=True, exist_ok=True)
    with _locked(path):
        if (path / CHECKPOINT).exists():
            _check_same(path, read_settings(path), settings)
        remove_unfinished(path, (SETTINGS, CHECKPOINT))
        yield


def _locked(path: Path) -> AbstractContextManager[None]:
    return locked(path, f"Another process is training in '{path}'; wait for it.")


def _check_same(path: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Refuse to go on with other settings than a run was started with."""
    free = {"version"} if fixes_length(new["optimiser"]) else {"version", "iterations"}
    changed = [name for name in new if name not in free and not _same(old.get(name), new[name])]
    if changed:
        differences = ", ".join(_difference(name, old.get(name), new[name]) for name in changed)
        raise InputError(
            f"The run in '{path}' was started with other settings ({differences}); repeat the "
            "old ones, or choose another folder."
        )


def _same(old: Any, new: Any) -> bool:
    """Whether settings are equal; one that is not there is unset."""
    if isinstance(old, dict) and isinstance(new, dict):
        return all(_same(old.get(name), new.get(name)) for name in {**old, **new})
    return old == new


def _difference(name: str, old: Any, new: Any) -> str:
    """Name the setting that changed, also inside a section."""
    if isinstance(old, dict) and isinstance(new, dict):
        inner = next(k for k in {**old, **new} if not _same(old.get(k), new.get(k)))
        return _difference(f"{name}.{inner}", old.get(inner), new.get(inner))
    return f"{name} was {old}, now {new}"
