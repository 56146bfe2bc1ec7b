"""`irem demo` at a size that takes seconds."""

import functools
import json

import irem
from irem.cli import demo as command
from irem.paper import DemoSettings

# A smaller network compiles faster; the command has no option for it.
SMALL = DemoSettings(
    problems=8,
    max_steps=10,
    changes={"batch_size": 4, "energy.width": 4, "energy.encoder_depth": 0, "energy.depth": 1},
)


def test_the_demo_trains_measures_and_writes_its_page(irem_cli, tmp_path, monkeypatch):
    smaller = functools.partial(command.demo, settings=SMALL)
    monkeypatch.setattr(command, "demo", smaller)
    arguments = ("demo", "--out", tmp_path / "run", "--iterations", 2, "--size", 2)
    result = irem_cli(*arguments, "--json")
    assert result.code == 0
    rows = json.loads(result.out)["evaluations"]
    assert [(row["size"], row["difficulty"]) for row in rows] == [
        (2, "same"),
        (4, "same"),
        (4, "harder"),
    ]
    assert "training on matrices of 2 x 2" in result.err
    assert irem.load(tmp_path / "run").iteration == 2
    page = (tmp_path / "run" / "index.html").read_text()
    assert page.count("data:image/png;base64") == 4
    assert (tmp_path / "run" / "landscape.png").read_bytes().startswith(b"\x89PNG")
    lines = irem_cli(*arguments).out.splitlines()
    assert lines[0].split() == ["matrices", "mse", "paper", "trivial", "steps"]
    assert lines[-1] == f"Open {tmp_path / 'run' / 'index.html'} in a browser."
