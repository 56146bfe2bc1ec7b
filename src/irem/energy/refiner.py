"""An energy for vectors with several minima: a network proposes, another one corrects."""

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
from irem.energy.base import AbstractEnergy, require
from irem.energy.entries import linear_map
from irem.formats import Vectors
from irem.nn.fitting import check_depth
from irem.settings import HasFormat, setting, weights


class Refiner(AbstractEnergy):
    r"""A network of the problem alone proposes an answer, a smooth one of both corrects it.

    $$E(x, y) = \tfrac12 \|y - F(x) - G(h(x), y)\|^2 + \tfrac12 \|R(h(x), y)\|^2$$

    $F$ is linear in the features $h(x)$ of ReLU layers, which are sharper than the smooth layers
    that an energy needs in `y`. $G$ and $R$ share two smooth layers of `y` and the features. Where
    a problem has several answers the landscape may have a minimum at each.

    Arguments:
        x_shape: Shape of a problem.
        y_shape: Shape of an answer.
        width: Units of each hidden layer.
        depth: Number of hidden layers that depend on the problem alone.
        residuals: Entries of $R$.
        key: Source of the initial weights.
    """

    x_shape: tuple[int, ...] = eqx.field(static=True, converter=tuple)
    y_shape: tuple[int, ...] = eqx.field(static=True, converter=tuple)
    width: int = setting(128)
    depth: int = setting(3)
    residuals: int = setting(32)
    network: _Network = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the weights."""
        count("width", self.width)
        check_depth("depth", self.depth)
        count_or_zero("residuals", self.residuals)
        self.network = _Network(self, key=key)

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return the shapes of problems and answers."""
        shapes = require("Refiner", task, Vectors)
        return {"x_shape": shapes.x_shape, "y_shape": shapes.y_shape}

    @property
    def format(self) -> Vectors:
        """Problems and answers of a fixed shape."""
        return Vectors(self.x_shape, self.y_shape)

    def landscape(self, x: Array) -> Callable[[Array], Float[Array, ""]]:
        """Return the map from an answer to its energy; the features of `x` are computed once."""
        residuals = self.network(jnp.ravel(x))
        return lambda y: 0.5 * jnp.sum(jnp.square(residuals(jnp.ravel(y))))


class _Network(eqx.Module):
    """The networks that propose and correct."""

    layers: tuple[eqx.nn.Linear, ...]
    proposal: eqx.nn.Linear
    from_features: eqx.nn.Linear
    from_y: Float[Array, "y width"]
    second: eqx.nn.Linear
    correction: Float[Array, "width y_and_residuals"]
    residual_of_y: Float[Array, "y residuals"]

    def __init__(self, energy: Refiner, *, key: PRNGKeyArray) -> None:
        num_x, num_y = math.prod(energy.x_shape), math.prod(energy.y_shape)
        width, residuals = energy.width, energy.residuals
        *keys, k1, k2, k3, k4, k5, k6 = jax.random.split(key, energy.depth + 6)
        sizes = [num_x] + [width] * energy.depth
        self.layers = tuple(
            eqx.nn.Linear(i, o, key=k) for i, o, k in zip(sizes, sizes[1:], keys, strict=False)
        )
        self.proposal = eqx.nn.Linear(width, num_y, key=k1)
        self.from_features = eqx.nn.Linear(width, width, key=k2)
        self.from_y = linear_map(k3, num_y, width)
        self.second = eqx.nn.Linear(width, width, key=k4)
        self.correction = linear_map(k5, width, num_y + residuals, gain=0.1)
        self.residual_of_y = linear_map(k6, num_y, residuals, gain=0.1)

    def __call__(self, x: Float[Array, " x"]) -> Callable[[Array], Float[Array, " residuals"]]:
        """Return the map from an answer to what it misses the corrected proposal by, and R."""
        features = x
        for layer in self.layers:
            features = jax.nn.relu(layer(features))
        proposed, from_x = self.proposal(features), self.from_features(features)

        def residuals(y: Float[Array, " y"]) -> Float[Array, " residuals"]:
            hidden = jax.nn.swish(from_x + y @ self.from_y)
            hidden += jax.nn.swish(self.second(hidden))
            linear = jnp.concatenate([y - proposed, y @ self.residual_of_y])
            return linear - hidden @ self.correction

        return residuals
