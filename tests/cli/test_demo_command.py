"""`irem demo` at a size that takes seconds."""

import functools
import json
import os
import signal

import pytest

import irem
from irem.cli import demo as command
from irem.interrupt import Interrupt
from irem.locks import locked
from irem.paper import DemoSettings

# A smaller network compiles faster; the command has no option for it.
SMALL = DemoSettings(
    problems=8,
    max_steps=10,
    changes={"batch_size": 4, "energy.width": 4, "energy.encoder_depth": 0, "energy.depth": 1},
)


@pytest.fixture(autouse=True)
def flags_of_the_compiler(monkeypatch):
    """What the command sets for its own process is gone after a test."""
    monkeypatch.setenv("XLA_FLAGS", os.environ.get("XLA_FLAGS", ""))


def test_the_compiler_is_told_to_be_quick_unless_it_has_flags(irem_cli, monkeypatch, tmp_path):
    for given, expected in ((None, "--xla_backend_optimization_level=1"), ("--mine", "--mine")):
        if given is None:
            monkeypatch.delenv("XLA_FLAGS")
        else:
            monkeypatch.setenv("XLA_FLAGS", given)
        assert irem_cli("demo", "--out", tmp_path / "demo", "--iterations", 0).code == 2
        assert os.environ["XLA_FLAGS"] == expected


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
    assert page.count("data:image/png;base64") == 5
    assert (tmp_path / "run" / "landscape.png").read_bytes().startswith(b"\x89PNG")
    lines = irem_cli(*arguments).out.splitlines()
    assert lines[0].split() == ["matrices", "mse", "paper", "trivial", "steps"]
    assert lines[-1] == f"Open {tmp_path / 'run' / 'index.html'} in a browser."


def test_a_second_demo_in_the_same_folder_is_refused_in_one_sentence(
    irem_cli, tmp_path, monkeypatch
):
    monkeypatch.setattr(command, "demo", functools.partial(command.demo, settings=SMALL))
    with locked(tmp_path, ""):
        result = irem_cli("demo", "--out", tmp_path, "--iterations", 2, "--size", 2)
    assert result.code == 2
    assert f"irem: Another process is training in '{tmp_path}'; wait for it." in result.err
    assert "Traceback" not in result.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_demonstration_that_is_interrupted_says_by_what(
    irem_cli, monkeypatch, tmp_path, number, code
):
    def interrupted(*arguments, **options):
        with Interrupt("Stopping.") as interrupt:
            signal.raise_signal(number)
            assert interrupt.asked
        raise KeyboardInterrupt

    monkeypatch.setattr("irem.cli.demo.demo", interrupted)
    assert irem_cli("demo", "--out", tmp_path / "demo").code == code
