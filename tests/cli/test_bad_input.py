"""Bad input ends in one sentence on standard error and exit code 2, and leaves nothing behind."""

import errno
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

TRAIN = ("--iterations", 10, "--batch-size", 4, "--recipe", "paper", "--set", "task.size=4")
TRAIN += ("--set", "energy.width=8", "--set", "replay.capacity=50")


def assert_refused(result, *words):
    assert result.code == 2, result
    assert result.out == ""
    assert "Traceback" not in result.err
    *usage, sentence = result.err.strip().splitlines()
    assert all(line.startswith(("Usage:", "Try ")) or not line for line in usage)
    for word in words:
        assert word in sentence


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("train", "adition", "--out", "run"),
            ("Unknown task 'adition'", "Did you mean 'addition'"),
        ),
        (("train", "addition", "--out", "run", "--method", "magic"), ("Unknown method 'magic'",)),
        (("train", "addition", "--out", "run", "--set", "energy.name=cnn"), ("energy 'cnn'",)),
        (("train", "addition", "--out", "run", "--set", "energy.name=gine"), ("needs graphs",)),
        (("train", "addition", "--out", "run", "--recipe", "bets"), ("Did you mean 'best'",)),
        (("train", "addition", "--out", "run", "--recipe", "my.toml"), ("no recipe 'my.toml'",)),
        (("train", "addition", "--out", "run", "--set", "energy.widht=3"), ("mean 'width'",)),
        (("train", "addition", "--out", "run", "--set", "enrgy.width=3"), ("mean 'energy'",)),
        (("train", "addition", "--out", "run", "--set", "energy.width"), ("KEY=VALUE",)),
        (("recipes", "adition"), ("Did you mean 'addition'",)),
        (("recipes", "--show", "best"), ("Say of which task",)),
        (("reproduce", "table1", "--quick", "--images", "."), ("--images", "denoising")),
        (("reproduce", "denoising", "--quick", "--images", "none", "--out", "run"), ("none",)),
        (("reproduce", "table1", "--quick", "--puzzles", "."), ("--puzzles",)),
        (
            ("reproduce", "puzzles", "--quick", "--training-puzzles", "."),
            ("--training-puzzles", "puzzle-training"),
        ),
        (
            ("reproduce", "puzzle-training", "--quick", "--training-puzzles", "no.npz"),
            ("'no.npz'", "tools/make_puzzles.py"),
        ),
        (("train", "edge-copy", "--out", "run", "--set", "energy.name=mlp"), ("fixed size",)),
        (
            ("train", "edge-copy", "--out", "run", "--set", "task.size=5"),
            ("task 'edge-copy' 'size'",),
        ),
        (("train", "addition", "--out", "run", "--set", "task.variant=mine"), ("variant 'mine'",)),
        (("train", "addition", "--out", "run", "--iterations", 0), ("greater than 0, got 0",)),
        (
            ("train", "addition", "--out", "run", "--iterations", "many"),
            ("--iterations", "valid integer"),
        ),
        (("train", "addition", "--out", "run", "--batch-size", -1), ("greater than 0, got -1",)),
        (("train", "addition", "--out", "run", "--batch-size", 0), ("greater than 0, got 0",)),
        (
            ("train", "addition", "--out", "run", "--set", "optimiser.learning_rate=inf"),
            ("must be finite",),
        ),
        (("demo", "--out", "run", "--seed", -1), ("`seed` must be",)),
        (("demo", "--out", "run", "--size", 0), ("greater than 0, got 0",)),
        (("train", "addition", "--out", "run", "--seeds", 0), ("`seeds` must be greater than 0",)),
        (("train", "addition", "--out", "run", "--seed", -1), ("`seed` must be",)),
        (
            ("train", "addition", "--out", "run", "--set", "replay.capacity=0"),
            ("`capacity` must be greater than 0",),
        ),
        (
            ("train", "addition", "--out", "run", "--set", "method.step_size=nan"),
            ("greater than 0, got nan",),
        ),
        (
            ("train", "addition", "--out", "run", "--set", "energy.aggregate=mean"),
            ("setting of the table energy",),
        ),
        (
            ("train", "addition", "--out", "run", "--checkpoint-seconds", -1),
            ("`seconds` between checkpoints",),
        ),
        (("evaluate", "nowhere"), ("There is no run at 'nowhere'",)),
        (("solve", "nowhere", "x.npy", "--out", "y.npy"), ("There is no run at 'nowhere'",)),
        (("compose", "nowhere"), ("There is no run at 'nowhere'",)),
        (("tasks", "--problems", 0), ("No such option",)),
        (("nonsense",), ("No such command",)),
    ],
)
def test_bad_arguments(arguments, words, irem_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_refused(irem_cli(*arguments), *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--difficulty", "hard"), ("Unknown difficulty 'hard'", "same, harder")),
        (("--difficulty", "15"), ("has no sizes to choose from",)),
        (("--problems", -5), ("greater than 0, got -5",)),
        (("--max-steps", 0), ("greater than 0, got 0",)),
        (("--max-steps", 10**12), ("`max_steps` must be at most 2,147,483,647",)),
        (("--problems", 10**12), ("1,000,000,000,000 problems", "is the limit")),
        (("--seed", -1), ("`seed` must be",)),
    ],
)
def test_bad_evaluations(arguments, words, runs, irem_cli):
    assert_refused(irem_cli("evaluate", runs["addition"], *arguments), *words)


