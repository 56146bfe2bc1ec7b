"""JSON that any reader takes."""

import json
from typing import Any


def dump(value: Any, *, indent: int | None = None) -> str:
    """Plain values as JSON; numbers that are not finite become null, as JSON has none."""
    return json.dumps(_finite(value), indent=indent, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return None
    return value
