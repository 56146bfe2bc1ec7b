"""Connected components of the wide variant: graphs, domain, and a check that is not fooled."""

import jax
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from irem.tasks import ConnectedComponents

KEY = jax.random.key(5, impl="unsafe_rbg")
WIDE = ConnectedComponents(variant="wide")
EDGES = np.zeros((5, 5))
EDGES[0, 1] = EDGES[2, 1] = EDGES[3, 4] = 1.0


def components(edges):
    labels = connected_components(np.where(np.isfinite(edges), edges, 0) != 0, directed=False)[1]
    return (labels[:, None] == labels).astype(float)


def verdict(y, edges=EDGES):
    return WIDE.check(edges[None], y[None]).residual[0] <= WIDE.tolerance


def test_the_oracle_agrees_with_scipy_and_graphs_vary():
    problem = jax.device_get(WIDE.batch(KEY, 200, 12))
    expected = np.stack([components(edges) for edges in problem.x.edges])
    np.testing.assert_array_equal(problem.y, expected)
    assert expected.mean(axis=(1, 2)).min() < 0.3
    assert 0.1 < (expected.mean(axis=(1, 2)) == 1).mean() < 0.9
    assert (WIDE.check(problem.x, problem.y).residual == 0).all()


def test_infinite_and_missing_edges_are_none():
    edges = np.where(EDGES == 0, np.inf, EDGES)
    np.testing.assert_array_equal(WIDE.oracle(edges), components(EDGES))
    assert verdict(components(EDGES), edges)
    assert WIDE.domain.fault(edges) is None


def test_answers_a_little_off_zero_and_one_are_verified_and_others_are_not():
    right = components(EDGES)
    assert verdict(np.abs(right - 0.2))
    assert not verdict(np.abs(right - 0.3))


def test_one_component_too_many_or_too_few_is_refused():
    right = components(EDGES)
    assert verdict(right)
    assert not verdict(np.ones((5, 5)))
    split = right.copy()
    split[2, :2] = split[:2, 2] = 0
    assert not verdict(split)
    assert not verdict(np.eye(5))


@pytest.mark.parametrize("value", [np.nan, np.inf, 2.0])
def test_one_entry_that_is_wrong_is_refused(value):
    for place in np.ndindex(5, 5):
        y = components(EDGES)
        y[place] = 1 - y[place] if value == 2.0 else value
        assert not verdict(y)


@pytest.mark.parametrize("value", [5.0, -1.0, 0.5])
@pytest.mark.parametrize("variant", ["released", "wide"])
def test_weights_are_refused_by_entry(variant, value):
    edges = EDGES.copy()
    edges[2, 1] = value
    fault = ConnectedComponents(variant=variant).domain.fault(edges)
    assert fault.startswith(f"Entry (2, 1) is {value:g}; edges are 1")
