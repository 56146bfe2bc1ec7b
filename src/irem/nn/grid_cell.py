"""A recurrent convolution of the cells of a line or a grid."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from irem.checks import count
from irem.formats import Cells
from irem.nn.bodies import AbstractCell
from irem.nn.fitting import check_depth, require
from irem.nn.grid import Neighbours, directions
from irem.nn.heads import normalised, random_weights
from irem.settings import HasFormat, setting, weights


class GridCell(AbstractCell):
    r"""Layers in which the cells of a line or a grid exchange features, the same at every step.

    $$h_i \leftarrow L_n \circ \dots \circ L_1 (h / |h| + r \, e(x))_i$$

    with the exchange of the Grid energy as layers $L$, an embedding $e$ of the symbols, and $r$
    one with recall and zero without. The state begins at $e(x)$, which without recall is all that
    is known of the problem from then on. Division by the root mean square keeps states bounded for
    any number of steps. Recall is that of Bansal and others (2022, arXiv:2202.05826).

    Arguments:
        axes: 1 for lines, 2 for grids.
        symbols: How many symbols a cell of a problem may have.
        symmetric: Whether what is computed of a problem that is mirrored or turned is mirrored or
            turned as well.
        width: Features of a cell.
        layers: How often neighbours exchange features in one step.
        recall: Whether every step reads the problem, or the first one alone.
        key: Source of the initial weights.
    """

    axes: int = eqx.field(static=True)
    symbols: int = eqx.field(static=True)
    symmetric: bool = eqx.field(static=True)
    width: int = setting(48)
    layers: int = setting(4)
    recall: bool = setting(True)
    of_symbol: Float[Array, "symbols width"] = weights()
    scale: Float[Array, " width"] = weights()
    exchanges: tuple[Neighbours, ...] = weights()
    hidden: Float[Array, "width width"] = weights()
    readout: Float[Array, " width"] = weights()
    bias: Float[Array, ""] = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the layers."""
        count("width", self.width)
        check_depth("layers", self.layers)
        key_symbol, key_hidden, key_readout, *keys = jax.random.split(key, self.layers + 3)
        around = directions(self.axes, self.symmetric)
        self.of_symbol = jax.random.normal(key_symbol, (self.symbols, self.width))
        self.scale = jnp.ones(self.width)
        self.exchanges = tuple(Neighbours(around, self.width, key=k) for k in keys)
        self.hidden = random_weights(key_hidden, (self.width, self.width))
        self.readout = 0.1 * jax.random.normal(key_readout, (self.width,))
        self.bias = jnp.zeros(())

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return what cells there are."""
        cells = require(task, Cells)
        return {"axes": cells.axes, "symbols": cells.symbols, "symmetric": cells.symmetric}

    @property
    def format(self) -> Cells:
        """Lines or grids of any size."""
        return Cells(self.axes, self.symbols, self.symmetric)

    def steps_for(self, x: Int[Array, "*cells"], num_steps: int) -> int:
        """Return in how many steps information crosses all cells one after another."""
        return max(num_steps, math.ceil(math.prod(x.shape) / self.layers))

    def init(self, x: Int[Array, "*cells"]) -> Float[Array, "*cells width"]:
        """Return the embedded symbols."""
        return self.of_symbol[jnp.maximum(x, 0)]

    def __call__(
        self, x: Int[Array, "*cells"], state: Float[Array, "*cells width"]
    ) -> tuple[Float[Array, "*cells width"], Float[Array, "*cells"]]:
        """Exchange features, with those of the problem added before if there is recall."""
        real = x >= 0
        h = normalised(state, self.scale)
        if self.recall:
            h = h + self.init(x)
        for exchange in self.exchanges:
            h = exchange(h, real)
        read = jax.nn.silu(normalised(h, self.scale) @ self.hidden)
        return h, jnp.where(real, read @ self.readout + self.bias, 0.0)