def test_a_graph_without_nodes(runs, irem_cli):
    result = irem_cli("evaluate", runs["shortest-path"], "--difficulty", "0")
    assert_refused(result, "`number of nodes` must be greater than 0")


def test_graphs_larger_than_memory(runs, irem_cli):
    result = irem_cli("evaluate", runs["shortest-path"], "--difficulty", "1000000")
    assert_refused(result, "difficulty 1000000, needs about", "is the limit; ask for fewer or")


def test_composing_something_else_than_addition(runs, irem_cli):
    assert_refused(irem_cli("compose", runs["matrix-inverse"]), "Only a learned addition")
    assert_refused(
        irem_cli("compose", runs["addition"], "--operations", 0), "greater than 0, got 0"
    )


def save(path, array):
    np.save(path, array, allow_pickle=array.dtype == object)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((5, 7)), ("has shape (5, 7)", "(2, 6)")),
        (np.zeros((0, 2, 6)), ("has shape (0, 2, 6)",)),
        (np.zeros(()), ("has shape ()",)),
        (np.full((2, 6), "one"), ("must hold numbers",)),
        (np.full((2, 6), 1j), ("must hold numbers",)),
        (np.full((2, 6), np.nan), ("must be finite", "12 of its 12")),
        (np.full((2, 6), np.inf), ("must be finite",)),
        (np.full((2, 6), 1e300), ("too large",)),
        (np.array([{}]), ("is not a NumPy file of numbers",)),
    ],
)
def test_problems_that_cannot_be_used(array, words, runs, irem_cli, tmp_path):
    save(tmp_path / "x.npy", array)
    result = irem_cli("solve", runs["addition"], tmp_path / "x.npy", "--out", tmp_path / "y.npy")
    assert_refused(result, *words)
    assert [p.name for p in tmp_path.iterdir()] == ["x.npy"]


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("x.csv", b"1,2\n3,four\n", "is not a table of numbers ('four' in row 2 is not a number"),
        ("x.csv", b"1,2\n3\n", "is not a table of numbers (its rows have from 1 to 2 cells"),
        ("x.npy", b"not an array", "is not a NumPy file of numbers"),
        ("x.npy", b"", "is not a NumPy file of numbers"),
        ("x.npz", b"PK not a zip", "is not a NumPy file of numbers"),
        ("x.txt", b"1,2", "ending in .npy, .npz or .csv"),
    ],
)
def test_files_that_cannot_be_read(name, content, word, runs, irem_cli, tmp_path):
    (tmp_path / name).write_bytes(content)
    result = irem_cli("solve", runs["addition"], tmp_path / name, "--out", tmp_path / "y.npy")
    assert_refused(result, word)
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_an_empty_csv(runs, irem_cli, tmp_path):
    (tmp_path / "x.csv").write_bytes(b"")
    result = irem_cli("solve", runs["addition"], tmp_path / "x.csv", "--out", tmp_path / "y.npy")
    assert_refused(result, "is not a table of numbers (it is empty)")


def test_an_archive_of_several_arrays_without_x(runs, irem_cli, tmp_path):
    np.savez(tmp_path / "x.npz", a=np.zeros(3), b=np.zeros(3))
    result = irem_cli("solve", runs["addition"], tmp_path / "x.npz", "--out", tmp_path / "y.npy")
    assert_refused(result, "call the problems `x`")


