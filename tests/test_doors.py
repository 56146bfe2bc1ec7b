"""Frames, graphs, sparse matrices and lists as problems, and answers in the same form."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.sparse import csgraph

import irem
from irem.doors import labels_of
from irem.formats import Graphs, Pictures, Stacks, Tables, Vectors

LENGTHS = Graphs(missing=True)


def roads():
    """A directed graph whose nodes have names, and of which not every pair is joined."""
    graph = nx.gnp_random_graph(8, 0.25, seed=3, directed=True)
    lengths = np.random.default_rng(0).uniform(0.5, 3, graph.number_of_edges())
    for length, (_, _, data) in zip(lengths, graph.edges(data=True), strict=True):
        data["weight"] = length
    return nx.relabel_nodes(graph, {i: f"city {i}" for i in graph})


def matrix(x, form=LENGTHS):
    batch, alone = form.as_batch(x)
    assert alone
    assert np.asarray(batch.nodes).all()
    return np.asarray(batch.edges[0])


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
@pytest.mark.parametrize("missing", [True, False])
def test_a_networkx_graph_is_its_adjacency_matrix(kind, missing):
    graph = kind(roads())
    graph.add_edge("city 1", "elsewhere")  # without a weight
    absent = np.inf if missing else 0.0
    expected = nx.to_numpy_array(graph, nonedge=absent)
    np.fill_diagonal(expected, 0.0)
    found = matrix(graph, Graphs(missing=missing))
    np.testing.assert_array_equal(found, expected.astype(np.float32))


def test_the_shortest_of_parallel_edges_counts_where_weights_are_lengths():
    graph = nx.MultiGraph([("a", "b", {"weight": 3}), ("b", "a", {"weight": 2})])
    np.testing.assert_array_equal(matrix(graph), [[0, 2], [2, 0]])
    with pytest.raises(irem.InputError, match="have the weights 3 and 2; join them into one"):
        Graphs().as_batch(graph)
    graph["a"]["b"][1]["weight"] = 3
    np.testing.assert_array_equal(matrix(graph, Graphs()), [[0, 3], [3, 0]])


def test_an_edge_that_networkx_hides_is_missing():
    graph = nx.DiGraph([("a", "b", {"weight": None}), ("b", "a", {"weight": 2.0})])
    np.testing.assert_array_equal(matrix(graph), [[0, np.inf], [2, 0]])
    assert "b" not in dict(nx.all_pairs_dijkstra_path_length(graph))["a"]


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        (0, "The edge from 'a' to 'b' has the weight 0, which may mean that there is no edge"),
        ("long", "The edge from 'a' to 'b' has the weight 'long'; weights are numbers"),
        (1j, "weights are numbers"),
    ],
)
def test_weights_that_cannot_be_used_are_refused_with_their_edge(weight, sentence):
    with pytest.raises(irem.InputError, match=sentence):
        LENGTHS.as_batch(nx.Graph([("a", "b", {"weight": weight})]))


@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array", "lil_array"])
def test_a_sparse_matrix_is_one_graph_whose_absent_entries_are_missing(kind):
    # Of four nodes, which a plain table of 4 x 4 would not say.
    dense = np.array([[0, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 4.5], [1, 0, 0, 7]])
    sparse = getattr(scipy.sparse, kind)(dense)
    missing = np.where((dense == 0) & ~np.eye(4, dtype=bool), np.inf, dense)
    np.testing.assert_array_equal(matrix(sparse), missing)
    np.testing.assert_array_equal(matrix(sparse, Graphs()), dense)
    batch, _ = Tables().as_batch(sparse)
    np.testing.assert_array_equal(batch[0], dense)


def test_entries_of_a_sparse_matrix_that_are_given_twice_are_added():
    sparse = scipy.sparse.coo_array(([1.0, 2.0, 5.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    np.testing.assert_array_equal(matrix(sparse), [[0, 3], [5, 0]])
    assert sparse.nnz == 3  # what was given is as it was


def test_zeros_that_a_sparse_matrix_stores_are_refused_as_lengths():
    sparse = scipy.sparse.csr_array(([0.0, 1.0], ([0, 1], [1, 0])), shape=(2, 2))
    with pytest.raises(irem.InputError, match=r"from 0 to 1 has the weight 0.*eliminate_zeros"):
        LENGTHS.as_batch(sparse)
    np.testing.assert_array_equal(matrix(sparse, Graphs()), [[0, 0], [1, 0]])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 0, 2]),
        pd.Series([True, False, True]),
        pd.Series([1.5, None, 2]),
        pd.Series([1, None, 2], dtype="Int8"),
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series([1.5, pd.NA, 2], dtype="Float32"),
        pd.Series([1, None, 2.5], dtype=object),
        pd.Series([np.float32(1), pd.NA, True], dtype=object),
        pd.Series([None, None, None]),
    ],
    ids=lambda column: str(column.dtype),
)
def test_columns_of_every_kind_of_number_are_read(column):
    expected = [np.nan if pd.isna(value) else float(value) for value in column]
    frame = pd.DataFrame({"first": [1.0, 2.0, 3.0], "second": column})
    batch, alone = Vectors((2,), (1,), missing=True).as_batch(frame)
    assert not alone
    np.testing.assert_array_equal(batch[:, 1], np.float32(expected))
    one, alone = Vectors((3,), (1,), missing=True).as_batch(column)
    assert alone
    np.testing.assert_array_equal(one[0], np.float32(expected))


@pytest.mark.parametrize(
    "column",
    [["1", "2"], [1, "x"], [1j, 2], pd.to_datetime(["2020", "2021"]), pd.Categorical(["a", "b"])],
)
def test_a_column_without_numbers_is_named(column):
    frame = pd.DataFrame({"fine": [1, 2], "colour of": column})
    with pytest.raises(irem.InputError, match="its column 'colour of' has"):
        Vectors((2,), (1,)).as_batch(frame)


def test_columns_of_one_name_are_read_by_place():
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    np.testing.assert_array_equal(Vectors((2,), (1,)).as_batch(frame)[0], [[1, 2], [3, 4]])


@pytest.mark.parametrize("names", [list("abcd"), [3, 1, 4, 2], pd.RangeIndex(1, 5)])
def test_a_frame_whose_rows_have_the_names_of_its_columns_is_one_matrix(names):
    x = np.random.default_rng(0).uniform(1, 2, (4, 4))
    np.testing.assert_array_equal(matrix(pd.DataFrame(x, names, names)), np.float32(x))
    # As pandas reads names that are numbers.
    np.testing.assert_array_equal(matrix(pd.DataFrame(x, names, map(str, names))), np.float32(x))
    with pytest.raises(irem.InputError, match="one problem of shape"):
        LENGTHS.as_batch(pd.DataFrame(x))  # rows and columns are merely numbered
    with pytest.raises(irem.InputError, match="one problem of shape"):
        LENGTHS.as_batch(pd.DataFrame(x, names))


def test_missing_entries_of_a_labelled_matrix_are_missing_edges():
    frame = pd.DataFrame([[0, 1], [None, 0]], ["a", "b"], ["a", "b"])
    np.testing.assert_array_equal(matrix(frame), [[0, 1], [np.inf, 0]])


def test_matrices_of_a_list_are_padded_and_have_their_own_nodes():
    names = list("abcd")
    problems = [
        nx.path_graph(3),
        np.ones((5, 5)),
        pd.DataFrame(np.ones((4, 4)), names, names),
        scipy.sparse.csr_array(np.eye(2)),
    ]
    for form in (LENGTHS, Graphs()):
        batch, alone = form.as_batch(problems)
        assert not alone
        assert batch.edges.shape == (4, 5, 5)
        assert batch.nodes.sum(axis=1).tolist() == [3, 5, 4, 2]
        for edges, nodes, one in zip(batch.edges, batch.nodes, problems, strict=True):
            np.testing.assert_array_equal(edges[np.ix_(nodes, nodes)], matrix_of(one, form))
            assert not np.asarray(edges)[~np.asarray(nodes)].any()


def matrix_of(one, form):
    return np.asarray(form.as_batch([one])[0].edges[0])


def test_a_list_of_matrices_of_one_size_is_a_stack_for_every_format():
    stack = np.arange(12.0).reshape(2, 2, 3)
    for form in (Vectors((2, 3), (1,)), Tables(), Pictures()):
        for problems in (list(stack), [pd.DataFrame(one) for one in stack]):
            batch, alone = form.as_batch(problems)
            assert not alone
            np.testing.assert_array_equal(batch, stack)


@pytest.mark.parametrize(
    ("form", "x", "sentence"),
    [
        (LENGTHS, [np.eye(2), np.ones((2, 3))], r"Problem 1 of the list has shape \(2, 3\)"),
        (LENGTHS, scipy.sparse.csr_array(np.ones((2, 3))), r"`x` has shape \(2, 3\)"),
        (LENGTHS, nx.Graph(), r"`x` has shape \(0, 0\)"),
        (Graphs(), [np.eye(2), np.full((3, 3), np.nan)], "`x` must be finite"),
        (Tables(), [np.eye(2), np.eye(3)], r"the shapes \(2, 2\) and \(3, 3\)"),
        (Stacks((3,)), nx.path_graph(3), r"networkx.to_numpy_array\(graph\)\[None\]"),
    ],
)
def test_what_no_format_takes_gets_one_sentence(form, x, sentence):
    with pytest.raises(irem.InputError, match=sentence):
        form.as_batch(x)


def test_graphs_of_several_sizes_are_answered_by_the_names_of_their_nodes():
    graph = roads()
    problems = [nx.path_graph(["x", "y", "z"]), nx.to_scipy_sparse_array(graph), graph]
    solution = irem.load("zoo:shortest-path").solve(problems)
    assert np.asarray(solution.verified).all()
    path, distances, by_name = labels_of(problems).attach(np.asarray(solution.y))
    assert path["x"] == pytest.approx({"x": 0, "y": 1, "z": 2}, rel=0.01)
    np.testing.assert_allclose(distances, csgraph.dijkstra(problems[1]), rtol=0.01)
    expected = dict(nx.all_pairs_dijkstra_path_length(graph))
    assert list(by_name) == list(graph)
    for node, row in by_name.items():
        assert row == pytest.approx(expected[node], rel=0.01)


def test_components_of_a_networkx_graph():
    graph = nx.Graph([("a", "b"), ("b", "c"), ("d", "e"), ("d", "d")])
    graph.add_node("alone")
    model = irem.load("zoo:connected-components").model
    batch, _ = model.format.as_batch(graph)
    assert model.task.domain.faults(batch) == [None]
    found = labels_of(graph).attach(np.asarray(model.task.oracle(batch)[0]))
    components = {frozenset(b for b in row if row[b] == 1) for row in found.values()}
    assert components == {frozenset(c) for c in nx.connected_components(graph)}


def test_values_of_the_edges_of_a_networkx_graph_are_copied():
    graph = nx.DiGraph([("a", "b", {"weight": -2.5}), ("b", "b", {"weight": 3})])
    model = irem.load("zoo:edge-copy").model
    batch, _ = model.format.as_batch(graph)
    assert model.task.domain.faults(batch) == [None]
    np.testing.assert_array_equal(model.task.oracle(batch)[0], [[0, -2.5], [0, 3]])


def test_answers_to_a_frame_are_a_frame_with_its_index():
    frame = pd.DataFrame(np.ones((2, 3)), ["u", "v"], ["a", "b", "c"])
    labels, y = labels_of(frame), np.arange(4.0).reshape(2, 2)
    pd.testing.assert_frame_equal(
        labels.attach(y, ("p", "q")), pd.DataFrame(y, frame.index, ["p", "q"])
    )
    pd.testing.assert_frame_equal(labels.attach(y), pd.DataFrame(y, frame.index, ["y0", "y1"]))
    # Matrices as answers, a table of the same size, and one vector.
    assert labels.attach(np.zeros((2, 2, 2))).columns.tolist() == ["y0", "y1", "y2", "y3"]
    same = np.arange(6.0).reshape(2, 3)
    pd.testing.assert_frame_equal(
        labels.attach(same), pd.DataFrame(same, frame.index, frame.columns)
    )
    assert labels.attach(same, ("p", "q", "r")).columns.tolist() == ["p", "q", "r"]
    pd.testing.assert_series_equal(labels.attach(same[1]), pd.Series(same[1], frame.columns))
    assert labels.attach(np.float32(1.0)) == 1.0


def test_answers_to_a_labelled_matrix_have_its_names_whatever_a_target_is_called():
    frame = pd.DataFrame(np.eye(2), ["u", "v"], ["u", "v"])
    y = np.arange(4.0).reshape(2, 2)
    expected = pd.DataFrame(y, frame.index, frame.columns)
    pd.testing.assert_frame_equal(labels_of(frame).attach(y, ("p", "q")), expected)
    (listed,) = labels_of([frame]).attach(y[None])
    pd.testing.assert_frame_equal(listed, expected)


def test_the_answer_to_a_series_is_a_series():
    labels = labels_of(pd.Series([1, 2], ["a", "b"], name="one"))
    y = np.arange(2.0)
    pd.testing.assert_series_equal(labels.attach(y), pd.Series(y, ["a", "b"], name="one"))
    assert labels.attach(y, ["p", "q"]).index.tolist() == ["p", "q"]
    assert labels.attach(np.zeros(3)).index.tolist() == ["y0", "y1", "y2"]
    assert labels.attach(np.zeros((2, 2))).shape == (2, 2)


def test_answers_to_arrays_are_arrays():
    y = np.ones((2, 2))
    for x in (y, [[1.0, 2.0]], scipy.sparse.csr_array(y), [np.ones(2), np.ones(2)]):
        assert labels_of(x).attach(y, ("a", "b")) is y


def test_nothing_is_imported_that_the_user_has_not():
    code = "import sys, irem, numpy as np; from irem import doors, formats\n"
    code += "formats.Graphs().as_batch(np.eye(3)); doors.labels_of([1]).attach(np.eye(1))\n"
    code += "print({'pandas', 'networkx'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr
