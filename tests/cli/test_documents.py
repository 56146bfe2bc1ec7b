"""Texts and pictures as `irem solve` takes them, with a model that knows the answers or none."""

import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.cli.documents import Documents, readers_of
from irem.cli.solve import _budget
from irem.formats import Cells, Graphs, Puzzles
from irem.tasks import Maze, PrefixSums

MAZES = "S E\n\nS#\n#E\n\nS##\n  E\n"


class Solver:
    """A model that gives a right answer, or a wrong one, to every problem."""

    def __init__(self, task, right=True):
        self.task, self.format, self.right = task, task.format, right

    def solve(self, model, batch, **options):
        del model, options
        y = np.asarray(self.task.oracle(batch)) if self.right else np.ones(batch.shape)
        check = self.task.check(batch, y)
        return irem.descent.Solution(
            y=jnp.asarray(y, jnp.float32),
            energy=jnp.zeros(len(y)),
            steps=jnp.ones(len(y), jnp.int32),
            verdict=jnp.asarray(check.verdict),
        )


def solved(tmp_path, text, model):
    path, out, seen = tmp_path / "in.txt", tmp_path / "out.txt", []
    path.write_text(text)
    source = Documents.read(path, model)
    with source.writer(out) as writer:
        for solution in source.solutions(by=model.solve, on_batch=seen.append):
            writer.add(solution, np.zeros(len(solution.steps), bool))
    assert len(writer.answers) == source.problems
    return out.read_text()


def test_mazes_of_several_sizes_are_solved_and_those_without_a_way_stay(tmp_path):
    assert solved(tmp_path, MAZES, Solver(Maze())) == "S.E\n\nS#\n#E\n\nS##\n..E\n"


def test_answers_that_are_not_verified_are_not_drawn(tmp_path, capsys):
    model = Solver(Maze(), right=False)
    text = "S  \n # \n  E\n\nS# \n # \n##E\n"
    assert solved(tmp_path, text, model) == text
    Documents.read(tmp_path / "in.txt", model).warn(1)
    assert "Only verified answers are written; left out: 1 of 2." in capsys.readouterr().err


def test_lines_of_bits_become_their_parities(tmp_path):
    assert solved(tmp_path, "0110\n1\n111\n", Solver(PrefixSums())) == "0100\n1\n101\n"
    assert solved(tmp_path, "10\n", Solver(PrefixSums(), right=False)) == "11\n"
    assert solved(tmp_path, "01\n", Solver(PrefixSums(), right=False)) == "?\n"


def test_a_document_is_refused_where_all_its_problems_are(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("S#E\n")
    with pytest.raises(irem.InputError, match=r"^There is no way from the start to the end\.$"):
        Documents.read(path, Solver(Maze())).refuse_all()
    path.write_text(MAZES)
    Documents.read(path, Solver(Maze())).refuse_all()
    path.write_text("S#E\n\nS\n")
    with pytest.raises(irem.InputError, match=r"^The maze from line 1 on: There is no way"):
        Documents.read(path, Solver(Maze())).refuse_all()


def test_what_is_read_depends_on_the_format(tmp_path):
    endings = [
        (Cells(1, 2), [".txt"]), (Cells(2, 4), [".txt", ".png"]), (Graphs(), []),
        (Puzzles(3, "sudoku"), [".txt"]), (Puzzles(2), []),
    ]  # fmt: skip
    for form, expected in endings:
        assert list(readers_of(form)) == expected
    with pytest.raises(irem.InputError, match=r"is a picture, and .* file ending in \.txt, \.npy"):
        Documents.read(tmp_path / "bits.png", Solver(PrefixSums()))


class Walker:
    """A model whose step budget is the number of cells."""

    step_size, format = 1.0, Maze().format

    def max_steps_for(self, x):
        return x[0].size


def test_the_budget_that_is_told_is_that_of_the_largest_problem(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text(MAZES)
    walker = Walker()
    assert _budget(walker, Documents.read(path, walker)) == 6  # of 1 x 3, 2 x 2 and 2 x 3
