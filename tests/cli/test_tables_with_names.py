"""Tables whose columns and rows have names, and answers by the same names."""

import io
import json
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csgraph

import irem
from irem.cli import arrays
from irem.cli.csv_files import read_table
from irem.cli.problem_files import read_problems
from irem.formats import Graphs, Tables, Vectors

PLAIN = irem.tasks.get("shortest-path", variant="wide")


def save(folder, text, name="x.csv"):
    path = folder / name
    path.write_bytes(text.encode())
    return path


FRAME = pd.DataFrame(
    {"width, mm": [1.5, 2.0, np.nan], "depth": [-3.0, 1e-9, 4.0]}, ["one", "two; 2", "three"]
)


@pytest.mark.parametrize(("separator", "decimal"), [",.", ";.", ";,", "\t."])
@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("missing", ["", "NA", "nan", "N/A"])
def test_tables_that_pandas_wrote_are_read(separator, decimal, index, missing, tmp_path):
    text = FRAME.to_csv(sep=separator, decimal=decimal, index=index, na_rep=missing)
    table = read_table(save(tmp_path, f"\ufeff{text}"))
    assert table.columns == tuple(FRAME.columns)
    assert table.index == (tuple(FRAME.index) if index else None)
    assert table.index_name == ("" if index else None)
    assert tuple(table.style) == (separator, decimal)
    np.testing.assert_array_equal(table.values, FRAME)


@pytest.mark.parametrize(
    ("text", "columns", "index", "values"),
    [
        ("a\n1\n2\n", ("a",), None, [[1], [2]]),
        ("name,a\nu,1\nv,2\n", ("a",), ("u", "v"), [[1], [2]]),
        ("id,a,b\n7,1,2\n", ("id", "a", "b"), None, [[7, 1, 2]]),
        ("1,2\n3,4\n", None, None, [[1, 2], [3, 4]]),
        # Numbers as names: beside names of rows, of both, and as pandas numbers them.
        (",2019,2020\nu,1,2\n", ("2019", "2020"), ("u",), [[1, 2]]),
        ("n,7,9\n7,0,1\n9,1,0\n", ("7", "9"), ("7", "9"), [[0, 1], [1, 0]]),
        (",0,1,2\n0,5,6,7\n1,8,9,9\n", ("0", "1", "2"), ("0", "1"), [[5, 6, 7], [8, 9, 9]]),
        # Distances without a diagonal are numbers, whatever the first row and column have.
        (",5\n5,\n", None, None, [[np.nan, 5], [5, np.nan]]),
        (",0,1\n0,,1\n1,1,\n", None, None, [[np.nan, 0, 1], [0, np.nan, 1], [1, 1, np.nan]]),
        ('"a;b","c\nd"\n1,2\n', ("a;b", "c\nd"), None, [[1, 2]]),
        ("town, state\tpeople\nUlm\t3\n", ("people",), ("Ulm",), [[3]]),
    ],
)
def test_what_is_a_name_and_what_a_number(text, columns, index, values, tmp_path):
    table = read_table(save(tmp_path, text))
    assert (table.columns, table.index) == (columns, index)
    np.testing.assert_array_equal(table.values, values)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,b\n1,x\n", "'x' in row 2, column 'b', is not a number"),
        ("a,b\n1,2\nx,2\n2,3\n", "'x' in row 3, column 'a', is not a number"),  # no name of a row
        (
            "anna,1,2\nbob,3,4\n",
            "'anna' in row 1 is not a number: if row 1 is a header, give every",
        ),
        ("1,x2,3\n4,5,6\n", "'x2' in row 1 is not a number"),
        ("a,b\n1,2,3\n", "'a' in row 1 is not a number"),
        ("1,2\n1,2,3\n", "its rows have from 2 to 3 cells"),
        ("name\nanna\n", "it has no column of numbers"),
        ("1;2,5\n3;2.5\n", "another mark before decimals than other cells"),
        ("1;1.234,5\n", "'1.234,5' in row 1 is not a number"),
        ('a,b\n"1,2\n', "unexpected end of data"),
    ],
)
def test_what_is_neither_gets_one_sentence(text, sentence, tmp_path):
    with pytest.raises(irem.InputError, match="is not a table of numbers") as refused:
        read_table(save(tmp_path, text))
    assert sentence in str(refused.value)


