"""Graphs as lists of edges: what is read, what is refused, and answers by the names of nodes."""

import csv
import json
import sys

import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest
import scipy.sparse
from scipy.sparse import csgraph

import irem
from irem.cli import arrays
from irem.cli.problem_files import read_problems

LENGTHS = irem.tasks.get("shortest-path", variant="wide")
COMPONENTS = irem.tasks.get("connected-components", variant="wide")
VALUES = irem.tasks.get("edge-copy", variant="wide")


def read(folder, text, task=LENGTHS, problems=None, name="x.csv"):
    path = folder / name
    path.write_text(text)
    return read_problems(path, task, task.any_size, problems)


def edges_of(found, graph=0):
    nodes = np.asarray(found.x.nodes[graph])
    return np.asarray(found.x.edges[graph])[np.ix_(nodes, nodes)]


def write(path, found, y):
    """Write answers as `irem solve` does."""
    steps = jnp.ones(() if found.alone else len(y), int)
    solution = irem.Solution(y=jnp.asarray(y), energy=jnp.zeros(steps.shape), steps=steps)
    with arrays.Writer.open(path, steps.size, found.names) as writer:
        writer.add(solution, np.zeros(steps.shape, bool))


def rows(path, separator=","):
    with path.open(newline="") as file:
        return list(csv.reader(file, delimiter=separator))


def test_distances_of_a_list_of_edges_are_listed_by_the_same_names(irem_cli, tmp_path):
    x, out = tmp_path / "roads.csv", tmp_path / "distances.csv"
    x.write_text(
        '\ufeffFrom;To;"Länge; km"\r\nUlm;"Köln; West";3,5\r\n"Köln; West";Bonn;1\r\n'
        "\r\nBonn;Ulm;2,25\r\nRom;Ulm;9\r\n"
    )
    result = irem_cli("solve", "zoo:shortest-path", x, "--out", out, "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["shape"] == [4, 4]
    header, *found = rows(out, ";")
    assert header == ["From", "To", "Länge; km"]
    graph = nx.DiGraph()
    graph.add_weighted_edges_from(
        [("Ulm", "Köln; West", 3.5), ("Köln; West", "Bonn", 1), ("Bonn", "Ulm", 2.25)]
    )
    graph.add_edge("Rom", "Ulm", weight=9)
    distances = dict(nx.all_pairs_dijkstra_path_length(graph))
    assert [(a, b) for a, b, _ in found] == [(a, b) for a in graph for b in graph]
    for source, target, number in found:
        expected = distances[source].get(target, np.inf)
        assert float(number.replace(",", ".")) == pytest.approx(expected, rel=0.01)
    assert irem_cli("check", "shortest-path", x, out).code == 0
    x.write_text("u,v,w\na,b,-1\nb,c,1\nc,d,1\n")
    result = irem_cli("solve", "zoo:shortest-path", x, "--out", out)
    assert result.code == 2
    assert "Entry ('a', 'b') is -1; lengths are not negative." in result.err


@pytest.mark.parametrize(
    "header", ["source,target,weight", "FROM,To,km", "u,v,w", "weight,target,source", ",u,v,w"]
)
def test_columns_are_found_by_their_names(header, tmp_path):
    names = header.split(",")
    place = {"source": "a", "from": "a", "u": "a", "target": "b", "to": "b", "v": "b", "": "7"}
    row = ",".join(place.get(name.lower(), "2.5") for name in names)
    found = read(tmp_path, f"{header}\n{row}\n")
    assert found.alone
    np.testing.assert_array_equal(edges_of(found), [[0, 2.5], [np.inf, 0]])


def test_a_column_called_weight_is_chosen_among_others(tmp_path):
    found = read(tmp_path, "source,target,id,weight,note\na,b,9,2,slow\n")
    np.testing.assert_array_equal(edges_of(found), [[0, 2], [np.inf, 0]])
    write(tmp_path / "y.csv", found, np.zeros((2, 2)))
    assert rows(tmp_path / "y.csv")[0] == ["source", "target", "weight"]


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        (LENGTHS, [[0, 1, np.inf], [np.inf, 0, 1], [np.inf, np.inf, 0]]),
        (COMPONENTS, [[0, 1, np.inf], [np.inf, 0, 1], [np.inf, np.inf, 0]]),
        (VALUES, [[0, 1, 0], [0, 0, 1], [0, 0, 0]]),
        (irem.tasks.get("shortest-path"), [[0, 1, 0], [1, 0, 1], [0, 1, 0]]),
        (irem.tasks.get("matrix-inverse"), [[0, 1, 0], [1, 0, 1], [0, 1, 0]]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_an_edge_holds_both_ways_where_the_task_is_symmetric(task, expected, tmp_path):
    found = read(tmp_path, "u,v\na,b\nb,c\n", task)
    np.testing.assert_array_equal(edges_of(found), expected)


def test_a_node_without_edges_is_listed_with_itself(tmp_path):
    for text in ("u,v\na,b\nc,c\n", "u,v,w\na,b,1\nc,c,0\n"):
        found = read(tmp_path, text)
        assert found.names.nodes(0) == ("a", "b", "c")
        expected = csgraph.dijkstra(np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]]))
        np.testing.assert_array_equal(LENGTHS.oracle(found.x)[0], expected)
    found = read(tmp_path, "u,v,w\na,b,1\nb,b,-3\n", VALUES)  # there a number like any other
    np.testing.assert_array_equal(edges_of(found), [[0, 1], [0, -3]])


