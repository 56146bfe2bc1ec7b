"""What the commands do with runs that `irem fit` made."""

import json
import shutil
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import irem
from irem.cli import arrays
from irem.cli.csv_files import read_table
from irem.cli.names import NodeNames, NoNames, TableNames
from irem.cli.solve import Pages, _check_several

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(3, 2))
X = pd.DataFrame(RNG.normal(size=(600, 3)), columns=["a", "b", "c"])
Y = pd.DataFrame(X.to_numpy() @ MATRIX, columns=["price", "mass"])
NEW = pd.DataFrame(
    np.random.default_rng(1).normal(size=(40, 3)), [f"row {i}" for i in range(40)], list("cab")
)
TRUTH = NEW[["a", "b", "c"]].to_numpy() @ MATRIX


def fit(folder, x, y, iterations=100, **options):
    """A run with a network so small that it is compiled in seconds."""
    small = {"width": 8, "batch_size": 32, "compare": False, "trial_share": 0.0}
    effort = irem.Effort(iterations=iterations, **small)
    return irem.fit(x, y, effort=effort, out=folder, **options).path


@pytest.fixture(scope="module")
def linear(tmp_path_factory):
    """A run on columns with names."""
    return fit(tmp_path_factory.mktemp("linear") / "run", X, Y, 1000)


