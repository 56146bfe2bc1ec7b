"""The rule by which descents learn to go through given points."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem.checks import count
from irem.descent import update
from irem.energy import AbstractEnergy
from irem.errors import InputError
from irem.lessons import Lesson
from irem.methods.gradients.base import AbstractGradient
from irem.methods.gradients.steps import LastSteps
from irem.problem import Problem, first_guess
from irem.settings import setting


class Taught(AbstractGradient):
    """Learn the steps of a lesson: descents from its points are to go through the next ones.

    A descent of training begins at a random point of the lesson of a problem (`AbstractEnergy.
    teach`), with noise on it, and all of its `k` steps are differentiated. The loss is the squared
    distance to the points that the lesson has next, answer and scratchpad alike. The noise makes
    every point of a lesson one that descents return to. Before the first step the answer may be
    anything.

    This is no part of the paper, whose loss knows the answer alone: it is for problems on which
    descents learn from answers what does not hold for larger ones. Where a descent of training
    would begin, and the replay buffer, do not matter.

    Arguments:
        k: How many steps.
        noise: Standard deviation of the noise; every descent has its own, from zero to this.
    """

    k: int = setting(2, positional=True)
    noise: float = setting(0.2)

    def __check_init__(self) -> None:
        """Refuse no steps at all, and negative noise."""
        count("k", self.k)
        if not self.noise >= 0:
            raise InputError(f"`noise` must be at least 0, got {self.noise}.")

    def descend(
        self,
        energy: AbstractEnergy,
        x: PyTree,
        y0: Float[Array, "..."],
        step_size: float,
        num_steps: int,
    ) -> Float[Array, "..."]:
        """Take all steps, and differentiate the last `k`."""
        return LastSteps(min(self.k, num_steps)).descend(energy, x, y0, step_size, num_steps)

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
        """Return the mean squared distance to the points of the lesson, and the last point."""
        del y0, num_steps
        key_lesson, key_step, key_noise = jax.random.split(key, 3)
        lesson = energy.teach(problem.x, key=key_lesson)
        first = jax.random.randint(key_step, (), 0, lesson.steps + 1)
        start = self._begin(lesson, first, key_noise)
        gradient = jax.grad(energy.landscape(problem.x))

        def step(point: Array, number: Array) -> tuple[Array, Array]:
            point = update(point, gradient(point), step_size)
            return point, jnp.sum(jnp.square(point - lesson.at(number)))

        end, errors = jax.lax.scan(step, start, first + 1 + jnp.arange(self.k))
        return jnp.mean(errors), end

    def _begin(self, lesson: Lesson, step: Array, key: PRNGKeyArray) -> Float[Array, "..."]:
        """Return the point of a lesson where a descent begins, with noise."""
        key_size, key_noise, key_guess, key_kind = jax.random.split(key, 4)
        point = lesson.at(step)
        size = self.noise * jax.random.uniform(key_size)
        noisy = point + size * jax.random.normal(key_noise, point.shape)
        guess = first_guess(key_guess, point.shape[:-1])
        # Half of the first guesses are zeros and ones, as answers to other problems are.
        guess = jnp.where(jax.random.bernoulli(key_kind), guess, jnp.round(0.5 + 0.5 * guess))
        answer = jnp.where(step == 0, guess, noisy[..., 0])
        return noisy.at[..., 0].set(answer)
