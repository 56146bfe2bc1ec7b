"""A hand-written energy."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, PyTree

from irem._checks import numeric
from irem._errors import InputError
from irem.energy.base import AbstractEnergy


class _Function(AbstractEnergy):
    """See `from_function`."""

    function: Callable[[PyTree, Array], Float[Array, ""]]
    shape: tuple[int, ...] | None = eqx.field(static=True)

    def landscape(self, x: PyTree) -> Callable[[Array], Float[Array, ""]]:
        return lambda y: self.function(x, y)

    def answer_shape(self, x: PyTree) -> tuple[int, ...] | None:
        del x
        return self.shape

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
    function: Callable[[PyTree, Array], Float[Array, ""]],
    *,
    answer_shape: tuple[int, ...] | None = None,
) -> AbstractEnergy:
    """Make an energy of `function(x, y)`, which takes one problem and one answer.

    Arguments:
        function: A differentiable function to a scalar. `x` may be any PyTree of arrays.
        answer_shape: Shape of an answer; needed only where no first guess is given.

    Example:
        >>> import irem, jax.numpy as jnp
        >>> energy = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2))
        >>> float(energy(jnp.array([1.0]), jnp.array([3.0])))
        4.0
    """
    return _Function(function, answer_shape)