@pytest.fixture(scope="module")
def gappy(tmp_path_factory):
    """A run that has seen missing entries."""
    x = X.mask(np.random.default_rng(2).random(X.shape) < 0.2)
    return fit(tmp_path_factory.mktemp("gappy") / "run", x, Y["price"])


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A run on roots, of which every row has the positive or the negative one."""
    sign = np.random.default_rng(3).choice([-1, 1], (len(X), 1))
    roots = sign * pd.DataFrame(np.sqrt(np.abs(X[["a", "b"]])).to_numpy(), columns=Y.columns)
    return fit(tmp_path_factory.mktemp("several") / "run", X, roots, 1000, several=True)


@pytest.fixture
def new(tmp_path):
    path = tmp_path / "new.csv"
    NEW.assign(town="Ulm").to_csv(path, index_label="name")
    return path


def test_columns_are_taken_by_name_and_answers_have_the_names_of_targets(
    linear, new, irem_cli, tmp_path
):
    assert irem_cli("solve", linear, new, "--out", tmp_path / "y.csv").code == 0
    found = pd.read_csv(tmp_path / "y.csv", index_col="name")
    assert list(found.columns) == ["price", "mass"]
    assert list(found.index) == list(NEW.index)
    assert np.mean(np.square(found.to_numpy() - TRUTH)) < 0.02 * np.mean(np.square(TRUTH))


def test_answers_with_a_large_expected_error_are_left_out(linear, irem_cli, tmp_path):
    x = NEW[["a", "b", "c"]].to_numpy().copy()
    x[0] *= 1e4  # unlike all rows of the fit
    np.save(tmp_path / "x.npy", x)
    out = tmp_path / "y.npz"
    arguments = ("solve", linear, tmp_path / "x.npy", "--out", out, "--max-error", 100)
    result = irem_cli(*arguments, "--json")
    assert result.code == 0
    assert "calibrating" not in result.err
    with np.load(out) as kept:
        assert np.isnan(kept["y"][0]).all()
        assert np.isfinite(kept["y"][1:]).mean() > 0.8
        assert kept["expected_error"][0] == np.inf
    assert json.loads(result.out)["abstained"] >= 1


def test_a_run_without_a_calibration_says_why(linear, new, irem_cli, tmp_path):
    run = shutil.copytree(linear, tmp_path / "run")
    (run / "calibration.json").unlink()
    for command in (("solve", run, new, "--out", tmp_path / "y.csv"), ("calibrate", run)):
        options = ("--max-error", 1) if command[0] == "solve" else ()
        result = irem_cli(*command, *options)
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert "fewer than 50 rows were held out" in result.err
    (run / "calibration.json").write_text("{")
    result = irem_cli("calibrate", run)
    assert result.code == 2
    assert f"`irem fit DATA --out {run} --resume`" in result.err


def test_missing_entries_are_taken_where_the_run_has_seen_some(
    linear, gappy, new, irem_cli, tmp_path
):
    NEW.mask(NEW.iloc[4, 1] == NEW).to_csv(new)
    answered = irem_cli("solve", gappy, new, "--out", tmp_path / "y.csv")
    assert answered.code == 0, answered.err
    found = pd.read_csv(tmp_path / "y.csv", index_col=0)
    assert list(found.columns) == ["price"]
    assert np.isfinite(found.to_numpy()).all()
    refused = irem_cli("solve", linear, new, "--out", tmp_path / "z.csv")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "no number in row 6, column 'a'" in refused.err
    assert not (tmp_path / "z.csv").exists()


def test_a_column_that_lacks_is_named(linear, new, irem_cli, tmp_path):
    NEW.drop(columns="b").to_csv(new)
    result = irem_cli("solve", linear, new, "--out", tmp_path / "y.csv")
    assert result.code == 2
    assert "has no column 'b'; the model takes the columns a, b, c" in result.err


def test_several_answers_are_listed(several, new, irem_cli, tmp_path):
    arguments = ("solve", several, new, "--answers", 3, "--out")
    result = irem_cli(*arguments, tmp_path / "y.npz", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["answers"] == 3
    with np.load(tmp_path / "y.npz") as kept:
        assert kept["answers"].shape == (40, 3, 2)
        np.testing.assert_array_equal(kept["answers"][:, 0], kept["y"])
        energies = kept["answer_energies"]
        rising = energies[:, 1:] >= energies[:, :-1]
        assert (rising | np.isnan(energies[:, 1:])).all()
        lowest, every = kept["y"], kept["answers"].reshape(40, 6)
    # Both roots are found, as a constant answer has errors as large as the roots.
    roots = np.sqrt(np.abs(NEW[["a", "b"]].to_numpy()))
    pairs = np.sort(every[:, :4].reshape(40, 2, 2), axis=1)
    assert np.median(np.abs(pairs - np.stack([-roots, roots], axis=1))) < 0.2 * np.median(roots)
    assert irem_cli(*arguments, tmp_path / "y.csv").code == 0
    found = pd.read_csv(tmp_path / "y.csv", index_col="name")
    names = ["price", "mass", "price_2", "mass_2", "price_3", "mass_3"]
    assert list(found.columns) == names
    np.testing.assert_allclose(found.to_numpy(), every, rtol=1e-6)
    assert irem_cli(*arguments, tmp_path / "y.npy").code == 0
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), lowest)


def test_several_answers_are_for_runs_that_have_them(linear, several, new, irem_cli, tmp_path):
    out = ("--out", tmp_path / "y.csv")
    refused = [
        (irem_cli("solve", linear, new, *out, "--answers", 2), "`irem fit --several` made"),
        (irem_cli("solve", "zoo:addition", new, *out, "--answers", 2), "leave it out"),
        (irem_cli("solve", several, new, *out, "--answers", 2, "--max-steps", 5), "--max-steps"),
        (irem_cli("solve", several, new, *out, "--answers", 0), "greater than 0, got 0"),
    ]
    for result, words in refused:
        assert (result.code, result.err.count("\n")) == (2, 1)
        assert words in result.err
    pages = Pages(None, np.zeros((1, 2, 2)), True, None, NodeNames.of_nodes("uv"))
    with pytest.raises(irem.InputError, match=r"write several to a \.npz file"):
        _check_several(Path("y.csv"), pages)


def write(path, names, answers, left_out, *, alone=False):
    """Write several answers to each problem, as `irem solve` does."""
    answers = jnp.asarray(answers)
    y = answers[0] if alone else answers[:, 0]
    steps = jnp.ones(() if alone else len(y), int)
    energies = jnp.zeros(answers.shape[: 1 if alone else 2])
    found = {"answers": answers, "answer_energies": energies}
    solution = irem.Solution(y=y, energy=jnp.zeros(steps.shape), steps=steps, **found)
    with arrays.Writer.open(path, 1 if alone else len(y), names) as writer:
        writer.add(solution, np.asarray(left_out))
    return path


def test_further_answers_stand_beside_the_first(tmp_path):
    (tmp_path / "x.csv").write_text("name;p;q\nu;1;2\nv;3;4\n")
    names = TableNames(read_table(tmp_path / "x.csv"))
    answers = np.arange(8.0).reshape(2, 2, 2)
    out = write(tmp_path / "y.csv", names, answers, [False, True])
    assert out.read_text() == "name;y0;y1;y0_2;y1_2\nu;0;1;2;3\nv;nan;nan;nan;nan\n"
    with np.load(write(tmp_path / "y.npz", names, answers, [False, True])) as kept:
        np.testing.assert_array_equal(kept["answers"][0], answers[0])
        assert np.isnan(kept["answers"][1]).all()
        assert np.isnan(kept["answer_energies"][1]).all()


@pytest.mark.parametrize(
    ("shape", "text"), [((2, 2), "0,1,2,3\n"), ((2, 2, 2), "0,1,4,5\n2,3,6,7\n")]
)
def test_further_answers_to_one_problem_stand_beside_the_first(shape, text, tmp_path):
    answers = np.arange(np.prod(shape), dtype=float).reshape(shape)
    out = write(tmp_path / "y.csv", NoNames(), answers, False, alone=True)
    assert out.read_text() == text


@pytest.fixture
def test_rows(tmp_path):
    """New rows with their answers, in both forms."""
    columns = NEW.assign(price=TRUTH[:, 0], mass=TRUTH[:, 1], town="Ulm")
    columns.to_csv(tmp_path / "test.csv", index_label="name")
    np.savez(tmp_path / "test.npz", x=NEW[["a", "b", "c"]], y=TRUTH)
    return tmp_path


def test_the_error_on_given_rows_is_measured(linear, test_rows, irem_cli):
    solution = irem.load(linear).solve(NEW[["a", "b", "c"]].to_numpy())
    mse = np.mean(np.square(np.asarray(solution.y) - TRUTH))
    for name in ("test.npz", "test.csv"):
        result = irem_cli("evaluate", linear, "--data", test_rows / name, "--json")
        assert result.code == 0, result.err
        told = json.loads(result.out)
        np.testing.assert_allclose(told["mse"], mse, rtol=0.02)
        np.testing.assert_allclose(told["trivial_mse"], TRUTH.var(axis=0).mean(), rtol=1e-5)
        assert told["problems"] == 40
    printed = irem_cli("evaluate", linear, "--data", test_rows / "test.npz").out
    assert "mean answer" in printed
    assert "paper" not in printed


def test_the_error_of_a_single_target_is_measured(gappy, test_rows, irem_cli):
    result = irem_cli("evaluate", gappy, "--data", test_rows / "test.csv", "--json")
    assert result.code == 0, result.err
    np.testing.assert_allclose(json.loads(result.out)["trivial_mse"], TRUTH[:, 0].var(), rtol=1e-5)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"x": np.zeros((5, 4)), "y": np.zeros((5, 2))}, "`x` has shape (5, 4)"),
        ({"x": np.zeros((5, 3)), "y": np.zeros((5, 3))}, "answers of shape (5, 2)"),
        ({"x": np.zeros((5, 3)), "y": np.zeros((4, 2))}, "answers of shape (5, 2)"),
        ({"x": np.zeros(3), "y": np.zeros(2)}, "expected problems along the first axis"),
        ({"x": np.full((5, 3), np.nan), "y": np.zeros((5, 2))}, "`x` must be finite"),
        ({"x": np.zeros((5, 3))}, "holds 1 array ('x')"),
    ],
)
def test_rows_unlike_those_of_the_fit_are_refused(given, sentence, linear, irem_cli, tmp_path):
    np.savez(tmp_path / "test.npz", **given)
    result = irem_cli("evaluate", linear, "--data", tmp_path / "test.npz")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert sentence in result.err


def test_wrong_tests_get_one_sentence(linear, several, runs, test_rows, irem_cli):
    bare = test_rows / "bare.csv"
    bare.write_text("1,2,3,4,5\n6,7,8,9,10\n")
    nameless = shutil.copytree(several, test_rows / "nameless")
    settings = json.loads((nameless / "run.json").read_text())
    settings["task"] |= {"x_names": None, "y_names": None}
    (nameless / "run.json").write_text(json.dumps(settings))
    data, table = ("--data", test_rows / "test.npz"), ("--data", test_rows / "test.csv")
    for arguments, sentence in (
        ((linear,), "with --data test.npz or a .csv"),
        ((linear, *data, "--problems", 5), "leave out --problems"),
        ((linear, *data, "--difficulty", "harder"), "leave out --problems"),
        ((linear, "--data", bare), "has no header"),
        ((linear, "--data", test_rows / "none.npz"), "There is no file"),
        ((nameless, *table), "fitted to arrays without names"),
        ((runs["addition"], *data), "--data is for runs of `irem fit`"),
    ):
        result = irem_cli("evaluate", *arguments)
        assert result.code == 2
        assert sentence in result.err.splitlines()[-1]


FIGURES = ("error-by-size", "error-by-step", "element-error", "landscape", "steps-spent")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        *(
            (("figure", name, "RUN", "--out", "OUT.png"), "of runs of `irem train`")
            for name in FIGURES
        ),
        (("calibrate", "RUN"), "`irem fit` has calibrated it"),
        (("compose", "RUN"), "Only a learned addition can be composed"),
        (("denoise", "RUN", "none.png", "--out", "OUT.png"), "not on pictures"),
        (("train", "addition", "--out", "RUN", "--resume"), "irem fit DATA --out"),
        (("train", "addition", "--out", "RUN"), "already holds a run"),
        (("reproduce", "table1", "--quick", "--out", "RUN"), "not a reproduction"),
        (("report", "RUN", "--out", "OUT.html"), "holds no results"),
        (("check", "arrays", "x.npy", "y.npy"), "Unknown task 'arrays'"),
        (("train", "arrays", "--out", "OUT"), "Unknown task 'arrays'"),
    ],
)
def test_other_commands_say_what_they_cannot_do(arguments, sentence, linear, irem_cli, tmp_path):
    places = {"RUN": linear, "OUT": tmp_path / "out"}
    places |= {f"OUT{suffix}": tmp_path / f"out{suffix}" for suffix in (".png", ".html")}
    before = {file: file.read_bytes() for file in linear.iterdir()}
    result = irem_cli(*(places.get(part, part) for part in arguments))
    assert result.code == 2
    assert sentence in result.err
    assert result.err.count("\n") == 1
    assert not list(tmp_path.iterdir())
    assert {file: file.read_bytes() for file in linear.iterdir()} == before
