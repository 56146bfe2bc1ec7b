"""Networks of the baselines for graphs of any size."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray, Shaped

from irem.checks import count, known
from irem.formats import Graphs
from irem.nn.bodies import AbstractCell, AbstractNetwork
from irem.nn.fitting import check_depth, require
from irem.problem import Graph
from irem.settings import HasFormat, setting, weights

AGGREGATES = ("sum", "mean")
"""How a graph network joins the messages that a node receives."""


class GINELayer(eqx.Module):
    r"""A graph convolution with edge features (Hu et al. 2020).

    $$h_j \leftarrow W \Big(h_j + \sum_i \mathrm{ReLU}(h_i + L e_{ij})\Big) + b$$

    over the real nodes, self-pairs included, or with the mean in place of the sum.
    """

    edge_map: eqx.nn.Linear
    node_map: eqx.nn.Linear
    aggregate: str = eqx.field(static=True)

    def __init__(self, width: int, aggregate: str, *, key: PRNGKeyArray) -> None:
        key_edge, key_node = jax.random.split(key)
        self.edge_map = eqx.nn.Linear(width, width, key=key_edge)
        self.node_map = eqx.nn.Linear(width, width, key=key_node)
        self.aggregate = aggregate

    def __call__(
        self,
        nodes: Float[Array, "n width"],
        embed: eqx.nn.Linear,
        channels: Float[Array, "n n channels"],
        real: Bool[Array, " n"],
    ) -> Float[Array, "n width"]:
        """New features of every node.

        Arguments:
            nodes: Features before.
            embed: The map from channels to edge features. Two affine maps in a row are one, so no
                product of a width x width matrix with every pair is needed.
            channels: Numbers on every pair of nodes.
            real: Which nodes are not padding.
        """
        assert embed.bias is not None
        edges = channels @ (self.edge_map.weight @ embed.weight).T + self.edge_map(embed.bias)
        messages = jax.nn.relu(nodes[:, None, :] + edges)
        received = jnp.sum(messages, axis=0, where=real[:, None, None])
        if self.aggregate == "mean":
            received = received / real.sum()
        return jax.vmap(self.node_map)(nodes + received)


class GraphNet(AbstractNetwork):
    """GINE layers and a linear map from pairs of nodes to the answer (the paper's Table 7).

    Arguments:
        answers: How many arrays shaped like the answer are given beside `x`.
        scalars: How many single numbers are given beside `x`.
        width: Features of a node.
        depth: Number of layers.
        aggregate: `"mean"` of the messages that a node receives, or their `"sum"`.
        key: Source of the initial weights.
    """

    answers: int = eqx.field(static=True, kw_only=True, default=0)
    scalars: int = eqx.field(static=True, kw_only=True, default=0)
    width: int = setting(128)
    depth: int = setting(3)
    aggregate: str = setting("mean")
    embed: eqx.nn.Linear = weights()
    layers: tuple[GINELayer, ...] = weights()
    readout: eqx.nn.Linear = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the layers."""
        count("width", self.width)
        check_depth("depth", self.depth)
        known("aggregate", self.aggregate, AGGREGATES)
        key_embed, key_readout, *keys = jax.random.split(key, self.depth + 2)
        self.embed = eqx.nn.Linear(1 + self.answers + self.scalars, self.width, key=key_embed)
        self.layers = tuple(GINELayer(self.width, self.aggregate, key=k) for k in keys)
        self.readout = eqx.nn.Linear(2 * self.width, 1, key=key_readout)

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Check that the problems are graphs."""
        require(task, Graphs)
        return {}

    @property
    def format(self) -> Graphs:
        """Graphs of any size."""
        return Graphs()

    @property
    def num_features(self) -> int:
        """Features of a node."""
        return self.width

    def __call__(self, x: Graph | Array, *beside: Array) -> tuple[Array, Float[Array, " features"]]:
        """Nodes start at zero; the features of the whole graph are the mean over real nodes."""
        x = Graph.of(x)
        channels = _channels(x, *beside)
        nodes = jnp.zeros((x.nodes.shape[0], self.num_features), x.edges.dtype)
        for layer in self.layers:
            nodes = layer(nodes, self.embed, channels, x.nodes)
        pooled = jnp.mean(nodes, axis=0, where=x.nodes[:, None])
        return _pairs(self.readout, nodes), pooled


class GraphCell(AbstractCell):
    """A GINE layer, an LSTM on every node, a GINE layer, pairs (the paper's Table 8).

    The LSTM's output goes back into the first layer, so that with every step the state of a node
    reaches nodes one hop further. The paper's 128 units give twice the parameters of the other
    methods; 96 give about as many.

    Arguments:
        width: Units of the LSTM of a node.
        aggregate: `"mean"` of the messages that a node receives, or their `"sum"`.
        key: Source of the initial weights.
    """

    width: int = setting(96)
    aggregate: str = setting("mean")
    embed: eqx.nn.Linear = weights()
    before: GINELayer = weights()
    lstm: eqx.nn.LSTMCell = weights()
    after: GINELayer = weights()
    readout: eqx.nn.Linear = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the layers."""
        count("width", self.width)
        known("aggregate", self.aggregate, AGGREGATES)
        width, aggregate = self.width, self.aggregate
        key_embed, key_before, key_lstm, key_after, key_readout = jax.random.split(key, 5)
        self.embed = eqx.nn.Linear(1, width, key=key_embed)
        self.before = GINELayer(width, aggregate, key=key_before)
        self.lstm = eqx.nn.LSTMCell(width, width, key=key_lstm)
        self.after = GINELayer(width, aggregate, key=key_after)
        self.readout = eqx.nn.Linear(2 * width, 1, key=key_readout)

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Check that the problems are graphs."""
        require(task, Graphs)
        return {}

    @property
    def format(self) -> Graphs:
        """Graphs of any size."""
        return Graphs()

    def init(self, x: Graph | Array) -> tuple[Array, Array]:
        """Hidden and cell state of every node at zero."""
        edges = Graph.of(x).edges
        zero = jnp.zeros((edges.shape[0], self.width), edges.dtype)
        return zero, zero

    def __call__(
        self, x: Graph | Array, state: tuple[Array, Array]
    ) -> tuple[tuple[Array, Array], Float[Array, "n n"]]:
        """Receive messages, update the state of every node, send messages."""
        x = Graph.of(x)
        channels = _channels(x)
        received = self.before(state[0], self.embed, channels, x.nodes)
        hidden, memory = jax.vmap(self.lstm)(received, state)
        nodes = self.after(hidden, self.embed, channels, x.nodes)
        return (hidden, memory), _pairs(self.readout, nodes)


def _channels(x: Graph, *beside: Shaped[Array, "..."]) -> Float[Array, "n n channels"]:
    return jnp.stack([x.edges, *(jnp.broadcast_to(b, x.edges.shape) for b in beside)], axis=-1)


def _pairs(readout: eqx.nn.Linear, nodes: Float[Array, "n width"]) -> Float[Array, "n n"]:
    """A linear map on `[h_i; h_j]`, taken as the sum of its two halves."""
    first, second = jnp.split(readout.weight[0], 2)
    assert readout.bias is not None
    return (nodes @ first)[:, None] + (nodes @ second)[None, :] + readout.bias[0]
