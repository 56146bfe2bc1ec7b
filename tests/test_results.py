"""The tables on the pages are those of the measured results."""

import argparse
import importlib.util
import json
import re
from pathlib import Path

import jax
import numpy as np
import pytest

from irem.evaluation import standard_error

ROOT = Path(__file__).parent.parent


@pytest.fixture
def tool(monkeypatch):
    """Load a program of tools/ by name."""
    monkeypatch.syspath_prepend(ROOT / "tools")

    def load(name):
        spec = importlib.util.spec_from_file_location(name, ROOT / f"tools/{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def test_the_tables_are_made_from_the_committed_results(tool):
    for page, text in tool("render_results").pages().items():
        assert page.read_text() == text, f"run python tools/render_results.py ({page.name})"


def test_files_that_pages_name_exist():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("src/irem/zoo/*/*.md")]
    path = re.compile(r"(?:benchmarks|tools|results)/[\w/-]+\.(?:py|json)")
    named = {name for page in pages for name in path.findall(page.read_text())}
    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_models_of_the_zoo_are_measured_on_enough_problems_to_see_rare_failures():
    measured = json.loads((ROOT / "results/zoo.json").read_text())
    cells = json.loads((ROOT / "results/structure.json").read_text())["cells"]
    for cell in cells:
        row = measured[cell["task"]][cell["difficulty"]]
        assert row["mse_sem"] > 0
        assert row["problems"] >= 1000 or "nodes" in cell["difficulty"]
        if cell["task"] == "connected-components" and cell["difficulty"] in ("same", "harder"):
            assert row["problems"] == 10_000


def test_pieces_of_a_measurement_are_pooled(tool):
    program = tool("zoo_errors")
    drawn = []

    def piece(key):
        rng = np.random.default_rng(jax.random.key_data(key).tolist())
        drawn.append(rng.lognormal(size=program.PIECE))
        return {"errors": drawn[-1], "trivial": len(drawn), "wrong": drawn[-1] > 2}

    row = program.measure(piece, argparse.Namespace(problems=3000, minutes=1))
    errors = np.concatenate(drawn)
    assert row["problems"] == 3000
    assert row["mse"] == pytest.approx(errors.mean())
    assert row["mse_sem"] == pytest.approx(standard_error(errors))
    assert row["trivial"] == 2
    assert row["wrong_problems"] == (errors > 2).sum()
    assert len(np.unique(errors)) == 3000  # no problem twice
    hurried = program.measure(piece, argparse.Namespace(problems=9000, minutes=0))
    assert hurried["problems"] == program.PIECE