def test_columns_are_taken_by_name_and_others_are_ignored(tmp_path):
    path = save(tmp_path, "id,colour,b,a\np,red,1,2\nq,blue,3,4\n")
    table = read_table(path, ("a", "b"))
    assert (table.columns, table.index, table.index_name) == (("a", "b"), ("p", "q"), "id")
    np.testing.assert_array_equal(table.values, [[2, 1], [4, 3]])
    with pytest.raises(irem.InputError, match="no column 'c'; the model takes the columns a, c"):
        read_table(path, ("a", "c"))
    with pytest.raises(irem.InputError, match="'red' in row 2, column 'colour', is not a number"):
        read_table(path, ("colour",))
    with pytest.raises(irem.InputError, match="more than one column 'a'"):
        read_table(save(tmp_path, "a,a\n1,2\n"), ("a",))
    with pytest.raises(irem.InputError, match="row 2 has 3 cells, and its header 2"):
        read_table(save(tmp_path, "a,b\n1,2,3\n"), ("a",))
    with pytest.raises(irem.InputError, match="it has no row after its header"):
        read_table(save(tmp_path, "a,b\n"), ("a",))


def test_columns_whose_names_are_numbers_are_taken_by_name(tmp_path):
    table = read_table(save(tmp_path, "2019,2020\n1,2\n"), ("2020", "2019"))
    np.testing.assert_array_equal(table.values, [[2, 1]])
    table = read_table(save(tmp_path, "1,2\n3,4\n"), ("a", "b"))  # without a header
    assert table.columns is None
    np.testing.assert_array_equal(table.values, [[1, 2], [3, 4]])


def write(path, found, *pages):
    """Write answers as `irem solve` does, perhaps in several pages."""
    problems = 1 if found.alone else sum(map(len, pages))
    with arrays.Writer.open(path, problems, found.names) as writer:
        for y in pages:
            steps = jnp.ones(() if found.alone else len(y), int)
            solution = irem.Solution(y=jnp.asarray(y), energy=jnp.zeros(steps.shape), steps=steps)
            writer.add(solution, np.zeros(steps.shape, bool))
    return path


def test_answers_have_the_index_of_the_problems_and_the_names_of_targets(tmp_path):
    x = save(tmp_path, FRAME.fillna(0).to_csv(sep=";", decimal=",", index_label="part"))
    task = SimpleNamespace(x_names=("depth",), y_names=("price", "mass"))
    found = read_problems(x, task, Vectors((1,), (2,)))
    np.testing.assert_array_equal(found.x[:, 0], FRAME["depth"])
    y = np.arange(6, dtype=np.float32).reshape(3, 2) / 4
    out = write(tmp_path / "y.csv", found, y[:2], y[2:])
    expected = pd.DataFrame(y, pd.Index(FRAME.index, name="part"), ["price", "mass"])
    found_again = pd.read_csv(out, sep=";", decimal=",", index_col=0)
    pd.testing.assert_frame_equal(found_again, expected, check_dtype=False)
    with np.load(write(tmp_path / "y.npz", found, y[:2], y[2:])) as kept:
        np.testing.assert_array_equal(kept["y"], y)
        assert kept["index"].tolist() == list(FRAME.index)
        assert kept["columns"].tolist() == ["price", "mass"]
    np.testing.assert_array_equal(np.load(write(tmp_path / "y.npy", found, y)), y)


@pytest.mark.parametrize(
    ("text", "form", "y", "expected"),
    [
        # One number for every row, and a matrix for every row.
        ("a,b\n1,2\n3,4\n", Vectors((2,), ()), np.array([5.0, 6.0]), "y0\n5\n6\n"),
        ("i,a,b\np,1,2\n", Vectors((2,), (2, 1)), np.ones((1, 2, 1)), "i,y0,y1\np,1,1\n"),
        # One table, of the same size, and one vector for it.
        ("i,a,b\np,1,2\nq,3,4\n", Tables(), np.eye(2), "i,a,b\np,1,0\nq,0,1\n"),
        ("a,b,c\n1,2,3\n4,5,6\n", Tables(2), np.arange(3.0), "a,b,c\n0,1,2\n"),
        ("a,b,c\n1,2,3\n4,5,6\n", Tables(2), np.arange(2.0), "y0,y1\n0,1\n"),
        # Without names the style is kept.
        ("1;2,5\n3;4\n", Tables(), np.full((2, 2), 0.5), "0,5;0,5\n0,5;0,5\n"),
    ],
)
def test_the_table_of_answers(text, form, y, expected, tmp_path):
    found = read_problems(save(tmp_path, text), SimpleNamespace(), form)
    assert write(tmp_path / "y.csv", found, y).read_text() == expected


def test_one_row_with_a_header_is_a_table_of_one_problem(tmp_path):
    form = Vectors((2,), (1,))
    assert not read_problems(save(tmp_path, "a,b\n1,2\n"), SimpleNamespace(), form).alone
    assert read_problems(save(tmp_path, "1,2\n"), SimpleNamespace(), form).alone


