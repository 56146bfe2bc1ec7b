"""Cells of results: typed in memory, plain values in files."""

import dataclasses
import reprlib
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from irem.errors import InputError

AnyCell = TypeVar("AnyCell", bound="Cell")

DIFFICULTIES = ("same", "harder")
"""The difficulties of the paper's tables: problems like those of training, and harder ones."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spread:
    """An error over seeds; `None` stands for a number that is not finite.

    Arguments:
        mean: Mean over seeds.
        std: Standard deviation over seeds; `None` for one seed.
        seeds: How many models there are.
        mse_by_seed: The error of every model.
    """

    mean: float | None
    std: float | None
    seeds: int
    mse_by_seed: tuple[float | None, ...]

    @property
    def error(self) -> float:
        """The mean, or infinity where it is not finite, so that errors can be compared."""
        return float("inf") if self.mean is None else self.mean


def spread(values: Iterable[Any]) -> Spread:
    """Return mean, standard deviation and every number of the errors of some seeds."""
    numbers = tuple(float(v) for v in values)
    std = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else None
    return Spread(mean=float(np.mean(numbers)), std=std, seeds=len(numbers), mse_by_seed=numbers)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a measurement comes from.

    Arguments:
        commit: The commit of the program that measured it, if known.
        device: The device it was measured on; early results name one for all cells.
        clean: Whether the program was that commit and nothing else; `None` if unknown.
        note: What else there is to know about it.
    """

    commit: str | None
    device: str | None = None
    clean: bool | None = None
    note: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cell(Origin):
    """One measurement of an experiment. Experiments add fields.

    A field with a default may be missing in a file, and is left out where it has that value.

    Arguments:
        task: Name of the task.
        method: Name of the method.
        paper: The number that the paper prints for it, if it prints one.
    """

    task: str
    method: str
    paper: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, as they stand in a file."""
        return as_plain(self)

    @classmethod
    def from_dict(cls: type[AnyCell], given: Mapping[str, Any], where: str = "The cell") -> AnyCell:
        """Return the cell that `as_dict` gave.

        Arguments:
            given: The plain values.
            where: How messages call the cell.

        Raises:
            InputError: A field is unknown, missing or of another type.
        """
        return from_plain(cls, given, where)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ErrorCell(Cell, Spread):
    """An error over seeds with its floors.

    Arguments:
        trivial: Error of the predictor that learns nothing, on the same problems.
        best: Error of the best possible answer, on the same problems.
    """

    trivial: float | None
    best: float | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class DifficultyCell(ErrorCell):
    """An error on problems of one difficulty."""

    difficulty: str

    @property
    def place(self) -> tuple[str, str]:
        """Task and difficulty, which cells of several methods have in common."""
        return self.task, self.difficulty


ErrorCells = TypeVar("ErrorCells", bound=DifficultyCell)


def read_cell(kinds: Sequence[type[AnyCell]], given: Any, where: str) -> AnyCell:
    """Return plain values as a cell of the kind whose fields are most like them.

    Raises:
        InputError: The values are not those of such a cell.
    """
    if not isinstance(given, Mapping):
        raise InputError(f"{where} is {reprlib.repr(given)} and not a cell.")
    nearest = min(kinds, key=lambda kind: len(_wrong_fields(kind, given)))
    return nearest.from_dict(given, where)


def indexed_by_difficulty(
    cells: Sequence[ErrorCells], *names: str
) -> dict[tuple[str, ...], dict[str, tuple[int, ErrorCells]]]:
    """Return cells and their indices by the values of some fields, then by difficulty."""
    groups: dict[tuple[str, ...], dict[str, tuple[int, ErrorCells]]] = {}
    for index, cell in enumerate(cells):
        group = tuple(getattr(cell, name) for name in names)
        groups.setdefault(group, {})[cell.difficulty] = (index, cell)
    return groups


def lowest_error(cells: Sequence[ErrorCells], cell: ErrorCells) -> float:
    """Return the lowest error of any cell with the task and difficulty of `cell`."""
    return min(other.error for other in cells if other.place == cell.place)


def as_plain(value: Any) -> Any:
    """Return dataclasses as mappings and tuples as lists; fields at their defaults are left out."""
    if dataclasses.is_dataclass(value):
        pairs = ((f, getattr(value, f.name)) for f in dataclasses.fields(value))
        return {f.name: as_plain(v) for f, v in pairs if _is_required(f) or v != f.default}
    if isinstance(value, Mapping):
        return {name: as_plain(item) for name, item in value.items()}
    return [as_plain(item) for item in value] if isinstance(value, tuple | list) else value


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is field.default_factory is dataclasses.MISSING


def _wrong_fields(kind: Any, given: Mapping[str, Any]) -> set[str]:
    """Fields that are missing in `given`, and those that `kind` does not have."""
    fields = {f.name: f for f in dataclasses.fields(kind)}
    missing = {name for name, f in fields.items() if _is_required(f)} - set(given)
    return missing | (set(given) - set(fields))


def from_plain(kind: Any, given: Any, where: str) -> Any:
    """Return the object of the dataclass `kind` whose plain values are given.

    Raises:
        InputError: A field is unknown, missing or of another type; `where` begins the message.
    """
    if not isinstance(given, Mapping):
        raise InputError(f"{where} is {reprlib.repr(given)} and not a mapping of fields.")
    wrong = _wrong_fields(kind, given)
    for name in sorted(wrong):
        what = "has the unknown field" if name in given else "lacks the field"
        raise InputError(f"{where} {what} {reprlib.repr(name)}.")
    hints = typing.get_type_hints(kind)
    values = {n: read_plain(hints[n], v, f"{where}, field '{n}',") for n, v in given.items()}
    try:
        return kind(**values)
    except ValueError as error:  # fields that do not fit each other
        raise InputError(f"{where} is damaged: {error}.") from error


def read_plain(hint: Any, value: Any, where: str) -> Any:
    """Return a plain value as the type that a field declares.

    Arguments:
        hint: The type: a simple one, a dataclass, a tuple or a mapping of such, or one with `None`.
        value: The plain value.
        where: Begins the message about one of another type.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin is types.UnionType:  # with None; nothing else is used here
        (one,) = (kind for kind in inner if kind is not type(None))
        return None if value is None else read_plain(one, value, where)
    if dataclasses.is_dataclass(hint):
        return from_plain(hint, value, where)
    if origin is tuple and isinstance(value, list):
        return tuple(read_plain(inner[0], item, where) for item in value)
    if origin is Mapping and isinstance(value, dict):
        return {name: read_plain(inner[1], item, where) for name, item in value.items()}
    accepted = (int, float) if hint is float else hint
    if origin is None and isinstance(value, accepted) and isinstance(value, bool) <= (hint is bool):
        return float(value) if hint is float else value
    expected = {tuple: "a list", Mapping: "a mapping"}.get(origin) or hint.__name__
    raise InputError(f"{where} is {reprlib.repr(value)}; expected {expected}.")
