"""A recurrent network that reads the problem again at every step."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from irem.checks import count
from irem.descent import Trajectory
from irem.formats import AbstractFormat
from irem.methods.base import AbstractBaseline
from irem.methods.networks import cell_for
from irem.metrics import square_error
from irem.nn import CELLS, AbstractCell
from irem.problem import Problem
from irem.settings import HasFormat, Registry, parsed, setting


class Recurrent(AbstractBaseline):
    """A recurrent network whose every step gives an answer; the last one is trained.

    It is an LSTM for problems of a fixed size and graphs, and a convolution for lines and grids.

    Arguments:
        cell: One step; `Recurrent.for_task` makes one of about the parameters of the others.
        num_steps: Steps in training, and until the answer where the cell does not take more for
            larger problems.
    """

    parts: ClassVar[Mapping[str, Registry[Any]]] = MappingProxyType({"cell": CELLS})

    cell: AbstractCell
    num_steps: int = setting(5)

    def __check_init__(self) -> None:
        """Refuse a network that takes no step."""
        count("num_steps", self.num_steps)

    @classmethod
    def for_task(
        cls,
        task: HasFormat,
        *,
        cell: Mapping[str, Any] | None = None,
        key: PRNGKeyArray,
        **settings: Any,
    ) -> Recurrent:
        """Build a recurrent network for the problems of `task`."""
        return cls(cell_for(task, cell, key=key), **parsed(cls, settings, "the method recurrent"))

    @property
    def format(self) -> AbstractFormat:
        """That of the cell."""
        return self.cell.format

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
        """The answer after as many steps as in training, or more if the cell says so."""
        del key
        num_steps = self.cell.steps_for(x, self.num_steps)

        def step(state: tuple[PyTree, Array], _: None) -> tuple[tuple[PyTree, Array], None]:
            return self.cell(x, state[0]), None

        before = self.cell.init(x)
        unknown = jax.tree.map(jnp.zeros_like, eqx.filter_eval_shape(self.cell, x, before)[1])
        (_, y), _ = jax.lax.scan(step, (before, unknown), length=num_steps)
        return y, jnp.asarray(num_steps)

    def _answers(self, x: PyTree, num_steps: int) -> Float[Array, "steps ..."]:
        def step(state: PyTree, _: None) -> tuple[PyTree, Array]:
            return self.cell(x, state)

        return jax.lax.scan(step, self.cell.init(x), length=num_steps)[1]
