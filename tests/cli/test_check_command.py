"""`irem check`: any pair of files, whoever found the answers."""

import json

import numpy as np
import pytest
from scipy.sparse import csgraph

RNG = np.random.default_rng(0)


def matrices(n=3, size=4):
    r = RNG.normal(size=(n, size, size))
    return r @ r.transpose(0, 2, 1) + np.eye(size)


@pytest.fixture
def check(irem_cli, tmp_path):
    def run(task, x, y, *options, suffix=".npy"):
        for name, array in (("x", x), ("y", y)):
            path = tmp_path / f"{name}{suffix}"
            if suffix == ".csv":
                path.write_text("\n".join(array) + "\n")
            elif suffix == ".npz":
                np.savez(path, **{name: array, "other": np.ones(3)})
            else:
                np.save(path, array)
        return irem_cli("check", task, tmp_path / f"x{suffix}", tmp_path / f"y{suffix}", *options)

    return run


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_right_answers_are_verified(check, suffix):
    x = matrices()
    result = check("matrix-inverse", x, np.linalg.inv(x), suffix=suffix)
    assert result.code == 0
    assert result.out.startswith("Verified 3 of 3; the largest residual is ")
    told = json.loads(check("matrix-inverse", x, np.linalg.inv(x), "--json").out)
    assert told.pop("largest_residual") < 1e-3
    assert told == {
        "task": "matrix-inverse",
        "problems": 3,
        "verified": 3,
        "failed": 0,
        "unchecked": 0,
        "refused": 0,
    }


def test_a_wrong_answer_is_named_and_the_exit_code_is_1(check):
    x = matrices()
    y = np.linalg.inv(x)
    y[1] *= 1.05
    result = check("matrix-inverse", x, y)
    assert result.code == 1
    assert result.out.startswith("Verified 2 of 3, 1 failed; the largest residual is 0.05")
    assert result.err == "irem: the check failed for 1.\n"


def test_problems_outside_the_domain_are_refused(check):
    x = matrices()
    x[2, 0, 1] += 1
    result = check("matrix-inverse", x, np.linalg.inv(x), "--json")
    assert result.code == 1
    assert json.loads(result.out)["refused"] == 1
    assert "Problem 2: The matrix is not symmetric: entry (0, 1)" in result.err
    assert check("matrix-inverse", x[2], np.linalg.inv(x[2])).code == 2


def test_one_problem_alone_and_an_empty_cell_of_a_csv(check):
    x = ["0,1,", "1,0,2", "inf,2,0"]
    y = ["0,1,3", "1,0,2", "3,2,0"]
    assert check("shortest-path", x, y, suffix=".csv").code == 0
    y[0] = "0,1,3.2"
    assert check("shortest-path", x, y, suffix=".csv").code == 1


def test_how_many_problems_a_table_holds_may_be_said(check):
    stack = np.stack([np.diag(d) for d in RNG.uniform(1, 2, (4, 2))])
    x, y = (a.reshape(4, 4) for a in (stack, np.linalg.inv(stack)))
    result = check("matrix-inverse", x, y)
    assert result.code == 2
    assert "`--problems 1` or `--problems 4`" in result.err
    result = check("matrix-inverse", x, y, "--problems", 4)
    assert result.out.startswith("Verified 4 of 4")
    x = np.diag([1.0, 2.0, 4.0, 8.0])
    for options in ((), ("--problems", 1)):
        result = check("matrix-inverse", x, np.linalg.inv(x), *options)
        assert result.out.startswith("Verified 1 of 1")
    assert "1 or 4, not 3" in check("matrix-inverse", x, x, "--problems", 3).err


def test_distances_of_scipy_are_verified(check):
    x = np.where(RNG.random((4, 9, 9)) < 0.3, RNG.exponential(size=(4, 9, 9)) + 0.01, np.inf)
    y = np.stack([csgraph.shortest_path(np.where(np.isinf(a), 0, a)) for a in x])
    assert check("shortest-path", x, y).code == 0


def test_what_cannot_be_checked_is_said(check):
    y = RNG.normal(size=(5, 6))
    x = np.where(RNG.random(y.shape) < 0.5, y, np.nan)
    result = check("matrix-completion", x, y)
    assert result.code == 0
    assert result.out.startswith("Verified 0 of 1, 1 cannot be checked")
    y[np.isfinite(x)] += 1.0
    assert check("matrix-completion", x, y).code == 1


@pytest.mark.parametrize(
    ("task", "x", "y", "sentence"),
    [
        ("matrix-invers", np.eye(3), np.eye(3), "Did you mean 'matrix-inverse'?"),
        ("matrix-inverse", np.eye(3), np.eye(4), "`y` has shape (4, 4); the answers to `x` have"),
        ("matrix-inverse", np.ones((2, 3)), np.eye(3), "`x` has shape (2, 3)"),
        ("matrix-inverse", matrices(2), matrices(3), "`y` has shape (3, 4, 4)"),
    ],
)
def test_bad_input_gets_one_sentence(check, task, x, y, sentence):
    result = check(task, x, y)
    assert result.code == 2
    assert sentence in result.err
    assert result.err.count("\n") == 1
