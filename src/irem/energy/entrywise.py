"""An energy in which every entry of an answer depends on the same entry of the problem alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem.checks import count
from irem.energy.base import AbstractEnergy
from irem.energy.entries import linear_map
from irem.errors import InputError
from irem.formats import AbstractFormat, Graphs, Tables, Vectors
from irem.nn.fitting import check_depth
from irem.problem import Graph
from irem.settings import HasFormat, setting, weights


class Entrywise(AbstractEnergy):
    r"""An energy of problems whose entries have nothing to do with each other.

    A linear network without biases, the same for every entry, proposes an answer from the numbers
    $x_i$ of the problem there and from the candidate. Both are measured in units of their own
    entry, the size $u_i$ of the largest number of $x_i$:

    $$E(x, z) = \sum_i \tfrac12 (z_i - F(x_i / u_i, z_i))^2, \quad y_i = u_i z_i.$$

    A small entry beside a large one is then answered as well as alone, and where all numbers of an
    entry are zero, so is the answer.

    Arguments:
        width: Of the hidden layers.
        depth: Number of hidden layers.
        channels: Numbers of an entry in `x`. With one, `x` and answers have the same shape; with
            more, `x` is as many vectors, of shape (channels, n), and an answer is one vector.
        graphs: Whether problems are graphs or square matrices.
        x_shape: Shape of a problem that may also be given as a flat row.
        key: Source of the initial weights.
    """

    # All entries have one curvature: a quasi-Newton step that knows it answers all of them at once.
    default_step: ClassVar[str] = "lbfgs"

    width: int = setting(8)
    depth: int = setting(1)
    channels: int = eqx.field(static=True, kw_only=True, default=1)
    graphs: bool = eqx.field(static=True, kw_only=True, default=False)
    x_shape: tuple[int, ...] | None = eqx.field(static=True, kw_only=True, default=None)
    layers: tuple[Float[Array, "num_in num_out"], ...] = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the weights."""
        for name in ("width", "channels"):
            count(name, getattr(self, name))
        check_depth("depth", self.depth)
        sizes = (self.channels + 1, *(self.depth * (self.width,)), 1)
        keys = jax.random.split(key, len(sizes) - 1)
        *hidden, last = zip(keys, sizes[:-1], sizes[1:], strict=True)
        self.layers = (
            *(linear_map(k, num_in, num_out) for k, num_in, num_out in hidden),
            linear_map(*last, gain=0.3),
        )

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return the number of numbers that an entry of a problem of a task has."""
        shapes = task.format
        if isinstance(shapes, Graphs) and not shapes.missing:
            return {"graphs": True}
        if isinstance(shapes, Vectors) and not shapes.missing and len(shapes.x_shape) == 2:
            x_shape, y_shape = shapes.x_shape, shapes.y_shape
            if y_shape in (x_shape, x_shape[1:]):
                channels = 1 if x_shape == y_shape else x_shape[0]
                return {"channels": channels, "x_shape": x_shape}
            has = f"problems of shape {x_shape} with answers of shape {y_shape}"
        else:
            missing = getattr(shapes, "missing", False)
            has = shapes.noun + (", of which entries may be missing" if missing else "")
        raise InputError(
            "The Entrywise energy needs an entry of the answer for every entry of the problem, and "
            f"'{task.name}' has {has}."
        )

    @property
    def format(self) -> AbstractFormat:
        """Graphs, tables or several vectors of any size."""
        return Graphs() if self.graphs else Tables(self.channels, self.x_shape)

    def landscape(self, x: Graph | Array) -> Callable[[Array], Float[Array, ""]]:
        """Return the map from `z` to its energy."""
        numbers, units = self._measured(x)
        inputs = numbers / jnp.where(units > 0, units, 1.0)[..., None]

        def energy(z: Array) -> Float[Array, ""]:
            values = jnp.concatenate([inputs, z[..., None]], axis=-1)
            for layer in self.layers:
                values = values @ layer
            return 0.5 * jnp.sum(jnp.square(z - values[..., 0]))

        return energy

    def guess(self, x: Graph | Array, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """Return a guess uniform in (-1, 1) times the size of every entry."""
        return self._measured(x)[1] * super().guess(x, shape, key=key)

    def begin(self, x: Graph | Array, y0: Array, *, key: PRNGKeyArray | None) -> Array:
        """Return a first guess in units of its entries."""
        del key
        _, units = self._measured(x)
        return jnp.where(units > 0, y0 / jnp.where(units > 0, units, 1.0), 0.0)

    def read(self, x: Graph | Array, point: Array) -> Array:
        """Return the answer in the units of the problem."""
        return self._measured(x)[1] * point

    def _measured(self, x: Graph | Array) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """The numbers of every entry along a last axis, and the size of the largest of them."""
        if isinstance(x, Graph):
            x = jnp.where(x.pairs, x.edges, 0.0)
        numbers = x[..., None] if self.channels == 1 else jnp.moveaxis(x, 0, -1)
        return numbers, jnp.abs(numbers).max(axis=-1)
