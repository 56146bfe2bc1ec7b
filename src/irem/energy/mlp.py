"""A fully connected energy, for problems of a fixed size."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem.checks import count, count_or_zero
from irem.energy.base import AbstractJointEnergy, require
from irem.formats import Vectors
from irem.nn.fitting import check_depth
from irem.settings import HasFormat, setting, weights


class MLP(AbstractJointEnergy):
    r"""Swish layers on the concatenated `x`, `y` and `z`, then a linear map to one number.

    $$E(x, y, z) = w^\top \phi(W_L \cdots \phi(W_1 [x; y; z] + b_1) \cdots + b_L) + b$$

    The product of the first layer with `x` is computed once per problem. The defaults are those of
    the paper's Table 10 (three layers of 512), with PyTorch's initialisation.

    Arguments:
        x_shape: Shape of a problem.
        y_shape: Shape of an answer.
        width: Units of each hidden layer.
        depth: Number of hidden layers.
        scratch: Size of the scratchpad `z`; the paper's tables have none.
        key: Source of the initial weights.
    """

    x_shape: tuple[int, ...] = eqx.field(static=True, converter=tuple)
    y_shape: tuple[int, ...] = eqx.field(static=True, converter=tuple)
    width: int = setting(512)
    depth: int = setting(3)
    scratch: int = setting(0)
    layers: tuple[eqx.nn.Linear, ...] = weights()
    readout: eqx.nn.Linear = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the layers."""
        count("width", self.width)
        check_depth("depth", self.depth)
        count_or_zero("scratch", self.scratch)
        inputs = math.prod(self.x_shape) + math.prod(self.y_shape) + self.scratch
        sizes = [inputs] + [self.width] * self.depth
        *keys, key_readout = jax.random.split(key, self.depth + 1)
        self.layers = tuple(
            eqx.nn.Linear(i, o, key=k) for i, o, k in zip(sizes, sizes[1:], keys, strict=False)
        )
        self.readout = eqx.nn.Linear(self.width, 1, key=key_readout)

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return the shapes of problems and answers."""
        shapes = require("MLP", task, Vectors)
        return {"x_shape": shapes.x_shape, "y_shape": shapes.y_shape}

    @property
    def fixed_shape(self) -> tuple[int, ...]:
        """Shape of every answer."""
        return self.y_shape

    @property
    def format(self) -> Vectors:
        """Problems and answers of a fixed shape."""
        return Vectors(self.x_shape, self.y_shape)

    def joint_landscape(self, x: Array) -> Callable[[Array, Array], Float[Array, ""]]:
        """Return the map from answer and scratchpad to the energy; the share of `x` is done."""
        first, *rest = self.layers
        weight_x, weight_yz = jnp.split(first.weight, [math.prod(self.x_shape)], axis=1)
        assert first.bias is not None
        from_x = weight_x @ jnp.ravel(x) + first.bias

        def energy(y: Array, z: Float[Array, " scratch"]) -> Float[Array, ""]:
            hidden = jax.nn.swish(from_x + weight_yz @ jnp.concatenate([jnp.ravel(y), z]))
            for layer in rest:
                hidden = jax.nn.swish(layer(hidden))
            return self.readout(hidden)[0]

        return energy
