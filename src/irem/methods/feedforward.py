"""One pass from problem to answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from irem.descent import Trajectory
from irem.methods.base import AbstractNetworkBaseline
from irem.methods.networks import network_for
from irem.metrics import square_error
from irem.nn import AbstractNetwork
from irem.problem import Problem
from irem.settings import HasFormat, parsed


class Feedforward(AbstractNetworkBaseline):
    """A network that gives the answer in one pass.

    Arguments:
        network: The network; `Feedforward.for_task` makes one of the paper's size.
    """

    network: AbstractNetwork

    @classmethod
    def for_task(
        cls,
        task: HasFormat,
        *,
        network: Mapping[str, Any] | None = None,
        key: PRNGKeyArray,
        **settings: Any,
    ) -> Feedforward:
        """Build a feedforward network for the problems of `task`."""
        return cls(
            network_for(task, network, key=key), **parsed(cls, settings, "the method feedforward")
        )

    def loss(
        self, problem: Problem, y0: Float[Array, "..."], *, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """Return the squared error of the one answer."""
        del y0, key
        y, _ = self.network(problem.x)
        return square_error(y, problem.y, problem.mask)[0], y

    def predict(self, x: PyTree, num_steps: int, *, key: PRNGKeyArray) -> Trajectory:
        """Return zero, then the same answer after every step."""
        del key
        y, _ = self.network(x)
        return Trajectory(jnp.stack([jnp.zeros_like(y), *[y] * num_steps]))

    def answer(self, x: PyTree, *, key: PRNGKeyArray) -> tuple[Float[Array, "..."], Int[Array, ""]]:
        """Return the answer, after one step."""
        del key
        return self.network(x)[0], jnp.asarray(1)
