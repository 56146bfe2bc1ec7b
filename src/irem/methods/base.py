"""What every method offers, energy model and baselines alike."""

import abc
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from irem._problem import Problem, first_guess
from irem.descent import Trajectory


class AbstractMethod(eqx.Module):
    """A way to answer problems that can be trained. Takes one problem, never a batch."""

    replays: ClassVar[bool] = False
    """Whether training starts from candidates, so that earlier end points are worth replaying."""

    @abc.abstractmethod
    def loss(
        self, problem: Problem, y0: Float[Array, "..."], *, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """Sum of squared errors over the real entries, and the point where it was taken.

        Arguments:
            problem: The problem.
            y0: The candidate to start from: what `start` made, or an earlier iteration's end.
            key: For methods that draw random numbers.
        """

    def start(self, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Float[Array, "..."]:
        """A candidate that training starts from, for answers of this shape."""
        del x
        return first_guess(key, shape)

    @abc.abstractmethod
    def predict(self, x: PyTree, num_steps: int, *, key: PRNGKeyArray) -> Trajectory:
        """The answer after every step; index 0 is the first guess."""


class AbstractBaseline(AbstractMethod):
    """A method without an energy: it says by itself after how many steps it has its answer."""

    @abc.abstractmethod
    def answer(self, x: PyTree, *, key: PRNGKeyArray) -> tuple[Float[Array, "..."], Int[Array, ""]]:
        """The answer to one problem, and the number of steps it took."""

    @abc.abstractmethod
    def settings(self) -> dict[str, Any]:
        """What `for_task` needs to build a method of this form again."""

    @abc.abstractmethod
    def as_batch(self, x: Any) -> tuple[PyTree, bool]:
        """What a user gave, as a checked batch of problems, and whether it was one alone."""
