"""Models that come along answer problems that nobody here drew."""

import jax
import networkx
import numpy as np
import pytest

import irem

KEY = jax.random.key(0)
RANDOM = np.random.default_rng(0)


def solve(name, x):
    return irem.solve(irem.load(f"zoo:{name}").model, np.asarray(x, np.float32), key=KEY)


def test_components_of_a_graph():
    graph = networkx.disjoint_union_all(
        [
            networkx.path_graph(4),
            networkx.cycle_graph(3),
            networkx.star_graph(3),
            networkx.empty_graph(1),
        ]
    )
    found = solve("connected-components", networkx.to_numpy_array(graph))
    truth = np.zeros((12, 12))
    for component in networkx.connected_components(graph):
        truth[np.ix_(list(component), list(component))] = 1
    np.testing.assert_array_equal(found.rounded, truth)
    assert bool(found.decided)


def test_shortest_paths_of_a_graph_of_another_scale():
    weights = RANDOM.uniform(0, 40, (12, 12))
    weights = weights + weights.T
    np.fill_diagonal(weights, 0)
    truth = networkx.floyd_warshall_numpy(networkx.from_numpy_array(weights))
    found = solve("shortest-path", weights)
    assert np.sqrt(irem.mse(found.y, truth)) < 0.03 * truth.mean()


def test_the_inverse_of_matrices_of_another_scale():
    r = RANDOM.uniform(-1, 1, (4, 20, 20))
    x = 100 * (2 * r @ r.transpose(0, 2, 1) + 0.5 * np.eye(20))
    truth = np.linalg.inv(x)
    error = irem.mse(solve("matrix-inverse", x).y, truth)
    assert error < 1e-3 * np.mean(np.square(truth))


def test_the_sum_of_longer_and_larger_vectors():
    x = RANDOM.uniform(-1000, 1000, (2, 700))
    error = irem.mse(solve("addition", x).y, x.sum(0))
    assert error < 1e-4 * np.mean(np.square(x.sum(0)))


def test_the_copy_of_a_larger_graph():
    x = RANDOM.uniform(-1, 1, (25, 25))
    assert irem.mse(solve("edge-copy", x).y, x) < 1e-4


def test_the_missing_half_of_a_matrix_of_low_rank():
    u, v = RANDOM.normal(size=(8, 30, 10)), RANDOM.normal(size=(8, 10, 20))
    y = u @ v / 20 + 0.1 * RANDOM.normal(size=(8, 30, 20))
    x = np.where(RANDOM.random(y.shape) < 0.5, y, 0)
    assert irem.mse(solve("matrix-completion", x).y, y) < 0.97 * np.mean(np.square(y - x))


@pytest.mark.parametrize("name", irem.tasks.TASKS)
def test_every_task_of_the_paper_has_a_model(name):
    run = irem.load(f"zoo:{name}")
    assert run.task == irem.tasks.get(name)
    assert len(run.models) == 1
