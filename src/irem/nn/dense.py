"""Networks of the baselines for problems of a fixed size."""

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem.checks import count
from irem.formats import Vectors
from irem.nn.bodies import AbstractCell, AbstractNetwork
from irem.nn.fitting import check_depth, require
from irem.settings import HasFormat, setting, weights


class Dense(AbstractNetwork):
    """ReLU layers and a linear map to the answer (the paper's Table 11).

    Arguments:
        shapes: Shapes of problems and answers.
        answers: How many arrays shaped like the answer are given beside `x`.
        scalars: How many single numbers are given beside `x`.
        width: Units of a layer.
        depth: Number of layers.
        key: Source of the initial weights.
    """

    shapes: Vectors = eqx.field(static=True)
    answers: int = eqx.field(static=True, kw_only=True, default=0)
    scalars: int = eqx.field(static=True, kw_only=True, default=0)
    width: int = setting(512)
    depth: int = setting(3)
    layers: tuple[eqx.nn.Linear, ...] = weights()
    readout: eqx.nn.Linear = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the layers."""
        count("width", self.width)
        check_depth("depth", self.depth)
        out = math.prod(self.shapes.y_shape)
        inputs = math.prod(self.shapes.x_shape) + self.answers * out + self.scalars
        sizes = [inputs] + [self.width] * self.depth
        *keys, key_readout = jax.random.split(key, self.depth + 1)
        self.layers = tuple(
            eqx.nn.Linear(i, o, key=k) for i, o, k in zip(sizes, sizes[1:], keys, strict=False)
        )
        self.readout = eqx.nn.Linear(self.width, out, key=key_readout)

    @property
    def format(self) -> Vectors:
        """Problems and answers of a fixed shape."""
        return self.shapes

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return the shapes of problems and answers."""
        return {"shapes": require(task, Vectors)}

    @property
    def num_features(self) -> int:
        """Units of the last hidden layer."""
        return self.width

    def __call__(self, x: Array, *beside: Array) -> tuple[Array, Float[Array, " features"]]:
        """Pass all inputs as one vector through all layers."""
        hidden = jnp.concatenate([jnp.ravel(part) for part in (x, *beside)])
        for layer in self.layers:
            hidden = jax.nn.relu(layer(hidden))
        return self.readout(hidden).reshape(self.shapes.y_shape), hidden


class DenseCell(AbstractCell):
    """A linear map, an LSTM and a linear map to the answer (the paper's Table 12).

    The paper's 196 units give half the parameters of the other methods; 304 give about as many.

    Arguments:
        shapes: Shapes of problems and answers.
        width: Units of the LSTM.
        key: Source of the initial weights.
    """

    shapes: Vectors = eqx.field(static=True)
    width: int = setting(304)
    embed: eqx.nn.Linear = weights()
    lstm: eqx.nn.LSTMCell = weights()
    readout: eqx.nn.Linear = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the layers."""
        count("width", self.width)
        key_embed, key_lstm, key_readout = jax.random.split(key, 3)
        self.embed = eqx.nn.Linear(math.prod(self.shapes.x_shape), self.width, key=key_embed)
        self.lstm = eqx.nn.LSTMCell(self.width, self.width, key=key_lstm)
        self.readout = eqx.nn.Linear(self.width, math.prod(self.shapes.y_shape), key=key_readout)

    @property
    def format(self) -> Vectors:
        """Problems and answers of a fixed shape."""
        return self.shapes

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return the shapes of problems and answers."""
        return {"shapes": require(task, Vectors)}

    def init(self, x: Array) -> tuple[Array, Array]:
        """Return hidden and cell state at zero."""
        zero = jnp.zeros(self.width, x.dtype)
        return zero, zero

    def __call__(
        self, x: Array, state: tuple[Array, Array]
    ) -> tuple[tuple[Array, Array], Float[Array, "..."]]:
        """Read the problem once more."""
        state = self.lstm(jax.nn.relu(self.embed(jnp.ravel(x))), state)
        return state, self.readout(state[0]).reshape(self.shapes.y_shape)
