"""What the networks inside the baselines have in common."""

import abc
from typing import Any

import equinox as eqx
from jaxtyping import Array, Float, PyTree


class AbstractBody(eqx.Module):
    """What every network knows of the problems it was made for."""

    @abc.abstractmethod
    def answer_shape(self, x: PyTree) -> tuple[int, ...]:
        """Shape of the answer to one problem."""

    @abc.abstractmethod
    def as_batch(self, x: Any) -> tuple[PyTree, bool]:
        """What a user gave, as a checked batch of problems, and whether it was one alone."""

    @abc.abstractmethod
    def settings(self) -> dict[str, Any]:
        """What is needed to build a network of this size again."""


class AbstractNetwork(AbstractBody):
    """One pass from a problem, and what stands beside it, to an answer."""

    @property
    @abc.abstractmethod
    def num_features(self) -> int:
        """Length of the features that a pass returns."""

    @abc.abstractmethod
    def __call__(self, x: PyTree, *beside: Array) -> tuple[Array, Float[Array, " features"]]:
        """The answer, and features of the whole problem from which a halting unit reads.

        Arguments:
            x: One problem.
            beside: Numbers shaped like the answer, or single ones, in the order of the
                constructor: first the former, then the latter.
        """


class AbstractCell(AbstractBody):
    """One step of a recurrent network."""

    @abc.abstractmethod
    def init(self, x: PyTree) -> PyTree:
        """The state before the first step."""

    @abc.abstractmethod
    def __call__(self, x: PyTree, state: PyTree) -> tuple[PyTree, Array]:
        """The state after one more step, and the answer read from it."""
