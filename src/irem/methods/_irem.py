"""Iterative reasoning by energy minimisation: the paper's method."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem._checks import count, positive
from irem._errors import InputError
from irem._problem import Problem, square_error
from irem.descent import Point, Trajectory, first_point, look
from irem.energy import AbstractEnergy
from irem.methods._gradients import AbstractGradient, LastStep
from irem.methods.base import AbstractMethod


class IREM(AbstractMethod):
    """An energy together with the descent it is trained for.

    The defaults are the paper's. A trained `IREM` goes straight into `irem.solve`.

    Arguments:
        energy: The landscape.
        num_steps: Steps of the descent in training (the paper's N).
        step_size: Size of a step (the paper's lambda).
        gradient: Through how much of the descent the loss is differentiated.
    """

    replays: ClassVar[bool] = True

    energy: AbstractEnergy
    num_steps: int = eqx.field(static=True, default=5)
    step_size: float = eqx.field(static=True, default=100.0)
    gradient: AbstractGradient = eqx.field(default=LastStep())

    def __check_init__(self) -> None:
        """Refuse a descent that goes nowhere."""
        count("num_steps", self.num_steps)
        positive("step_size", self.step_size)

    def loss(
        self, problem: Problem, y0: Float[Array, "..."], *, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """Squared distance from the end of the descent to the answer (Algorithm 1)."""
        del key
        end = self.gradient.descend(self.energy, problem.x, y0, self.step_size, self.num_steps)
        return square_error(self.energy.read(end), problem.y, problem.mask)[0], end

    def start(self, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Float[Array, "..."]:
        """Where the energy lets a descent begin."""
        return first_point(self.energy, x, shape, key=key)

    def predict(self, x: PyTree, num_steps: int, *, key: PRNGKeyArray) -> Trajectory:
        """The answer after every step of a descent that does not halt."""
        landscape = self.landscape(x)
        shape = self.answer_shape(x)
        if shape is None:
            raise InputError("`predict` needs an energy that knows the shape of its answers.")
        start = look(landscape, self.start(x, shape, key=key))

        def body(point: Point, _: None) -> tuple[Point, tuple[Array, Array]]:
            point = look(landscape, point.y - self.step_size * point.gradient)
            return point, (point.y, point.energy)

        _, (ys, energies) = jax.lax.scan(body, start, length=num_steps)
        points = jnp.concatenate([start.y[None], ys])
        energies = jnp.concatenate([start.energy[None], energies])
        return Trajectory(jax.vmap(self.read)(points), energies)

    def landscape(self, x: PyTree) -> Callable[[Array], Float[Array, ""]]:
        """The landscape of one problem."""
        return self.energy.landscape(x)

    def answer_shape(self, x: PyTree) -> tuple[int, ...] | None:
        """Shape of the answers to one problem, if known."""
        return self.energy.answer_shape(x)

    def as_batch(self, x: Any) -> tuple[PyTree, bool]:
        """What a user gave, as a checked batch of problems."""
        return self.energy.as_batch(x)

    def guess(self, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """A first guess at the answer to one problem."""
        return self.energy.guess(x, shape, key=key)

    def begin(self, y0: Array, *, key: PRNGKeyArray | None) -> Array:
        """The point of the landscape that a descent from a first guess starts at."""
        return self.energy.begin(y0, key=key)

    def read(self, point: Array) -> Array:
        """The answer at a point of the landscape."""
        return self.energy.read(point)
