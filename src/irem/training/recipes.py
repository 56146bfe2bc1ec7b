"""Recipes: named, complete sets of settings in TOML, from which a run is made."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array

from irem import tasks
from irem.checks import known
from irem.errors import InputError
from irem.methods import METHODS, AbstractMethod, build_method, build_methods, describe_method
from irem.settings import Registry, is_unset, parsed
from irem.tasks import AbstractTask
from irem.training.averages import AVERAGES
from irem.training.folder import Checkpoints
from irem.training.optimisers import OPTIMISERS
from irem.training.replay import REPLAYS
from irem.training.run import Run
from irem.training.trainer import train

BEST = "best"
"""The recipe of the zoo model of a task: the default of `irem train`."""

PAPER = "paper"
"""The recipe with the paper's settings."""

PRECISIONS = ("default", "float32")
"""Of products in training: the fastest of the device (TF32 on recent GPUs), or full ones."""

_FOLDER = Path(__file__).parents[1] / "recipes"
_LENGTHS = {"iterations": 10_000, "batch_size": 128, "precision": "default"}
# Sections beside the task, the method and its parts: what is named in each, and the default name.
_SECTIONS: Mapping[str, tuple[Registry[Any], str]] = {
    "optimiser": (OPTIMISERS, "adam"),
    "replay": (REPLAYS, "buffer"),
    "average": (AVERAGES, "none"),
}


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Settings of a training: of task, method and its parts, optimiser, replay and average.

    What a section leaves out is at its default.

    Arguments:
        name: What the recipe is called in messages.
        settings: `iterations`, `batch_size` and `precision`, and a mapping for every section.
    """

    name: str
    settings: Mapping[str, Any]

    @staticmethod
    def named(task: str, name: str = BEST) -> Recipe:
        """Return the recipe called `name` that comes with irem for a task.

        A task that was registered by its user has one recipe, `best`: irem with all defaults.

        Examples:
            >>> Recipe.named("addition", "paper").settings["batch_size"]
            128
        """
        known("task", task, tasks.TASKS)
        names = recipe_names(task)
        if not names and name == BEST:
            return Recipe(name, {"task": {"name": task}, "method": {"name": "irem"}})
        known(f"recipe of '{task}'", name, names)
        return Recipe.read(_FOLDER / task / f"{name}.toml", task)

    @staticmethod
    def read(path: Path, task: str) -> Recipe:
        """Return the recipe in a TOML file, for a task; the file may leave its name out."""
        if not path.is_file():
            raise InputError(f"There is no recipe '{path}'; `irem recipes` lists those by name.")
        try:
            settings = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"'{path}' is not a recipe in TOML ({error}).") from error
        own = {"name": task, **_section("task", settings.get("task", {}))}
        if own["name"] != task:
            raise InputError(f"'{path}' is a recipe for '{own['name']}', not for '{task}'.")
        return Recipe(path.stem, {"method": {"name": "irem"}, **settings, "task": own}).checked()

    @staticmethod
    def of_run(settings: Mapping[str, Any]) -> Recipe:
        """Return the recipe that a run was made with."""
        try:
            parts = METHODS[settings["method"]["name"]].parts
            names = ("task", "method", *parts, *_SECTIONS, *_LENGTHS)
            return Recipe("of the run", {name: settings[name] for name in names}).checked()
        except (KeyError, TypeError) as error:
            raise InputError(f"The run.json of the run is damaged: it lacks {error}.") from error

    def override(self, changes: Mapping[str, Any]) -> Recipe:
        """Return the recipe with other values for some keys, such as `energy.width`.

        Another `name` of a section drops what the section said before: its settings are those of
        something else. Another method drops the sections of its parts and the replay.
        """
        settings = {name: _copied(value) for name, value in self.settings.items()}
        # The method first, then other names: they decide which other keys there are.
        order = lambda key: (key != "method.name", not key.endswith(".name"))  # noqa: E731
        for key in sorted(changes, key=order):
            section, _, rest = key.partition(".")
            if not rest:
                settings[section] = changes[key]
                continue
            _set(settings.setdefault(section, {}), rest, changes[key], key)
            if rest == "name" and changes[key] != self.settings.get(section, {}).get("name"):
                settings[section] = {"name": changes[key]}
                if section == "method":
                    old = METHODS[self.settings["method"]["name"]].parts
                    for part in (*old, "replay"):
                        settings.pop(part, None)
        return Recipe(self.name, settings).checked()

    def checked(self) -> Recipe:
        """Return the recipe, or refuse sections and keys that do not exist."""
        if "name" not in _section("task", self.settings.get("task", {})):
            raise InputError("The section task of a recipe lacks its `name`.")
        own = {"name": "irem", **_section("method", self.settings["method"])}
        recipe = Recipe(self.name, {**self.settings, "method": own})
        sections = ("task", "method", *METHODS[own["name"]].parts, *_SECTIONS)
        for name, value in recipe.settings.items():
            known("key of a recipe", name, (*_LENGTHS, *sections))
            if name in sections:
                _section(name, value)
            elif isinstance(value, Mapping):
                raise InputError(f"`{name}` of a recipe is a value, got {value!r}.")
        known("precision", recipe.length("precision"), PRECISIONS)
        for name in _SECTIONS:
            recipe.component(name)
        return recipe

    def length(self, name: str) -> Any:
        """Return `iterations`, `batch_size` or `precision`."""
        return self.settings.get(name, _LENGTHS[name])

    def component(self, section: str) -> Any:
        """Return the optimiser, the replay or the average."""
        names, default = _SECTIONS[section]
        if section == "replay" and not METHODS[self.settings["method"]["name"]].replays:
            default = "none"
        own = dict(self.settings.get(section, {}))
        kind = names[own.pop("name", default)]
        return kind(**parsed(kind, own, f"the section {section}"))

    def make_task(self) -> AbstractTask:
        """Return the task with its settings."""
        settings: dict[str, Any] = dict(self.settings["task"])
        fields = {f.name: f for f in dataclasses.fields(tasks.TASKS[settings["name"]])}
        unset = [n for n, v in settings.items() if n in fields and is_unset(fields[n], v)]
        try:
            return tasks.get(**{**settings, **dict.fromkeys(unset)})  # pyright: ignore[reportArgumentType]
        except TypeError as error:
            reason = str(error).splitlines()[0]
            raise InputError(f"The section task of a recipe cannot be used: {reason}.") from error

    def method_settings(self) -> dict[str, Any]:
        """Return the sections from which `irem.methods.build_method` makes the method."""
        parts = METHODS[self.settings["method"]["name"]].parts
        return {n: self.settings[n] for n in ("method", *parts) if n in self.settings}

    def complete(self) -> Recipe:
        """Return the recipe with every default written out."""
        task, settings = self.make_task(), self.method_settings()
        build = lambda key: build_method(task, settings, key=key)  # noqa: E731
        form = eqx.filter_eval_shape(build, jax.random.key(0))
        return Recipe(
            self.name,
            {
                **{name: self.length(name) for name in _LENGTHS},
                "task": {"name": task.name, **task.settings()},
                **describe_method(form),
                **{n: names.describe(self.component(n)) for n, (names, _) in _SECTIONS.items()},
            },
        )

    def train(
        self,
        *,
        keys: Array,
        task: AbstractTask | None = None,
        begin: Callable[[AbstractMethod], AbstractMethod] = lambda untrained: untrained,
        out: Checkpoints | None = None,
        progress: bool | str = False,
    ) -> Run[Any]:
        """Train one model for each key.

        Arguments:
            keys: As `irem.keys.training_keys` makes them.
            task: In place of that of the recipe.
            begin: Makes what training begins with from the untrained models.
            out: Where the run is kept.
            progress: As in `irem.train`.
        """
        task = self.make_task() if task is None else task
        methods = begin(build_methods(task, self.method_settings(), keys=keys))
        with _precision(self.length("precision")):
            return train(
                task,
                methods,
                iterations=self.length("iterations"),
                batch_size=self.length("batch_size"),
                optimiser=self.component("optimiser"),
                replay=self.component("replay"),
                average=self.component("average"),
                key=keys,
                out=out,
                progress=progress,
            )

    def as_toml(self) -> str:
        """Return the recipe as a TOML file."""
        values = {n: v for n, v in self.settings.items() if not isinstance(v, Mapping)}
        sections = {n: v for n, v in self.settings.items() if isinstance(v, Mapping)}
        lines = [f"{name} = {_toml(value)}" for name, value in values.items()]
        for name, section in sections.items():
            lines += ["", *_toml_section(name, section)]
        return "\n".join(lines).lstrip("\n") + "\n"


def recipe_names(task: str) -> list[str]:
    """Return the names of the recipes that come with irem for a task."""
    return sorted(path.stem for path in (_FOLDER / task).glob("*.toml"))


def recipe_comment(task: str, name: str) -> str:
    """Return the comment that a recipe begins with, in one line."""
    lines = (_FOLDER / task / f"{name}.toml").read_text(encoding="utf-8").splitlines()
    comments = itertools.takewhile(lambda line: line.startswith("#"), lines)
    return " ".join(line.lstrip("# ") for line in comments)


def parse_override(text: str) -> tuple[str, Any]:
    """Return key and value of `KEY=VALUE`; the value is TOML, or else a string as it stands.

    Examples:
        >>> parse_override("energy.width=64"), parse_override("energy.name=pair")
        (('energy.width', 64), ('energy.name', 'pair'))
    """
    key, sign, value = (part.strip() for part in text.partition("="))
    if not key or not sign:
        raise InputError(f"An override is KEY=VALUE, such as energy.width=64; got '{text}'.")
    try:
        return key, tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key, value


def _section(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InputError(f"`{name}` of a recipe is a section, got {value!r}.")
    return value


def _copied(value: Any) -> Any:
    return {k: _copied(v) for k, v in value.items()} if isinstance(value, Mapping) else value


def _set(section: Any, path: str, value: Any, key: str) -> None:
    """Set a value inside a section, whose groups of settings are mappings as well."""
    name, _, rest = path.partition(".")
    if not isinstance(section, dict):
        raise InputError(f"`{key}` is not a key of a recipe: what it is in is not a section.")
    if rest:
        _set(section.setdefault(name, {}), rest, value, key)
    else:
        section[name] = value


@contextlib.contextmanager
def _precision(name: str) -> Iterator[None]:
    if name == "default":
        yield
        return
    with jax.default_matmul_precision(name):
        yield


def _toml_section(name: str, section: Mapping[str, Any]) -> list[str]:
    plain = {k: v for k, v in section.items() if not isinstance(v, Mapping)}
    groups = {k: v for k, v in section.items() if isinstance(v, Mapping)}
    lines = [f"[{name}]"]
    for key, value in plain.items():
        # TOML has no null; for a setting that may be unset, "none" says that it is.
        lines.append(f"{key} = {_toml('none' if value is None else value)}")
    for key, group in groups.items():
        lines += ["", *_toml_section(f"{name}.{key}", group)]
    return lines


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return repr(value)
