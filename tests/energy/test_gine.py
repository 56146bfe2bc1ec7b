"""The graph energy against an edge list in NumPy, and the symmetries of graphs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irem
from irem import Graph
from irem.energy import GINE

WIDTH = 16


@pytest.fixture(scope="module", params=["sum", "mean"])
def energy(request):
    return GINE(width=WIDTH, depth=2, aggregate=request.param, key=jax.random.key(0))


def draw(nodes, seed=0, dtype=np.float32):
    """Pair features and an answer, neither of them symmetric."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(2, nodes, nodes)).astype(dtype)


def swish(z):
    return z / (1 + np.exp(-z))


def affine(layer, z):
    return np.asarray(layer.weight, np.float64) @ z + np.asarray(layer.bias, np.float64)


def read_out(energy, hidden):
    """From the features of the real nodes to the energy."""
    first, last = energy.readout
    return affine(last, swish(affine(first, hidden.max(axis=0))))[0]


def reference(energy, x, y):
    """One message at a time over the list of edges, no two affine maps folded into one."""
    nodes = len(x)
    embed_x, embed_y = energy.embed
    sources, targets = (index.ravel() for index in np.indices((nodes, nodes)))
    features = [
        np.concatenate([affine(embed_x, x[i, j, None]), affine(embed_y, y[i, j, None])])
        for i, j in zip(sources, targets, strict=True)
    ]
    hidden = np.zeros((nodes, len(features[0])))
    for edge_map, node_map in zip(energy.edge_maps, energy.node_maps, strict=True):
        messages = [
            swish(hidden[source] + affine(edge_map, feature))
            for source, feature in zip(sources, features, strict=True)
        ]
        received = np.zeros_like(hidden)
        np.add.at(received, targets, messages)
        if energy.aggregate == "mean":
            received /= nodes
        hidden = np.stack([affine(node_map, h) for h in hidden + received])
    return read_out(energy, hidden)


@pytest.mark.parametrize("nodes", [1, 2, 7])
def test_energy_is_that_of_an_edge_list(energy, nodes):
    with jax.enable_x64(True):
        energy = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), energy)
        x, y = draw(nodes, dtype=np.float64)
        value = float(eqx.filter_jit(energy)(jnp.asarray(x), jnp.asarray(y)))
        assert value == pytest.approx(reference(energy, x, y), rel=1e-10)
        # The reference depends on the direction of an edge, so the energy does too.
        if nodes > 1:
            assert value != pytest.approx(reference(energy, x.T, y.T), rel=1e-6)


@pytest.fixture(scope="module")
def value_and_gradient(energy):
    return jax.jit(lambda x, y: jax.value_and_grad(energy.landscape(x))(y))


def padded(x, frame, junk):
    """`x` in a larger frame whose other entries hold `junk`."""
    framed = np.full((frame, frame), junk, np.float32)
    framed[: len(x), : len(x)] = x
    return framed


@pytest.mark.parametrize("junk", [0.0, 1000.0])
def test_padding_changes_neither_energy_nor_gradient(value_and_gradient, junk):
    x, y = draw(6)
    alone, gradient = value_and_gradient(Graph.of(x), y)
    graph = Graph(jnp.asarray(padded(x, 9, junk)), jnp.arange(9) < 6)
    framed, framed_gradient = value_and_gradient(graph, jnp.asarray(padded(y, 9, junk)))
    # The same numbers in sums of other lengths.
    np.testing.assert_allclose(framed, alone, rtol=1e-5)
    np.testing.assert_allclose(framed_gradient[:6, :6], gradient, rtol=1e-4, atol=1e-6)
    assert np.abs(gradient).max() > 1e-3
    outside = np.array(framed_gradient)
    outside[:6, :6] = 0
    assert not outside.any()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), order=st.permutations(range(6)))
def test_energy_ignores_the_order_of_nodes_and_its_gradient_follows(
    value_and_gradient, seed, order
):
    x, y = draw(6, seed)
    value, gradient = value_and_gradient(Graph.of(x), y)
    pairs = np.ix_(order, order)
    moved, moved_gradient = value_and_gradient(Graph.of(x[pairs]), y[pairs])
    np.testing.assert_allclose(moved, value, rtol=1e-5, atol=1e-5)
    scale = np.abs(gradient).max()
    np.testing.assert_allclose(moved_gradient, gradient[pairs], rtol=1e-3, atol=1e-4 * scale)


