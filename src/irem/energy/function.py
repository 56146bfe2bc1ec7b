"""A hand-written energy."""

from collections.abc import Callable

import equinox as eqx
from jaxtyping import Array, Float, PyTree

from irem.checks import count_or_zero
from irem.energy.base import AbstractEnergy, AbstractJointEnergy
from irem.formats import Stacks


class _Function(AbstractJointEnergy):
    """See `from_function`."""

    function: Callable[..., Float[Array, ""]]
    stacks: Stacks = eqx.field(static=True)
    scratch: int = eqx.field(static=True)

    @property
    def format(self) -> Stacks:
        return self.stacks

    @property
    def fixed_shape(self) -> tuple[int, ...] | None:
        return self.stacks.y_shape

    def joint_landscape(self, x: PyTree) -> Callable[[Array, Array], Float[Array, ""]]:
        if not self.scratch:
            return lambda y, _: self.function(x, y)
        return lambda y, z: self.function(x, y, z)


def from_function(
    function: Callable[..., Float[Array, ""]],
    *,
    answer_shape: tuple[int, ...] | None = None,
    scratch: int = 0,
) -> AbstractEnergy:
    """Make an energy of `function(x, y)`, which takes one problem and one answer.

    Arguments:
        function: A differentiable function to a scalar. `x` may be any PyTree of arrays.
        answer_shape: Shape of an answer; needed only where no first guess is given.
        scratch: Size of the scratchpad of a `function(x, y, z)`, for `Scratchpad`. `z` is a vector;
            beside matrices without an `answer_shape` it has so many numbers for each row.

    Examples:
        >>> import irem, jax.numpy as jnp
        >>> energy = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2))
        >>> float(energy(jnp.array([1.0]), jnp.array([3.0])))
        4.0
    """
    count_or_zero("scratch", scratch)
    return _Function(function=function, stacks=Stacks(answer_shape), scratch=scratch)
