"""What an energy is."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem.errors import InputError
from irem.formats import AbstractFormat
from irem.lessons import Lesson
from irem.metrics import square_error
from irem.problem import Problem, first_guess
from irem.settings import AbstractFittedComponent, HasFormat


class AbstractEnergy(AbstractFittedComponent):
    """A score E(x, y) that is low where `y` answers `x`. Takes one problem, never a batch.

    An energy of one's own has a `landscape` and a `format`; all else has a default. A landscape is
    differentiated twice, in `y` and then in the parameters, so it has to be smooth almost
    everywhere: swish rather than ReLU, and no norm without a guard at zero.
    """

    default_step: ClassVar[str] = "backtracking"
    """The step rule of a trained model where none is given: a name of `irem.descent.STEPS`."""
    default_max_steps: ClassVar[int] = 500
    """The step budget of a trained model where none is given."""

    default_retries: ClassVar[int] = 3
    """From how many further first guesses an answer that fails its check is sought again."""

    in_double: ClassVar[bool] = False
    """Whether descents are in 64 bits, for energies too steep or too flat for 32."""

    @property
    @abc.abstractmethod
    def format(self) -> AbstractFormat:
        """What problems and answers look like."""

    @abc.abstractmethod
    def landscape(self, x: PyTree) -> Callable[[Array], Float[Array, ""]]:
        """Do all work that depends on `x` alone; return the map from an answer to its energy."""

    @property
    def step_size(self) -> float | None:
        """The step size of training; `None` for an energy that was not trained with one."""
        return None

    def guess(self, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """Return a first guess at an answer of this shape: uniform in (-1, 1) as in the paper."""
        del x
        return first_guess(key, shape)

    def minimum(self, x: PyTree) -> Array | None:
        """Return the minimum of the landscape of `x` where it is known without any search."""
        del x
        return None

    def begin(self, x: PyTree, y0: Array, *, key: PRNGKeyArray | None) -> Array:
        """Return the point of the landscape of `x` that a descent from a first guess starts at.

        A landscape may have other coordinates than an answer, as that of a scratchpad.
        """
        del x, key
        return y0

    def read(self, x: PyTree, point: Array) -> Array:
        """Return the answer at a point of the landscape of `x`."""
        del x
        return point

    def error(self, problem: Problem, point: Array) -> Float[Array, ""]:
        """Return what training makes small at a point of the landscape of a problem.

        By default the squared error of the answer there, over the entries that are real.
        """
        return square_error(self.read(problem.x, point), problem.y, problem.mask)[0]

    def teach(self, x: PyTree, *, key: PRNGKeyArray) -> Lesson:
        """Return the points that a descent on the problem `x` is to go through.

        Few energies know them; the gradient rule `Taught` needs one that does.
        """
        del x, key
        raise InputError(
            f"This {type(self).__name__} energy has no lesson, which the gradient rule `Taught` "
            "needs; take another rule, or a Grid energy with a lesson."
        )

    def max_steps_for(self, x: PyTree) -> int:
        """Return the step budget for a batch of problems where none is given."""
        del x
        return self.default_max_steps

    def __call__(self, x: PyTree, y: Array) -> Float[Array, ""]:
        """Return E(x, y) for one problem and one answer."""
        return self.landscape(x)(y)


class AbstractJointEnergy(AbstractEnergy):
    """An energy with room for a scratchpad: E(x, y, z), where `z` is not part of the answer.

    `Scratchpad` descends in `y` and `z` together. With `scratch` zero there is no `z`, and the
    energy is one of `x` and `y` like any other.
    """

    scratch: eqx.AbstractVar[int]
    """How many numbers `z` has; for answers of no fixed shape, how many for each row of `y`."""

    @property
    @abc.abstractmethod
    def fixed_shape(self) -> tuple[int, ...] | None:
        """Shape of every answer, or `None` where it depends on the problem."""

    @abc.abstractmethod
    def joint_landscape(self, x: PyTree) -> Callable[[Array, Array], Float[Array, ""]]:
        """Do all work that depends on `x` alone; return the map from `y` and `z` to the energy."""

    def scratch_shape(self, answer_shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the scratchpad beside an answer of this shape."""
        rows = answer_shape[:-1] if self.fixed_shape is None else ()
        return (*rows, self.scratch)

    def landscape(self, x: PyTree) -> Callable[[Array], Float[Array, ""]]:
        """Return the map from an answer to its energy, where there is no scratchpad."""
        if self.scratch:
            raise InputError(
                f"This energy has a scratchpad ({self.scratch} numbers) beside the answer: wrap it "
                "as `irem.energy.Scratchpad(energy)`."
            )
        joint = self.joint_landscape(x)
        return lambda y: joint(y, jnp.zeros(self.scratch_shape(y.shape), y.dtype))


def require(energy: str, task: HasFormat, kind: type[AbstractFormat]) -> Any:
    """Return the format of a task if it is of this kind; else say which energies take it."""
    if not isinstance(task.format, kind):
        raise InputError(
            f"The {energy} energy needs {kind.noun}, and '{task.name}' has {task.format.noun}; use "
            f"{task.format.energies}."
        )
    return task.format
