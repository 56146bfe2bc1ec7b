"""Baselines on the command line."""

import json

import numpy as np
import pytest

from irem.methods import METHODS

BASELINES = [name for name in METHODS if name not in ("irem", "scaled")]
PARTS = {"recurrent": "cell"}


@pytest.fixture(scope="module")
def baselines(tmp_path_factory, train_quickly, keys):
    folder = tmp_path_factory.mktemp("baselines")
    runs = {}
    for name in BASELINES:
        (folder / name).mkdir()
        small = keys(**{"task__size": 6, f"{PARTS.get(name, 'network')}__width": 16})
        options = ("--method", name)
        runs[name] = train_quickly(folder / name, "addition", *options, small=small)
    return runs


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_is_evaluated(baselines, irem_cli, name):
    result = irem_cli("evaluate", baselines[name], "--problems", 20, "--json")
    assert result.code == 0
    found = json.loads(result.out)
    assert found["method"] == name
    assert found["energy"] is found["converged"] is found["max_steps"] is None
    assert np.isfinite(found["mse"])
    text = irem_cli("evaluate", baselines[name], "--problems", 20).out
    assert "converged" not in text


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_is_composed(baselines, irem_cli, name):
    arguments = ("compose", baselines[name], "--operations", 2, "--problems", 20)
    found = json.loads(irem_cli(*arguments, "--json").out)
    assert len(found["mse_by_operations"]) == 2
    assert found["paper_mse"] is None  # of a task that the paper does not have
    assert irem_cli(*arguments).code == 0


def test_a_baseline_resumes_with_its_own_settings(baselines, irem_cli):
    out = baselines["recurrent"]
    result = irem_cli("train", "addition", "--resume", "--out", out, "--iterations", 200, "--json")
    assert result.code == 0
    settings = json.loads((out / "run.json").read_text())
    assert settings["method"] == {"name": "recurrent", "num_steps": 5}
    assert settings["cell"] == {"name": "dense", "width": 16}
    assert settings["iterations"] == 200


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("solve", ["x.npy", "--out", "y.npy"]),
        ("calibrate", []),
        ("figure", ["--out", "f.png"]),
    ],
)
def test_what_needs_an_energy_says_so(
    baselines, irem_cli, tmp_path, monkeypatch, command, arguments
):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.zeros((2, 6), np.float32))
    name = ["error-by-step"] if command == "figure" else []
    result = irem_cli(command, *name, baselines["feedforward"], *arguments)
    assert result.code == 2
    assert "holds a feedforward network, which has no energy to descend on" in result.err
    assert [p.name for p in tmp_path.iterdir()] == ["x.npy"]


@pytest.mark.parametrize("option", [("--max-steps", 3), ("--step", "adam"), ("--step", 0.1)])
def test_options_of_descents_are_refused(baselines, irem_cli, option):
    result = irem_cli("evaluate", baselines["programmatic"], *option)
    assert result.code == 2
    assert f"{option[0]} is about descents on an energy" in result.err


@pytest.mark.parametrize(
    ("method", "override", "sentence"),
    [
        ("feedforward", "method.num_steps=3", "setting of the method feedforward 'num_steps'"),
        ("recurrent", "cell.depth=2", "setting of the dense cell 'depth'"),
        ("programmatic", "method.step_size=1.0", "method programmatic 'step_size'"),
        ("feedforward", "energy.name=mlp", "key of a recipe 'energy'"),
        ("feedforward", "gradient.name=full-unroll", "key of a recipe 'gradient'"),
    ],
)
def test_keys_of_other_methods_are_refused(irem_cli, tmp_path, method, override, sentence):
    arguments = ("train", "addition", "--out", tmp_path / "run", "--method", method)
    result = irem_cli(*arguments, "--set", override)
    assert result.code == 2
    assert sentence in result.err
    assert not (tmp_path / "run").exists()


def test_halting_is_chosen_for_pondernet_alone(baselines, irem_cli):
    arguments = ("--problems", 50, "--json", "--halting")
    errors = [
        json.loads(irem_cli("evaluate", baselines["programmatic"], *arguments, how).out)["mse"]
        for how in ("sample", "expected")
    ]
    assert errors[0] != errors[1]
    for name, how in (("recurrent", "expected"), ("programmatic", "never")):
        result = irem_cli("evaluate", baselines[name], *arguments, how)
        assert result.code == 2
        assert "halting" in result.err


def test_an_unknown_method_lists_the_known_ones(irem_cli, tmp_path):
    result = irem_cli("train", "addition", "--out", tmp_path / "run", "--method", "ponder")
    assert result.code == 2
    assert "known are feedforward, recurrent, programmatic, iterative-feedforward, irem" in (
        result.err
    )
