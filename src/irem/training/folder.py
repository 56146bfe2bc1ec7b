"""The folder of a run: made, taken up again, and held by one process at a time."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from irem.errors import InputError
from irem.files import remove_unfinished
from irem.training.algorithm1 import TrainState
from irem.training.checkpoint import keep_arrays, load_arrays, save_arrays
from irem.training.optimisers import fixes_length
from irem.training.run import (
    CHECKPOINT,
    SETTINGS,
    History,
    load_history,
    models_prefix,
    read_settings,
    write_settings,
)

_FINISHED = "finished"


@dataclasses.dataclass(frozen=True)
class Checkpoints:
    """The folder that a run is kept in, and how often.

    Arguments:
        folder: Where settings, whole state and TensorBoard scalars go.
        resume: Go on with the run in the folder, if there is one. On the same device the result is
            bit for bit that of a run which was never stopped.
        seconds: At most this much work is lost to a crash, and one chunk of 100 iterations.
    """

    folder: str | Path
    resume: bool = False
    seconds: float = 30.0

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


class RunFolder:
    """A folder that this process writes to and no other."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    @contextlib.contextmanager
    def hold(path: Path, settings: dict[str, Any], *, resume: bool) -> Iterator[RunFolder]:
        """Make the folder, or check that the run in it may be taken up with `settings`.

        The folder stays locked until the context ends; a process that is killed lets go of it.
        """
        _check_usable(path, resume)
        path.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            if (path / SETTINGS).exists():
                _check_same(path, read_settings(path), settings)
            remove_unfinished(path, (SETTINGS, CHECKPOINT))
            yield RunFolder(path)

    def start(
        self, settings: dict[str, Any], states: TrainState, history: History
    ) -> tuple[TrainState, History]:
        """Keep the settings, and return the saved state and history if there are any."""
        if is_finished(self.path):
            raise InputError(
                f"The run in '{self.path}' is finished and keeps its models alone, so that "
                "training cannot go on; choose another folder."
            )
        if (self.path / CHECKPOINT).exists():
            states = load_arrays(self.path / CHECKPOINT, {"state": states})["state"]
            history = load_history(self.path, states.iteration.shape[0])
        done = int(states.iteration[0])
        if done > settings["iterations"]:
            raise InputError(
                f"The run in '{self.path}' has done {done} iterations already, more than the "
                f"{settings['iterations']} asked for."
            )
        write_settings(self.path, settings)
        return states, history

    def save(self, states: TrainState, history: History, *, good: bool, sound: bool) -> None:
        """Keep state and history.

        Arguments:
            states: The whole state.
            history: What was measured on the way.
            good: Whether updates are being applied; a state that is not good replaces no other.
            sound: Whether every parameter is finite; a state that is not sound is never kept.
        """
        path = self.path / CHECKPOINT
        if not sound or (not good and path.exists()):
            return
        chunks = np.asarray(len(history.iteration), np.int32)
        save_arrays(
            path, {"state": states, "history": dataclasses.asdict(history), "chunks": chunks}
        )


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
    unfinished = f".{SETTINGS}."  # what a run that was killed at birth leaves behind
    if not path.exists() or all(p.name.startswith(unfinished) for p in path.iterdir()):
        return
    if not (path / SETTINGS).exists():
        raise InputError(f"'{path}' exists and is not a run; choose another folder.")
    if not resume:
        raise InputError(
            f"'{path}' already holds a run; pass --resume to go on with it, or choose another "
            "folder."
        )


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    folder = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise InputError(f"Another process is training in '{path}'; wait for it.") from error
    finally:
        os.close(folder)


def _check_same(path: Path, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Refuse to go on with other settings than a run was started with."""
    free = {"version"} if fixes_length(new["optimiser"]) else {"version", "iterations"}
    changed = [name for name in new if name not in free and old.get(name) != new[name]]
    if changed:
        differences = ", ".join(_difference(name, old.get(name), new[name]) for name in changed)
        raise InputError(
            f"The run in '{path}' was started with other settings ({differences}); repeat the "
            "old ones, or choose another folder."
        )


def _difference(name: str, old: Any, new: Any) -> str:
    """Name the setting that changed, also inside a section."""
    if isinstance(old, dict) and isinstance(new, dict):
        inner = next(k for k in {**old, **new} if old.get(k) != new.get(k))
        return _difference(f"{name}.{inner}", old.get(inner), new.get(inner))
    return f"{name} was {old}, now {new}"
