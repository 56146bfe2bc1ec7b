"""Runs with a scratchpad on the command line."""

import json

import numpy as np
import pytest


@pytest.fixture(scope="module")
def padded(tmp_path_factory, train_quickly, keys):
    folder = tmp_path_factory.mktemp("padded")
    options = keys(task__size=6, energy__depth=1, method__num_steps=2, energy__scratch=5)
    return train_quickly(folder, "addition", *options)


def test_the_size_is_kept_and_comes_back_on_resume(padded, irem_cli):
    arguments = ("train", "addition", "--resume", "--out", padded, "--iterations", 200)
    result = irem_cli(*arguments, "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["scratchpad"] == 5
    energy = json.loads((padded / "run.json").read_text())["energy"]
    assert energy == {"name": "mlp", "width": 16, "depth": 1, "scratch": 5}
    result = irem_cli(*arguments, "--set", "energy.scratch=4")
    assert result.code == 2
    assert "other settings" in result.err


def test_answers_are_measured_and_written_without_it(padded, irem_cli, tmp_path):
    # Three problems everywhere: what is compiled once serves all.
    options = ("--max-steps", 3, "--json")
    found = json.loads(irem_cli("evaluate", padded, "--problems", 3, *options).out)
    assert found["scratchpad"] == 5
    assert np.isfinite(found["mse"])
    np.save(tmp_path / "x.npy", np.ones((3, 2, 6), np.float32))
    files = (tmp_path / "x.npy", "--out", tmp_path / "y.npy")
    assert json.loads(irem_cli("solve", padded, *files, *options).out)["shape"] == [3, 6]
    assert np.load(tmp_path / "y.npy").shape == (3, 6)
    composed = irem_cli("compose", padded, "--operations", 2, "--problems", 3, *options)
    assert len(json.loads(composed.out)["mse_by_operations"]) == 2


def test_a_size_below_zero_is_refused_in_one_sentence(irem_cli, tmp_path):
    options = ("--recipe", "paper", "--set", "energy.scratch=-1")
    result = irem_cli("train", "addition", "--out", tmp_path / "run", *options)
    assert result.code == 2
    assert "`scratch` must be 0 or more, got -1" in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()
