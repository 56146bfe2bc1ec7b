"""The layers of the baselines against PyTorch, PyTorch Geometric and NumPy, in 64-bit."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irem
from irem import Graph, nn
from irem.formats import Vectors
from irem.nn.dense import Dense, DenseCell
from irem.nn.graph import GINELayer, GraphCell, GraphNet

# Made by references/make_layers.py, which says how.
with np.load(Path(__file__).with_name("references") / "layers.npz") as file:
    REFERENCE = {name: np.asarray(value, np.float64) for name, value in file.items()}
WIDTH, STEPS = 6, 4

both_aggregates = pytest.mark.parametrize("aggregate", ["sum", "mean"])


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def assert_close(ours, reference):
    """Equal up to the rounding of a few dozen sums in 64 bits."""
    np.testing.assert_allclose(ours, reference, rtol=1e-11, atol=1e-12)


def unfilled(build, *args, **options):
    """A module whose weights have shapes but no values yet, so that none can be forgotten."""
    return eqx.filter_eval_shape(lambda: build(*args, **options, key=jax.random.key(0)))


def filled(build, *args, **options):
    """A module with random weights, those of NumPy because they need no compilation."""
    rng = np.random.default_rng(1)
    module = unfilled(build, *args, **options)
    return jax.tree.map(lambda leaf: jnp.asarray(0.5 * rng.normal(size=leaf.shape)), module)


@eqx.filter_jit
def call(module, *args):
    """Compiled as a whole, which takes less time than to compile every operation."""
    return module(*args)


def put(module, where, name):
    """`module` with the reference's linear map in the place `where`."""
    values = (jnp.asarray(REFERENCE[f"{name}.{part}"]) for part in ("weight", "bias"))
    return eqx.tree_at(lambda m: (where(m).weight, where(m).bias), module, tuple(values))


def put_layer(module, where, name):
    module = put(module, lambda m: where(m).edge_map, f"{name}.edge_map")
    return put(module, lambda m: where(m).node_map, f"{name}.node_map")


def put_lstm(cell):
    values = [jnp.asarray(REFERENCE[f"lstm.{name}"]) for name in ("weight_ih", "weight_hh")]
    # PyTorch adds two biases where one does.
    values.append(jnp.asarray(REFERENCE["lstm.bias_ih"] + REFERENCE["lstm.bias_hh"]))
    return eqx.tree_at(
        lambda c: (c.lstm.weight_ih, c.lstm.weight_hh, c.lstm.bias), cell, tuple(values)
    )


def framed(pairs, frame, junk):
    """`pairs` in a larger frame whose other entries hold `junk`."""
    larger = np.full((frame, frame, *pairs.shape[2:]), junk)
    larger[: len(pairs), : len(pairs)] = pairs
    return jnp.asarray(larger)


def reference_layer(aggregate):
    layer = put_layer(unfilled(GINELayer, WIDTH, aggregate), lambda m: m, "graph.before")
    return layer, put(unfilled(eqx.nn.Linear, 3, WIDTH), lambda m: m, "layer.embed")


@both_aggregates
def test_a_layer_is_that_of_pytorch_geometric(x64, aggregate):
    layer, embed = reference_layer(aggregate)
    nodes, channels = (jnp.asarray(REFERENCE[f"layer.{name}"]) for name in ("nodes", "channels"))
    ours = call(layer, nodes, embed, channels, jnp.ones(4, bool))
    assert_close(ours, REFERENCE[f"layer.{aggregate}"])


@both_aggregates
@pytest.mark.parametrize("junk", [0.0, 1000.0])
def test_padded_nodes_change_nothing_in_a_layer(x64, aggregate, junk):
    layer, embed = reference_layer(aggregate)
    nodes = np.concatenate([REFERENCE["layer.nodes"], np.full((3, WIDTH), junk)])
    channels = framed(REFERENCE["layer.channels"], 7, junk)
    ours = call(layer, jnp.asarray(nodes), embed, channels, jnp.arange(7) < 4)
    assert_close(ours[:4], REFERENCE[f"layer.{aggregate}"])


def test_steps_of_the_dense_cell_are_those_of_pytorch(x64):
    cell = put_lstm(unfilled(DenseCell, Vectors((3,), (2,)), width=WIDTH))
    cell = put(cell, lambda c: c.embed, "dense.embed")
    cell = put(cell, lambda c: c.readout, "dense.readout")
    problems = REFERENCE["dense.problems"]
    state = cell.init(jnp.asarray(problems[0]))
    for t in range(STEPS):
        state, answer = call(cell, jnp.asarray(problems[t]), state)
        assert_close(np.stack(state), REFERENCE["dense.states"][t])
        assert_close(answer, REFERENCE["dense.answers"][t])


def reference_cell(aggregate):
    cell = put_lstm(unfilled(GraphCell, width=WIDTH, aggregate=aggregate))
    cell = put(cell, lambda c: c.embed, "graph.embed")
    cell = put(cell, lambda c: c.readout, "graph.readout")
    cell = put_layer(cell, lambda c: c.before, "graph.before")
    return put_layer(cell, lambda c: c.after, "graph.after")


