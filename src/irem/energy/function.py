"""A hand-written energy."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem.checks import count_or_zero
from irem.energy.base import AbstractEnergy, AbstractJointEnergy
from irem.errors import InputError
from irem.formats import Stacks
from irem.problem import first_guess


class _Bounded(eqx.Module):
    """A landscape with the least and the largest answers, which descents respect."""

    landscape: Callable[[Array], Float[Array, ""]]
    bounds: tuple[Float[Array, "..."], Float[Array, "..."]]

    def __call__(self, y: Array) -> Float[Array, ""]:
        return self.landscape(y)


class _Function(AbstractJointEnergy):
    """See `from_function`."""

    in_double: ClassVar[bool] = True

    function: Callable[..., Float[Array, ""]]
    stacks: Stacks = eqx.field(static=True)
    scratch: int = eqx.field(static=True)
    lower: Float[Array, "..."] | None = None
    upper: Float[Array, "..."] | None = None

    @property
    def format(self) -> Stacks:
        return self.stacks

    @property
    def fixed_shape(self) -> tuple[int, ...] | None:
        return self.stacks.y_shape

    def joint_landscape(self, x: PyTree) -> Callable[[Array, Array], Float[Array, ""]]:
        if not self.scratch:
            return lambda y, _: _as_energy(self.function(x, y))
        return lambda y, z: _as_energy(self.function(x, y, z))

    def landscape(self, x: PyTree) -> Callable[[Array], Float[Array, ""]]:
        landscape = super().landscape(x)
        if self.lower is None and self.upper is None:
            return landscape
        return _Bounded(landscape, self._bounds())

    def guess(self, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """Return a first guess: uniform between two bounds, within 2 of one, else in (-1, 1)."""
        del x
        guess = first_guess(key, shape)
        if self.lower is None and self.upper is None:
            return guess
        lower, upper = self._bounds()
        above = jnp.where(lower > -1, lower + guess + 1, guess)
        below = jnp.where(upper < 1, upper + guess - 1, guess)
        one_sided = jnp.where(jnp.isfinite(lower), above, below)
        between = lower + (upper - lower) * (guess + 1) / 2
        return jnp.where(jnp.isfinite(upper - lower), between, one_sided).astype(guess.dtype)

    def _bounds(self) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        lower = -jnp.inf if self.lower is None else self.lower
        upper = jnp.inf if self.upper is None else self.upper
        return jnp.asarray(lower, float), jnp.asarray(upper, float)


def from_function(
    function: Callable[..., Float[Array, ""]],
    *,
    answer_shape: tuple[int, ...] | None = None,
    scratch: int = 0,
    lower: Any = None,
    upper: Any = None,
) -> AbstractEnergy:
    """Make an energy of `function(x, y)`, which takes one problem and one answer.

    Arguments:
        function: A differentiable function to a scalar. `x` may be any PyTree of arrays.
        answer_shape: Shape of an answer; needed only where no first guess is given.
        scratch: Size of the scratchpad of a `function(x, y, z)`, for `Scratchpad`. `z` is a vector;
            beside matrices without an `answer_shape` it has so many numbers for each row.
        lower: The least value of every entry of an answer: one number, or one for each entry.
        upper: The largest value of every entry. Steps that lead out of the bounds are projected
            onto them, and first guesses are drawn within.

    Examples:
        >>> import irem, jax.numpy as jnp
        >>> energy = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2))
        >>> float(energy(jnp.array([1.0]), jnp.array([3.0])))
        4.0
        >>> energy = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2), upper=2.0)
        >>> irem.solve(energy, jnp.array([[1.0, 3.0]]), jnp.zeros((1, 2))).y
        Array([[1., 2.]], dtype=float32)
    """
    count_or_zero("scratch", scratch)
    least, largest = _as_bound("lower", lower), _as_bound("upper", upper)
    if scratch and (least is not None or largest is not None):
        raise InputError("An energy with a scratchpad has no bounds: leave out `scratch` or them.")
    _check_bounds(answer_shape, least, largest)
    return _Function(
        function=function,
        stacks=Stacks(answer_shape),
        scratch=scratch,
        lower=None if least is None else jnp.asarray(least),
        upper=None if largest is None else jnp.asarray(largest),
    )


def _as_energy(value: Any) -> Float[Array, ""]:
    """Return the value of a function as an energy, or say why it is none."""
    try:
        energy = jnp.asarray(value)
    except (TypeError, ValueError):
        raise InputError(f"An energy is one number, got a {type(value).__name__}.") from None
    if energy.shape != ():
        raise InputError(
            "An energy is one number for one problem and one answer, but the function returned an "
            f"array of shape {energy.shape}: sum it, as in `jnp.sum(...)`."
        )
    if not jnp.issubdtype(energy.dtype, jnp.floating):
        raise InputError(f"An energy is a real number, but the function returned {energy.dtype}.")
    return energy


def _as_bound(name: str, value: Any) -> np.ndarray | None:
    if value is None:
        return None
    try:
        bound = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InputError(f"`{name}` is one number or an array of them, got {value!r}.") from None
    if np.isnan(bound).any():
        raise InputError(f"`{name}` must not be NaN; write -inf or inf where there is no bound.")
    return bound


def _check_bounds(
    shape: tuple[int, ...] | None, lower: np.ndarray | None, upper: np.ndarray | None
) -> None:
    """Refuse bounds that no answer of this shape lies between."""
    for name, bound in (("lower", lower), ("upper", upper)):
        if shape is not None and bound is not None and bound.shape not in ((), tuple(shape)):
            raise InputError(f"`{name}` has shape {bound.shape}, but the answers have {shape}.")
    if lower is None or upper is None:
        return
    if lower.ndim and upper.ndim and lower.shape != upper.shape:
        raise InputError(f"`lower` has shape {lower.shape}, and `upper` has {upper.shape}.")
    if not np.all(lower < upper):
        raise InputError("`lower` must be less than `upper` for every entry.")
