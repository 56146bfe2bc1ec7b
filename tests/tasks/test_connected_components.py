"""Connected components against SciPy and networkx, and the share of edges."""

import itertools

import jax
import networkx
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from irem.tasks import ConnectedComponents

TASK = ConnectedComponents()
COUNT = 2000
# A generator that compiles fast: no fact tested here depends on which one draws.
KEY = jax.random.key(51, impl="unsafe_rbg")


def same_component(edges):
    """SciPy's components of the undirected reading of `edges`, as a matrix over pairs."""
    _, labels = connected_components(edges, directed=False)
    return labels[:, None] == labels[None, :]


@pytest.mark.parametrize(
    ("difficulty", "count"), [(1, 20), (2, 300), (7, 300), ("same", COUNT), ("harder", COUNT)]
)
def test_answer_is_scipys(difficulty, count):
    problem = TASK.batch(KEY, count, difficulty)
    expected = np.stack([same_component(edges) for edges in np.asarray(problem.x.edges)])
    np.testing.assert_array_equal(problem.y, expected)


def test_answer_is_scipys_on_graphs_with_long_paths():
    # At 30 nodes most graphs are one component; on a path of shuffled nodes every edge counts.
    problem = TASK.batch(KEY, 200, 30)
    drawn = np.asarray(problem.x.edges)
    expected = np.stack([same_component(edges) for edges in drawn])
    np.testing.assert_array_equal(problem.y, expected)
    rng = np.random.default_rng(0)
    paths = np.zeros((200, 30, 30), np.float32)
    for path in paths:
        order = rng.permutation(30)
        path[order[:-1], order[1:]] = 1
        # Two in three paths lose one edge, so that answers differ.
        cut = rng.integers(0, 43)
        path[order[cut : cut + 1], order[cut + 1 : cut + 2]] = 0
    expected = np.stack([same_component(edges) for edges in paths])
    assert 0.5 < expected.mean() < 0.95
    np.testing.assert_array_equal(TASK.oracle(paths), expected)


def test_answer_is_scipys_on_the_real_nodes_of_padded_graphs():
    problem = TASK.batch(KEY, COUNT, "train")
    sizes = np.asarray(problem.x.nodes).sum(axis=1)
    for edges, y, size in zip(
        np.asarray(problem.x.edges), np.asarray(problem.y), sizes, strict=True
    ):
        np.testing.assert_array_equal(y[:size, :size], same_component(edges[:size, :size]))


def test_answer_is_that_of_networkx():
    problem = TASK.batch(KEY, COUNT, "harder")
    for edges, y in itertools.islice(
        zip(np.asarray(problem.x.edges), np.asarray(problem.y), strict=True), 30
    ):
        expected = np.zeros_like(y)
        for component in networkx.connected_components(networkx.Graph(edges + edges.T)):
            expected[np.ix_(list(component), list(component))] = 1
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("difficulty", ["same", "harder"])
def test_one_ordered_pair_in_twenty_is_an_edge(difficulty):
    edges = np.asarray(TASK.batch(KEY, COUNT, difficulty).x.edges)
    assert set(np.unique(edges)) == {0, 1}
    diagonal = np.diagonal(edges, axis1=1, axis2=2)
    for entries in (edges, diagonal):  # Self-pairs are drawn like all others.
        assert abs(entries.mean() - 0.05) <= 5 * (0.05 * 0.95 / entries.size) ** 0.5
    # Edges are drawn in both directions apart, so one in four hundred pairs has both.
    rows, columns = np.triu_indices(edges.shape[1], 1)
    both = edges[:, rows, columns] * edges[:, columns, rows]
    assert abs(both.mean() - 0.05**2) <= 5 * (0.05**2 / both.size) ** 0.5


def test_trivial_answer_is_edges_read_both_ways_and_the_diagonal():
    edges = np.asarray(TASK.batch(KEY, COUNT).x.edges)
    expected = (edges + np.swapaxes(edges, 1, 2) + np.eye(10)) > 0
    np.testing.assert_array_equal(TASK.trivial(edges), expected)
