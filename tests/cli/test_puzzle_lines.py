"""Puzzles as lines of text: reading, writing, and `irem solve` on them."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.apps.puzzles import PuzzleText, read_lines
from irem.cli.documents import Documents
from irem.descent import refused
from irem.tasks import Sudoku
from irem.verdicts import Verdict

BANK = Sudoku().banks["easy"]
PUZZLE, SOLUTION = ("".join(map(str, np.asarray(row[0]))) for row in (BANK.puzzles, BANK.solutions))
TWICE = "88" + "0" * 79
AMBIGUOUS = "1" + "." * 80
FOUR = "1234341221434..."


def write(tmp_path, *lines, name="puzzles.txt"):
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    return path


def grid_of(tmp_path, line):
    return read_lines(write(tmp_path, line))[1][0].grid


def test_empty_cells_are_dots_or_zeros(tmp_path):
    dots, zeros = (grid_of(tmp_path, line) for line in (PUZZLE.replace("0", "."), PUZZLE))
    np.testing.assert_array_equal(dots, zeros)
    np.testing.assert_array_equal(zeros.ravel(), BANK.puzzles[0])


@pytest.mark.parametrize(
    ("start", "first"),
    [
        ("1G.", [1, 16, 0]),
        ("1g0", [1, 16, 0]),
        ("AP.", [1, 16, 0]),
        ("0F.", [1, 16, 0]),
        ("9AG", [9, 10, 16]),
    ],
)
def test_large_grids_have_letters(start, first, tmp_path):
    grid = grid_of(tmp_path, start + "." * (256 - len(start)))
    assert grid.shape == (16, 16)
    assert grid[0, :3].tolist() == first


@pytest.mark.parametrize(
    "line", ["." * 80, "123", "." * 82, "x" + "." * 80, "5" + "." * 15, "ß" + "A" * 624]
)
def test_other_lines_are_refused_by_their_number(line, tmp_path):
    with pytest.raises(irem.InputError, match="Line 2 of"):
        read_lines(write(tmp_path, PUZZLE, line))


@pytest.mark.parametrize("content", [b"", b"# nothing\n\n", b"\xff\xfe\x00"])
def test_files_without_puzzles_are_refused(content, tmp_path):
    path = tmp_path / "puzzles.txt"
    path.write_bytes(content)
    with pytest.raises(irem.InputError, match=r"puzzles\.txt"):
        read_lines(path)


class Solver:
    """A model that gives the known solution, or a wrong answer, to every puzzle."""

    format, task = Sudoku().format, Sudoku()

    def __init__(self, right):
        self.right = right

    def solve(self, model, batch, **options):
        del model, options
        y = np.asarray(self.task.oracle(batch)) if self.right else np.asarray(batch.known > 0)
        check = self.task.check(batch, y)
        return irem.descent.Solution(
            y=jnp.asarray(y, jnp.float32),
            energy=jnp.zeros(len(y)),
            steps=jnp.ones(len(y), jnp.int32),
            verdict=jnp.asarray(check.verdict),
        )


def answers(path, out, right):
    model = Solver(right)
    source = Documents(model, PuzzleText.read(path))
    with source.writer(out) as writer:
        for solution in source.solutions(by=model.solve, on_batch=lambda _: None):
            writer.add(solution, np.zeros(len(solution.steps), bool))
    return out.read_text().splitlines()


def test_solved_lines_take_the_place_of_puzzles_and_all_else_stays(tmp_path):
    path = write(tmp_path, "# mine", PUZZLE, "", FOUR, TWICE)
    found = answers(path, tmp_path / "out.txt", right=True)
    assert found == ["# mine", SOLUTION, "", "1234341221434321", TWICE]


def test_an_answer_that_breaks_a_rule_is_never_written(tmp_path):
    path = write(tmp_path, PUZZLE, FOUR)
    assert answers(path, tmp_path / "out.txt", right=False) == [PUZZLE, FOUR]


def test_letters_come_back_as_they_were_given(tmp_path):
    grid = np.asarray(Sudoku().oracle(Sudoku().format.as_batch(np.zeros((1, 16, 16)))[0]))
    (whole,) = grid.reshape(-1, 256, 16).argmax(-1)
    symbols = "ABCDEFGHIJKLMNOP"
    line = "".join(symbols[v] for v in whole)
    holes = "." + line[1:100] + "." + line[101:]
    assert answers(write(tmp_path, holes), tmp_path / "out.txt", right=True) == [line]


def test_refused_problems_have_no_answer():
    solution = refused((2, 64))
    assert not solution.answered.any()
    assert (solution.verdict == Verdict.FAILED).all()


@pytest.fixture(scope="module")
def run(tmp_path_factory, train_quickly, keys):
    small = keys(energy__width=4, energy__layers=1, replay__capacity=50)
    options = ("--recipe", "best", "--iterations", 2, "--batch-size", 2)
    return train_quickly(tmp_path_factory.mktemp("runs"), "sudoku", *options, small=small)


def test_a_run_answers_lines_and_counts_them(run, irem_cli, tmp_path):
    path, out = write(tmp_path, PUZZLE, TWICE, AMBIGUOUS), tmp_path / "out.txt"
    done = irem_cli("solve", run, path, "--out", out, "--restarts", 1, "--json")
    found = json.loads(done.out)
    assert done.code == 0
    counts = {n: found[n] for n in ("problems", "verified", "unverified", "refused", "restarts")}
    assert counts == {"problems": 3, "verified": 0, "unverified": 1, "refused": 2, "restarts": 1}
    assert "Line 2: The symbol 8 is given twice" in done.err
    assert out.read_text() == path.read_text()  # nothing is solved by a model that has not learned


def test_lines_are_for_models_of_puzzles_and_go_to_lines(run, irem_cli, tmp_path):
    path = write(tmp_path, PUZZLE)
    done = irem_cli("solve", "zoo:addition", path, "--out", tmp_path / "y.txt")
    assert done.code == 2
    assert "is a text, and this model answers" in done.err
    done = irem_cli("solve", run, path, "--out", tmp_path / "y.csv")
    assert done.code == 2
    assert "ending in .txt" in done.err
    done = irem_cli("solve", run, path, "--out", path)
    assert done.code == 2
    assert path.read_text() == PUZZLE + "\n"


def test_restarts_keep_the_rule_of_the_model(run, irem_cli, tmp_path):
    path = write(tmp_path, PUZZLE)
    options = ("--out", tmp_path / "y.txt", "--restarts", 2, "--max-steps", 3)
    done = irem_cli("solve", run, path, *options)
    assert done.code == 2
    assert "leave out --restarts" in done.err
