"""What `solve` needs of a model: an energy to descend on, or a network that answers by itself."""

from typing import Any, Protocol, runtime_checkable

from jaxtyping import Array, PRNGKeyArray, PyTree

from irem.descent.points import Landscape
from irem.descent.solution import Trajectory
from irem.formats import AbstractFormat


@runtime_checkable
class Energy(Protocol):
    """As much of an energy, or of a trained model, as a descent needs.

    It may also have a `default_step`, a `default_max_steps` and `default_retries`, the step rule,
    the step budget and the number of further tries where none is given, and a `task` that knows
    which problems it answers and checks the answers.
    """

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

    def begin(self, x: PyTree, y0: Array, *, key: PRNGKeyArray | None) -> Array:
        """Return the point of the landscape that a descent from a first guess starts at."""
        ...

    def read(self, x: PyTree, point: Array) -> Array:
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


MAX_STEPS = 500
"""The step budget of a descent where neither its caller nor its energy has another."""

MOST_STEPS = 2**31 - 1
"""The largest step budget: steps are counted in 32 bits."""

RETRIES = 3
"""How often an answer that fails its check is sought again where the energy has no other number."""

DEFAULT_STEP = "backtracking"
"""The step rule of trained energies that have no other: the surest one (docs, Inference)."""

QUASI_NEWTON = "lbfgs"
"""The step rule of energies that were not trained with steps of their own."""

_HAND_WRITTEN_MAX_STEPS = 10_000


def default_step(model: Any) -> str:
    """Return the name of the step rule that a model is descended with where none is given."""
    if getattr(model, "step_size", None) is None:
        return QUASI_NEWTON
    return getattr(model, "default_step", DEFAULT_STEP)


def default_retries(model: Any) -> int:
    """Return how often a model seeks an answer again that fails its check."""
    return getattr(model, "default_retries", RETRIES)


def default_max_steps(model: Any, x: PyTree | None = None) -> int:
    """Return the step budget of a model where none is given.

    Arguments:
        model: The model.
        x: A batch of problems, for models whose budget grows with the size of a problem.
    """
    if getattr(model, "step_size", None) is None:
        return _HAND_WRITTEN_MAX_STEPS
    by_size = getattr(model, "max_steps_for", None)
    if x is not None and by_size is not None:
        return by_size(x)
    return getattr(model, "default_max_steps", MAX_STEPS)
