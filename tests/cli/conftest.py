"""The program in this process: starting Python and JAX anew for every case takes seconds."""

import sys
from collections import namedtuple

import pytest

from irem.cli import main

Result = namedtuple("Result", "code out err")


@pytest.fixture
def irem_cli(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["irem", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Result(ended.value.code or 0, out, err)

    return run


def overrides(**settings):
    """Options that override keys of a recipe; two underscores stand for a dot."""
    return [part for k, v in settings.items() for part in ("--set", f"{k.replace('__', '.')}={v}")]


SMALL = overrides(energy__width=16, replay__capacity=50)


def quick_train(folder, task, *options, small=SMALL):
    """A run so small that it learns next to nothing; made once for each module."""
    out = folder / task
    arguments = ["train", task, "--out", out, "--recipe", "paper", "--iterations", 100]
    arguments += ["--batch-size", 8, *small]
    argv, sys.argv = sys.argv, ["irem", *map(str, [*arguments, *options])]
    try:
        with pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = argv
    assert not ended.value.code
    return out


@pytest.fixture(scope="session")
def train_quickly():
    return quick_train


@pytest.fixture(scope="session")
def keys():
    """Make options that override keys of a recipe."""
    return overrides


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return {
        "addition": quick_train(folder, "addition", *overrides(task__size=6)),
        "matrix-inverse": quick_train(
            folder, "matrix-inverse", *overrides(task__size=3), "--seeds", 2
        ),
        "shortest-path": quick_train(folder, "shortest-path", *overrides(energy__aggregate="sum")),
    }
