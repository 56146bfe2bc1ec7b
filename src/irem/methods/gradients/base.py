"""Through how much of a descent the training loss is differentiated."""

import abc
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem.energy import AbstractEnergy
from irem.problem import Problem
from irem.settings import AbstractComponent


class AbstractGradient(AbstractComponent):
    """A rule for the gradient of the end point of a descent in the energy's parameters."""

    ends_at_minimum: ClassVar[bool] = False
    """Whether the point of training is the minimum of the landscape, whatever the start."""

    @abc.abstractmethod
    def descend(
        self,
        energy: AbstractEnergy,
        x: PyTree,
        y0: Float[Array, "..."],
        step_size: float,
        num_steps: int,
    ) -> Float[Array, "..."]:
        """Return the point after `num_steps` steps from `y0`.

        Its value is the same for every rule, unless the descent diverges.
        """

    def path(
        self,
        energy: AbstractEnergy,
        x: PyTree,
        y0: Float[Array, "..."],
        step_size: float,
        num_steps: int,
        *,
        key: PRNGKeyArray,
    ) -> Float[Array, "points ..."]:
        """Return the points of the loss, the end last, and before them the one they start from.

        By default the loss is about the end alone.

        Arguments:
            energy: The energy.
            x: The problem.
            y0: Where the descent starts.
            step_size: Size of a step.
            num_steps: Number of steps.
            key: For rules that draw random numbers.
        """
        del key
        return jnp.stack([y0, self.descend(energy, x, y0, step_size, num_steps)])

    def loss(
        self,
        energy: AbstractEnergy,
        problem: Problem,
        y0: Float[Array, "..."],
        step_size: float,
        num_steps: int,
        *,
        key: PRNGKeyArray,
    ) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """Return what training makes small, and the end of the descent.

        By default the error of the energy, as a mean over the points of the loss.
        """
        points = self.path(energy, problem.x, y0, step_size, num_steps, key=key)
        errors = jax.vmap(lambda point: energy.error(problem, point))(points[1:])
        return jnp.mean(errors), points[-1]

    def check_steps(self, num_steps: int) -> None:
        """Refuse a number of steps that this rule cannot differentiate."""
        del num_steps
