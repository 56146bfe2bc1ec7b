"""An average of the weights over the iterations of training."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree

from irem.errors import InputError
from irem.methods import AbstractMethod
from irem.settings import AbstractComponent, Registry, setting


class AbstractAverage(AbstractComponent):
    """Which weights a trained model has: the last ones, or an average of those before."""

    @abc.abstractmethod
    def init(self, method: AbstractMethod) -> PyTree[Array] | None:
        """Return the state before the first iteration."""

    @abc.abstractmethod
    def update(
        self, state: PyTree[Array] | None, method: AbstractMethod, iteration: Int[Array, ""]
    ) -> PyTree[Array] | None:
        """Return the state after an iteration that ended with `method`."""

    @abc.abstractmethod
    def read(self, state: PyTree[Array] | None, method: AbstractMethod) -> AbstractMethod:
        """Return the trained model, of the last state and the last weights."""


class NoAverage(AbstractAverage):
    """The last weights, as in the paper."""

    def init(self, method: AbstractMethod) -> None:
        """Keep nothing."""
        del method

    def update(
        self, state: PyTree[Array] | None, method: AbstractMethod, iteration: Int[Array, ""]
    ) -> None:
        """Keep nothing."""
        del state, method, iteration

    def read(self, state: PyTree[Array] | None, method: AbstractMethod) -> AbstractMethod:
        """Return the last weights."""
        del state
        return method


class ExponentialAverage(AbstractAverage):
    """An exponential moving average of the weights.

    The decay grows to its value as (1 + t) / (10 + t) with the iteration t, so that a short
    training does not remember its initial weights.

    Arguments:
        decay: Weight of the average so far against that of the new weights.
    """

    decay: float = setting(0.999, positional=True)

    def __check_init__(self) -> None:
        """Refuse a decay that averages nothing or forgets nothing."""
        if not 0 < self.decay < 1:
            raise InputError(f"`decay` must be between 0 and 1, got {self.decay}.")

    def init(self, method: AbstractMethod) -> AbstractMethod:
        """Start from the initial weights."""
        # A copy: the state is donated to the compiled iteration, which must not get a buffer twice.
        return jax.tree.map(jnp.array, eqx.filter(method, eqx.is_array))

    def update(
        self, state: PyTree[Array] | None, method: AbstractMethod, iteration: Int[Array, ""]
    ) -> AbstractMethod:
        """Move the average a little towards the new weights."""
        decay = jnp.minimum(self.decay, (1.0 + iteration) / (10.0 + iteration))

        def move(old: Array, new: Array) -> Array:
            return decay * old + (1 - decay) * new if eqx.is_inexact_array(new) else new

        return jax.tree.map(move, state, eqx.filter(method, eqx.is_array))

    def read(self, state: PyTree[Array] | None, method: AbstractMethod) -> AbstractMethod:
        """Return the method with the average in place of its weights."""
        return eqx.combine(state, method)  # pyright: ignore[reportReturnType]


AVERAGES: Registry[type[AbstractAverage]] = Registry(
    "average", {"none": NoAverage, "exponential": ExponentialAverage}
)
"""Every average of the weights that can be named in a recipe."""
