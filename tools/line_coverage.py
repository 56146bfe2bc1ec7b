"""A plugin of pytest that notes which lines of irem are run: `-p line_coverage --lines-to FILE`."""

import json
import sys
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

_lines: dict[str, set[int]] = defaultdict(set)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file."""
    parser.addoption("--lines-to", default=None)


def pytest_configure(config: pytest.Config) -> None:
    """Begin to watch before irem is imported."""
    if config.getoption("--lines-to"):
        sys.settrace(_on_call)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Write the lines by module, named from the root of the repository."""
    sys.settrace(None)
    target = config.getoption("--lines-to")
    if target:
        named = {
            f"src/irem/{name.rpartition('/src/irem/')[2]}": sorted(v) for name, v in _lines.items()
        }
        Path(target).write_text(json.dumps(named))


def _on_call(frame: FrameType, event: str, argument: Any) -> Any:
    del event, argument
    name = frame.f_code.co_filename
    if "/src/irem/" not in name:
        return None
    seen = _lines[name]
    seen.add(frame.f_lineno)

    def on_line(inner: FrameType, event: str, argument: Any) -> Any:
        del event, argument
        seen.add(inner.f_lineno)
        return on_line

    return on_line
