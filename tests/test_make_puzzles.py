"""Puzzles of `tools/make_puzzles.py`, checked by a SAT solver that shares nothing with it."""

import importlib.util
import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from pysat.solvers import Solver

TOOL = Path(__file__).parent.parent / "tools/make_puzzles.py"
spec = importlib.util.spec_from_file_location("make_puzzles", TOOL)
assert spec is not None
assert spec.loader is not None
make_puzzles = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_puzzles)

# Found by Arto Inkala in 2010 and made to be hard; singles alone solve the other one.
HARD = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."
EASY = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"


SEED = 28  # the first families that it gives reach the highest level


def run(*options, **settings):
    command = [sys.executable, str(TOOL), *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, **settings)


def rules(box):
    """Clauses of a grid: one symbol in a cell, every symbol once in a row, column and box."""
    n = box * box
    name = np.arange(1, n**3 + 1).reshape(n, n, n)  # row, column, symbol
    boxes = name.reshape(box, box, box, box, n).transpose(0, 2, 1, 3, 4).reshape(n, n, n)
    groups = [name.reshape(-1, n)]
    groups += [g.swapaxes(1, 2).reshape(-1, n) for g in (name, name.swapaxes(0, 1), boxes)]
    for group in np.concatenate(groups).tolist():
        yield group
        yield from ([-a, -b] for a, b in itertools.combinations(group, 2))


def solve(puzzle):
    """Return the solution of a puzzle, or None where there are several or none."""
    n = int(len(puzzle) ** 0.5)
    with Solver("cadical153", bootstrap_with=rules(int(n**0.5))) as solver:
        for cell in np.flatnonzero(puzzle):
            solver.add_clause([int(cell * n + puzzle[cell])])
        if not solver.solve():
            return None
        chosen = [v - 1 for v in solver.get_model() or () if 0 < v <= n**3]
        solver.add_clause([-(v + 1) for v in chosen])
        return None if solver.solve() else np.array(chosen) % n + 1


def as_cells(text):
    return np.array([int(c) for c in text.replace(".", "0")], np.uint8)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    make_puzzles.load_library(make_puzzles.compile_library(tmp_path_factory.mktemp("library")))
    return make_puzzles


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    path = tmp_path_factory.mktemp("training") / "new folder/sudoku.npz"
    done = run("--out", path, "--minimal", 1100, "--hard", 6, "--seed", SEED, "--jobs", 2)
    assert done.returncode == 0, done.stderr
    assert "hard: " in done.stderr
    assert [p.name for p in path.parent.iterdir()] == [path.name]
    return path


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    path = tmp_path_factory.mktemp("lists") / "lists.npz"
    done = run("--out", path, "--lists", "--count", 2, "--seed", SEED, "--jobs", 2)
    assert done.returncode == 0, done.stderr
    return path


def test_the_file_holds_puzzles_solutions_and_guesses(training):
    with np.load(training) as file:
        kinds = {name: (file[name].shape, str(file[name].dtype)) for name in file}
        guesses = file["guesses"]
    cells = ((1106, 81), "uint8")
    assert kinds == {"puzzles": cells, "solutions": cells, "guesses": ((1106,), "float32")}
    assert np.all(guesses[1100:] >= [20, 20, 40, 40, 70, 100])
    assert 2 < guesses[:1100].mean() < 6
    assert np.allclose(guesses * 5 % 1, 0, atol=1e-3)  # means over five


def test_the_lists_hold_puzzles_of_their_kinds(lists):
    with np.load(lists) as file:
        arrays = dict(file)
    assert set(arrays) == {
        f"{name}_{part}" for name in make_puzzles.LISTS for part in ("puzzles", "solutions")
    }
    sizes = {"easy": 81, "minimal": 81, "hard": 81, "large": 256}
    for name, cells in sizes.items():
        for part in ("puzzles", "solutions"):
            assert arrays[f"{name}_{part}"].shape == (2, cells)
            assert arrays[f"{name}_{part}"].dtype == np.uint8
    givens = {name: (arrays[f"{name}_puzzles"] > 0).sum(1) for name in sizes}
    assert np.all((givens["easy"] >= 31) & (givens["easy"] <= 42))
    assert np.all(givens["large"] == 154)


def test_no_list_is_part_of_the_training_puzzles_of_its_seed(training, lists):
    with np.load(training) as file, np.load(lists) as other:
        known = {row.tobytes() for row in file["solutions"]}
        found = {
            row.tobytes() for name in ("minimal", "hard") for row in other[f"{name}_solutions"]
        }
    assert known.isdisjoint(found)


def test_every_puzzle_has_its_solution_and_no_other(training, lists):
    with np.load(training) as file, np.load(lists) as other:
        chosen = [0, 1000, *range(1100, 1106)]
        pairs = [(file["puzzles"][i], file["solutions"][i]) for i in chosen]
        for name in make_puzzles.LISTS:
            pairs += zip(other[f"{name}_puzzles"], other[f"{name}_solutions"], strict=True)
    for puzzle, solution in pairs:
        np.testing.assert_array_equal(solve(puzzle), solution)


