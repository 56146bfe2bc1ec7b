"""A fully connected energy, for problems of a fixed size."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem._checks import count, count_or_none
from irem._inputs import vectors
from irem.energy.base import AbstractJointEnergy, TaskShapes, check_kind


class MLP(AbstractJointEnergy):
    r"""Swish layers on the concatenated `x`, `y` and `z`, then a linear map to one number.

    $$E(x, y, z) = w^\top \phi(W_L \cdots \phi(W_1 [x; y; z] + b_1) \cdots + b_L) + b$$

    The product of the first layer with `x` is taken once per problem. The defaults are those of
    the paper's Table 10 (three layers of 512), with PyTorch's initialisation.

    Arguments:
        x_shape: Shape of a problem.
        y_shape: Shape of an answer.
        width: Units of each hidden layer.
        depth: Number of hidden layers.
        scratch: Size of the scratchpad `z`; the paper's tables have none.
        key: Where the initial weights come from.
    """

    layers: tuple[eqx.nn.Linear, ...]
    readout: eqx.nn.Linear
    x_shape: tuple[int, ...] = eqx.field(static=True)
    y_shape: tuple[int, ...] | None = eqx.field(static=True)
    scratch: int = eqx.field(static=True)

    def __init__(
        self,
        x_shape: tuple[int, ...],
        y_shape: tuple[int, ...],
        *,
        width: int = 512,
        depth: int = 3,
        scratch: int = 0,
        key: PRNGKeyArray,
    ) -> None:
        count("width", width)
        count("depth", depth)
        count_or_none("scratch", scratch)
        sizes = [math.prod(x_shape) + math.prod(y_shape) + scratch] + [width] * depth
        *keys, key_readout = jax.random.split(key, depth + 1)
        self.layers = tuple(
            eqx.nn.Linear(i, o, key=k) for i, o, k in zip(sizes, sizes[1:], keys, strict=False)
        )
        self.readout = eqx.nn.Linear(width, 1, key=key_readout)
        self.x_shape = tuple(x_shape)
        self.y_shape = tuple(y_shape)
        self.scratch = scratch

    @classmethod
    def for_task(
        cls,
        task: TaskShapes,
        *,
        width: int = 512,
        depth: int = 3,
        scratch: int = 0,
        key: PRNGKeyArray,
    ) -> MLP:
        """An energy with the shapes of `task`."""
        check_kind("MLP", task, "vectors")
        x_shape, y_shape = task.shapes
        sizes = {"width": width, "depth": depth, "scratch": scratch}
        return cls(x_shape, y_shape, **sizes, key=key)  # pyright: ignore[reportArgumentType]

    def settings(self) -> dict[str, Any]:
        """What `for_task` needs to build an energy of this size again."""
        sizes = {"width": self.layers[0].out_features, "depth": len(self.layers)}
        return {**sizes, "scratch": self.scratch} if self.scratch else sizes

    def joint_landscape(self, x: Array) -> Callable[[Array, Array], Float[Array, ""]]:
        """The map from answer and scratchpad to the energy, the first layer's share of `x` done."""
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

    def answer_shape(self, x: Array) -> tuple[int, ...] | None:
        """Shape of every answer."""
        del x
        return self.y_shape

    def as_batch(self, x: Any) -> tuple[Array, bool]:
        """`x` as problems of this energy's shape, also where each was given as one flat row."""
        return vectors(x, self.x_shape)
