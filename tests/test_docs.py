"""Documentation that runs, and that names everything a user can reach."""

import re
import types
import typing
from pathlib import Path

import pytest

import irem
from irem.cli._main import _COMMANDS

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", "docs/index.md", "docs/extending.md", "docs/sat.md", "docs/denoising.md")
# By their code, as two pages begin with the same example.
EXAMPLES = {
    code: f"{page}-{number}"
    for page in PAGES
    for number, code in enumerate(
        re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    )
}


@pytest.mark.parametrize("code", EXAMPLES, ids=EXAMPLES.values())
def test_examples_run(code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # The first examples train at full size; here they only have to run.
    quick = code.replace("iterations=10_000, batch_size=128", "iterations=2, batch_size=4")
    quick = quick.replace("jax.random.key(2), 1000,", "jax.random.key(2), 20,")
    exec(compile(quick, "example", "exec"), {"__name__": "example"})
    assert capsys.readouterr().out.strip()


def public_names():
    for module in (irem, irem.descent, irem.energy, irem.tasks):
        for name, value in vars(module).items():
            if name.startswith("_") or isinstance(value, types.ModuleType):
                continue
            if module is irem.descent and name in vars(irem):
                continue  # documented under its shorter name
            imported_for_use = module is not irem and name in (
                "Mapping",
                "MappingProxyType",
                "Any",
                "known",
                "InputError",
            )
            if not imported_for_use:
                yield f"{module.__name__}.{name}"


@pytest.mark.parametrize("page", ["README.md", "docs/command-line.md"])
def test_every_command_is_documented(page):
    text = (ROOT / page).read_text()
    # The demo is `make demo` in the README.
    names = [c.NAME for c in _COMMANDS if (page, c.NAME) != ("README.md", "demo")]
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
