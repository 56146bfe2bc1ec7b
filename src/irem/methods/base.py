"""What every method offers, energy model and baselines alike."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from irem.descent import Trajectory
from irem.errors import InputError
from irem.formats import AbstractFormat
from irem.nn import NETWORKS, AbstractNetwork
from irem.problem import Problem, first_guess
from irem.settings import AbstractComponent, HasFormat, Registry


class AbstractMethod(AbstractComponent):
    """A way to answer problems that can be trained. Takes one problem, never a batch."""

    replays: ClassVar[bool] = False
    """Whether training starts from candidates, so that earlier end points are worth replaying."""
    parts: ClassVar[Mapping[str, Registry[Any]]] = MappingProxyType({})
    """The fields that are components with settings of their own, and by which names they go."""

    @property
    @abc.abstractmethod
    def format(self) -> AbstractFormat:
        """What problems and answers look like."""

    @classmethod
    def for_task(cls, task: HasFormat, *, key: PRNGKeyArray, **settings: Any) -> AbstractMethod:
        """Build the method for the problems of `task`, as a recipe or a saved run describes it.

        Arguments:
            task: Whose problems it answers.
            key: Source of the initial weights.
            settings: Fields of the method; of every part, a mapping of its settings, with its
                `name` where there are several kinds.
        """
        del task, key, settings
        raise InputError(f"{cls.__name__} cannot be built by name: it has no `for_task`.")

    def describe(self) -> dict[str, dict[str, Any]]:
        """Return name and settings of every part, as `for_task` takes them."""
        return {name: names.describe(getattr(self, name)) for name, names in self.parts.items()}

    def bound_to(self, task: Any) -> AbstractMethod:
        """Return the method with the task whose problems it answers, if it has a place for it."""
        del task
        return self

    def in_units(self, problem: Problem) -> Problem:
        """Return a problem in the units of the loss."""
        return problem

    @abc.abstractmethod
    def loss(
        self, problem: Problem, y0: Float[Array, "..."], *, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """Return the sum of squared errors over the real entries, and the point it is taken at.

        Arguments:
            problem: The problem.
            y0: The candidate to start from: what `start` made, or an earlier iteration's end.
            key: For methods that draw random numbers.
        """

    def start(self, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Float[Array, "..."]:
        """Return a candidate that training starts from, for answers of this shape."""
        del x
        return first_guess(key, shape)

    @abc.abstractmethod
    def predict(self, x: PyTree, num_steps: int, *, key: PRNGKeyArray) -> Trajectory:
        """Return the answer after every step; index 0 is the first guess."""


class AbstractBaseline(AbstractMethod):
    """A method without an energy: it decides by itself after how many steps it has its answer."""

    @abc.abstractmethod
    def answer(self, x: PyTree, *, key: PRNGKeyArray) -> tuple[Float[Array, "..."], Int[Array, ""]]:
        """Return the answer to one problem, and the number of steps it took."""


class AbstractNetworkBaseline(AbstractBaseline):
    """A baseline around one network."""

    parts: ClassVar[Mapping[str, Registry[Any]]] = MappingProxyType({"network": NETWORKS})

    network: eqx.AbstractVar[AbstractNetwork]

    @property
    def format(self) -> AbstractFormat:
        """That of the network."""
        return self.network.format
