"""Shortest paths of the wide variant: graphs, oracle, domain, and a check that is not fooled."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path

from irem.problem import Graph
from irem.tasks import ShortestPath
from irem.tasks.shortest_path import as_lengths

KEY = jax.random.key(5, impl="unsafe_rbg")
WIDE = ShortestPath(variant="wide")
NAN, INF = np.nan, np.inf


def distances(edges):
    lengths = as_lengths(np.asarray(edges, np.float64))
    return shortest_path(np.where(np.isfinite(lengths), lengths, 0.0), directed=True)


def residual(edges, y):
    return WIDE.check(np.asarray(edges)[None], np.asarray(y)[None]).residual[0]


def random_graph(rng, nodes, density):
    # In single precision, as graphs have them.
    edges = np.float64(np.float32(rng.exponential(size=(nodes, nodes)) + 0.01))
    return np.where(rng.random((nodes, nodes)) < density, edges, INF)


GRAPHS = [
    random_graph(np.random.default_rng(seed), nodes, density)
    for seed, (nodes, density) in enumerate([(2, 1.0), (7, 0.3), (15, 0.15), (20, 1.0), (30, 0.1)])
]
every_graph = pytest.mark.parametrize("edges", GRAPHS, ids=lambda edges: f"{len(edges)}-nodes")


def test_the_oracle_agrees_with_scipy_on_every_structure():
    problem = jax.device_get(WIDE.batch(KEY, 200))
    expected = np.stack([distances(edges) for edges in problem.x.edges])
    np.testing.assert_allclose(problem.y, expected, rtol=1e-5)
    np.testing.assert_array_equal(problem.mask, np.isfinite(expected))
    assert np.isinf(expected).any()


def test_graphs_are_directed_or_not_sparse_or_complete():
    edges = np.asarray(WIDE.batch(KEY, 200).x.edges)
    share = np.isfinite(edges).mean(axis=(1, 2))
    symmetric = [np.array_equal(one, one.T) for one in edges]
    assert 0.2 < np.mean(symmetric) < 0.8
    assert share.min() < 0.35
    assert share.max() == 1
    assert not np.diagonal(edges, axis1=1, axis2=2).any()


def test_training_has_finite_answers_and_masks_pairs_that_are_not_connected():
    problem = jax.device_get(WIDE.batch(KEY, 200, "train"))
    assert np.isfinite(problem.y).all()
    for edges, nodes, y, mask in zip(
        problem.x.edges, problem.x.nodes, problem.y, problem.mask, strict=True
    ):
        expected = distances(edges[np.ix_(nodes, nodes)])
        real = mask[np.ix_(nodes, nodes)]
        np.testing.assert_array_equal(real, np.isfinite(expected))
        np.testing.assert_allclose(y[np.ix_(nodes, nodes)][real], expected[real], rtol=1e-5)
        assert mask.sum() == real.sum()


@every_graph
def test_the_right_answer_is_verified_also_in_single_precision(edges):
    assert residual(edges, distances(edges)) < 1e-12
    assert residual(edges, distances(edges).astype(np.float32)) < 1e-5


@every_graph
@pytest.mark.parametrize("size", [1e-4, 1e-3, 1e-2, 0.1, 1.0])
def test_a_residual_bounds_the_error_of_perturbed_answers(edges, size):
    right, rng = distances(edges), np.random.default_rng(3)
    given = np.isfinite(right) & (right > 0)
    for _ in range(20):
        y = right * np.exp(size * rng.normal(size=right.shape))
        error = np.abs(y[given] / right[given] - 1).max()
        assert residual(edges, y) >= error - 1e-9


@every_graph
def test_small_errors_are_not_refused(edges):
    y = distances(edges) * (1 + 1e-3 * np.random.default_rng(1).uniform(-1, 1, edges.shape))
    assert residual(edges, y) < WIDE.tolerance


@every_graph
@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_all_distances_or_one_a_few_percent_off_are_refused(edges, factor):
    right = distances(edges)
    assert residual(edges, factor * right) > 0.029
    i, j = np.argwhere(np.isfinite(right) & (right > 0))[-1]
    y = right.copy()
    y[i, j] *= factor
    assert residual(edges, y) > 0.029


def path(nodes):
    steps = np.abs(np.subtract.outer(np.arange(nodes), np.arange(nodes)))
    return np.where(steps == 1, 1.0, INF)


def test_what_is_wrong_about_reaching_is_refused():
    edges = path(6)
    edges[2, 3] = edges[3, 2] = INF
    right = distances(edges)
    assert residual(edges, right) == 0
    finite = np.where(np.isinf(right), 10.0, right)
    assert residual(edges, finite) == INF
    assert residual(path(6), right) == INF
    one = right.copy()
    one[0, 4] = 4.0
    assert residual(edges, one) == INF


def test_distances_that_support_each_other_in_a_circle_are_refused():
    edges = path(4)
    y = distances(edges)
    y[0, 2:] = 0.01, 0.005  # from 2 to 3 and back, and not from 0
    assert residual(edges, y) > 0.5


@pytest.mark.parametrize("value", [NAN, -1.0, 0.0])
def test_answers_that_are_no_distances_are_refused(value):
    y = distances(path(4))
    y[1, 3] = value
    assert residual(path(4), y) == INF


def test_a_diagonal_that_is_not_zero_is_refused():
    y = distances(path(4))
    y[2, 2] = 0.5
    assert residual(path(4), y) > 0.2


def test_padded_nodes_are_not_checked():
    edges, nodes = np.zeros((1, 5, 5), np.float32), np.arange(5)[None] < 4
    edges[0, :4, :4] = path(4)
    y = np.full((1, 5, 5), 7.0)
    y[0, :4, :4] = distances(path(4))
    assert WIDE.check(Graph(jnp.asarray(edges), jnp.asarray(nodes)), y).residual[0] == 0


@pytest.mark.parametrize(
    ("edges", "says"),
    [
        ([[0, 1, -2], [1, 0, 1], [1, 1, 0]], r"\(0, 2\) is -2; lengths are not negative"),
        ([[0, 1, 0], [1, 0, NAN], [1, 1, 0]], r"\(0, 2\) is 0 and entry \(1, 2\) is missing"),
        ([[0, 1e32], [1, 0]], r"\(0, 1\) is 1e\+32; lengths are from 1e-30 to 1e\+30"),
    ],
)
def test_the_domain_names_the_entry_and_the_cure(edges, says):
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(WIDE.domain.fault(np.array(edges, np.float64)))


@pytest.mark.parametrize("no_edge", [0.0, INF, NAN])
def test_missing_edges_are_written_in_one_of_three_ways(no_edge):
    edges = np.array([[0, 2, no_edge], [no_edge, 0, 3], [1, no_edge, 0]])
    assert WIDE.domain.fault(edges) is None
    np.testing.assert_array_equal(distances(edges), [[0, 2, 5], [4, 0, 3], [1, 3, 0]])


@pytest.mark.parametrize(
    ("edges", "says"),
    [
        ([[0, 1], [2, 0]], r"\(0, 1\) is 1 and entry \(1, 0\) is 2; .*zoo:shortest-path"),
        ([[0, 0], [0, 0]], r"\(0, 1\) is 0; this model answers graphs that have all edges"),
    ],
)
def test_models_of_the_protocol_answer_complete_symmetric_graphs(edges, says):
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(ShortestPath().domain.fault(np.array(edges, np.float64)))
    assert ShortestPath().domain.faults(ShortestPath().batch(KEY, 5).x) == [None] * 5