@pytest.mark.parametrize("out", ["y.txt", ".", "missing/y.npy", "x.npy"])
def test_answers_that_cannot_be_written(out, runs, irem_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.zeros((2, 6)))
    before = (tmp_path / "x.npy").read_bytes()
    assert irem_cli("solve", runs["addition"], "x.npy", "--out", out).code == 2
    assert [p.name for p in tmp_path.iterdir()] == ["x.npy"]
    assert (tmp_path / "x.npy").read_bytes() == before


def test_a_model_that_a_run_does_not_hold(runs, irem_cli, tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((3, 3)))
    result = irem_cli(
        "solve",
        runs["matrix-inverse"],
        tmp_path / "x.npy",
        "--out",
        tmp_path / "y.npy",
        "--model",
        2,
    )
    assert_refused(result, "`model` must be from 0 to 1, got 2")


def test_runs_that_cannot_be_used(runs, irem_cli, tmp_path):
    assert_refused(irem_cli("evaluate", tmp_path), "is not a run")
    broken = tmp_path / "broken"
    shutil.copytree(runs["addition"], broken)
    checkpoint = broken / "checkpoint.safetensors"
    checkpoint.write_bytes(checkpoint.read_bytes()[:1000])
    assert_refused(irem_cli("evaluate", broken), "truncated or damaged")
    settings = json.loads((broken / "run.json").read_text())
    (broken / "run.json").write_text(json.dumps({**settings, "format": 99}))
    assert_refused(irem_cli("evaluate", broken), "install a newer irem")


def test_folders_that_cannot_be_used(runs, irem_cli, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert_refused(irem_cli("train", "addition", *TRAIN, "--out", tmp_path), "is not a run")
    assert_refused(
        irem_cli("train", "addition", *TRAIN, "--out", tmp_path / "notes.txt"), "is a file"
    )
    result = irem_cli("train", "addition", *TRAIN, "--out", tmp_path / "notes.txt" / "run")
    assert_refused(result, "Not a directory")
    assert_refused(irem_cli("train", "addition", *TRAIN, "--out", runs["addition"]), "--resume")
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_a_folder_that_is_not_writable(irem_cli):
    # Nobody may make folders there, root included.
    result = irem_cli("train", "addition", *TRAIN, "--out", "/proc/run")
    assert_refused(result, "Cannot use '/proc/run'")


# The process may write files of so many bytes and no more, as on a full disk. Both limits in one
# process, as starting anew takes seconds.
LIMITED = """
import resource, sys
from irem.cli import main
folder, *arguments = sys.argv[1:]
for limit in (2_000, 20_000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    sys.argv = ["irem", *arguments, "--out", f"{folder}/{limit}"]
    try:
        main()
    except SystemExit as ended:
        print(f"code {ended.code}", file=sys.stderr)
"""


def test_a_full_disk(tmp_path):
    options = ("--iterations", 2000, "--set", "task.size=64", "--checkpoint-seconds", 60)
    arguments = map(str, [tmp_path, "train", "addition", *TRAIN, *options])
    command = [sys.executable, "-c", LIMITED, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    *said, nothing = result.stderr.split("code 2\n")
    assert nothing == ""
    # The settings fit in both; in 2 kB the scalars of a few chunks do not, in 20 kB the checkpoint.
    for limit, lines in zip((2_000, 20_000), said, strict=True):
        run = tmp_path / str(limit)
        last = lines.strip().splitlines()[-1]
        assert "File too large" in last
        assert str(run) in last
        assert not list(run.glob(".*"))
        assert not (run / "checkpoint.safetensors").exists()


def test_a_disk_that_is_full_at_the_end_names_the_answers(runs, irem_cli, tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    np.save(tmp_path / "x.npy", np.zeros((3, 2, 6)))
    monkeypatch.setattr("irem.files.os.fsync", full)
    for name in ("y.npy", "y.npz", "y.csv"):
        out = tmp_path / name
        options = ("--max-steps", 2, "--step", "fixed")
        result = irem_cli("solve", runs["addition"], tmp_path / "x.npy", "--out", out, *options)
        assert_refused(result, f"Cannot use '{out}': No space left on device")
        assert [p.name for p in tmp_path.iterdir()] == ["x.npy"]


def test_more_memory_than_numpy_can_have(irem_cli, monkeypatch):
    def allocate(*arguments):
        raise MemoryError

    monkeypatch.setattr("irem.cli.check.arrays.read", allocate)
    assert_refused(irem_cli("check", "addition", "x.npy", "y.npy"), "more memory than there is")
