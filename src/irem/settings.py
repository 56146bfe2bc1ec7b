"""Settings that are written once: the fields of a class, from which all else is derived."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

import equinox as eqx
from jaxtyping import PRNGKeyArray

from irem.checks import known
from irem.errors import InputError
from irem.formats import AbstractFormat

T = TypeVar("T")
Component = TypeVar("Component", bound="AbstractFittedComponent")


def setting(default: Any = dataclasses.MISSING, *, positional: bool = False) -> Any:
    """Declare a field that is a setting: static, kept with a run, given by name.

    Arguments:
        default: Its default value.
        positional: Whether it may also be given without its name.
    """
    return eqx.field(
        static=True, kw_only=not positional, default=default, metadata={"setting": True}
    )


def weights() -> Any:
    """Declare a field of weights, which `__post_init__` makes from the settings and a key."""
    return eqx.field(kw_only=True, default=None)


@runtime_checkable
class HasFormat(Protocol):
    """As much of a task as an energy or a network needs to be built for it."""

    name: ClassVar[str]
    """The name of the task."""
    power: ClassVar[int | None]
    """If `c**power * y` answers `c * x`, that power."""

    @property
    def format(self) -> AbstractFormat:
        """What problems and answers look like."""
        ...


class AbstractComponent(eqx.Module):
    """Something whose settings are its fields: an energy, a network, a gradient rule, a replay."""

    def settings(self) -> dict[str, Any]:
        """Return the settings as plain values, from which an equal component can be built."""
        return {f.name: plain(getattr(self, f.name)) for f in setting_fields(type(self))}


class AbstractFittedComponent(AbstractComponent):
    """A component with weights, which is built for the problems of a task."""

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return the fields that follow from the problems of `task`.

        Raises:
            ValueError: This component does not take such problems.
        """
        del task
        return {}

    @classmethod
    def for_task(
        cls: type[Component], task: HasFormat, *, key: PRNGKeyArray, **settings: Any
    ) -> Component:
        """Build the component for the problems of `task`; settings are its fields."""
        build: Any = cls
        return build(**{**cls.fit(task), **parsed(cls, settings)}, key=key)


def setting_fields(kind: type) -> list[dataclasses.Field[Any]]:
    """Return the fields of a component that are settings, in their order."""
    return [f for f in dataclasses.fields(kind) if f.metadata.get("setting")]


def plain(value: Any) -> Any:
    """Return a setting as JSON and TOML have it: a group of settings as a mapping."""
    if isinstance(value, AbstractComponent):
        return value.settings()
    return list(value) if isinstance(value, tuple) else value


def parsed(kind: type, given: Mapping[str, Any], what: str | None = None) -> dict[str, Any]:
    """Return settings read from a file as arguments of `kind`; an unknown one is refused.

    A group of settings may be given in part; the rest of it are defaults.
    """
    fields = {f.name: f for f in setting_fields(kind)}
    values = {}
    for name, value in given.items():
        known(f"setting of {what or kind.__name__}", name, list(fields))
        default = fields[name].default
        if isinstance(default, AbstractComponent) and not isinstance(value, type(default)):
            value = _group(default, value, f"{what or kind.__name__}.{name}")
        value = None if is_unset(fields[name], value) else value
        value = tuple(value) if isinstance(value, list) else value
        values[name] = _typed(fields[name], value, what or kind.__name__)
    return values


# What a setting of a simple type may be given as.
_TYPES = {"int": int, "float": (int, float), "bool": bool, "str": str, "None": type(None)}


def _typed(field: dataclasses.Field[Any], value: Any, what: str) -> Any:
    """Return a value in the type of its field; refuse a word for a number, and the like."""
    kind: Any = field.type
    names = (kind.__name__ if isinstance(kind, type) else str(kind)).split(" | ")
    if not all(name in _TYPES for name in names):
        return value
    is_bool = isinstance(value, bool)
    if not any(isinstance(value, _TYPES[n]) and is_bool in (n == "bool", False) for n in names):
        expected = " or ".join(names).replace("None", "none")
        raise InputError(f"`{field.name}` of {what} is {expected}, got {value!r}.")
    if "float" not in names or "int" in names or not isinstance(value, int):
        return value
    try:
        return float(value)
    except OverflowError as error:
        raise InputError(f"`{field.name}` of {what} is too large a number.") from error


def is_unset(field: dataclasses.Field[Any], value: Any) -> bool:
    """Return whether a value is the word "none", and the field may be `None`."""
    return value == "none" and "None" in str(field.type)


def _group(default: AbstractComponent, value: Any, what: str) -> AbstractComponent:
    """A group of settings with the values that are given."""
    if not isinstance(value, Mapping):
        names = ", ".join(f.name for f in setting_fields(type(default)))
        raise InputError(f"{what} is a group of settings ({names}), got {value!r}.")
    return dataclasses.replace(default, **parsed(type(default), value, what))


class Registry(Mapping[str, T], Generic[T]):
    """What can be named in a recipe or on the command line, by name.

    Arguments:
        what: What an entry is called in messages.
        entries: The entries that come with irem.

    Examples:
        >>> shapes = Registry("shape", {"round": 1, "square": 2})
        >>> shapes.register("oval", 3)
        >>> list(shapes), shapes["square"]
        (['round', 'square', 'oval'], 2)
    """

    def __init__(self, what: str, entries: Mapping[str, T]) -> None:
        self.what = what
        self._entries = dict(entries)

    def register(self, name: str, entry: T) -> None:
        """Add an entry of one's own; a name that is taken is refused."""
        if self._entries.get(name, entry) is not entry:
            raise InputError(f"There is a {self.what} called '{name}' already; choose another.")
        self._entries[name] = entry

    def __getitem__(self, name: object) -> T:
        """Return the entry called `name`, or refuse the name and say which is nearest."""
        if not isinstance(name, str):
            raise InputError(f"The name of {_article(self.what)} is a word, got {name!r}.")
        known(self.what, name, self._entries)
        return self._entries[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the entry called `name`, or the default."""
        return self._entries.get(name, default)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def name_of(self, value: object) -> str:
        """Return the name of the class of `value`, or its own name if it is not registered."""
        for name, entry in self._entries.items():
            if type(value) is entry:
                return name
        return type(value).__qualname__

    def describe(self, value: AbstractComponent) -> dict[str, Any]:
        """Return the name and the settings of a component."""
        return {"name": self.name_of(value), **value.settings()}


def _article(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"


def first_fitting(registry: Registry[Any], task: HasFormat) -> str:
    """Return the name of the first entry that takes the problems of `task`."""
    for name, kind in registry.items():
        try:
            kind.fit(task)
        except InputError:
            continue
        return name
    raise InputError(f"No {registry.what} takes {task.format.noun}, as '{task.name}' has them.")
