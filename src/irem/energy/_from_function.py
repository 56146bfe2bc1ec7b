"""A hand-written energy."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, PyTree

from irem._checks import count_or_none, numeric
from irem._errors import InputError
from irem.energy.base import AbstractEnergy, AbstractJointEnergy


class _Function(AbstractJointEnergy):
    """See `from_function`."""

    function: Callable[..., Float[Array, ""]]
    y_shape: tuple[int, ...] | None = eqx.field(static=True)
    scratch: int = eqx.field(static=True)

    def joint_landscape(self, x: PyTree) -> Callable[[Array, Array], Float[Array, ""]]:
        if not self.scratch:
            return lambda y, _: self.function(x, y)
        return lambda y, z: self.function(x, y, z)

    def answer_shape(self, x: PyTree) -> tuple[int, ...] | None:
        del x
        return self.y_shape

    def as_batch(self, x: Any) -> tuple[PyTree, bool]:
        x = jax.tree.map(lambda leaf: numeric("x", leaf, keep_integers=True), x)
        sizes = {leaf.shape[0] if leaf.ndim else None for leaf in jax.tree.leaves(x)}
        if len(sizes) != 1 or None in sizes or 0 in sizes:
            raise InputError(
                "`x` of a hand-written energy is a stack of problems: every array in it has the "
                "problems along its first axis (write `x[None]` for one problem, and arrays, not "
                "lists)."
            )
        return x, False


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
    count_or_none("scratch", scratch)
    return _Function(function=function, y_shape=answer_shape, scratch=scratch)
