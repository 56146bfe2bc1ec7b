"""A reproduction under way: its folder, its trained models and its finished cells."""

from __future__ import annotations

import contextlib
import functools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
from jaxtyping import PRNGKeyArray

from irem import tasks as all_tasks
from irem.apps.puzzles import read_lines
from irem.errors import DivergenceError, InputError
from irem.evaluation.scores import Evaluation, TestSet, draw, score
from irem.files import remove_unfinished, write_whole
from irem.json_text import dump, read_json
from irem.keys import fresh_key, training_keys
from irem.locks import locked
from irem.methods import METHODS, AbstractMethod
from irem.paper.cells import AnyCell, Origin, from_plain, read_cell
from irem.paper.provenance import provenance
from irem.paper.scale import Scale
from irem.picture_files import list_folder
from irem.tasks import AbstractTask, Denoise
from irem.tasks.sudoku import read_puzzles
from irem.training import (
    PAPER,
    Checkpoints,
    Recipe,
    Run,
    finish,
    is_finished,
    iterations_done,
    load,
)

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
_CELLS, _MODELS = "cells", "models"
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
        puzzles: A file with lines of Sudoku puzzles of 17 givens, which are tested on as well.
        training_puzzles: A file of `tools/make_puzzles.py` to train on; by default the few puzzles
            that come with irem.
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
        puzzles: Path | None = None,
        training_puzzles: Path | None = None,
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
        if puzzles is not None:
            read_lines(puzzles)
        if training_puzzles is not None:
            read_puzzles(training_puzzles)
        self.images, self.test_images = images, test_images
        self.puzzles, self.training_puzzles = puzzles, training_puzzles
        self.provenance = provenance(commit)
        self.test_set = functools.cache(self._test_set)
        self.settings = as_read(
            {
                "scale": scale.as_dict(),
                "tasks": {name: task.settings() for name, task in self.tasks.items()},
            }
        )
        self._held = False
        self._open()

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Keep other processes from writing to the folder until the context ends.

        Raises:
            InputError: Another process writes to it.
        """
        if self._held:
            yield
            return
        refusal = (
            f"Another process is reproducing in '{self.folder}'; wait for it, or choose another "
            "folder with --out."
        )
        with locked(self.folder, refusal):
            self._held = True
            try:
                yield
            finally:
                self._held = False

    def values(
        self,
        experiment: str,
        name: str,
        make: Callable[[], Any],
        *,
        settings: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return what `make` returns, computed at most once; it must be plain values.

        Arguments:
            experiment: Name of the experiment.
            name: Name of this part of it.
            make: Computes them.
            settings: What they depend on beside the settings of the study.
        """
        path = self._path(experiment, name)
        made_with = as_read({**self.settings, **(settings or {})})
        if path.exists():
            return _read_values(path, made_with)
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_unfinished(path.parent, [path.name])
        start = time.monotonic()
        kept = as_read({"settings": made_with, "origin": self.origin(), "values": make()})
        write_whole(path, (dump(kept) + "\n").encode())
        self.say(f"{experiment}: {name}, {time.monotonic() - start:.0f} s")
        return kept["values"]

    def origins(self, experiment: str, names: Iterable[str]) -> dict[str, Origin]:
        """Return where finished parts of an experiment come from, as far as their files tell."""
        found = {}
        for name in names:
            content = read_json(self._path(experiment, name), _RUN_AGAIN)
            if _is_traced(content):
                with self.reading(experiment, name) as where:
                    found[name] = from_plain(Origin, content["origin"], f"{where}: origin")
        return found

    def cells(
        self,
        experiment: str,
        name: str,
        kinds: Sequence[type[AnyCell]],
        make: Callable[[], Sequence[AnyCell]],
        *,
        settings: Mapping[str, Any] | None = None,
    ) -> list[AnyCell]:
        """Return the cells that `make` returns, computed at most once.

        Arguments:
            experiment: Name of the experiment.
            name: Name of this part of it.
            kinds: Of which the cells are.
            make: Computes them.
            settings: What they depend on beside the settings of the study.
        """
        plain = lambda: [cell.as_dict() for cell in make()]  # noqa: E731
        found = self.values(experiment, name, plain, settings=settings)
        with self.reading(experiment, name) as where:
            if not isinstance(found, list):
                raise InputError(f"{where} has no list of cells.")
            return [read_cell(kinds, given, f"{where}: cell {i}") for i, given in enumerate(found)]

    @contextlib.contextmanager
    def reading(self, experiment: str, name: str) -> Iterator[str]:
        """Yield how messages call the file of some values, and say what to do if it is damaged."""
        path = self._path(experiment, name)
        try:
            yield f"'{path}'"
        except InputError as error:
            raise InputError(f"{str(error).removesuffix('.')}; {_RUN_AGAIN}.") from error

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
            DivergenceError: A model diverged.
        """
        path, seeds = self.folder / _MODELS / label, seeds or self.scale.seeds
        run = _finished(path, recipe, task, seeds)
        if run is not None:
            return run, None
        keys = training_keys(0, seeds)
        begun, start = path.exists(), time.monotonic()
        trained = recipe.train(
            keys=keys,
            task=task,
            begin=begin,
            out=Checkpoints(path, resume=True),
            progress=self.progress,
        )
        seconds = time.monotonic() - start
        if trained.diverged:
            raise DivergenceError(
                f"Of the models of {label}, {', '.join(map(str, trained.diverged))} diverged; the "
                f"others are in '{path}'."
            )
        finish(path)
        return load(path, task=task), None if begun else seconds

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
        """Return where a cell comes from: a study may go on with another program elsewhere."""
        return {name: self.provenance[name] for name in ("commit", "device", "clean")}

    @property
    def named_pictures(self) -> dict[str, str | None]:
        """The folders of pictures to train on and to test on, as they were given."""
        named = {"images": self.images, "test_images": self.test_images}
        return {name: None if path is None else str(path) for name, path in named.items()}

    @functools.cached_property
    def pictures(self) -> Denoise:
        """What denoising is trained on: the same pictures whenever the study is taken up again."""
        self._agree(_PICTURES, self.named_pictures, "pictures")
        if self.images is None:
            return Denoise(hold_out=_HELD_OUT_PHOTOGRAPHS)
        return Denoise(images=str(self.images), hold_out=_HELD_OUT)

    def _path(self, experiment: str, name: str) -> Path:
        return self.folder / _CELLS / experiment / f"{name}.json"

    def _test_set(self, task: AbstractTask, difficulty: str) -> tuple[TestSet, PRNGKeyArray]:
        return draw(task, difficulty, self.scale.problems, fresh_key(0, "evaluate"))

    def _open(self) -> None:
        """Make the folder, or check that the study in it has the same settings."""
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(_NOT_ONE.format(self.folder))
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.hold():
            remove_unfinished(self.folder, [_SETTINGS])
            if not (self.folder / _SETTINGS).exists() and any(self.folder.iterdir()):
                self._take_up()
            self._agree(_SETTINGS, self.settings, "settings")

    def _take_up(self) -> None:
        """Check by what else is in the folder that a study without settings has these.

        Models are compared with their recipes when they are used.
        """
        kept = sorted(self.folder.glob(f"{_CELLS}/*/*.json"))
        if not kept and not any(self.folder.glob(f"{_MODELS}/*/run.json")):
            raise InputError(_NOT_ONE.format(self.folder))
        for path in kept:
            content = read_json(path, _RUN_AGAIN)
            if not _is_traced(content):
                raise InputError(
                    f"'{self.folder / _SETTINGS}' is missing, and '{path}' does not say which "
                    f"settings it was made with; remove '{self.folder / _CELLS}' and run again: "
                    "models are kept, and everything is measured again."
                )
            if any(content["settings"].get(n) != value for n, value in self.settings.items()):
                raise InputError(_OTHER.format(self.folder, "settings"))

    def _agree(self, name: str, settings: dict[str, Any], what: str) -> None:
        """Keep settings in a file of the folder, or check that those in it are the same."""
        path = self.folder / name
        if not path.exists():
            write_whole(path, (json.dumps(settings, indent=1) + "\n").encode())
            return
        found = read_json(path, _RUN_AGAIN)
        if not isinstance(found, dict) or set(found) != set(settings):
            raise InputError(f"'{path}' is damaged (it lacks some {what}); {_RUN_AGAIN}.")
        if found != settings:
            raise InputError(_OTHER.format(self.folder, what))


_RUN_AGAIN = "remove it and run again"
_NOT_ONE = "'{}' exists and is not a reproduction; choose another folder with --out."
_OTHER = "'{}' holds a reproduction with other {}; choose another folder with --out."


def num_parameters(model: Any) -> int:
    """Return how many numbers of a model are trained."""
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))


def as_read(value: Any) -> Any:
    """Return plain values as a file has them: lists for tuples, null for what is not finite."""
    return json.loads(dump(value))


def _is_traced(content: Any) -> bool:
    """Whether the content of a file of values says what they were made with, and where."""
    names = {"settings", "origin", "values"}
    is_whole = isinstance(content, dict) and set(content) == names
    return is_whole and isinstance(content["settings"], dict)


def _read_values(path: Path, settings: dict[str, Any]) -> Any:
    """The values in a file; early studies kept them without their settings."""
    content = read_json(path, _RUN_AGAIN)
    if not _is_traced(content):
        return content
    if content["settings"] != settings:
        raise InputError(
            f"'{path}' was made with other settings; {_RUN_AGAIN}, or choose another folder with "
            "--out."
        )
    return content["values"]


@contextlib.contextmanager
def _trained_again(path: Path) -> Iterator[None]:
    """Say what to do about a damaged run, which only those who own its folder can."""
    try:
        yield
    except InputError as error:
        raise InputError(
            f"{error} Remove the folder '{path}' and run again: its models are trained again."
        ) from error


def _finished(path: Path, recipe: Recipe, task: AbstractTask, seeds: int) -> Run | None:
    """The run in a folder if it is finished; it must have been made by this recipe."""
    with _trained_again(path):
        if not is_finished(path):
            iterations_done(path)
            return None
        run = load(path, task=task)
        made = {**Recipe.of_run(run.settings).complete().settings, "seeds": len(run.models)}
    of_task = {f"task.{name}": value for name, value in task.settings().items()}
    asked = {**recipe.override(of_task).complete().settings, "seeds": seeds}
    made, asked = as_read(made), as_read(asked)
    # The precision may also be that of the whole process.
    differences = [n for n in asked if n != "precision" and made.get(n) != asked[n]]
    if differences:
        raise InputError(
            f"The models in '{path}' were trained with other settings ({', '.join(differences)}); "
            "choose another folder with --out, or remove that folder to train them again."
        )
    return run
