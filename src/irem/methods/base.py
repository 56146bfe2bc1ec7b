"""What every method offers, energy model and baselines alike."""

import abc

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem._problem import Problem
from irem.descent import Trajectory


class AbstractMethod(eqx.Module):
    """A way to answer problems that can be trained. Takes one problem, never a batch."""

    @abc.abstractmethod
    def loss(
        self, problem: Problem, y0: Float[Array, "..."], *, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """Sum of squared errors over the real entries, and the answer it was taken at.

        Arguments:
            problem: The problem.
            y0: The candidate to start from: noise, or an end point of an earlier iteration.
            key: For methods that draw random numbers.
        """

    @abc.abstractmethod
    def predict(self, x: PyTree, num_steps: int, *, key: PRNGKeyArray) -> Trajectory:
        """The answer after every step; index 0 is the first guess."""
