"""JSON that any reader takes, and files of it that may be damaged."""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from irem.errors import InputError

# Whole numbers of more digits are no counts; as many fit into 64 bits.
_MOST_DIGITS = 18
_DEEPEST = 50
_TOO_DEEP = "it is nested too deeply"


def dump(value: Any, *, indent: int | None = None) -> str:
    """Plain values as JSON; numbers that are not finite become null, as JSON has none."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def parse(text: str | bytes) -> Any:
    """Return the values of JSON in which every number is finite and of a usual size.

    Raises:
        ValueError: It is not JSON, a number is out of range, or it is nested too deeply.

    Examples:
        >>> parse('{"mean": 0.5}')
        {'mean': 0.5}
        >>> parse("[1e400]")
        Traceback (most recent call last):
        ValueError: the number 1e400 is out of range
    """
    readers = {"parse_constant": _refuse_number, "parse_float": _float, "parse_int": _integer}
    try:
        value = json.loads(text, **readers)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    level = [value]
    for _ in range(_DEEPEST):
        level = [child for item in level for child in _children(item)]
    if level:
        raise ValueError(_TOO_DEEP)
    return value


def read_json(path: Path, advice: str) -> Any:
    """Return the values in a file of JSON.

    Arguments:
        path: The file.
        advice: What to do with a damaged one, as the end of a sentence.

    Raises:
        InputError: The file is damaged.
    """
    try:
        return parse(path.read_bytes())
    except ValueError as error:
        raise InputError(f"'{path}' is damaged ({error}); {advice}.") from error


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return None
    return value


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _refuse_number(text: str) -> Any:
    shown = text if len(text) <= 2 * _MOST_DIGITS else f"{text[:_MOST_DIGITS]}..."
    raise ValueError(f"the number {shown} is out of range")


def _float(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse_number(text)


def _integer(text: str) -> int:
    return int(text) if len(text.lstrip("-")) <= _MOST_DIGITS else _refuse_number(text)
