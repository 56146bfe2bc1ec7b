"""Edge copy: the answer is the question, for graphs of any size."""

import jax
import numpy as np
import pytest
from scipy import stats

from irem.tasks import EdgeCopy

# A generator that compiles fast: no fact tested here depends on which one draws.
KEY = jax.random.key(31, impl="unsafe_rbg")


@pytest.mark.parametrize("nodes", [1, 2, 7, 30])
def test_answer_is_the_edges(nodes):
    problem = EdgeCopy().batch(KEY, 50, nodes)
    assert problem.y.shape == (50, nodes, nodes)
    np.testing.assert_array_equal(problem.y, problem.x.edges)
    assert np.asarray(problem.x.nodes).all()


@pytest.mark.parametrize("difficulty", ["same", "harder"])
def test_entries_are_uniform_with_self_pairs_included(difficulty):
    edges = np.asarray(EdgeCopy().batch(KEY, 2000, difficulty).x.edges, np.float64)
    assert -1 <= edges.min() < -0.999
    assert 0.999 < edges.max() <= 1
    uniform = stats.uniform(-1, 2).cdf
    diagonal = np.diagonal(edges, axis1=1, axis2=2)
    # 6e-7 is five sigma.
    assert stats.kstest(edges.ravel()[:20_000], uniform).pvalue > 6e-7
    assert stats.kstest(diagonal.ravel(), uniform).pvalue > 6e-7
    # Both directions of a pair are drawn apart: no correlation across the diagonal.
    rows, columns = np.triu_indices(edges.shape[1], 1)
    products = edges[:, rows, columns] * edges[:, columns, rows]
    assert abs(products.mean()) <= 5 * products.std() / products.size**0.5