def steps_of(cell, x):
    """The answers of a cell that is given `x` at every step."""
    state, answers = cell.init(x), []
    for _ in range(STEPS):
        state, answer = call(cell, x, state)
        answers.append(answer)
    return np.stack(answers)


@both_aggregates
def test_steps_of_the_graph_cell_are_those_of_pytorch_and_pytorch_geometric(x64, aggregate):
    ours = steps_of(reference_cell(aggregate), jnp.asarray(REFERENCE["graph.edges"]))
    assert_close(ours, REFERENCE[f"graph.answers.{aggregate}"])


@both_aggregates
@pytest.mark.parametrize("junk", [0.0, 1000.0])
def test_padded_nodes_change_nothing_in_the_graph_cell(x64, aggregate, junk):
    graph = Graph(framed(REFERENCE["graph.edges"], 6, junk), jnp.arange(6) < 4)
    ours = steps_of(reference_cell(aggregate), graph)
    assert_close(ours[:, :4, :4], REFERENCE[f"graph.answers.{aggregate}"])


def small_net(aggregate):
    """A network beside whose problem stand an answer and a single number."""
    options = {"answers": 1, "scalars": 1, "width": 8, "depth": 3}
    return filled(GraphNet, aggregate=aggregate, **options)


def draw(nodes, seed=0):
    """Pair features and an answer, neither of them symmetric."""
    return np.random.default_rng(seed).normal(size=(2, nodes, nodes))


@both_aggregates
@pytest.mark.parametrize("junk", [0.0, 1000.0])
def test_padded_nodes_change_nothing_in_the_graph_network(x64, aggregate, junk):
    x, y = draw(5)
    network = small_net(aggregate)
    level = jnp.asarray(0.4)
    answer, features = call(network, jnp.asarray(x), jnp.asarray(y), level)
    graph = Graph(framed(x, 8, junk), jnp.arange(8) < 5)
    padded, same_features = call(network, graph, framed(y, 8, junk), level)
    assert_close(padded[:5, :5], answer)
    assert_close(same_features, features)


@both_aggregates
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), order=st.permutations(range(5)))
def test_answers_of_graph_networks_follow_the_order_of_nodes(aggregate, seed, order):
    with jax.enable_x64(True):
        x, y = draw(5, seed)
        pairs = np.ix_(order, order)
        network, level = small_net(aggregate), jnp.asarray(0.4)
        answer, features = call(network, Graph.of(x), jnp.asarray(y), level)
        moved, same_features = call(network, Graph.of(x[pairs]), jnp.asarray(y[pairs]), level)
        assert_close(moved, np.asarray(answer)[pairs])
        assert_close(same_features, features)
        cell = reference_cell(aggregate)
        answers = steps_of(cell, Graph.of(x))
        assert_close(steps_of(cell, Graph.of(x[pairs])), answers[:, *pairs])


def test_answers_of_graph_networks_differ_from_pair_to_pair(x64):
    # Else every answer would follow the order of nodes.
    x, y = draw(5)
    answer, _ = call(small_net("mean"), Graph.of(x), jnp.asarray(y), jnp.asarray(0.4))
    for pairs in (np.asarray(answer), steps_of(reference_cell("mean"), Graph.of(x))[-1]):
        assert np.abs(pairs - pairs.T).max() > 1e-3
        assert np.ptp(pairs, axis=0).min() > 1e-3


def test_dense_is_a_chain_of_products_in_numpy(x64):
    rng = np.random.default_rng(0)
    network = filled(Dense, Vectors((2, 3), (2, 2)), answers=1, scalars=1, width=7, depth=2)
    x, y, level = rng.normal(size=(2, 3)), rng.normal(size=(2, 2)), np.array(0.4)
    hidden = np.concatenate([x.ravel(), y.ravel(), [level]])
    for layer in network.layers:
        hidden = np.maximum(np.asarray(layer.weight) @ hidden + np.asarray(layer.bias), 0)
    readout = np.asarray(network.readout.weight) @ hidden + np.asarray(network.readout.bias)
    answer, features = call(network, *map(jnp.asarray, (x, y, level)))
    assert_close(answer, readout.reshape(2, 2))
    assert_close(features, hidden)
    # Some units are off, so it is more than a product of matrices.
    assert 0 < np.count_nonzero(hidden) < network.num_features


@pytest.mark.parametrize(
    ("kind", "name", "sizes"),
    [
        (irem.energy.MLP, "addition", {"depth": 101}),
        (irem.energy.GINE, "shortest-path", {"depth": 101}),
        (irem.energy.Pair, "matrix-inverse", {"depth": 10**12}),
        (irem.energy.Table, "addition", {"encoder_depth": 101}),
        (irem.energy.Conv, "denoise", {"depth": 101}),
        (irem.energy.Conv, "denoise", {"head": 101}),
        (nn.Dense, "addition", {"depth": 101}),
        (nn.GraphNet, "shortest-path", {"depth": 101}),
        (nn.DnCNN, "denoise", {"depth": 101}),
    ],
)
def test_more_layers_than_can_be_compiled_are_refused(kind, name, sizes):
    (depth,) = sizes.values()
    with pytest.raises(irem.InputError, match=f"must be at most 100, got {depth}"):
        kind.for_task(irem.tasks.get(name), key=jax.random.key(0), **sizes)
