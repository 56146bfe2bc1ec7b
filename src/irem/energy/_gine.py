"""A graph energy of GINE layers, for graphs of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from irem._checks import count, count_or_none, known
from irem._errors import InputError
from irem._inputs import graphs
from irem._problem import Graph
from irem.energy.base import AbstractJointEnergy, TaskShapes, check_kind

AGGREGATES = ("sum", "mean")
"""How a graph network joins the messages that a node receives."""


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
            number of nodes: trained on up to 10 nodes they leave the range of training on 15, and
            the descent diverges at the training step size. Means hold (see the results).
        scratch: Size of the scratchpad of a node; the paper's tables have none.
        key: Where the initial weights come from.
    """

    edge_x: eqx.nn.Linear
    edge_y: eqx.nn.Linear
    edge_maps: tuple[eqx.nn.Linear, ...]
    node_maps: tuple[eqx.nn.Linear, ...]
    hidden: eqx.nn.Linear
    readout: eqx.nn.Linear
    node_z: eqx.nn.Linear | None
    aggregate: str = eqx.field(static=True)
    scratch: int = eqx.field(static=True)
    y_shape: tuple[int, ...] | None = eqx.field(static=True)

    def __init__(
        self,
        *,
        width: int = 128,
        depth: int = 3,
        aggregate: str = "mean",
        scratch: int = 0,
        key: PRNGKeyArray,
    ) -> None:
        count("width", width)
        count("depth", depth)
        count_or_none("scratch", scratch)
        known("aggregate", aggregate, AGGREGATES)
        if width % 2:
            raise InputError(f"The GINE energy needs an even `width`, got {width}.")
        key_x, key_y, key_hidden, key_readout, key_layers = jax.random.split(key, 5)
        keys = jax.random.split(key_layers, (depth, 2))
        self.edge_x = eqx.nn.Linear(1, width // 2, key=key_x)
        self.edge_y = eqx.nn.Linear(1, width // 2, key=key_y)
        self.edge_maps = tuple(eqx.nn.Linear(width, width, key=k) for k in keys[:, 0])
        self.node_maps = tuple(eqx.nn.Linear(width, width, key=k) for k in keys[:, 1])
        self.hidden = eqx.nn.Linear(width, width, key=key_hidden)
        self.readout = eqx.nn.Linear(width, 1, key=key_readout)
        self.node_z = None
        if scratch:  # its key is its own, so that the other weights are those without a scratchpad
            key_z = jax.random.fold_in(key, 1)
            self.node_z = eqx.nn.Linear(scratch, width, use_bias=False, key=key_z)
        self.scratch = scratch
        self.y_shape = None
        self.aggregate = aggregate

    @classmethod
    def for_task(
        cls,
        task: TaskShapes,
        *,
        width: int = 128,
        depth: int = 3,
        aggregate: str = "mean",
        scratch: int = 0,
        key: PRNGKeyArray,
    ) -> GINE:
        """An energy for the graphs of `task`."""
        check_kind("GINE", task, "graphs")
        return cls(width=width, depth=depth, aggregate=aggregate, scratch=scratch, key=key)

    def settings(self) -> dict[str, Any]:
        """What `for_task` needs to build an energy of this size again."""
        settings = {
            "width": self.readout.in_features,
            "depth": len(self.node_maps),
            "aggregate": self.aggregate,
        }
        return {**settings, "scratch": self.scratch} if self.scratch else settings

    def joint_landscape(self, x: Graph | Array) -> Callable[[Array, Array], Float[Array, ""]]:
        """The map from answer and scratchpad to the energy, the share of `x` in messages done."""
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
            return self.readout(jax.nn.swish(self.hidden(pooled)))[0]

        return energy

    def _first_state(self, z: Float[Array, "n scratch"]) -> Float[Array, "n width"]:
        if self.node_z is None:
            return jnp.zeros((z.shape[0], self.readout.in_features), z.dtype)
        return jax.vmap(self.node_z)(z)

    def _edge_features(
        self, edge_map: eqx.nn.Linear, x: Float[Array, "n n"]
    ) -> tuple[Float[Array, "n n width"], Float[Array, " width"]]:
        """The part of $L_l e_{ij}$ that is known before `y`, and the slope in $y_{ij}$."""
        map_x, map_y = jnp.split(edge_map.weight, 2, axis=1)
        slope_x = map_x @ self.edge_x.weight[:, 0]
        slope_y = map_y @ self.edge_y.weight[:, 0]
        zero = jnp.zeros(1, slope_x.dtype)
        embedded_zero = jnp.concatenate([self.edge_x(zero), self.edge_y(zero)])
        return x[..., None] * slope_x + edge_map(embedded_zero), slope_y

    def answer_shape(self, x: Graph | Array) -> tuple[int, ...]:
        """One number for every pair of nodes."""
        return Graph.of(x).edges.shape

    def as_batch(self, x: Any) -> tuple[Graph, bool]:
        """`x` as graphs: an n x n matrix, a stack of them, or a table of flat ones."""
        return graphs(x)


def _messages(
    nodes: Float[Array, "n width"], edges: Float[Array, "n n width"], real: Bool[Array, " n"]
) -> Float[Array, "n width"]:
    """What every node receives from all real ones."""
    messages = jax.nn.swish(nodes[:, None, :] + edges)
    return jnp.sum(messages, axis=0, where=real[:, None, None])
