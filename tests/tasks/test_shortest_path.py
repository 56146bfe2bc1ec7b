"""Shortest paths against SciPy and networkx, and the distribution of weights."""

import itertools

import jax
import networkx
import numpy as np
import pytest
from scipy import stats
from scipy.sparse.csgraph import shortest_path

from irem.tasks import ShortestPath
from irem.tasks.shortest_path import MEAN_DISTANCE

COUNT = 2000
# A generator that compiles fast: no fact tested here depends on which one draws.
KEY = jax.random.key(61, impl="unsafe_rbg")
VARIANTS = ("released", "paper")
EPS = np.finfo(np.float32).eps

both_variants = pytest.mark.parametrize("variant", VARIANTS)


def floyd_warshall(edges):
    return shortest_path(np.asarray(edges, np.float64), method="FW", directed=False)


def assert_distances(y, expected):
    """Equal up to one rounding for each edge of a path, of which there are at most n - 1."""
    np.testing.assert_allclose(y, expected, rtol=EPS * len(expected), atol=0)


@pytest.mark.parametrize(
    ("variant", "difficulty", "count"),
    [
        ("released", 1, 20),
        ("released", 2, 200),
        ("released", 7, 300),
        ("paper", 7, 300),
        ("released", "same", COUNT),
        ("paper", "same", COUNT),
        ("released", "harder", COUNT),
        ("released", 30, 100),
    ],
)
def test_answer_is_scipys(variant, difficulty, count):
    problem = ShortestPath(variant=variant).batch(KEY, count, difficulty)
    for edges, y in zip(np.asarray(problem.x.edges), np.asarray(problem.y), strict=True):
        assert_distances(y, floyd_warshall(edges))


def test_answer_is_scipys_on_graphs_with_long_paths():
    # Random complete graphs have short shortest paths; here edges of one path are nearly free.
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.9, 1.0, (50, 30, 30)).astype(np.float32)
    weights = np.maximum(weights, np.swapaxes(weights, 1, 2))
    for weight in weights:
        order = rng.permutation(30)
        cheap = rng.uniform(0.001, 0.01, 29)
        weight[order[:-1], order[1:]] = weight[order[1:], order[:-1]] = cheap
        np.fill_diagonal(weight, 0)
    for weight, y in zip(weights, np.asarray(ShortestPath().oracle(weights)), strict=True):
        assert_distances(y, floyd_warshall(weight))


def test_answer_is_scipys_on_the_real_nodes_of_padded_graphs():
    problem = ShortestPath().batch(KEY, COUNT, "train")
    sizes = np.asarray(problem.x.nodes).sum(axis=1)
    for edges, y, size in zip(
        np.asarray(problem.x.edges), np.asarray(problem.y), sizes, strict=True
    ):
        assert_distances(y[:size, :size], floyd_warshall(edges[:size, :size]))


def test_answer_is_that_of_networkx():
    problem = ShortestPath().batch(KEY, COUNT, "harder")
    for edges, y in itertools.islice(
        zip(np.asarray(problem.x.edges, np.float64), np.asarray(problem.y), strict=True), 10
    ):
        lengths = dict(networkx.all_pairs_dijkstra_path_length(networkx.Graph(edges)))
        expected = np.array([[lengths[i][j] for j in range(15)] for i in range(15)])
        assert_distances(y, expected)


@both_variants
def test_weights_are_symmetric_with_a_zero_diagonal(variant):
    edges = np.asarray(ShortestPath(variant=variant).batch(KEY, COUNT).x.edges)
    np.testing.assert_array_equal(edges, np.swapaxes(edges, 1, 2))
    assert not np.diagonal(edges, axis1=1, axis2=2).any()


@pytest.mark.parametrize(
    ("variant", "difficulty", "distribution"),
    [
        ("released", "same", stats.triang(0.5, 0, 2)),  # The sum of two uniforms.
        ("released", "harder", stats.triang(0.5, 0, 2)),
        ("paper", "same", stats.uniform()),
    ],
)
def test_weights_have_the_declared_distribution(variant, difficulty, distribution):
    edges = np.asarray(ShortestPath(variant=variant).batch(KEY, COUNT, difficulty).x.edges)
    rows, columns = np.triu_indices(edges.shape[1], 1)
    weights = edges[:, rows, columns].ravel()[:20_000].astype(np.float64)
    low, high = distribution.support()
    assert low <= weights.min() < low + 0.05
    assert high - 0.05 < weights.max() <= high
    # 6e-7 is five sigma.
    assert stats.kstest(weights, distribution.cdf).pvalue > 6e-7


@both_variants
def test_mean_distance_is_the_measured_one(variant):
    y = np.asarray(ShortestPath(variant=variant).batch(KEY, COUNT).y, np.float64)
    means = y.sum(axis=(1, 2)) / 90
    tolerance = 0.0005 + 5 * means.std() / COUNT**0.5
    assert abs(means.mean() - MEAN_DISTANCE[variant]) <= tolerance


@both_variants
def test_trivial_answer_is_the_edge_or_the_mean_distance(variant):
    edges = np.asarray(ShortestPath(variant=variant).batch(KEY, COUNT).x.edges)
    expected = np.minimum(edges, np.float32(MEAN_DISTANCE[variant]))
    np.testing.assert_array_equal(ShortestPath(variant=variant).trivial(edges), expected)
