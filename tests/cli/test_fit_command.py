"""`irem fit`: rows of a user's own become a run, and what is wrong with them is said."""

import contextlib
import dataclasses
import functools
import io
import json
import shutil
import signal
import sys

import numpy as np
import pandas as pd
import pytest

import irem
from irem.cli import fit, main
from irem.training import trainer

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(3, 2))
X = RNG.normal(size=(600, 3))
Y = X @ MATRIX
FRAME = pd.DataFrame(np.hstack([X, Y]), columns=["a", "b", "width, mm", "price", "mass"])
FRAME.insert(0, "town", ["Ulm", "Bonn"] * 300)
SHORT = ("--iterations", 1000, "--no-compare")


@pytest.fixture(autouse=True, scope="module")
def small():
    """Fit networks so small that they are compiled and trained in seconds."""
    with pytest.MonkeyPatch.context() as patch:
        effort = functools.partial(irem.Effort, width=8, batch_size=32)
        patch.setattr(fit, "Effort", effort)
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same rows in all forms."""
    folder = tmp_path_factory.mktemp("files")
    np.savez(folder / "rows.npz", x=X, y=Y)
    np.save(folder / "x.npy", X)
    np.save(folder / "y.npy", Y)
    FRAME.to_csv(folder / "rows.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def fitted(files, tmp_path_factory):
    """A run on the rows, and what the program printed."""
    out = tmp_path_factory.mktemp("fitted") / "my run"
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        arguments = ["fit", files / "rows.npz", "--out", out, *SHORT]
        patch.setattr(sys, "argv", ["irem", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
    assert not ended.value.code
    return out, printed.getvalue()


@pytest.fixture
def copied(fitted, tmp_path):
    return shutil.copytree(fitted[0], tmp_path / "copied")


def test_a_linear_map_is_found(fitted):
    x = np.random.default_rng(1).normal(size=(200, 3))
    error = np.mean(np.square(irem.load(fitted[0]).solve(x).y - x @ MATRIX))
    assert error < 0.02 * np.mean(np.square(x @ MATRIX))


def test_a_table_a_line_and_the_next_command_are_printed(fitted):
    out, printed = fitted
    table, line, following = printed.splitlines()[:4], *printed.splitlines()[4:]
    assert table[0].split() == ["model", "validation", "mse"]
    assert table[1].startswith("equations energy, ")
    assert " ± " in table[1]
    assert table[2].endswith("not measured")
    # The variance of held-out answers, up to the choice of 60 rows among 600.
    np.testing.assert_allclose(float(table[3].split()[-1]), Y.var(axis=0).mean(), rtol=0.3)
    report = irem.load(out).report
    for part in ("over 60 rows", f"{report['parameters']:,} parameters", "1,000 iterations"):
        assert part in line
    assert following == f"Next: irem solve '{out}' x.npy --out y.npy"


def test_what_is_fitted_already_is_told_again_as_json(fitted, files, irem_cli):
    # Two .npy files hold the same rows as the .npz.
    rows = (files / "x.npy", files / "y.npy")
    result = irem_cli("fit", *rows, "--out", fitted[0], *SHORT, "--resume", "--json")
    assert result.code == 0
    told = json.loads(result.out)
    kept = json.loads((fitted[0] / "fit.json").read_text())["report"]
    assert {name: told[name] for name in kept} == kept
    assert told["validation_mse"] < 0.05 * told["trivial_mse"]
    assert told["feedforward_mse"] is None
    assert (told["out"], told["energy"]) == (str(fitted[0]), "equations")
    assert told["calibrated"] is True
    assert told["seconds"] > 0
    assert told["steps_mean"] >= 1


def test_columns_are_chosen_by_name_and_by_number(files, irem_cli, tmp_path):
    # A network to compare with is trained as well.
    options = ("--target", 'mass,"price"', "--ignore", "1", "--iterations", 100, "--seed", 3)
    result = irem_cli("fit", files / "rows.csv", *options, "--out", tmp_path / "run", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["feedforward_mse"] > 0
    run = irem.load(tmp_path / "run")
    assert run.task.x_names == ("a", "b", "width, mm")
    assert run.task.y_names == ("mass", "price")
    constant = np.square(Y - Y.mean(axis=0)).mean()
    answers = np.asarray(run.solve(X).y)
    assert np.mean(np.square(answers - Y[:, ::-1])) < constant  # in the order of --target


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--target", "price"), "The column 'town' of '{}' holds text ('Ulm' in row 2); leave it"),
        (("--target", "price"), "out with --ignore town, or encode it as numbers."),
        (("--target", "1"), "('Ulm' in row 2); encode it as numbers."),
        ((), "with --target; its columns are town, a, b, width, mm, price, mass."),
        (("--target", "price", "--ignore", "5,price"), "Say which columns"),
        (("--target", "pric"), "Did you mean 'price'?"),
        (("--target", "7"), "Unknown column of '{}' '7'"),
        (("--target", "a,b,price,mass,4", "--ignore", "town"), "no column left for the problems"),
        (("--target", "price", "--ignore", "town", "--kind", "graphs"), "vectors, not graphs"),
        (("--target", "price", "--ignore", "town", "--validation", 1), "between 0 and 1, got 1"),
        (("--target", "price", "--ignore", "town", "--energy", "nope"), "Unknown energy 'nope'"),
        (("--target", "price", "--ignore", "town", "--energy", "gine"), "needs graphs"),
        (("--target", "price", "--ignore", "town", "--minutes", 1), "leave one out"),
        (("--target", "price", "--ignore", "town", "--seed", -1), "from 0 to 4294967295, got -1"),
    ],
)
def test_wrong_columns_and_options_get_one_sentence(options, sentence, files, irem_cli, tmp_path):
    path = files / "rows.csv"
    result = irem_cli("fit", path, *options, *SHORT, "--out", tmp_path / "run")
    assert result.code == 2
    assert sentence.format(path) in result.err
    assert result.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("1,2\n3,4\n", "has no header: its first row holds numbers"),
        ("a,,y\n1,2,3\n", "Column 2 of '{}' has no name"),
        ("a,a,y\n1,2,3\n", "more than one column 'a'"),
        ("a,y\n1,2\n1,\n", "no number in row 3, column 'y', which is an answer"),
        ("a,y\n1,2\n1,2,3\n", "row 3 has 3 cells, and its header 2"),
        ('"b, c",d,y\nu,v,3\n', "The columns 'b, c', 'd' of '{}' hold text ('u' in row 2)"),
        ('"b, c",d,y\nu,v,3\n', "leave them out with --ignore '\"b, c\",d'"),
        ("a,y\n1,2\n", "have 1 sample (rows), and fitting needs at least 8"),
        ("a,y\n", "have 0 samples"),
        ("a;y\n1,5;2\n1.5;2\n", "another mark before decimals"),
    ],
)
def test_wrong_tables_get_one_sentence(text, sentence, irem_cli, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(text)
    result = irem_cli("fit", path, "--target", "y", *SHORT, "--out", tmp_path / "run")
    assert result.code == 2
    assert sentence.format(path) in result.err
    assert result.err.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]


def test_names_of_rows_and_columns_to_ignore_are_not_read(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(";colour;a;y;b\nu;red;1,5;2;3\nv;;4;5;\n")
    x, y, names = fit.row_files.read_rows(path, None, fit.row_files.Columns("y", "colour"))
    np.testing.assert_array_equal(x, [[1.5, 3], [4, np.nan]])
    np.testing.assert_array_equal(y, [2, 5])
    assert names == (("a", "b"), ("y",))


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"x": X}, "holds 1 array ('x'); expected `x`, the problems and `y`, their answers"),
        ({"x": X, "y": Y[:5]}, "as many problems as answers"),
        ({"x": X, "y": np.where(Y > 2, np.nan, Y)}, "`y` must be finite"),
        ({"x": np.array(["u"] * 600), "y": Y}, "`x` must hold numbers"),
    ],
)
def test_wrong_arrays_get_one_sentence(arrays, sentence, irem_cli, tmp_path):
    np.savez(tmp_path / "rows.npz", **arrays)
    result = irem_cli("fit", tmp_path / "rows.npz", *SHORT, "--out", tmp_path / "run")
    assert result.code == 2
    assert sentence in result.err
    assert not (tmp_path / "run").exists()


def test_wrong_files_get_one_sentence(files, irem_cli, tmp_path):
    def refused(*arguments):
        result = irem_cli("fit", *SHORT, *arguments, "--out", tmp_path / "run")
        assert result.code == 2
        assert not (tmp_path / "run").exists()
        return result.err

    assert "Rows come from a .npz" in refused(files / "x.npy")
    assert "Rows come from a .npz" in refused(files / "rows.npz", files / "y.npy")
    assert "There is no file" in refused(files / "x.npy", files / "none.npy")
    assert "leave them out" in refused(files / "rows.npz", "--target", "y")
    assert "expected grey pictures" in refused(files / "rows.npz", "--kind", "pictures")
    assert "greater than 0" in refused(files / "rows.npz", "--iterations", 0)


def test_a_folder_that_is_taken_is_refused(fitted, files, train_quickly, irem_cli, tmp_path):
    assert "already holds a run" in irem_cli("fit", files / "rows.npz", "--out", fitted[0]).err
    other = train_quickly(tmp_path, "addition", "--set", "task.size=3")
    before = sorted(file.name for file in other.iterdir())
    result = irem_cli("fit", files / "rows.npz", "--out", other, "--resume", *SHORT)
    assert result.code == 2
    assert "was not made by `irem.fit`" in result.err.splitlines()[-1]
    assert sorted(file.name for file in other.iterdir()) == before


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--seed", 1), "was fitted to other rows, or with another seed"),
        (("--energy", "mlp"), "is fitted with the energy 'equations', not with 'mlp'"),
        (("--several",), "was started with other settings"),
    ],
)
def test_another_fit_does_not_go_on_in_the_folder(options, sentence, fitted, files, irem_cli):
    arguments = ("--out", fitted[0], *SHORT, "--resume", *options)
    result = irem_cli("fit", files / "rows.npz", *arguments)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert sentence in result.err


def test_other_rows_do_not_go_on_in_the_folder(fitted, irem_cli, tmp_path):
    np.savez(tmp_path / "rows.npz", x=X, y=Y + 1e-3)
    result = irem_cli("fit", tmp_path / "rows.npz", "--out", fitted[0], *SHORT, "--resume")
    assert result.code == 2
    assert "was fitted to other rows" in result.err


def weights(run):
    return (run / "checkpoint.safetensors").read_bytes()


def test_a_fit_that_is_stopped_goes_on_to_the_same_end(
    fitted, files, irem_cli, monkeypatch, tmp_path
):
    run_chunk = trainer.run_chunk

    def signalled(*arguments):
        monkeypatch.setattr(trainer, "run_chunk", run_chunk)
        signal.raise_signal(signal.SIGINT)
        return run_chunk(*arguments)

    monkeypatch.setattr(trainer, "run_chunk", signalled)
    arguments = ("fit", files / "rows.npz", "--out", tmp_path / "run", *SHORT)
    stopped = irem_cli(*arguments)
    assert stopped.code == 130
    assert "iteration 100 is kept" in stopped.err
    assert irem.load(tmp_path / "run").report is None
    # A process that is killed leaves the same files, perhaps without the time that it took.
    assert irem_cli(*arguments, "--resume").code == 0
    states = [irem.load(run).solve(X[:20]).y for run in (tmp_path / "run", fitted[0])]
    np.testing.assert_array_equal(*states)
    assert irem.load(tmp_path / "run").report["iterations"] == 1000


def test_a_fit_that_was_killed_before_its_first_checkpoint_begins_again(copied, files, irem_cli):
    for name in ("checkpoint.safetensors", "fit.json", "calibration.json"):
        (copied / name).unlink()
    assert irem_cli("fit", files / "rows.npz", "--out", copied, *SHORT, "--resume").code == 0
    (copied / "checkpoint.safetensors").unlink()
    (copied / "calibration.json").unlink()
    assert irem_cli("fit", files / "rows.npz", "--out", copied, *SHORT).code == 0
    assert irem.load(copied).report["iterations"] == 1000


@pytest.mark.parametrize("text", ["{", "[]", '{"report": 1}', '{"rows": "x"}'])
def test_a_damaged_choice_is_refused(text, copied, files, irem_cli):
    (copied / "fit.json").write_text(text)
    result = irem_cli("fit", files / "rows.npz", "--out", copied, *SHORT, "--resume")
    assert result.code == 2
    assert result.err.count("\n") == 1


def test_a_calibration_that_was_removed_is_made_again(copied, files, irem_cli):
    kept = (copied / "calibration.json").read_bytes()
    (copied / "calibration.json").unlink()
    assert irem_cli("fit", files / "rows.npz", "--out", copied, *SHORT, "--resume").code == 0
    assert (copied / "calibration.json").read_bytes() == kept


def test_too_few_rows_and_nothing_learned_are_said(fitted, capsys):
    run = irem.load(fitted[0])
    fit._warn(run)
    assert capsys.readouterr().err == ""
    worse = {"validation_mse": 2 * run.report["trivial_mse"], "problems": 4}
    fit._warn(dataclasses.replace(run, report={**run.report, **worse}))
    nothing, few = capsys.readouterr().err.splitlines()
    assert "nothing was learned" in nothing
    assert "Only 4 rows were held out" in few