def test_graphs_of_different_sizes_in_one_file(irem_cli, tmp_path):
    text = "graph,u,v\nfirst,a,b\nsecond,x,y\nfirst,b,c\nsecond,z,z\nthird,a,a\n"
    found = read(tmp_path, text, COMPONENTS)
    assert not found.alone
    assert found.x.nodes.sum(axis=1).tolist() == [3, 3, 1]
    y = np.asarray(COMPONENTS.oracle(found.x))
    out = tmp_path / "y.csv"
    write(out, found, y)
    header, *listed = rows(out)
    assert header == ["graph", "u", "v", "weight"]
    assert len(listed) == 9 + 9 + 1
    for name, edges in {"first": ["ab", "bc"], "second": ["xy", "zz"], "third": ["aa"]}.items():
        graph = nx.Graph([tuple(edge) for edge in edges])
        for component in nx.connected_components(graph):
            joined = {b for g, a, b, n in listed if g == name and a in component and n == "1"}
            assert joined == component
    result = irem_cli("check", "connected-components", tmp_path / "x.csv", out)
    assert result.out.startswith("Verified 3 of 3")
    assert read(tmp_path, text, COMPONENTS, problems=3).x.edges.shape == (3, 3, 3)
    with pytest.raises(irem.InputError, match=r"The number of graphs in '.*' is 3, not 2\."):
        read(tmp_path, text, COMPONENTS, problems=2)
    write(tmp_path / "y.npz", found, y)
    with np.load(tmp_path / "y.npz") as kept:
        np.testing.assert_array_equal(kept["y"], y)
        assert kept["graphs"].tolist() == ["first", "second", "third"]
        assert kept["nodes"].tolist() == [["a", "b", "c"], ["x", "y", "z"], ["a", "", ""]]


