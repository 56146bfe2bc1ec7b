"""PonderNet: a network that decides after every step whether to go on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from irem.checks import count, known
from irem.descent import Trajectory
from irem.errors import InputError
from irem.methods.base import AbstractNetworkBaseline
from irem.methods.networks import network_for
from irem.metrics import square_error
from irem.nn import AbstractNetwork
from irem.problem import Problem
from irem.settings import HasFormat, parsed, setting

HALTING = ("sample", "expected")

# For about as many parameters as the feedforward network has.
_DEFAULTS = {"dense": {"width": 500}}


class PonderNet(AbstractNetworkBaseline):
    r"""The programmatic baseline (Banino et al. 2021).

    Step $n$ reads the problem and the last answer, gives a new answer $y_n$ and a probability
    $\lambda_n$ of halting there. With $p_n = \lambda_n \prod_{j<n} (1 - \lambda_j)$, the last step
    taking what is left, the loss is

    $$\sum_n p_n \lVert y_n - y \rVert^2 / d + \beta\, \mathrm{KL}(p \,\|\, p_G)$$

    where $p_G$ is a geometric distribution cut at the last step.

    Arguments:
        network: One step; `PonderNet.for_task` makes one of the paper's size.
        halt: The halting unit on the network's features.
        num_steps: Most steps, in training and until the answer.
        prior: Probability of halting at a step in $p_G$; the paper's 0.8.
        weight: $\beta$, as in PonderNet.
        halting: `"sample"` halts by a draw at every step; `"expected"` answers with the mean of
            all answers under $p$.
    """

    network: AbstractNetwork
    halt: eqx.nn.Linear
    num_steps: int = setting(5)
    prior: float = setting(0.8)
    weight: float = setting(0.01)
    halting: str = setting("sample")

    def __check_init__(self) -> None:
        """Refuse what is not a probability, and a network that takes no step."""
        count("num_steps", self.num_steps)
        known("halting", self.halting, HALTING)
        if not 0 < self.prior < 1:
            raise InputError(f"`prior` is a probability between 0 and 1, got {self.prior}.")
        if not 0 <= self.weight < float("inf"):
            raise InputError(f"`weight` must be finite and 0 or more, got {self.weight}.")

    @classmethod
    def for_task(
        cls,
        task: HasFormat,
        *,
        network: Mapping[str, Any] | None = None,
        key: PRNGKeyArray,
        **settings: Any,
    ) -> PonderNet:
        """Build a PonderNet for the problems of `task`."""
        key_network, key_halt = jax.random.split(key)
        made = network_for(task, network, answers=1, defaults=_DEFAULTS, key=key_network)
        halt = eqx.nn.Linear(made.num_features, 1, key=key_halt)
        return cls(made, halt, **parsed(cls, settings, "the method programmatic"))

    def loss(
        self, problem: Problem, y0: Float[Array, "..."], *, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """The expected squared error and the price of halting unlike the prior, times $d$."""
        del y0, key
        ys, logits = self._ponder(problem.x, self.num_steps)
        squares, entries = jax.vmap(lambda y: square_error(y, problem.y, problem.mask))(ys)
        log_p = log_halting(logits)
        divergence = jnp.sum(jnp.exp(log_p) * (log_p - log_prior(self.prior, self.num_steps)))
        return jnp.exp(log_p) @ squares + self.weight * divergence * entries[0], ys[-1]

    def predict(self, x: PyTree, num_steps: int, *, key: PRNGKeyArray) -> Trajectory:
        """Zero, then the answer after every step if it did not halt before."""
        del key
        ys, _ = self._ponder(x, num_steps)
        return Trajectory(jnp.concatenate([jnp.zeros_like(ys[:1]), ys]))

    def answer(self, x: PyTree, *, key: PRNGKeyArray) -> tuple[Float[Array, "..."], Int[Array, ""]]:
        """The answer at the step where it halts, the last one if it never does."""
        ys, logits = self._ponder(x, self.num_steps)
        if self.halting == "expected":
            mean = jnp.tensordot(jnp.exp(log_halting(logits)), ys, axes=1)
            return mean, jnp.asarray(self.num_steps)
        halted = jax.random.bernoulli(key, jax.nn.sigmoid(logits)).at[-1].set(True)
        first = jnp.argmax(halted)
        return ys[first], first + 1

    def _ponder(
        self, x: PyTree, num_steps: int
    ) -> tuple[Float[Array, "steps ..."], Float[Array, " steps"]]:
        """Answers, and logits of halting, after every step."""

        def step(y: Array, _: None) -> tuple[Array, tuple[Array, Array]]:
            y, features = self.network(x, y)
            return y, (y, self.halt(features)[0])

        y0 = jnp.zeros(self.network.format.answer_shape(x), self.halt.weight.dtype)
        return jax.lax.scan(step, y0, length=num_steps)[1]


def log_halting(logits: Float[Array, " steps"]) -> Float[Array, " steps"]:
    r"""Logarithms of $p_n$, the probability of halting at step $n$; the last step always halts."""
    go_on = jnp.cumsum(jax.nn.log_sigmoid(-logits[:-1]))
    before = jnp.concatenate([jnp.zeros(1), go_on])
    halt = jnp.concatenate([jax.nn.log_sigmoid(logits[:-1]), jnp.zeros(1)])
    return before + halt


def log_prior(probability: float, num_steps: int) -> Float[Array, " steps"]:
    """Logarithms of a geometric distribution over steps 1, 2, ..., cut at the last one."""
    log_p = jnp.log(probability) + jnp.arange(num_steps) * jnp.log1p(-probability)
    return log_p - jax.nn.logsumexp(log_p)
