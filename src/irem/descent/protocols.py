"""What `solve` needs of a model: an energy to descend on, or a network that answers by itself."""

from typing import Protocol, runtime_checkable

from jaxtyping import Array, PRNGKeyArray, PyTree

from irem.descent.points import Landscape
from irem.descent.solution import Trajectory
from irem.formats import AbstractFormat


@runtime_checkable
class Energy(Protocol):
    """As much of an energy, or of a trained model, as a descent needs."""

    @property
    def step_size(self) -> float | None:
        """The step size of training; `None` for an energy that was not trained with one."""
        ...

    @property
    def format(self) -> AbstractFormat:
        """What problems and answers look like."""
        ...

    def landscape(self, x: PyTree) -> Landscape:
        """Return the map from an answer to one problem to its energy."""
        ...

    def guess(self, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """Return a first guess at the answer to one problem."""
        ...

    def begin(self, y0: Array, *, key: PRNGKeyArray | None) -> Array:
        """Return the point of the landscape that a descent from a first guess starts at."""
        ...

    def read(self, point: Array) -> Array:
        """Return the answer at a point of the landscape."""
        ...


@runtime_checkable
class Baseline(Protocol):
    """As much of a method without an energy as `solve` needs."""

    @property
    def format(self) -> AbstractFormat:
        """What problems and answers look like."""
        ...

    def answer(self, x: PyTree, *, key: PRNGKeyArray) -> tuple[Array, Array]:
        """Return the answer to one problem, and the number of steps it took."""
        ...

    def predict(self, x: PyTree, num_steps: int, *, key: PRNGKeyArray) -> Trajectory:
        """Return the answer to one problem after every step; index 0 is the first guess."""
        ...
