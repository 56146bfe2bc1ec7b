"""Documentation that runs, and that names everything a user can reach."""

import importlib
import re
import types
import typing
from pathlib import Path

import pytest

import irem
from irem.cli import program
from irem.cli.program import COMMANDS
from irem.descent import STEPS
from irem.energy import ENERGIES
from irem.methods import METHODS
from irem.paper import EXPERIMENTS
from irem.tasks import TASKS

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", *(str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").rglob("*.md"))))
# By their code, as two pages begin with the same example.
EXAMPLES = {
    code: f"{page}-{number}"
    for page in PAGES
    for number, code in enumerate(
        re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    )
}


@pytest.fixture
def unregistered(monkeypatch):
    """What an example registers is gone after it."""
    for names in (ENERGIES, EXPERIMENTS, METHODS, STEPS, TASKS):
        monkeypatch.setattr(names, "_entries", dict(names))
    monkeypatch.setattr(program, "COMMANDS", dict(COMMANDS))


@pytest.mark.parametrize("code", EXAMPLES, ids=EXAMPLES.values())
@pytest.mark.usefixtures("unregistered")
def test_examples_run(code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "example", "exec"), {"__name__": "example"})
    assert capsys.readouterr().out.strip()


ROOMS = (
    "descent",
    "energy",
    "evaluation",
    "fitting",
    "formats",
    "mazes",
    "methods",
    "nn",
    "puzzles",
    "settings",
    "tasks",
    "training",
    "apps.mazes",
    "apps.pictures",
    "apps.puzzles",
    "apps.sat",
    "apps.sums",
    "serve",
    "sklearn",
)


def public_names():
    """Every name that users can reach; one that `irem` itself has goes by that."""
    at_the_top = [n for n in irem.__all__ if not isinstance(getattr(irem, n), types.ModuleType)]
    yield from (f"irem.{name}" for name in at_the_top if not name.startswith("_"))
    for room in ROOMS:
        module = importlib.import_module(f"irem.{room}")
        for name, value in vars(module).items():
            if name.startswith("_") or isinstance(value, types.ModuleType):
                continue
            if name in at_the_top and getattr(irem, name) is value:
                continue
            if is_own(room, module, name, value):
                yield f"irem.{room}.{name}"


def is_own(room, module, name, value):
    """Whether a name is offered by a room, and not just imported for its use."""
    if room in ("puzzles", "settings"):  # single files
        return getattr(value, "__module__", module.__name__) == module.__name__ and not isinstance(
            value, typing.TypeVar
        )
    text = Path(module.__file__).read_text()
    return f"import {name} as {name}" in text or f"def {name}(" in text or name.isupper()


@pytest.mark.parametrize("page", ["README.md", "docs/command-line.md"])
def test_every_command_is_documented(page):
    text = (ROOT / page).read_text()
    # The demo is `make demo` in the README.
    names = [name for name in COMMANDS if (page, name) != ("README.md", "demo")]
    assert [name for name in names if f"irem {name} " not in text.replace("`", " ")] == []


def test_every_public_name_is_in_the_reference():
    documented = set(
        re.findall(r"^::: (\S+)", (ROOT / "docs/reference.md").read_text(), re.MULTILINE)
    )
    assert documented == set(public_names())


def test_public_names_have_docstrings():
    for name in public_names():
        value = irem
        for part in name.split(".")[1:]:
            value = getattr(value, part)
        is_alias = isinstance(value, types.UnionType) or typing.get_origin(value) is not None
        if callable(value) and not is_alias:
            assert value.__doc__, name
