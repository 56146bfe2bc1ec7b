"""The tables on the pages are those of the measured results."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_tables_are_made_from_the_committed_results(monkeypatch):
    path = ROOT / "tools/render_results.py"
    monkeypatch.syspath_prepend(path.parent)
    spec = importlib.util.spec_from_file_location("render_results", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for page, text in module.pages().items():
        assert page.read_text() == text, f"run python tools/render_results.py ({page.name})"