def test_graphs_that_are_refused_are_named(irem_cli, tmp_path):
    (tmp_path / "x.csv").write_text("graph,u,v,w\nfine,a,b,1\nbad,c,d,0.5\n")
    (tmp_path / "y.csv").write_text("graph,u,v\nfine,a,b\nfine,b,a\n")
    result = irem_cli("check", "connected-components", tmp_path / "x.csv", tmp_path / "y.csv")
    assert result.code == 1
    assert "Graph 'bad': Entry ('c', 'd') is 0.5; edges are 1" in result.err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("u,v,w\na,b,1\n\nb,a,1\na,b,2\n", "'a' to 'b' in line 5 has the number 2, and line 2 say"),
        (
            "u,v,w\na,b,1\nb,b,3\n",
            "from 'b' to 'b' in line 3 leads back to its node and has the",
        ),
        ("u,v,w\na,b,0\n", "from 'a' to 'b' in line 2 has the length 0, which may mean that there"),
        ("u,v,w\na,b,\n", "the edge from 'a' to 'b' in line 2 has no number: write one, or leave"),
        ("u,v,w\na,b,NA\n", "in line 2 has no number"),
        ("u,v,w\na,b,far\n", "'far' in line 2 is not a number"),
        ("u,v,w\na,,1\n", "line 2 does not name both ends of its edge"),
        ("graph,u,v\n,a,b\n", "line 2 does not name both ends of its edge, or its graph"),
        ("u,v,w\na,b\n", "line 2 has 2 cells, and its header 3"),
        ("u,v,km,hours\na,b,1,2\n", "its columns km, hours may all hold the numbers of its edges"),
        ("u,v,w\n", "it has no edge after its header"),
        ('u,v,w\n"a,b,1\n', "unexpected end of data"),
        ("u;v;w\na;b;1,5\nb;a;1.5\n", "'1.5' in line 3 has another mark before decimals"),
    ],
)
def test_what_is_not_clear_gets_one_sentence_with_its_line(text, sentence, tmp_path):
    with pytest.raises(irem.InputError) as refused:
        read(tmp_path, text)
    assert sentence in str(refused.value)
    assert "x.csv'" in str(refused.value)


def test_an_edge_that_is_given_twice_with_one_number_is_one(tmp_path):
    found = read(tmp_path, "u,v,w\na,b,2\na,b,2.0\n")
    np.testing.assert_array_equal(edges_of(found), [[0, 2], [np.inf, 0]])
    task = irem.tasks.get("shortest-path")
    assert edges_of(read(tmp_path, "u,v,w\na,b,2\nb,a,2\n", task)).tolist() == [[0, 2], [2, 0]]
    with pytest.raises(irem.InputError, match="line 3 has the number 3, and line 2 says 2"):
        read(tmp_path, "u,v,w\na,b,2\nb,a,3\n", task)


def test_more_nodes_than_memory_holds_are_refused_before_a_matrix_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr("irem.memory.available", lambda: 1e5)
    text = "u,v\n" + "".join(f"{i},{i + 1}\n" for i in range(99))
    with pytest.raises(irem.InputError, match=r"up to 100 nodes.* needs about .* give fewer nodes"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("answers", "code", "words"),
    [
        ("u,v,d\nc,a,inf\nb,c,2\na,c,3\na,b,1\nb,a,inf\nc,b,inf\na,a,0\nb,b,0\nc,c,0\n", 0, ""),
        ("source,target,d\na,b,1\na,c,3\nb,c,2\n", 0, ""),  # as networkx gives them
        (",c,a,b\nb,2,inf,0\na,3,0,1\nc,0,inf,inf\n", 0, ""),
        ("0,1,3\ninf,0,2\ninf,inf,0\n", 0, ""),
        ("u,v,d\na,b,1\na,c,4\nb,c,2\n", 1, "the check failed"),
        ("u,v,d\na,b,1\nb,c,2\n", 1, "the check failed"),
        ("u,v,d\na,x,1\n", 2, "the edge from 'a' to 'x' in line 2 is of no pair of nodes"),
        (",a,b,x\na,0,1,3\nb,9,0,2\nx,9,9,0\n", 2, "have other names than the nodes of the pr"),
    ],
)
def test_answers_are_found_by_the_names_of_nodes(answers, code, words, irem_cli, tmp_path):
    (tmp_path / "x.csv").write_text("u,v,w\na,b,1\nb,c,2\na,c,9\n")
    (tmp_path / "y.csv").write_text(answers)
    result = irem_cli("check", "shortest-path", tmp_path / "x.csv", tmp_path / "y.csv")
    assert result.code == code, result
    assert words in result.err


