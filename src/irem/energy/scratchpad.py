"""An energy with a scratchpad that descends along with the answer."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem.energy.base import AbstractEnergy, AbstractJointEnergy
from irem.errors import InputError
from irem.formats import AbstractFormat
from irem.problem import Problem, first_guess


class Scratchpad(AbstractEnergy):
    r"""E(x, y, z) as a landscape over both the answer `y` and a scratchpad `z` (Appendix B).

    $$y^n = y^{n-1} - \lambda \nabla_y E(x, y^{n-1}, z^{n-1}), \qquad
      z^n = z^{n-1} - \lambda \nabla_z E(x, y^{n-1}, z^{n-1})$$

    `z` starts uniform in (-1, 1). Only `y` is read as the answer, so only `y` is in the loss, and
    the replay buffer keeps both. The loss does not say where `z` converges to: a long descent may
    move past the answer, so choose `max_steps` on validation problems.

    A point of the landscape is one array: the entries of `y` and then those of `z` or, for graphs,
    the numbers of every node at the end of its row of `y`.

    Arguments:
        energy: An energy with room for a scratchpad. With one of size 0 nothing changes.

    Examples:
        >>> import irem, jax, jax.numpy as jnp
        >>> f = lambda x, y, z: jnp.sum((z - x) ** 2) + jnp.sum((y - 2 * z) ** 2)
        >>> energy = irem.energy.from_function(f, answer_shape=(2,), scratch=2)
        >>> energy = irem.energy.Scratchpad(energy)
        >>> irem.solve(energy, jnp.array([[1.0, 2.0]]), key=jax.random.key(0)).y.round(1)
        Array([[2., 4.]], dtype=float32)
    """

    energy: AbstractJointEnergy

    def __init__(self, energy: AbstractEnergy) -> None:
        if not isinstance(energy, AbstractJointEnergy):
            raise InputError(
                "A scratchpad needs an energy with room for one, such as `MLP`, `GINE` or "
                f"`from_function` with `scratch=`; got a {type(energy).__name__}."
            )
        self.energy = energy

    @property
    def format(self) -> AbstractFormat:
        """What problems and answers look like, without the scratchpad."""
        return self.energy.format

    def settings(self) -> dict[str, Any]:
        """Return the settings of the energy inside, the size of the scratchpad among them."""
        return self.energy.settings()

    def landscape(self, x: PyTree) -> Callable[[Array], Float[Array, ""]]:
        """Return the map from a point, which holds answer and scratchpad, to its energy."""
        joint = self.energy.joint_landscape(x)
        return lambda point: joint(*self.split(point))

    def begin(self, x: PyTree, y0: Array, *, key: PRNGKeyArray | None) -> Array:
        """Return a first guess with a random scratchpad beside it."""
        del x
        if not self.energy.scratch:
            return y0
        if key is None:
            raise InputError(
                "The first scratchpad is drawn at random, also where `y0` is given: pass "
                "`key=jax.random.key(seed)`."
            )
        z0 = first_guess(key, self.energy.scratch_shape(y0.shape)).astype(y0.dtype)
        y0 = y0 if self.energy.fixed_shape is None else jnp.ravel(y0)
        return jnp.concatenate([y0, z0], axis=-1)

    def read(self, x: PyTree, point: Array) -> Array:
        """Return the answer at a point, without the scratchpad."""
        del x
        return self.split(point)[0]

    def error(self, problem: Problem, point: Array) -> Float[Array, ""]:
        """Return the error of the energy inside at the answer, whatever the scratchpad holds."""
        return self.energy.error(problem, self.read(problem.x, point))

    def split(self, point: Array) -> tuple[Array, Array]:
        """Return the answer and the scratchpad at a point."""
        if not self.energy.scratch:
            return point, jnp.zeros(self.energy.scratch_shape(point.shape), point.dtype)
        y, z = jnp.split(point, [point.shape[-1] - self.energy.scratch], axis=-1)
        return (y if self.energy.fixed_shape is None else y.reshape(self.energy.fixed_shape)), z

    def guess(self, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """Return a first guess of the energy inside."""
        return self.energy.guess(x, shape, key=key)
