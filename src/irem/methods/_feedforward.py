"""One pass from problem to answer."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from irem._problem import Problem, square_error
from irem.descent import Trajectory
from irem.energy.base import TaskShapes
from irem.methods._bodies import AbstractNetwork
from irem.methods._networks import network_for
from irem.methods.base import AbstractBaseline


class Feedforward(AbstractBaseline):
    """A network that gives the answer in one pass.

    Arguments:
        network: The network; `Feedforward.for_task` makes one of the paper's size.
    """

    network: AbstractNetwork

    @classmethod
    def for_task(
        cls,
        task: TaskShapes,
        *,
        width: int | None = None,
        depth: int | None = None,
        aggregate: str | None = None,
        network: str | None = None,
        bias: bool | None = None,
        key: PRNGKeyArray,
    ) -> Feedforward:
        """A feedforward network for the problems of `task`."""
        sizes = {"width": width, "depth": depth, "aggregate": aggregate}
        return cls(network_for(task, **sizes, network=network, bias=bias, key=key))

    def settings(self) -> dict[str, Any]:
        """Those of the network."""
        return self.network.settings()

    def loss(
        self, problem: Problem, y0: Float[Array, "..."], *, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """Squared error of the one answer."""
        del y0, key
        y, _ = self.network(problem.x)
        return square_error(y, problem.y, problem.mask)[0], y

    def predict(self, x: PyTree, num_steps: int, *, key: PRNGKeyArray) -> Trajectory:
        """Zero, then the same answer after every step."""
        del key
        y, _ = self.network(x)
        return Trajectory(jnp.stack([jnp.zeros_like(y), *[y] * num_steps]))

    def answer(self, x: PyTree, *, key: PRNGKeyArray) -> tuple[Float[Array, "..."], Int[Array, ""]]:
        """The answer, after one step."""
        del key
        return self.network(x)[0], jnp.asarray(1)

    def as_batch(self, x: Any) -> tuple[PyTree, bool]:
        """As the network takes it."""
        return self.network.as_batch(x)