MATRIX = pd.DataFrame(
    [[0, 2, np.nan, 9], [np.nan, 0, 1, 5], [4, np.nan, 0, 1], [np.nan, np.nan, np.nan, 0]],
    list("abcd"),
    list("abcd"),
)


def test_a_labelled_matrix_is_one_graph_and_so_are_its_distances(irem_cli, tmp_path):
    x, out = save(tmp_path, MATRIX.to_csv()), tmp_path / "y.csv"
    result = irem_cli("solve", "zoo:shortest-path", x, "--out", out, "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["shape"] == [4, 4]
    found = pd.read_csv(out, index_col=0)
    expected = csgraph.dijkstra(np.nan_to_num(MATRIX.to_numpy()))
    pd.testing.assert_frame_equal(
        found, pd.DataFrame(expected, MATRIX.index, MATRIX.columns), rtol=0.01
    )
    assert irem_cli("check", "shortest-path", x, out).code == 0
    # In another order of the nodes.
    found.loc[list("dbca"), list("cadb")].to_csv(out)
    assert irem_cli("check", "shortest-path", x, out).code == 0
    found.rename(columns={"a": "z"}).to_csv(out)
    result = irem_cli("check", "shortest-path", x, out)
    assert result.code == 2
    assert "have other names than the nodes of the problem; those are a, b, c, d." in result.err
    MATRIX.replace(9, -9).to_csv(x)
    result = irem_cli("solve", "zoo:shortest-path", x, "--out", out)
    assert result.code == 2
    assert "Entry ('a', 'd') is -9; lengths are not negative" in result.err


def test_a_matrix_whose_rows_have_other_names_than_its_columns_is_refused(tmp_path):
    three = MATRIX.iloc[:3, :3]
    for index in (list("xyz"), list("cba")):
        x = save(tmp_path, three.set_axis(index).to_csv())
        with pytest.raises(irem.InputError, match="have other names than its columns"):
            read_problems(x, PLAIN, Graphs(missing=True))
    # Flat rows with names of their own, four graphs of two nodes.
    x = save(tmp_path, MATRIX.set_axis(list("wxyz")).to_csv())
    found = read_problems(x, PLAIN, Graphs(missing=True), 4)
    assert found.x.shape == (4, 2, 2)
    header, first, *_ = write(tmp_path / "y.csv", found, np.ones((4, 2, 2))).read_text().split("\n")
    assert (header, first) == (",y0,y1,y2,y3", "w,1,1,1,1")


def test_names_of_nodes_in_a_header_alone(tmp_path):
    x = save(tmp_path, MATRIX.iloc[:3, :3].to_csv(index=False))
    found = read_problems(x, PLAIN, Graphs(missing=True))
    assert found.alone
    text = write(tmp_path / "y.csv", found, np.eye(3)).read_text()
    assert text.splitlines()[:2] == ["a,b,c", "1,0,0"]
    assert found.names.renamed(0, "Entry (0, 2) is bad.") == "Entry ('a', 'c') is bad."


@pytest.fixture(scope="module")
def sums():
    """Pairs of vectors of six numbers as rows with names."""
    x = np.random.default_rng(0).uniform(-1, 1, (5, 12)).round(3)
    names = [f"{side}{i}" for side in "ab" for i in range(6)]
    return pd.DataFrame(x, [f"row {i}" for i in range(5)], names)


def test_rows_with_names_are_answered_like_rows_without(sums, runs, irem_cli, tmp_path):
    named, plain = tmp_path / "named.csv", tmp_path / "plain.csv"
    sums.to_csv(named, index_label="which")
    sums.to_csv(plain, index=False, header=False)
    answers = {}
    for x in (named, plain):
        out = tmp_path / f"y-{x.name}"
        options = ("--max-steps", 3, "--step", "fixed")
        assert irem_cli("solve", runs["addition"], x, "--out", out, *options).code == 0
        answers[x] = out.read_text()
    found = pd.read_csv(io.StringIO(answers[named]), index_col="which")
    assert found.index.tolist() == sums.index.tolist()
    assert found.columns.tolist() == [f"y{i}" for i in range(6)]
    np.testing.assert_array_equal(found, np.loadtxt(io.StringIO(answers[plain]), delimiter=","))


def test_answers_to_rows_have_the_same_names(irem_cli, tmp_path):
    x, y = tmp_path / "x.csv", tmp_path / "y.csv"
    graphs = pd.DataFrame(np.arange(12.0).reshape(3, 4), list("pqr"), ["aa", "ab", "ba", "bb"])
    graphs.to_csv(x)
    for answers, code in ((graphs, 0), (graphs + 1, 1), (graphs[::-1], 2)):
        answers.add_prefix("copy of ").to_csv(y)
        result = irem_cli("check", "edge-copy", x, y)
        assert result.code == code, result
    assert "have other names than those of the problems" in result.err
