"""The energy of sums and minima: right weights give right distances, whatever the graph."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse.csgraph import shortest_path

import irem
from irem.energy.minplus import MinPlus, num_rounds
from irem.problem import Graph
from irem.tasks import Addition, ConnectedComponents, ShortestPath

KEY = jax.random.key(0)


@eqx.filter_jit
def value_of(energy, x, point):
    return energy(x, point)


@eqx.filter_jit
def read(energy, x, point):
    return energy.read(x, point)


def with_right_weights(answer="distance"):
    """The energy whose layer is the min-plus square."""
    energy = MinPlus(answer=answer, key=KEY)
    return eqx.tree_at(
        lambda e: (e.layer.own, e.layer.smallest), energy, (jnp.zeros(()), jnp.ones(()))
    )


def path(nodes, scale=1.0):
    steps = np.abs(np.subtract.outer(np.arange(nodes), np.arange(nodes)))
    return jnp.asarray(np.where(steps == 1, scale, np.inf), jnp.float32)


def directed(nodes):
    rng = np.random.default_rng(1)
    given = rng.random((nodes, nodes)) < 0.3
    edges = np.where(given, rng.lognormal(size=(nodes, nodes)), np.inf)
    return jnp.asarray(edges, jnp.float32)


def distances(edges):
    lengths = np.where(np.isfinite(edges), edges, 0.0)
    np.fill_diagonal(lengths, 0.0)
    return shortest_path(lengths, directed=True)


@pytest.mark.parametrize(
    "edges", [path(12), path(12, 1e-3), directed(12), np.full((12, 12), np.inf, np.float32)]
)
def test_descents_find_the_distances_of_long_and_directed_and_unconnected_graphs(edges):
    solution = irem.solve(with_right_weights(), edges, key=KEY)
    expected = distances(edges)
    np.testing.assert_array_equal(np.isinf(solution.y), np.isinf(expected))
    assert ShortestPath(variant="wide").check(edges[None], solution.y[None]).residual[0] < 0.01


def test_zero_edges_are_missing_and_the_diagonal_is_ignored():
    edges = path(12)
    other = jnp.where(jnp.eye(12, dtype=bool), 7.0, jnp.where(jnp.isinf(edges), 0.0, edges))
    energy, point = with_right_weights(), jnp.ones((num_rounds(12), 12, 12))
    np.testing.assert_allclose(value_of(energy, other, point), value_of(energy, edges, point))
    np.testing.assert_array_equal(read(energy, other, point), read(energy, edges, point))


def test_the_right_distances_of_all_rounds_have_energy_zero_and_no_others_do():
    energy, edges = with_right_weights(), path(6)
    steps = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))
    missing = 2 * 6.0  # no path is longer than the sum of the longest edges of all nodes
    rounds = [np.where(steps <= 2**r, steps, missing) for r in (1, 2, 3)]
    scales = np.sqrt(energy.coupling) ** np.arange(3)
    point = jnp.asarray(scales[:, None, None] * np.log1p(np.stack(rounds)), jnp.float32)
    assert value_of(energy, edges, point) < 1e-10
    np.testing.assert_allclose(read(energy, edges, point), steps, rtol=1e-5)
    assert value_of(energy, edges, point.at[0, 0, 4].add(-0.1)) > 1e-3


def test_padding_changes_nothing():
    energy, small = MinPlus(key=KEY), directed(6)
    edges = np.zeros((8, 8), np.float32)
    edges[:6, :6] = small
    padded = Graph(jnp.asarray(edges), jnp.arange(8) < 6)
    point = jax.random.uniform(KEY, (3, 8, 8))
    np.testing.assert_allclose(
        value_of(energy, padded, point), value_of(energy, small, point[:, :6, :6]), rtol=1e-5
    )
    assert num_rounds(8) == num_rounds(6) == 3
    np.testing.assert_allclose(
        read(energy, padded, point)[:6, :6], read(energy, small, point[:, :6, :6]), rtol=1e-5
    )


@pytest.mark.parametrize("nodes", [1, 3, 4, 6, 9, 10, 17])
def test_padding_adds_no_rounds(nodes):
    energy, size = MinPlus(key=KEY), 40
    small = directed(nodes)
    padded = Graph(jnp.zeros((size, size)).at[:nodes, :nodes].set(small), jnp.arange(size) < nodes)
    rounds = num_rounds(nodes)
    # What the tables of further rounds hold does not matter.
    point = jax.random.uniform(KEY, (num_rounds(size), size, size))
    own = point[:rounds, :nodes, :nodes]
    np.testing.assert_allclose(
        value_of(energy, padded, point), value_of(energy, small, own), rtol=1e-5
    )
    np.testing.assert_allclose(
        read(energy, padded, point)[:nodes, :nodes], read(energy, small, own), rtol=1e-5
    )


def test_the_scale_of_lengths_does_not_matter():
    energy, edges, point = MinPlus(key=KEY), directed(7), jax.random.uniform(KEY, (3, 7, 7))
    for scale in (1e-20, 1e20):
        np.testing.assert_allclose(
            value_of(energy, scale * edges, point), value_of(energy, edges, point), rtol=1e-4
        )
        np.testing.assert_allclose(
            read(energy, scale * edges, point), scale * read(energy, edges, point), rtol=1e-4
        )


def test_reached_pairs_are_joined_by_edges_of_any_direction():
    edges = np.zeros((7, 7), np.float32)
    edges[0, 1] = edges[2, 1] = edges[3, 4] = edges[4, 5] = 1
    solution = irem.solve(with_right_weights("reached"), edges, key=KEY)
    np.testing.assert_array_equal(solution.y, ConnectedComponents().oracle(edges))


def test_gradients_are_finite_and_second_ones_reach_every_weight():
    energy, edges = MinPlus(key=KEY), jnp.asarray(directed(6))
    point = jax.random.uniform(KEY, (3, 6, 6), minval=0.1)

    @eqx.filter_jit
    @eqx.filter_grad
    def gradient(energy):
        return jnp.sum(jnp.square(jax.grad(energy.landscape(edges))(point)))

    for leaf in jax.tree.leaves(gradient(energy)):
        assert np.isfinite(leaf).all()
        assert (leaf != 0).all()


def test_the_task_says_what_is_answered_and_others_are_refused():
    assert MinPlus.fit(ShortestPath(variant="wide")) == {"answer": "distance"}
    assert MinPlus.fit(ConnectedComponents(variant="wide")) == {"answer": "reached"}
    with pytest.raises(ValueError, match=r"'shortest-path' have all edges.*variant = 'wide'"):
        MinPlus.fit(ShortestPath())
    with pytest.raises(ValueError, match=r"MinPlus energy needs graphs, and 'addition'"):
        MinPlus.fit(Addition())


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"coupling": 0.0}, "coupling"),
        ({"answer": "hops"}, r"Unknown answer 'hops'; known are distance, reached"),
    ],
)
def test_settings_without_a_meaning_are_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        MinPlus(**settings, key=KEY)