@pytest.mark.parametrize("nodes", [1, 40])
def test_any_number_of_nodes_is_taken(value_and_gradient, nodes):
    x, y = draw(nodes)
    value, gradient = value_and_gradient(Graph.of(x), y)
    assert np.isfinite(value)
    assert gradient.shape == (nodes, nodes)
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).max() > 0


def test_a_matrix_is_a_graph_whose_nodes_are_all_real(value_and_gradient):
    x, y = draw(6)
    graph = Graph(jnp.asarray(x), jnp.ones(6, bool))
    for bare, full in zip(value_and_gradient(x, y), value_and_gradient(graph, y), strict=True):
        np.testing.assert_allclose(bare, full, rtol=1e-4, atol=1e-6)


def test_no_product_with_every_pair_is_left_in_the_loop(energy):
    x, y = draw(7)

    def descend(x, y):
        slope = jax.grad(energy.landscape(x))
        return jax.lax.scan(lambda y, _: (y - slope(y), None), y, length=4)[0]

    (loop,) = (
        equation.params["jaxpr"].jaxpr
        for equation in jax.make_jaxpr(descend)(x, y).jaxpr.eqns
        if equation.primitive.name == "scan"
    )
    operands = [
        sorted(v.aval.size for v in equation.invars)
        for equation in loop.eqns
        if equation.primitive.name == "dot_general"
    ]
    # Per layer a weight of 16 x 16 meets the features of 7 nodes; a product with every pair would
    # have an operand of 49 x 16. The slope in the answer alone takes that: 49 x 16 with 16.
    weights = [sizes for sizes in operands if WIDTH * WIDTH in sizes]
    assert weights
    assert max(max(sizes) for sizes in weights) == WIDTH * WIDTH


def test_a_table_of_flat_rows_is_a_stack_of_graphs(energy):
    x = np.arange(3 * 25.0).reshape(3, 5, 5)
    flat, alone = energy.format.as_batch(x.reshape(3, 25))
    assert not alone
    np.testing.assert_array_equal(flat.edges, x)
    square, alone = energy.format.as_batch(x[0])
    assert alone
    assert square.edges.shape == (1, 5, 5)


@pytest.mark.parametrize("shape", [(3,), (3, 5), (2, 3, 4), (2, 2, 3, 3), (0, 3, 3), (0, 0)])
def test_problems_that_are_not_square_are_refused(energy, shape):
    with pytest.raises(ValueError, match=r"`x` has shape .*; expected one graph or square matrix"):
        energy.format.as_batch(np.ones(shape))


def test_graphs_are_taken_alone_and_stacked(energy):
    x = np.ones((3, 5, 5))
    nodes = jnp.array([[True, True, False, False, False]] * 3)
    for problems, alone in ((x, False), (x[0], True), (Graph(jnp.asarray(x), nodes), False)):
        batch, was_alone = energy.format.as_batch(problems)
        assert was_alone == alone
        assert batch.edges.shape == (1 if alone else 3, 5, 5)
    np.testing.assert_array_equal(batch.nodes, nodes)


def test_an_unknown_aggregate_is_refused():
    with pytest.raises(ValueError, match=r"Unknown aggregate 'max'; known are sum, mean"):
        GINE(width=WIDTH, aggregate="max", key=jax.random.key(0))


def test_odd_width_is_refused():
    with pytest.raises(ValueError, match=r"even `width`, got 15"):
        GINE(width=15, key=jax.random.key(0))


@pytest.mark.parametrize("name", ["addition", "matrix-inverse", "matrix-completion"])
def test_tasks_without_graphs_are_refused(name):
    task = irem.tasks.get(name)
    with pytest.raises(ValueError, match=rf"needs graphs, and '{name}' has .* MLP energy"):
        GINE.for_task(task, key=jax.random.key(0))