def test_where_a_pair_that_is_left_out_has_no_meaning_all_pairs_are_asked_for(irem_cli, tmp_path):
    (tmp_path / "x.csv").write_text("u,v,w\na,b,1\n")
    (tmp_path / "y.csv").write_text("u,v,w\na,a,0\na,b,1\nb,b,0\n")
    result = irem_cli("check", "edge-copy", tmp_path / "x.csv", tmp_path / "y.csv")
    assert result.code == 2
    assert "has no answer for 'b' to 'a'; list all pairs of nodes." in result.err


def weighted_graph():
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([("a", "b", 1.5), ("b", "c", 2.0), ("c", "a", 4.0)])
    return graph


@pytest.mark.parametrize("suffix", [".graphml", ".gml"])
def test_graphs_that_networkx_wrote_are_read(suffix, tmp_path):
    graph, path = weighted_graph(), tmp_path / f"x{suffix}"
    (nx.write_gml if suffix == ".gml" else nx.write_graphml)(graph, path)
    found = read_problems(path, LENGTHS, LENGTHS.format)
    assert found.alone
    expected = nx.to_numpy_array(graph, nonedge=np.inf)
    np.fill_diagonal(expected, 0)
    np.testing.assert_array_equal(edges_of(found), expected)
    write(tmp_path / "y.csv", found, np.ones((3, 3)))
    assert rows(tmp_path / "y.csv")[:3] == [
        ["source", "target", "weight"],
        ["a", "a", "1"],
        ["a", "b", "1"],
    ]
    path.write_text("<graph")
    with pytest.raises(irem.InputError, match="is not a graph that networkx reads"):
        read_problems(path, LENGTHS, LENGTHS.format)
    with pytest.raises(irem.InputError, match="There is no file"):
        read_problems(tmp_path / f"none{suffix}", LENGTHS, LENGTHS.format)


def test_without_networkx_its_files_are_refused(tmp_path, monkeypatch):
    (tmp_path / "x.gml").write_text("graph []")
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(irem.InputError, match=r"install it with `pip install networkx`, or list"):
        read_problems(tmp_path / "x.gml", LENGTHS, LENGTHS.format)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "dia"])
def test_sparse_matrices_that_scipy_wrote_are_read(kind, tmp_path):
    dense = np.array([[0, 2.0, 0, 0], [0, 0, 3, 0], [0, 0, 0, 4], [1, 0, 0, 0]])
    path = tmp_path / "x.npz"
    scipy.sparse.save_npz(path, scipy.sparse.csr_array(dense).asformat(kind))
    if kind == "dia":
        with pytest.raises(irem.InputError, match="stored as dia, not as csr, csc or coo"):
            read_problems(path, LENGTHS, LENGTHS.format)
        return
    found = read_problems(path, LENGTHS, LENGTHS.format)
    assert found.alone
    expected = np.where(dense == 0, np.inf, dense)
    np.fill_diagonal(expected, 0)
    np.testing.assert_array_equal(edges_of(found), expected)
    tables = irem.formats.Tables()
    np.testing.assert_array_equal(read_problems(path, VALUES, tables).x[0], dense)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"indices": np.array([1, 99])}, "is not a NumPy file of numbers"),
        ({"indptr": np.array([0, 9, 2])}, "is not a NumPy file of numbers"),
        ({"shape": np.array([2])}, r"its shape is \(2,\)"),
        ({"shape": np.array([10**9, 10**9])}, "needs about"),
        ({"format": np.array("x" * 999)}, "too long"),
        ({"data": np.array(["a", "b"])}, "must hold numbers"),
    ],
)
def test_damaged_sparse_matrices_are_refused(changes, sentence, tmp_path):
    parts = {
        "format": np.array(b"csr"),
        "shape": np.array([2, 2]),
        "data": np.ones(2),
        "indices": np.array([1, 0]),
        "indptr": np.array([0, 1, 2]),
    }
    np.savez(tmp_path / "x.npz", **(parts | changes))
    with pytest.raises(irem.InputError, match=sentence):
        read_problems(tmp_path / "x.npz", LENGTHS, LENGTHS.format)
