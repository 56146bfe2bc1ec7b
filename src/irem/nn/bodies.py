"""What the networks inside the baselines have in common."""

import abc

from jaxtyping import Array, Float, PyTree

from irem.formats import AbstractFormat
from irem.settings import AbstractFittedComponent


class AbstractBody(AbstractFittedComponent):
    """A network that was built for problems of one format."""

    @property
    @abc.abstractmethod
    def format(self) -> AbstractFormat:
        """What problems and answers look like."""


class AbstractNetwork(AbstractBody):
    """One pass from a problem, and further inputs, to an answer."""

    @property
    @abc.abstractmethod
    def num_features(self) -> int:
        """Length of the features that a pass returns."""

    @abc.abstractmethod
    def __call__(self, x: PyTree, *beside: Array) -> tuple[Array, Float[Array, " features"]]:
        """Return the answer, and features of the whole problem for a halting unit.

        Arguments:
            x: One problem.
            beside: Further inputs, in the order of the constructor: first arrays shaped like the
                answer, then single numbers.
        """


class AbstractCell(AbstractBody):
    """One step of a recurrent network."""

    @abc.abstractmethod
    def init(self, x: PyTree) -> PyTree:
        """Return the state before the first step."""

    @abc.abstractmethod
    def __call__(self, x: PyTree, state: PyTree) -> tuple[PyTree, Array]:
        """Return the state after one more step, and the answer read from it."""

    def steps_for(self, x: PyTree, num_steps: int) -> int:
        """Return after how many steps a problem is answered.

        Arguments:
            x: One problem.
            num_steps: Steps in training, which are enough where not said otherwise.
        """
        del x
        return num_steps
