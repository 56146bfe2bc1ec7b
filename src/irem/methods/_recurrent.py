"""A recurrent network that looks at the problem again and again."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from irem._checks import count
from irem._problem import Problem, square_error
from irem.descent import Trajectory
from irem.energy.base import TaskShapes
from irem.methods._bodies import AbstractCell
from irem.methods._networks import cell_for
from irem.methods.base import AbstractBaseline


class Recurrent(AbstractBaseline):
    """An LSTM whose every step reads the problem and gives an answer; the last one is trained.

    Arguments:
        cell: One step; `Recurrent.for_task` makes one of about the parameters of the others.
        num_steps: Steps in training, and until the answer.
    """

    cell: AbstractCell
    num_steps: int = eqx.field(static=True, default=5)

    def __check_init__(self) -> None:
        """Refuse a network that takes no step."""
        count("num_steps", self.num_steps)

    @classmethod
    def for_task(
        cls,
        task: TaskShapes,
        *,
        width: int | None = None,
        aggregate: str | None = None,
        num_steps: int = 5,
        key: PRNGKeyArray,
    ) -> Recurrent:
        """A recurrent network for the problems of `task`."""
        return cls(cell_for(task, width=width, aggregate=aggregate, key=key), num_steps)

    def settings(self) -> dict[str, Any]:
        """Those of the cell, and the number of steps."""
        return {**self.cell.settings(), "num_steps": self.num_steps}

    def loss(
        self, problem: Problem, y0: Float[Array, "..."], *, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """Squared error of the answer after the last step."""
        del y0, key
        y = self._answers(problem.x, self.num_steps)[-1]
        return square_error(y, problem.y, problem.mask)[0], y

    def predict(self, x: PyTree, num_steps: int, *, key: PRNGKeyArray) -> Trajectory:
        """Zero, then the answer after every step."""
        del key
        ys = self._answers(x, num_steps)
        return Trajectory(jnp.concatenate([jnp.zeros_like(ys[:1]), ys]))

    def answer(self, x: PyTree, *, key: PRNGKeyArray) -> tuple[Float[Array, "..."], Int[Array, ""]]:
        """The answer after as many steps as in training."""
        del key
        return self._answers(x, self.num_steps)[-1], jnp.asarray(self.num_steps)

    def as_batch(self, x: Any) -> tuple[PyTree, bool]:
        """As the cell takes it."""
        return self.cell.as_batch(x)

    def _answers(self, x: PyTree, num_steps: int) -> Float[Array, "steps ..."]:
        def step(state: PyTree, _: None) -> tuple[PyTree, Array]:
            return self.cell(x, state)

        return jax.lax.scan(step, self.cell.init(x), length=num_steps)[1]
