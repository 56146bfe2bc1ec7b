"""`irem calibrate`, and abstaining by what it kept."""

import dataclasses
import json
import os
import re
import shlex
import shutil

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import irem
from irem.evaluation import read_calibrations, reliability, write_calibrations


@pytest.fixture(scope="module")
def calibrated(runs, tmp_path_factory):
    """A calibrated copy of a run, in a folder whose name has a space."""
    path = shutil.copytree(runs["addition"], tmp_path_factory.mktemp("calibrated") / "my run")
    run = irem.load(path)
    calibration = irem.calibrate(run.model, run.task, problems=60, key=jax.random.key(0))
    write_calibrations(run, [calibration])
    return path


@pytest.fixture
def run_folder(calibrated, tmp_path):
    return shutil.copytree(calibrated, tmp_path / "my run")


@pytest.fixture
def x(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.random.default_rng(0).uniform(-1, 1, (30, 2, 6)).astype(np.float32))
    return path


@pytest.mark.parametrize("text", ["{", '{"iteration": 100, "calibrations": [{}]}'])
def test_a_damaged_calibration_is_made_again_by_what_the_message_advises(
    text, run_folder, x, irem_cli, tmp_path
):
    (run_folder / "calibration.json").write_text(text)
    solve = ("solve", run_folder, x, "--out", tmp_path / "y.npy", "--max-error", 1)
    refused = irem_cli(*solve)
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    assert not (tmp_path / "y.npy").exists()
    advised = shlex.split(re.search(r"`irem (.+?)`", refused.err)[1])
    assert irem_cli(*advised, "--problems", 60).code == 0
    followed = irem_cli(*solve)
    assert followed.code == 0
    assert "calibrating" not in followed.err


def test_the_problems_of_the_report_are_not_those_that_were_fitted(
    run_folder, irem_cli, monkeypatch
):
    asked = []

    def recorded(model, x, **options):
        asked.append(np.asarray(x))
        return solve(model, x, **options)

    solve = reliability.solve
    monkeypatch.setattr(reliability, "solve", recorded)
    assert irem_cli("calibrate", run_folder, "--problems", 60).code == 0
    fitted, reported = (np.concatenate(asked[i : i + 2]) for i in (0, 2))
    assert len(asked) == 4
    assert len(np.unique(np.concatenate([fitted, reported]), axis=0)) == 240


def test_problems_unlike_the_validation_problems_are_not_answered(
    run_folder, x, irem_cli, tmp_path
):
    np.save(x, 1e6 * np.load(x))
    out = tmp_path / "y.npz"
    result = irem_cli("solve", run_folder, x, "--out", out, "--max-error", 1e30, "--json")
    with np.load(out) as kept:
        assert np.isinf(kept["expected_error"]).all()
        assert np.isnan(kept["y"]).all()
    told = json.loads(result.out)
    assert told["unfamiliar"] == told["abstained"] == 30


class Known:
    """A calibration that expects given errors."""

    def __init__(self, expected):
        self.expected = expected

    def annotate(self, solution):
        return dataclasses.replace(solution, expected_error=self.expected)


def test_what_is_expected_to_be_above_the_bound_is_left_out_and_nothing_else(
    run_folder, x, irem_cli, monkeypatch, tmp_path
):
    expected = jax.numpy.tile(jax.numpy.array([0.1, 0.6, jax.numpy.inf]), 10)
    monkeypatch.setattr("irem.cli.solve.read_calibrations", lambda _: [Known(expected)])
    out = tmp_path / "y.npz"
    result = irem_cli("solve", run_folder, x, "--out", out, "--max-error", 0.5, "--json")
    with np.load(out) as kept:
        np.testing.assert_array_equal(kept["abstained"], expected > 0.5)
        np.testing.assert_array_equal(np.isnan(kept["y"]).all(1), expected > 0.5)
    told = json.loads(result.out)
    assert (told["unfamiliar"], told["abstained"]) == (10, 20)


def spoiled(folder, value):
    """Set every weight of a run to a value that is not finite."""
    arrays = load_file(folder / "checkpoint.safetensors")
    arrays = {
        name: np.full_like(a, value) if ".method." in name and a.dtype == np.float32 else a
        for name, a in arrays.items()
    }
    save_file(arrays, folder / "checkpoint.safetensors")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_answer_nothing(value, run_folder, x, irem_cli, tmp_path):
    spoiled(run_folder, value)
    out = tmp_path / "y.npz"
    result = irem_cli("solve", run_folder, x, "--out", out, "--max-error", 1e30)
    assert result.code == 1
    with np.load(out) as kept:
        assert kept["abstained"].all()
        assert np.isinf(kept["expected_error"]).all()
        assert np.isnan(kept["y"]).all()


def test_weights_that_are_not_finite_are_not_calibrated(run_folder, irem_cli):
    spoiled(run_folder, np.nan)
    before = (run_folder / "calibration.json").read_text()
    result = irem_cli("calibrate", run_folder)
    assert result.code == 1
    assert "weights of model 0" in result.err
    assert (run_folder / "calibration.json").read_text() == before


def test_a_folder_that_cannot_be_written_is_refused_before_any_work(
    run_folder, irem_cli, monkeypatch
):
    monkeypatch.setattr("irem.cli.calibrate.os.access", lambda _, mode: mode != os.W_OK)
    monkeypatch.setattr(irem, "calibrate", None)
    result = irem_cli("calibrate", run_folder)
    assert result.code == 2
    assert "which is read-only; copy the run to another folder" in result.err


def test_a_calibration_that_cannot_be_kept_serves_once(
    run_folder, calibrated, x, irem_cli, monkeypatch, tmp_path
):
    (run_folder / "calibration.json").unlink()
    (calibration,) = read_calibrations(irem.load(calibrated))
    monkeypatch.setattr(irem, "calibrate", lambda *_, **__: calibration)

    def full(run, calibrations):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("irem.cli.calibrate.write_calibrations", full)
    result = irem_cli("solve", run_folder, x, "--out", tmp_path / "y.npy", "--max-error", 1e30)
    assert result.code == 0
    assert "the calibration is not kept: '" in result.err
    assert "(No space left on device)" in result.err
    assert not (run_folder / "calibration.json").exists()


def test_errors_have_a_standard_error(run_folder, irem_cli):
    printed = irem_cli("calibrate", run_folder, "--problems", 60).out.splitlines()
    assert [line.split()[0] for line in printed[:4]] == ["problems", "same", "harder", "both"]
    assert all(line.count(" ± ") == 2 for line in printed[1:4])
