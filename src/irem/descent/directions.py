"""Directions of a descent: the gradient, or what is made from the gradients so far.

A direction is to this library what an `AbstractDescent` is to Optimistix: it is asked once for each
point that was accepted, and a search (see `searches`) decides how far to go along it. Momentum,
L-BFGS and every `OptaxDirection` are transformations of Optax; the formula of the conjugate
gradient is Optimistix's.
"""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from irem.checks import count
from irem.errors import InputError
from irem.trees import choose


class AbstractDirection(eqx.Module):
    """A rule for the direction of the next step."""

    @property
    def own_length(self) -> bool:
        """Whether a step of length 1 is the one to try first wherever a direction is new.

        So it is for quasi-Newton directions. A search carries the length of other directions over
        from one to the next.
        """
        return False

    @abc.abstractmethod
    def init(self, y: Float[Array, "..."]) -> PyTree[Array]:
        """Return the memory of a rule that has seen no gradient yet."""

    @abc.abstractmethod
    def __call__(
        self, gradient: Float[Array, "..."], memory: PyTree[Array], y: Float[Array, "..."]
    ) -> tuple[Float[Array, "..."], PyTree[Array]]:
        """Return the direction at `y`, and the new memory.

        A step of length $s$ goes to `y - s * direction`: the gradient itself is a direction.
        """


class Line(eqx.Module):
    """The points `y - length * direction`, along which a search chooses its next one.

    Arguments:
        direction: What a step of length 1 subtracts.
        slope: Derivative of the energy in the length, where the line begins.
        memory: What the rule of the direction remembers.
        own_length: Whether the direction has a length of its own.
    """

    direction: Float[Array, "..."]
    slope: Float[Array, ""]
    memory: PyTree[Array]
    own_length: bool = eqx.field(static=True)

    @property
    def has_memory(self) -> bool:
        """Whether the direction depends on earlier gradients."""
        return bool(jax.tree.leaves(self.memory))


class Gradient(AbstractDirection):
    """The gradient itself, as in the paper."""

    def init(self, y: Float[Array, "..."]) -> tuple[()]:
        """Return nothing: there is nothing to remember."""
        del y
        return ()

    def __call__(
        self, gradient: Float[Array, "..."], memory: tuple[()], y: Float[Array, "..."]
    ) -> tuple[Float[Array, "..."], tuple[()]]:
        """Return the gradient."""
        del y
        return gradient, memory


class OptaxDirection(AbstractDirection):
    """The updates of any Optax transformation of gradients, such as `optax.scale_by_adam()`.

    Transformations compare equal only to themselves: make one once, and use it again, so that
    programs are compiled once.

    Arguments:
        transformation: The transformation, without a learning rate: that is left to the search.
    """

    transformation: optax.GradientTransformation = eqx.field(static=True)

    def init(self, y: Float[Array, "..."]) -> PyTree[Array]:
        """Return the first state of the transformation."""
        return self.transformation.init(y)

    def __call__(
        self, gradient: Float[Array, "..."], memory: PyTree[Array], y: Float[Array, "..."]
    ) -> tuple[Float[Array, "..."], PyTree[Array]]:
        """Return the transformed gradient."""
        return _update(self.transformation, gradient, memory, y)


class Momentum(AbstractDirection):
    """A decaying sum of the gradients so far: `optax.trace`.

    Arguments:
        decay: Factor of the sum from one step to the next.
        nesterov: Whether to use Nesterov's form of momentum.
    """

    decay: float = 0.9
    nesterov: bool = eqx.field(static=True, default=False)

    def __check_init__(self) -> None:
        """Refuse a sum that would not decay."""
        if not 0 <= self.decay < 1:
            raise InputError(f"`decay` must be from 0 to below 1, got {self.decay}.")

    def init(self, y: Float[Array, "..."]) -> PyTree[Array]:
        """Return a sum of no gradients."""
        return self._trace().init(y)

    def __call__(
        self, gradient: Float[Array, "..."], memory: PyTree[Array], y: Float[Array, "..."]
    ) -> tuple[Float[Array, "..."], PyTree[Array]]:
        """Return the sum, or Nesterov's prediction of the next one."""
        return _update(self._trace(), gradient, memory, y)

    def _trace(self) -> optax.GradientTransformation:
        # Built where it is used, so that `decay` may be an array and another value needs no
        # compilation.
        return optax.trace(self.decay, nesterov=self.nesterov)


class LBFGS(AbstractDirection):
    """A quasi-Newton direction from the last steps: `optax.scale_by_lbfgs`.

    Arguments:
        memory: Number of steps that are remembered.
    """

    memory: int = eqx.field(static=True, default=10)

    def __check_init__(self) -> None:
        """Refuse to remember nothing."""
        count("memory", self.memory)

    @property
    def own_length(self) -> bool:
        """True: the direction knows the curvature, and with it the length."""
        return True

    def init(self, y: Float[Array, "..."]) -> PyTree[Array]:
        """Return an empty memory."""
        return optax.scale_by_lbfgs(self.memory).init(y)

    def __call__(
        self, gradient: Float[Array, "..."], memory: Any, y: Float[Array, "..."]
    ) -> tuple[Float[Array, "..."], PyTree[Array]]:
        """Return the gradient times the estimated inverse Hessian."""
        direction, after = _update(optax.scale_by_lbfgs(self.memory), gradient, memory, y)
        # Before any curvature is known, Optax shortens the gradient to a norm of at most 1; the
        # steps of training may be longer.
        return choose(memory.count == 0, gradient, direction), after


class ConjugateMemory(eqx.Module):
    """The last gradient, and the last direction."""

    gradient: Float[Array, "..."]
    direction: Float[Array, "..."]


class ConjugateGradient(AbstractDirection):
    """The nonlinear conjugate gradient with Optimistix's formula of Polak and Ribiere."""

    def init(self, y: Float[Array, "..."]) -> ConjugateMemory:
        """Return zeros, which make the first direction that of the gradient."""
        return ConjugateMemory(jnp.zeros_like(y), jnp.zeros_like(y))

    def __call__(
        self, gradient: Float[Array, "..."], memory: ConjugateMemory, y: Float[Array, "..."]
    ) -> tuple[Float[Array, "..."], ConjugateMemory]:
        """Return the gradient plus a multiple of the last direction."""
        from optimistix import polak_ribiere  # noqa: PLC0415 (its import takes 0.12 s)

        del y
        beta = polak_ribiere(gradient, memory.gradient, -memory.direction)
        direction = gradient + beta * memory.direction
        return direction, ConjugateMemory(gradient, direction)


def _update(
    transformation: optax.GradientTransformation,
    gradient: Float[Array, "..."],
    memory: PyTree[Array],
    y: Float[Array, "..."],
) -> tuple[Float[Array, "..."], PyTree[Array]]:
    direction, memory = transformation.update(gradient, memory, y)
    assert isinstance(direction, Array)  # Optax allows any PyTree
    return direction, memory
