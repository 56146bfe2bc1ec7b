"""A reproduction under way: its folder, its trained models and its finished cells."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from irem import tasks as all_tasks
from irem._errors import DivergenceError, InputError
from irem._files import remove_unfinished, write_whole
from irem._json import dump
from irem._keys import fresh_key, training_keys
from irem._pictures import list_folder
from irem.experiments._evaluate import Evaluation, TestSet, draw, score
from irem.experiments._provenance import provenance
from irem.experiments._scale import Budget, Scale
from irem.learning import AbstractReplay, Run, finish, is_finished, load, train
from irem.methods import AbstractMethod, build_methods
from irem.tasks import AbstractGraphTask, AbstractTask, Denoise

_SETTINGS, _PICTURES = "study.json", "pictures.json"


class Study:
    """Cells that are computed once and kept, and models that are trained once and kept.

    A study that was stopped goes on where it was: finished cells are read, a training run that was
    cut off resumes from its last checkpoint.

    Arguments:
        folder: Where everything is kept.
        scale: What training and evaluation are given.
        tasks: Tasks by name, in place of those of the paper.
        images: A folder of pictures to train denoising on; by default scikit-image's photographs.
        test_images: A folder of pictures to score it on; by default those that training leaves out.
        commit: The commit of this program, where git cannot tell it.
        say: What is told about progress, a line at a time.
        progress: Whether training draws a progress bar on standard error.
    """

    def __init__(
        self,
        folder: Path,
        scale: Scale,
        *,
        tasks: Mapping[str, AbstractTask] | None = None,
        images: Path | None = None,
        test_images: Path | None = None,
        commit: str | None = None,
        say: Callable[[str], None] = lambda _: None,
        progress: bool = False,
    ) -> None:
        self.folder, self.scale, self.say, self.progress = folder, scale, say, progress
        self.tasks = tasks or {name: all_tasks.get(name) for name in all_tasks.TASKS}
        # Before anything is written; the pictures themselves are read when they are needed.
        for given in (images, test_images):
            if given is not None:
                list_folder(given)
        self.images, self.test_images = images, test_images
        self.provenance = provenance(commit)
        self.test_set = functools.cache(self._test_set)
        self._open()

    def cell(self, experiment: str, name: str, make: Callable[[], Any]) -> Any:
        """What `make` returns, computed at most once; it must be plain values."""
        path = self.folder / "cells" / experiment / f"{name}.json"
        if path.exists():
            return _read(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_unfinished(path.parent, [path.name])
        start = time.monotonic()
        value = json.loads(dump(make()))  # as it will be read again
        write_whole(path, (dump(value) + "\n").encode())
        self.say(f"{experiment}: {name}, {time.monotonic() - start:.0f} s")
        return value

    def trained(
        self,
        task: AbstractTask,
        method: Mapping[str, Any],
        label: str,
        *,
        replay: AbstractReplay | None = None,
        budget: Budget | None = None,
        seeds: int | None = None,
        precision: str = "default",
        begin: Callable[[AbstractMethod], AbstractMethod] = lambda untrained: untrained,
    ) -> tuple[Run, float | None]:
        """The models of all seeds, and the seconds of their training if it was done in one go now.

        Arguments:
            task: What is trained on.
            method: As `build_methods` takes it.
            label: Name of the run's folder.
            replay: As in `train`.
            budget: In place of that of the scale.
            seeds: In place of those of the scale.
            precision: As in `train`.
            begin: What training begins with, made of the untrained models.
        """
        path = self.folder / "models" / label
        if is_finished(path):
            return load(path, task=task), None
        keys = training_keys(0, seeds or self.scale.seeds)
        budget = budget or self.scale.budget(task)
        begun, start = path.exists(), time.monotonic()
        trained = train(
            task,
            begin(build_methods(task, method, keys=keys)),
            iterations=budget.iterations,
            batch_size=budget.batch_size,
            learning_rate=budget.learning_rate,
            decay=budget.decay,
            clip_norm=budget.clip_norm,
            replay=replay,
            precision=precision,
            key=keys,
            out=path,
            resume=True,
            progress=self.progress,
        )
        seconds = time.monotonic() - start
        finish(path)
        run = load(path, task=task)
        if run.iteration != trained.iteration:
            raise DivergenceError(
                f"The training of {label} left the numbers after iteration {run.iteration} of "
                f"{trained.iteration}; what it had learned until then is in '{path}'."
            )
        return run, None if begun else seconds

    def score(self, run: Run, difficulty: str, **walk: Any) -> Evaluation:
        """What `irem evaluate` prints for a run, on the same problems for every method."""
        test_set, key = self.test_set(run.task, difficulty)
        return score(run, test_set, **walk, key=key)

    def about(self) -> dict[str, Any]:
        """What every result begins with."""
        return {**self.provenance, "scale": self.scale.as_dict()}

    def origin(self) -> dict[str, Any]:
        """What every cell says of itself: a study may go on with another program elsewhere."""
        return {name: self.provenance[name] for name in ("commit", "device")}

    def _test_set(self, task: AbstractTask, difficulty: str) -> tuple[TestSet, PRNGKeyArray]:
        return draw(task, difficulty, self.scale.problems, fresh_key(0, "evaluate"))

    def _open(self) -> None:
        """Make the folder, or check that the study in it has the same settings."""
        settings = {
            "scale": self.scale.as_dict(),
            "tasks": {name: task.settings() for name, task in self.tasks.items()},
        }
        if (self.folder / _SETTINGS).exists():
            self._agree(_SETTINGS, settings, "settings")
            return
        if self.folder.is_dir():
            remove_unfinished(self.folder, [_SETTINGS])
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise InputError(
                f"'{self.folder}' exists and is not a reproduction; choose another folder with "
                "--out."
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        self._agree(_SETTINGS, settings, "settings")

    @functools.cached_property
    def pictures(self) -> Denoise:
        """What denoising is trained on: the same pictures whenever the study is taken up again."""
        named = {"images": self.images, "test_images": self.test_images}
        named = {name: None if path is None else str(path) for name, path in named.items()}
        self._agree(_PICTURES, named, "pictures")
        if self.images is None:
            return Denoise(hold_out=_HELD_OUT_PHOTOGRAPHS)
        return Denoise(images=str(self.images), hold_out=_HELD_OUT)

    def _agree(self, name: str, settings: dict[str, Any], what: str) -> None:
        """Keep settings in a file of the folder, or check that those in it are the same."""
        path, settings = self.folder / name, json.loads(json.dumps(settings))
        if not path.exists():
            write_whole(path, (json.dumps(settings, indent=1) + "\n").encode())
        elif _read(path) != settings:
            raise InputError(
                f"'{self.folder}' holds a reproduction with other {what}; choose another folder "
                "with --out."
            )


# So many pictures of a folder, and of the few photographs, no training sees.
_HELD_OUT, _HELD_OUT_PHOTOGRAPHS = 16, 2


def method_settings(task: AbstractTask, name: str, aggregate: str | None = None) -> dict[str, Any]:
    """The paper's form of a method for `task`, as `build_methods` takes it."""
    graphs = isinstance(task, AbstractGraphTask)
    sums = {"aggregate": aggregate} if graphs and aggregate else {}
    if name != "irem":
        return {"name": name, **sums}
    energy = {"name": "gine" if graphs else "mlp", **sums}
    return {"name": name, "gradient": "last-step", "energy": energy}


def spread(values: Any) -> dict[str, Any]:
    """Mean and standard deviation over seeds, and every seed's number."""
    values = [float(v) for v in values]
    std = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {
        "mean": float(np.mean(values)),
        "std": std,
        "seeds": len(values),
        "mse_by_seed": values,
    }


def num_parameters(model: Any) -> int:
    """How many numbers of a model are trained."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise InputError(f"'{path}' is damaged ({error}); remove it and run again.") from error
