"""A network that cleans a noisy answer, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from irem.checks import count
from irem.descent import Trajectory
from irem.methods.base import AbstractNetworkBaseline
from irem.methods.networks import network_for
from irem.metrics import square_error
from irem.nn import AbstractNetwork
from irem.problem import Problem
from irem.settings import HasFormat, parsed, setting


class IterativeFeedforward(AbstractNetworkBaseline):
    r"""A network trained to undo a diffusion of the answer (Sohl-Dickstein et al. 2015).

    The diffusion takes away one $T$-th of the signal with each of $T$ steps, so that
    $y_t \sim \mathcal{N}(\sqrt{1 - t/T}\, y,\; t/T)$ and the last one is pure noise. The network
    takes the problem, $y_t$ and $t/T$, and is trained by the squared error of the clean answer it
    gives. With fixed variances every term of the paper's bound is such an error times a constant;
    all constants are one here. An answer starts from noise and draws from the reverse process, with
    the network's answer in place of the true one.

    Arguments:
        network: One step; `IterativeFeedforward.for_task` makes one of the paper's size.
        num_steps: $T$: steps of the diffusion, and until the answer.
    """

    network: AbstractNetwork
    num_steps: int = setting(5)

    def __check_init__(self) -> None:
        """Refuse a diffusion without steps."""
        count("num_steps", self.num_steps)

    @classmethod
    def for_task(
        cls,
        task: HasFormat,
        *,
        network: Mapping[str, Any] | None = None,
        key: PRNGKeyArray,
        **settings: Any,
    ) -> IterativeFeedforward:
        """Build an iterative feedforward network for the problems of `task`."""
        made = network_for(task, network, answers=1, scalars=1, defaults=_DEFAULTS, key=key)
        return cls(made, **parsed(cls, settings, "the method iterative-feedforward"))

    def loss(
        self, problem: Problem, y0: Float[Array, "..."], *, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """Squared error of the answer that is cleaned from a random step of the diffusion."""
        del y0
        key_level, key_noise = jax.random.split(key)
        level = jax.random.randint(key_level, (), 1, self.num_steps + 1)
        noisy = diffuse(problem.y, level, self.num_steps, key_noise)
        y, _ = self.network(problem.x, noisy, level / self.num_steps)
        return square_error(y, problem.y, problem.mask)[0], y

    def predict(self, x: PyTree, num_steps: int, *, key: PRNGKeyArray) -> Trajectory:
        """Noise, then the clean answer that the network gives at every step.

        Steps beyond those of training repeat the last one: the answer gets the least noise again.
        """
        key_start, key = jax.random.split(key)
        shape = self.network.format.answer_shape(x)
        assert shape is not None
        start = jax.random.normal(key_start, shape)

        def step(noisy: Array, n: Array) -> tuple[Array, Array]:
            level, key_step = jnp.maximum(self.num_steps - n, 1), jax.random.fold_in(key, n)
            y, _ = self.network(x, noisy, level / self.num_steps)
            cleaner = reverse(noisy, y, level, self.num_steps, key_step)
            again = diffuse(y, 1, self.num_steps, key_step)
            return jnp.where(level > 1, cleaner, again), y

        ys = jax.lax.scan(step, start, jnp.arange(num_steps))[1]
        return Trajectory(jnp.concatenate([start[None], ys]))

    def answer(self, x: PyTree, *, key: PRNGKeyArray) -> tuple[Float[Array, "..."], Int[Array, ""]]:
        """The clean answer after as many steps as the diffusion has."""
        return self.predict(x, self.num_steps, key=key).ys[-1], jnp.asarray(self.num_steps)


# For about as many parameters as the feedforward network has.
_DEFAULTS = {"dense": {"width": 500}}


def diffuse(y: Array, level: Array | int, num_steps: int, key: PRNGKeyArray) -> Array:
    """`y` after the first `level` of `num_steps` steps of the diffusion."""
    normal = jax.random.normal(key, y.shape, y.dtype)
    # Differences of whole numbers, as rounding must not bring a negative number under a root.
    return jnp.sqrt((num_steps - level) / num_steps) * y + jnp.sqrt(level / num_steps) * normal


def reverse(noisy: Array, y: Array, level: Array, num_steps: int, key: PRNGKeyArray) -> Array:
    r"""A draw of the state one step before `noisy`, given that `y` is the clean answer.

    With $T$ steps in all and $\alpha = (T - t) / (T - t + 1)$ the share of the signal that step
    $t$ keeps, the state before it has mean
    $\sqrt{T / (T - t + 1)}\, y / t + \sqrt{\alpha}\, (t - 1)\, y_t / t$ and variance
    $(t - 1) (1 - \alpha) / t$.
    """
    left = num_steps - level + 1
    towards = jnp.sqrt(num_steps / left) / level
    stays = jnp.sqrt((left - 1) / left) * (level - 1) / level
    deviation = jnp.sqrt((level - 1) / (level * left))
    return towards * y + stays * noisy + deviation * jax.random.normal(key, y.shape, y.dtype)