def test_no_given_of_a_minimal_or_hard_puzzle_can_be_taken_away(training):
    with np.load(training) as file:
        puzzles = file["puzzles"][[0, 1050, 1105]]
    for puzzle in puzzles:
        for cell in np.flatnonzero(puzzle):
            without = puzzle.copy()
            without[cell] = 0
            assert solve(without) is None


def test_the_number_of_processes_does_not_change_the_file(training, tmp_path):
    path = tmp_path / "again.npz"
    done = run("--out", path, "--minimal", 1100, "--hard", 6, "--seed", SEED, "--jobs", 1)
    assert done.returncode == 0, done.stderr
    with np.load(training) as first, np.load(path) as second:
        for name in first:
            np.testing.assert_array_equal(first[name], second[name])


def test_blocks_and_seeds_give_other_puzzles(library):
    make = library.make_random
    drawn = [make(library.MINIMAL, 20, seed, block) for seed in (0, 1) for block in (0, 1)]
    rows = np.concatenate([d.puzzles for d in drawn])
    assert len(np.unique(rows, axis=0)) == len(rows)
    np.testing.assert_array_equal(drawn[0].puzzles, make(library.MINIMAL, 20, 0, 0).puzzles)


def test_seeds_of_blocks_differ_and_are_not_zero():
    seeds = [
        make_puzzles.block_seed(seed, name, block)
        for seed in range(20)
        for name in ("minimal", "easy", "climb 1")
        for block in range(50)
    ]
    assert len(set(seeds)) == len(seeds)
    assert 0 < min(seeds) <= max(seeds) < 2**64


def test_easy_puzzles_have_every_number_of_givens(library):
    puzzles = library.make_random(library.EASY, 600, 0, 0).puzzles
    givens = np.bincount((puzzles > 0).sum(1), minlength=43)
    assert givens[31:].sum() == 600
    assert givens[31:].min() > 25  # 50 of each are expected


def test_a_puzzle_known_to_be_hard_takes_many_guesses(library):
    hard, easy = library.measure(np.stack([as_cells(HARD), as_cells(EASY)]), 3, seed=1)
    assert easy == 0
    assert hard > 20


def test_lists_take_one_puzzle_of_each_family_first():
    level = np.array([0, 0, 0, 0, 1, 1])
    family = np.array([0, 0, 0, 1, 0, 1])
    rank = np.array([0, 1, 2, 0, 0, 0])
    number = np.arange(6)
    every = make_puzzles.Puzzles(number, number, number, level, family, rank)
    assert make_puzzles._spread(every, (2, 0)).puzzles.tolist() == [0, 3]
    assert make_puzzles._spread(every, (3, 2)).puzzles.tolist() == [0, 1, 3, 4, 5]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "nothing to make"),
        (("--minimal", "-1"), "--minimal must be at least 0, got -1"),
        (("--hard", "many"), "invalid int value: 'many'"),
        (("--lists",), "--lists needs --count"),
        (("--lists", "--count", "0"), "--count must be at least 1, got 0"),
        (("--lists", "--count", "5", "--hard", "5"), "--lists takes --count"),
        (("--count", "5"), "add --lists"),
        (("--minimal", "5", "--jobs", "0"), "--jobs must be at least 1, got 0"),
        (("--minimal", "5", "--seed", "-1"), "--seed must be at least 0, got -1"),
        (("--minimal", "5", "--seed", str(2**64)), "--seed must be less than 2**64"),
        (("--minimal", "5", "--out", "x.txt"), "--out must end in .npz, got x.txt"),
        (("--minimal", "5", "--bytes", "5"), "Unrecognized arguments: --bytes 5"),
    ],
)
def test_bad_options_get_one_sentence(options, sentence, capsys):
    with pytest.raises(SystemExit) as caught:
        make_puzzles.read_options(["--out", "x.npz", *options])
    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.startswith("make_puzzles: ")
    assert said.count("\n") == 1


def test_a_folder_that_cannot_be_made_gets_one_sentence_at_once(tmp_path):
    (tmp_path / "file").touch()
    done = run("--out", tmp_path / "file/x.npz", "--minimal", 10**7)
    assert done.returncode == 2
    assert "cannot be written to" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_compiler_gets_one_sentence(tmp_path):
    settings = {"env": {**os.environ, "PATH": str(tmp_path)}}
    done = run("--out", tmp_path / "x.npz", "--minimal", 5, **settings)
    assert done.returncode == 2
    assert done.stderr.startswith("make_puzzles: There is no C compiler")
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing_behind(tmp_path, number):
    command = [sys.executable, str(TOOL), "--out", str(tmp_path / "x.npz"), "--minimal", "10000000"]
    settings = {"stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen([*command, "--jobs", "2"], **settings) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("minimal: ")
            if number == signal.SIGINT:
                os.killpg(process.pid, number)  # as a terminal does
            else:
                process.send_signal(number)
            start = time.monotonic()
            assert process.wait(20) == 130
            assert time.monotonic() - start < 10
            assert process.stderr.read().endswith("interrupted; nothing was written.\n")
        finally:
            process.kill()
    assert not list(tmp_path.iterdir())
