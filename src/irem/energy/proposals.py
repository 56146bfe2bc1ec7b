"""An energy for problems with several answers: a network proposes some, each with a weight."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem.checks import count
from irem.energy.base import AbstractEnergy, require
from irem.formats import Vectors
from irem.nn.fitting import check_depth
from irem.problem import first_guess
from irem.settings import HasFormat, setting, weights

_FIRST_WIDTH, _LEAST_WIDTH = 0.5, 0.02
# First guesses are drawn with the square roots of the weights: rare answers are found sooner.
_TEMPERATURE = 2.0


class Proposals(AbstractEnergy):
    r"""A soft minimum of squared distances from several proposals.

    $$E(x, y) = -\sigma^2 \log \sum_k \pi_k(x) \exp(-\|y - F_k(x)\|^2 / 2 \sigma^2)$$

    A ReLU network proposes answers $F_k(x)$ with weights $\pi_k(x)$ that sum to 1. Near a proposal
    the energy is half the squared distance from it, and lower the larger its weight is. The energy
    of known answers is, up to its scale, minus the logarithm of their likelihood: trained by that
    (`Scaled(..., likelihood=True)`), proposals become the several answers of a problem, where the
    squared error would make one of their mean.

    Arguments:
        x_shape: Shape of a problem.
        y_shape: Shape of an answer.
        width: Units of each hidden layer.
        depth: Number of hidden layers.
        proposals: Number of proposals; more than there are answers to a problem.
        key: Source of the initial weights.
    """

    x_shape: tuple[int, ...] = eqx.field(static=True, converter=tuple)
    y_shape: tuple[int, ...] = eqx.field(static=True, converter=tuple)
    width: int = setting(128)
    depth: int = setting(3)
    proposals: int = setting(6)
    network: _Network = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the weights."""
        count("width", self.width)
        check_depth("depth", self.depth)
        count("proposals", self.proposals)
        self.network = _Network(self, key=key)

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return the shapes of problems and answers."""
        shapes = require("Proposals", task, Vectors)
        return {"x_shape": shapes.x_shape, "y_shape": shapes.y_shape}

    @property
    def format(self) -> Vectors:
        """Problems and answers of a fixed shape."""
        return Vectors(self.x_shape, self.y_shape)

    @property
    def sigma(self) -> Float[Array, ""]:
        """How far around a proposal the landscape belongs to it."""
        return jnp.maximum(_FIRST_WIDTH * jnp.exp(self.network.log_width), _LEAST_WIDTH)

    def guess(self, x: Array, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """Return a point near one of the proposals, which is drawn by weight."""
        key_which, key_where = jax.random.split(key)
        proposed, logits = self.network(jnp.ravel(x))
        chosen = proposed[jax.random.categorical(key_which, logits / _TEMPERATURE)]
        return chosen.reshape(shape) + self.sigma * first_guess(key_where, shape)

    def landscape(self, x: Array) -> Callable[[Array], Float[Array, ""]]:
        """Return the map from an answer to its energy; the proposals are computed once."""
        proposed, logits = self.network(jnp.ravel(x))
        square, logs = jnp.square(self.sigma), jax.nn.log_softmax(logits)

        def energy(y: Array) -> Float[Array, ""]:
            away = jnp.sum(jnp.square(jnp.ravel(y) - proposed), axis=1)
            return -square * jax.nn.logsumexp(logs - away / (2 * square))

        return energy

    def surprise(self, x: Array, y: Array) -> Float[Array, ""]:
        """Return minus the logarithm of the likelihood of an answer, up to a constant."""
        entries = math.prod(self.y_shape)
        return self.landscape(x)(y) / jnp.square(self.sigma) + entries * jnp.log(self.sigma)


class _Network(eqx.Module):
    """The network that proposes answers, with the logarithms of their weights."""

    layers: tuple[eqx.nn.Linear, ...]
    proposed: eqx.nn.Linear
    logits: eqx.nn.Linear
    log_width: Float[Array, ""]
    proposals: int = eqx.field(static=True)

    def __init__(self, energy: Proposals, *, key: PRNGKeyArray) -> None:
        *keys, key_proposed, key_logits = jax.random.split(key, energy.depth + 2)
        sizes = [math.prod(energy.x_shape)] + [energy.width] * energy.depth
        self.layers = tuple(
            eqx.nn.Linear(i, o, key=k) for i, o, k in zip(sizes, sizes[1:], keys, strict=False)
        )
        entries = energy.proposals * math.prod(energy.y_shape)
        proposed = eqx.nn.Linear(energy.width, entries, key=key_proposed)
        # Proposals that begin at different places are drawn to different answers.
        apart = jax.random.uniform(key_proposed, (entries,), minval=-1.0, maxval=1.0)
        self.proposed = eqx.tree_at(lambda p: p.bias, proposed, apart)
        self.logits = eqx.nn.Linear(energy.width, energy.proposals, key=key_logits)
        self.log_width = jnp.zeros(())
        self.proposals = energy.proposals

    def __call__(
        self, x: Float[Array, " x"]
    ) -> tuple[Float[Array, "proposals y"], Float[Array, " proposals"]]:
        """Return the proposals, and the logarithms of their weights up to a constant."""
        features = x
        for layer in self.layers:
            features = jax.nn.relu(layer(features))
        return self.proposed(features).reshape(self.proposals, -1), self.logits(features)
