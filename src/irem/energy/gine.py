"""A graph energy of GINE layers, for graphs of any size."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from irem.checks import count, count_or_zero, known
from irem.energy.base import AbstractJointEnergy, require
from irem.errors import InputError
from irem.formats import Graphs
from irem.nn.fitting import check_depth
from irem.nn.graph import AGGREGATES
from irem.problem import Graph
from irem.settings import HasFormat, setting, weights


class GINE(AbstractJointEnergy):
    r"""Graph convolutions with edge features (Hu et al. 2020) on all pairs of nodes.

    With $e_{ij} = [W_x x_{ij} + b_x;\; W_y y_{ij} + b_y]$ and $h^0 = 0$, each layer is

    $$h_j \leftarrow W_l \Big(h_j + \mathrm{mean}_i\, \phi(h_i + L_l e_{ij})\Big) + b_l$$

    with swish for $\phi$, over the real nodes, self-pairs included; the energy is a small network
    on the maximum over nodes. The paper's Table 6 has three such layers of 128 and a linear map to
    the energy; the released program has one hidden layer before that map, and so has this one.

    Two affine maps in a row are one, so $L_l e_{ij}$ is $a_l x_{ij} + b_l y_{ij} + c_l$ with three
    vectors that are found once: no product of a width x width matrix with every pair is needed.

    A scratchpad has some numbers $z_j$ for each node, and $h^0_j = W_z z_j$.

    Arguments:
        width: Features of nodes and edges; even.
        depth: Number of layers.
        aggregate: `"mean"` of the messages, or their `"sum"` as in GINE proper. Sums grow with the
            number of nodes: trained on up to 10 nodes they exceed the range of training on 15, and
            the descent diverges at the training step size. Means do not (see the results).
        scratch: Size of the scratchpad of a node; the paper's tables have none.
        key: Source of the initial weights.
    """

    width: int = setting(128)
    depth: int = setting(3)
    aggregate: str = setting("mean")
    scratch: int = setting(0)
    embed: tuple[eqx.nn.Linear, eqx.nn.Linear] = weights()
    edge_maps: tuple[eqx.nn.Linear, ...] = weights()
    node_maps: tuple[eqx.nn.Linear, ...] = weights()
    readout: tuple[eqx.nn.Linear, eqx.nn.Linear] = weights()
    embed_scratch: eqx.nn.Linear | None = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the layers."""
        count("width", self.width)
        check_depth("depth", self.depth)
        count_or_zero("scratch", self.scratch)
        known("aggregate", self.aggregate, AGGREGATES)
        if self.width % 2:
            raise InputError(f"The GINE energy needs an even `width`, got {self.width}.")
        width = self.width
        key_x, key_y, key_hidden, key_readout, key_layers = jax.random.split(key, 5)
        keys = jax.random.split(key_layers, (self.depth, 2))
        linear = eqx.nn.Linear
        self.embed = linear(1, width // 2, key=key_x), linear(1, width // 2, key=key_y)
        self.edge_maps = tuple(linear(width, width, key=k) for k in keys[:, 0])
        self.node_maps = tuple(linear(width, width, key=k) for k in keys[:, 1])
        self.readout = linear(width, width, key=key_hidden), linear(width, 1, key=key_readout)
        if self.scratch:  # with a key of its own: the other weights are those without a scratchpad
            key_z = jax.random.fold_in(key, 1)
            self.embed_scratch = linear(self.scratch, width, use_bias=False, key=key_z)

    @property
    def format(self) -> Graphs:
        """Graphs of any size."""
        return Graphs()

    @property
    def fixed_shape(self) -> None:
        """The shape of an answer depends on the graph."""
        return

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Check that the problems are graphs."""
        require("GINE", task, Graphs)
        return {}

    def joint_landscape(self, x: Graph | Array) -> Callable[[Array, Array], Float[Array, ""]]:
        """Return the map from answer and scratchpad to the energy; the share of `x` is done."""
        x = Graph.of(x)
        senders = x.nodes.sum() if self.aggregate == "mean" else 1
        from_x, slopes = zip(
            *(self._edge_features(m, x.edges) for m in self.edge_maps), strict=True
        )

        def energy(y: Float[Array, "n n"], z: Float[Array, "n scratch"]) -> Float[Array, ""]:
            y = jnp.where(x.pairs, y, 0.0)
            nodes = self._first_state(jnp.where(x.nodes[:, None], z, 0.0))
            for edges, slope, node_map in zip(from_x, slopes, self.node_maps, strict=True):
                received = _messages(nodes, edges + y[..., None] * slope, x.nodes) / senders
                nodes = jax.vmap(node_map)(nodes + received)
            pooled = jnp.max(nodes, axis=0, where=x.nodes[:, None], initial=-jnp.inf)
            hidden, last = self.readout
            return last(jax.nn.swish(hidden(pooled)))[0]

        return energy

    def _first_state(self, z: Float[Array, "n scratch"]) -> Float[Array, "n width"]:
        if self.embed_scratch is None:
            return jnp.zeros((z.shape[0], self.width), z.dtype)
        return jax.vmap(self.embed_scratch)(z)

    def _edge_features(
        self, edge_map: eqx.nn.Linear, x: Float[Array, "n n"]
    ) -> tuple[Float[Array, "n n width"], Float[Array, " width"]]:
        """The part of $L_l e_{ij}$ that is known before `y`, and the slope in $y_{ij}$."""
        map_x, map_y = jnp.split(edge_map.weight, 2, axis=1)
        embed_x, embed_y = self.embed
        slope_x = map_x @ embed_x.weight[:, 0]
        slope_y = map_y @ embed_y.weight[:, 0]
        zero = jnp.zeros(1, slope_x.dtype)
        embedded_zero = jnp.concatenate([embed_x(zero), embed_y(zero)])
        return x[..., None] * slope_x + edge_map(embedded_zero), slope_y


def _messages(
    nodes: Float[Array, "n width"], edges: Float[Array, "n n width"], real: Bool[Array, " n"]
) -> Float[Array, "n width"]:
    """Return the sum of the messages that every node receives from all real nodes."""
    messages = jax.nn.swish(nodes[:, None, :] + edges)
    return jnp.sum(messages, axis=0, where=real[:, None, None])
