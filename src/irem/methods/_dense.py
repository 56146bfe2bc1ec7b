"""Networks of the baselines for problems of a fixed size."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem import _inputs
from irem.methods._bodies import AbstractCell, AbstractNetwork


class Dense(AbstractNetwork):
    """ReLU layers and a linear map to the answer (the paper's Table 11)."""

    layers: tuple[eqx.nn.Linear, ...]
    readout: eqx.nn.Linear
    x_shape: tuple[int, ...] = eqx.field(static=True)
    y_shape: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self,
        x_shape: tuple[int, ...],
        y_shape: tuple[int, ...],
        *,
        answers: int = 0,
        scalars: int = 0,
        width: int,
        depth: int,
        key: PRNGKeyArray,
    ) -> None:
        out = math.prod(y_shape)
        sizes = [math.prod(x_shape) + answers * out + scalars] + [width] * depth
        *keys, key_readout = jax.random.split(key, depth + 1)
        self.layers = tuple(
            eqx.nn.Linear(i, o, key=k) for i, o, k in zip(sizes, sizes[1:], keys, strict=False)
        )
        self.readout = eqx.nn.Linear(width, out, key=key_readout)
        self.x_shape, self.y_shape = tuple(x_shape), tuple(y_shape)

    @property
    def num_features(self) -> int:
        """Units of the last hidden layer."""
        return self.readout.in_features  # pyright: ignore[reportReturnType]

    def __call__(self, x: Array, *beside: Array) -> tuple[Array, Float[Array, " features"]]:
        """Everything in one row, through all layers."""
        hidden = jnp.concatenate([jnp.ravel(part) for part in (x, *beside)])
        for layer in self.layers:
            hidden = jax.nn.relu(layer(hidden))
        return self.readout(hidden).reshape(self.y_shape), hidden

    def answer_shape(self, x: Array) -> tuple[int, ...]:
        """Shape of every answer."""
        del x
        return self.y_shape

    def as_batch(self, x: Any) -> tuple[Array, bool]:
        """`x` as problems of this shape."""
        return _inputs.vectors(x, self.x_shape)

    def settings(self) -> dict[str, Any]:
        """Width and depth."""
        return {"width": self.num_features, "depth": len(self.layers)}


class DenseCell(AbstractCell):
    """A linear map, an LSTM and a linear map to the answer (the paper's Table 12)."""

    embed: eqx.nn.Linear
    lstm: eqx.nn.LSTMCell
    readout: eqx.nn.Linear
    x_shape: tuple[int, ...] = eqx.field(static=True)
    y_shape: tuple[int, ...] = eqx.field(static=True)

    def __init__(
        self,
        x_shape: tuple[int, ...],
        y_shape: tuple[int, ...],
        *,
        width: int,
        key: PRNGKeyArray,
    ) -> None:
        key_embed, key_lstm, key_readout = jax.random.split(key, 3)
        self.embed = eqx.nn.Linear(math.prod(x_shape), width, key=key_embed)
        self.lstm = eqx.nn.LSTMCell(width, width, key=key_lstm)
        self.readout = eqx.nn.Linear(width, math.prod(y_shape), key=key_readout)
        self.x_shape, self.y_shape = tuple(x_shape), tuple(y_shape)

    def init(self, x: Array) -> tuple[Array, Array]:
        """Hidden and cell state at zero."""
        zero = jnp.zeros(self.lstm.hidden_size, x.dtype)
        return zero, zero

    def __call__(
        self, x: Array, state: tuple[Array, Array]
    ) -> tuple[tuple[Array, Array], Float[Array, "..."]]:
        """Look at the problem once more."""
        state = self.lstm(jax.nn.relu(self.embed(jnp.ravel(x))), state)
        return state, self.readout(state[0]).reshape(self.y_shape)

    def answer_shape(self, x: Array) -> tuple[int, ...]:
        """Shape of every answer."""
        del x
        return self.y_shape

    def as_batch(self, x: Any) -> tuple[Array, bool]:
        """`x` as problems of this shape."""
        return _inputs.vectors(x, self.x_shape)

    def settings(self) -> dict[str, Any]:
        """Units of the LSTM."""
        return {"width": self.lstm.hidden_size}
