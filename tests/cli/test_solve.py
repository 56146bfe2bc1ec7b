"""Long files, several starts, and abstaining."""

import dataclasses
import errno
import json
import shutil
import signal
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import irem
from irem.cli.solve import Pages, _Filter


@pytest.fixture(scope="module")
def x(tmp_path_factory):
    path = tmp_path_factory.mktemp("problems") / "x.npy"
    np.save(path, np.random.default_rng(0).uniform(-1, 1, (30, 2, 6)).astype(np.float32))
    return path


def read(path):
    if path.suffix == ".csv":
        return np.loadtxt(path, delimiter=",")
    with np.load(path) if path.suffix == ".npz" else open(path, "rb") as file:
        return file["y"] if path.suffix == ".npz" else np.load(file)


@pytest.mark.parametrize("name", ["y.npy", "y.npz", "y.csv"])
def test_page_by_page_a_file_is_answered_like_all_at_once(
    name, x, runs, irem_cli, tmp_path, monkeypatch
):
    options = ("--max-steps", 9, "--step", "fixed", "--json")
    first = irem_cli("solve", runs["addition"], x, "--out", tmp_path / f"all-{name}", *options)
    read_pages = Pages.read
    monkeypatch.setattr(Pages, "read", lambda *given: read_pages(*given, largest=120))
    second = irem_cli("solve", runs["addition"], x, "--out", tmp_path / name, *options)
    assert (first.code, second.code) == (0, 0)
    np.testing.assert_allclose(
        read(tmp_path / name), read(tmp_path / f"all-{name}"), rtol=1e-4, atol=1e-5
    )
    one, two = json.loads(first.out), json.loads(second.out)
    assert one["shape"] == two["shape"] == [30, 6]
    assert one["reasons"] == two["reasons"]
    assert one["steps_mean"] == two["steps_mean"]
    if name == "y.npz":
        with np.load(tmp_path / name) as kept, np.load(tmp_path / f"all-{name}") as whole:
            assert set(kept.files) == set(whole.files) >= {"y", "steps", "energy", "abstained"}
            np.testing.assert_array_equal(kept["steps"], whole["steps"])


