"""A reproduction under way: its folder, its trained models and its finished cells."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from irem import tasks as all_tasks
from irem.errors import DivergenceError, InputError
from irem.evaluation.scores import Evaluation, TestSet, draw, score
from irem.files import remove_unfinished, write_whole
from irem.json_text import dump
from irem.keys import fresh_key, training_keys
from irem.methods import METHODS, AbstractMethod
from irem.paper.cells import AnyCell, read_cell
from irem.paper.provenance import provenance
from irem.paper.scale import Scale
from irem.picture_files import list_folder
from irem.tasks import AbstractTask, Denoise
from irem.training import PAPER, Checkpoints, Recipe, Run, finish, is_finished, load

PAPER_TASKS = (
    "edge-copy",
    "connected-components",
    "shortest-path",
    "addition",
    "matrix-completion",
    "matrix-inverse",
)
"""The tasks of the paper's Table 1, in its order."""

PAPER_METHODS = ("feedforward", "recurrent", "programmatic", "iterative-feedforward", "irem")
"""The methods of the paper's Table 1, in its order."""

_SETTINGS, _PICTURES = "study.json", "pictures.json"
# How many pictures of a folder, and of the few photographs, are left out of training.
_HELD_OUT, _HELD_OUT_PHOTOGRAPHS = 16, 2


class Study:
    """Cells that are computed once and kept, and models that are trained once and kept.

    A study that was stopped goes on where it was: finished cells are read, a training run that was
    cut off resumes from its last checkpoint.

    Arguments:
        folder: Where everything is kept.
        scale: Lengths of training and numbers of problems.
        tasks: Tasks by name, in place of those of the paper.
        images: A folder of pictures to train denoising on; by default scikit-image's photographs.
        test_images: A folder of pictures to score it on; by default those that training leaves out.
        commit: The commit of this program, where git cannot tell it.
        say: Called with a line about every piece of work that is done.
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
        self.tasks = tasks or {name: all_tasks.get(name) for name in PAPER_TASKS}
        # Before anything is written; the pictures themselves are read when they are needed.
        for given in (images, test_images):
            if given is not None:
                list_folder(given)
        self.images, self.test_images = images, test_images
        self.provenance = provenance(commit)
        self.test_set = functools.cache(self._test_set)
        self._open()

    def values(self, experiment: str, name: str, make: Callable[[], Any]) -> Any:
        """Return what `make` returns, computed at most once; it must be plain values."""
        path = self._path(experiment, name)
        if path.exists():
            return _read(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_unfinished(path.parent, [path.name])
        start = time.monotonic()
        value = json.loads(dump(make()))  # as it will be read again
        write_whole(path, (dump(value) + "\n").encode())
        self.say(f"{experiment}: {name}, {time.monotonic() - start:.0f} s")
        return value

    def cells(
        self,
        experiment: str,
        name: str,
        kinds: Sequence[type[AnyCell]],
        make: Callable[[], Sequence[AnyCell]],
    ) -> list[AnyCell]:
        """Return the cells that `make` returns, computed at most once.

        Arguments:
            experiment: Name of the experiment.
            name: Name of this part of it.
            kinds: Of which the cells are.
            make: Computes them.
        """
        found = self.values(experiment, name, lambda: [cell.as_dict() for cell in make()])
        where = f"'{self._path(experiment, name)}': cell"
        return [read_cell(kinds, given, f"{where} {i}") for i, given in enumerate(found)]

    def trained(
        self,
        task: AbstractTask,
        recipe: Recipe,
        label: str,
        *,
        seeds: int | None = None,
        begin: Callable[[AbstractMethod], AbstractMethod] = lambda untrained: untrained,
    ) -> tuple[Run, float | None]:
        """Return the models of all seeds, and the seconds of training if it was done in one go now.

        Arguments:
            task: Where the problems come from.
            recipe: How they are learned.
            label: Name of the run's folder.
            seeds: In place of those of the scale.
            begin: Makes what training begins with from the untrained models.

        Raises:
            DivergenceError: The weights became not finite.
        """
        path = self.folder / "models" / label
        if is_finished(path):
            return load(path, task=task), None
        keys = training_keys(0, seeds or self.scale.seeds)
        begun, start = path.exists(), time.monotonic()
        trained = recipe.train(
            keys=keys,
            task=task,
            begin=begin,
            out=Checkpoints(path, resume=True),
            progress=self.progress,
        )
        seconds = time.monotonic() - start
        finish(path)
        run = load(path, task=task)
        if run.iteration != trained.iteration:
            raise DivergenceError(
                f"The weights of {label} were not finite after iteration {run.iteration} of "
                f"{trained.iteration}; the last ones that were are in '{path}'."
            )
        return run, None if begun else seconds

    def recipe(
        self, task: AbstractTask, method: str = "irem", aggregate: str | None = None
    ) -> Recipe:
        """Return the paper's recipe for a task with the lengths of the scale.

        Arguments:
            task: The task.
            method: One of `irem.methods.METHODS`.
            aggregate: How a graph network joins messages, where it is not the recipe's way.
        """
        recipe = Recipe.named(task.name, PAPER).override({"method.name": method})
        if aggregate is not None:
            network = next(iter(METHODS[method].parts))  # energy, network or cell
            recipe = recipe.override({f"{network}.aggregate": aggregate})
        return recipe.override(self.scale.budget(task).overrides())

    def score(self, run: Run, difficulty: str, **walk: Any) -> Evaluation:
        """Return what `irem evaluate` prints for a run, on the same problems for every method."""
        test_set, key = self.test_set(run.task, difficulty)
        return score(run, test_set, **walk, key=key)

    def about(self) -> dict[str, Any]:
        """Return what every result begins with."""
        return {**self.provenance, "scale": self.scale.as_dict()}

    def origin(self) -> dict[str, Any]:
        """Return commit and device for a cell: a study may go on with another program elsewhere."""
        return {name: self.provenance[name] for name in ("commit", "device")}

    @functools.cached_property
    def pictures(self) -> Denoise:
        """What denoising is trained on: the same pictures whenever the study is taken up again."""
        named = {"images": self.images, "test_images": self.test_images}
        named = {name: None if path is None else str(path) for name, path in named.items()}
        self._agree(_PICTURES, named, "pictures")
        if self.images is None:
            return Denoise(hold_out=_HELD_OUT_PHOTOGRAPHS)
        return Denoise(images=str(self.images), hold_out=_HELD_OUT)

    def _path(self, experiment: str, name: str) -> Path:
        return self.folder / "cells" / experiment / f"{name}.json"

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


def num_parameters(model: Any) -> int:
    """Return how many numbers of a model are trained."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise InputError(f"'{path}' is damaged ({error}); remove it and run again.") from error