# Where answers are sought, compiled code runs for longer than the test.
BUSY = """
import numpy as np
import irem.cli.solve
from irem.cli import main

def busy(*arguments, **options):
    print("ready", flush=True)
    np.linalg.svd(np.random.default_rng(0).normal(size=(5000, 5000)))

irem.cli.solve.solve_checked = busy
main()
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_at_once_leaves_nothing_behind_and_loses_nothing(
    number, code, x, runs, tmp_path
):
    out = tmp_path / "y.npy"
    np.save(out, np.arange(3))
    command = [sys.executable, "-c", BUSY, "solve", runs["addition"], x, "--out", out]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            assert [p.suffix for p in tmp_path.iterdir() if p != out] == [".unfinished"]
            process.send_signal(number)
            assert process.wait(10) == code
            assert process.stderr.read() == b"irem: interrupted.\n"
        finally:
            process.kill()
    assert [p.name for p in tmp_path.iterdir()] == ["y.npy"]
    np.testing.assert_array_equal(np.load(out), np.arange(3))


def test_the_lowest_of_several_starts_is_written(runs, irem_cli, tmp_path):
    from irem.cli.common import fresh_key

    x, out = graphs(tmp_path), tmp_path / "y.npz"
    options = ("--starts", 3, "--max-steps", 9, "--json")
    assert irem_cli("solve", runs["shortest-path"], x, "--out", out, *options).code == 0
    model, key = irem.load(runs["shortest-path"]).model, fresh_key(0, "solve")
    expected = irem.solve(model, np.load(x), key=key, starts=3, max_steps=9)
    with np.load(out) as kept:
        np.testing.assert_allclose(kept["energy"], expected.energy, rtol=1e-6)
        np.testing.assert_allclose(kept["spread"], expected.spread, rtol=1e-5)
        assert (kept["spread"] > 0).all()


def graphs(folder):
    path = folder / "graphs.npy"
    x = np.random.default_rng(1).uniform(0, 1, (4, 5, 5)).astype(np.float32)
    np.save(path, x + x.transpose(0, 2, 1))
    return path


def flat_graphs(folder, problems):
    """Graphs of three nodes as the flat rows of a table."""
    edges = np.random.default_rng(2).uniform(0.1, 1, (problems, 3, 3))
    path = folder / "x.csv"
    np.savetxt(path, (edges + edges.transpose(0, 2, 1)).reshape(problems, 9), delimiter=",")
    return path


def test_a_table_that_may_be_one_graph_or_nine_is_refused_with_the_way_to_say_which(
    runs, irem_cli, tmp_path
):
    x, out = flat_graphs(tmp_path, 9), tmp_path / "y.csv"
    arguments = ("solve", runs["shortest-path"], x, "--out", out, "--max-steps", 2)
    result = irem_cli(*arguments)
    assert result.code == 2
    assert "`--problems 1` or `--problems 9`" in result.err
    assert not out.exists()
    np.savetxt(x, np.ones((9, 9)), delimiter=",")  # symmetric in both readings
    for problems, shape in ((1, [9, 9]), (9, [9, 3, 3])):
        result = irem_cli(*arguments, "--problems", problems, "--json")
        assert result.code == 0, result.err
        assert json.loads(result.out)["shape"] == shape
        assert np.loadtxt(out, delimiter=",").shape == (9, 9)
    assert "1 or 9, not 4" in irem_cli(*arguments, "--problems", 4).err


def test_budgets_and_starts_without_a_limit_are_refused(x, runs, irem_cli, tmp_path):
    arguments = ("solve", runs["addition"], x, "--out", tmp_path / "y.npy")
    result = irem_cli(*arguments, "--max-steps", 10**12)
    assert (result.code, "at most 2,147,483,647, got 1,000,000,000,000" in result.err) == (2, True)
    result = irem_cli(*arguments, "--starts", 10**12)
    assert result.code == 2
    assert "from 1,000,000,000,000 first guesses each needs about" in result.err
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def calibrated(runs, tmp_path_factory):
    """A copy of a run, so that others see it as it was."""
    return shutil.copytree(runs["addition"], tmp_path_factory.mktemp("calibrated") / "run")


def test_abstaining_answers_nan_and_says_so(x, calibrated, irem_cli, tmp_path, monkeypatch):
    monkeypatch.setattr("irem.cli.solve._CALIBRATION_PROBLEMS", 60)
    out = tmp_path / "y.npz"
    arguments = ("solve", calibrated, x, "--out", out, "--max-error")
    result = irem_cli(*arguments, 1e-9, "--json")
    assert result.code == 0
    assert "calibrating the run once" in result.err
    assert json.loads(result.out)["abstained"] == 30
    assert (calibrated / "calibration.json").exists()
    again = irem_cli(*arguments, 1e30)
    assert "calibrating" not in again.err
    with np.load(out) as kept:
        abstained = kept["abstained"]
        np.testing.assert_array_equal(np.isnan(kept["y"]).all(1), abstained)
        np.testing.assert_array_equal(abstained, kept["expected_error"] > 1e30)
    assert f"Abstained from {abstained.sum()} of 30" in again.out


def test_a_run_that_cannot_be_written_is_calibrated_for_this_once(
    x, runs, irem_cli, tmp_path, monkeypatch
):
    def refuse(run, calibrations):
        raise OSError(errno.EROFS, "Read-only file system", str(run.path))

    monkeypatch.setattr("irem.cli.calibrate.write_calibrations", refuse)
    monkeypatch.setattr("irem.cli.solve._CALIBRATION_PROBLEMS", 60)
    out = tmp_path / "y.npz"
    result = irem_cli("solve", runs["addition"], x, "--out", out, "--max-error", 1e30, "--json")
    assert result.code == 0, result.err
    assert "the calibration is not kept" in result.err
    assert "Read-only file system" in result.err
    assert not (runs["addition"] / "calibration.json").exists()
    assert out.exists()


def test_answers_without_an_expected_error_are_left_out():
    class Unknowing:
        def annotate(self, solution):
            return dataclasses.replace(solution, expected_error=jnp.array([0.1, np.nan, np.inf]))

    solution = irem.Solution(y=jnp.zeros((3, 2)), energy=jnp.zeros(3), steps=jnp.ones(3, int))
    _, left_out = _Filter(False, (Unknowing(), 1e30))(solution)
    assert left_out.tolist() == [False, True, True]


def test_calibrate_reports_every_difficulty(calibrated, irem_cli):
    result = irem_cli("calibrate", calibrated, "--problems", 60, "--json")
    assert result.code == 0
    (parts,) = json.loads(result.out)["trust"]
    assert [p["difficulty"] for p in parts] == ["same", "harder", "both"]
    assert all(len(p["risk"]) == len(p["coverage"]) == 10 for p in parts)
    assert "without 10 %" in irem_cli("calibrate", calibrated, "--problems", 60).out


def test_a_calibration_of_an_earlier_state_is_not_used(calibrated):
    file = calibrated / "calibration.json"
    kept = file.read_text()
    try:
        file.write_text(json.dumps({**json.loads(kept), "iteration": 7}))
        assert irem.evaluation.read_calibrations(irem.load(calibrated)) is None
        file.write_text(kept[:100])
        with pytest.raises(ValueError, match=r"calibration.json' is truncated or damaged"):
            irem.evaluation.read_calibrations(irem.load(calibrated))
    finally:
        file.write_text(kept)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--max-error", "0"), "`max-error` must be greater than 0"),
        (("--max-error", "0.1", "--step", "fixed"), "calibrated for the default step rule"),
        (("--max-error", "0.1", "--max-steps", "9"), "calibrated for the default step rule"),
        (("--starts", "0"), "`starts` must be greater than 0"),
        (("--step", "newton"), "Unknown step rule 'newton'; known are fixed, damped, backtracking"),
        (("--step", "-1"), "`step_size` must be greater than 0"),
    ],
)
def test_what_solve_does_not_accept(options, sentence, x, runs, irem_cli, tmp_path):
    result = irem_cli("solve", runs["addition"], x, "--out", tmp_path / "y.npy", *options)
    assert result.code == 2
    assert sentence in result.err
    assert not list(tmp_path.iterdir())


def test_answers_that_fail_their_check_are_counted_and_left_out_if_asked(
    x, runs, irem_cli, tmp_path
):
    out = tmp_path / "y.npz"
    result = irem_cli("solve", runs["addition"], x, "--out", out, "--max-steps", 5)
    assert result.code == 0
    assert result.out.startswith("Verified 0 of 30, 30 failed; the largest residual is ")
    assert "Each of 30 of 30 answers failed the check: do not rely on it." in result.err
    with np.load(out) as kept:
        assert not kept["verified"].any()
        assert (kept["residual"] > 0.01).all()
        assert np.isfinite(kept["y"]).all()
    options = ("--max-steps", 5, "--only-verified", "--json")
    told = json.loads(irem_cli("solve", runs["addition"], x, "--out", out, *options).out)
    counts = {k: told[k] for k in ("problems", "verified", "unverified", "refused", "abstained")}
    assert counts == {
        "problems": 30,
        "verified": 0,
        "unverified": 30,
        "refused": 0,
        "abstained": 30,
    }
    assert told["largest_residual"] > 0.01
    with np.load(out) as kept:
        assert np.isnan(kept["y"]).all()


@pytest.fixture
def broken(runs, tmp_path):
    """A copy of a run whose weights are not finite."""
    folder = tmp_path / "broken"
    shutil.copytree(runs["addition"], folder)
    arrays = load_file(folder / "checkpoint.safetensors")
    arrays = {
        name: np.full_like(a, np.nan) if ".method." in name and a.dtype == np.float32 else a
        for name, a in arrays.items()
    }
    save_file(arrays, folder / "checkpoint.safetensors")
    return folder


def test_weights_that_are_not_finite_give_no_answers_and_exit_code_1(x, broken, irem_cli, tmp_path):
    result = irem_cli("solve", broken, x, "--out", tmp_path / "y.npy", "--json")
    assert result.code == 1
    assert json.loads(result.out)["unanswered"] == list(range(30))
    assert "Each of 30 of 30 answers does not exist" in result.err
    figure = irem_cli("figure", "landscape", broken, "--out", tmp_path / "a.png")
    assert figure.code == 1
    assert "No problem has an answer: weights of model 0" in figure.err
    assert not (tmp_path / "a.png").exists()
