"""Directions of a descent: the gradient, or what is made from the gradients so far.

A direction is to this library what an `AbstractDescent` is to Optimistix: it is asked once for each
point that was accepted, and a search (see `searches`) decides how far to go along it. Momentum,
L-BFGS and every `OptaxDirection` are transformations of Optax; the formula of the conjugate
gradient is Optimistix's.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, PyTree

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


class CurvatureMemory(eqx.Module):
    """The last point and its gradient, and the last steps with the change of the gradient on them.

    A step and its change are divided by the length of the step, which leaves their curvature as it
    is and keeps products away from the ends of the floating-point range.
    """

    y: Float[Array, " entries"]
    gradient: Float[Array, " entries"]
    is_empty: Bool[Array, ""]
    steps: Float[Array, "memory entries"]
    changes: Float[Array, "memory entries"]


class LBFGS(AbstractDirection):
    """A quasi-Newton direction from the last steps (Liu and Nocedal, 1989).

    `optax.scale_by_lbfgs` is not used because it remembers every step, also those along which the
    gradient did not rise. They are left out here, as the estimate of the curvature is positive
    definite without them alone.

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

    def init(self, y: Float[Array, "..."]) -> CurvatureMemory:
        """Return an empty memory."""
        zero, pairs = jnp.zeros_like(jnp.ravel(y)), jnp.zeros((self.memory, y.size), y.dtype)
        return CurvatureMemory(zero, zero, jnp.array(True), pairs, pairs)

    def __call__(
        self, gradient: Float[Array, "..."], memory: CurvatureMemory, y: Float[Array, "..."]
    ) -> tuple[Float[Array, "..."], CurvatureMemory]:
        """Return the gradient times the estimated inverse Hessian."""
        flat = jnp.ravel(gradient)
        memory = _remember(memory, jnp.ravel(y), flat)
        # Entries at a bound, whose gradient is zero, stay there: the others make up the landscape.
        moving = flat != 0
        direction = _inverse_hessian_product(
            jnp.where(moving, memory.steps, 0.0), jnp.where(moving, memory.changes, 0.0), flat
        )
        return direction.reshape(y.shape), memory


def _remember(
    memory: CurvatureMemory, y: Float[Array, " entries"], gradient: Float[Array, " entries"]
) -> CurvatureMemory:
    """Return the memory at a new point, with the step to it if its curvature is positive."""
    step, change = y - memory.y, gradient - memory.gradient
    # At a bound the gradient is zero by definition: such entries say nothing of the curvature.
    known = (gradient != 0) & (memory.gradient != 0)
    step, change = jnp.where(known, step, 0), jnp.where(known, change, 0)
    length = jnp.linalg.norm(step)
    step, change = (pair / jnp.where(length > 0, length, 1.0) for pair in (step, change))
    curvature, eps = jnp.vdot(step, change), jnp.finfo(y.dtype).eps
    positive = (curvature > eps * jnp.linalg.norm(change)) & ~memory.is_empty
    newer = [
        jnp.concatenate([pairs[1:], pair[None]])
        for pairs, pair in ((memory.steps, step), (memory.changes, change))
    ]
    steps, changes = choose(positive, newer, [memory.steps, memory.changes])
    return CurvatureMemory(y, gradient, jnp.array(False), steps, changes)


def _inverse_hessian_product(
    steps: Float[Array, "memory entries"],
    changes: Float[Array, "memory entries"],
    gradient: Float[Array, " entries"],
) -> Float[Array, " entries"]:
    """Return the product of the inverse Hessian of L-BFGS with a gradient: the two-loop recursion.

    The newest pair is the last; places that are empty yet hold zeros.
    """
    curvature = jnp.sum(steps * changes, axis=1)
    weights = jnp.where(curvature > 0, 1 / jnp.where(curvature > 0, curvature, 1.0), 0.0)

    def backward(rest: Array, pair: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        step, change, weight = pair
        alpha = weight * jnp.vdot(step, rest)
        return rest - alpha * change, alpha

    def forward(product: Array, pair: tuple[Array, Array, Array, Array]) -> tuple[Array, None]:
        step, change, weight, alpha = pair
        return product + (alpha - weight * jnp.vdot(change, product)) * step, None

    pairs = (steps, changes, weights)
    rest, alphas = jax.lax.scan(backward, gradient, pairs, reverse=True)
    newest = curvature.size - 1 - jnp.argmax((curvature > 0)[::-1])
    norm = jnp.vdot(changes[newest], changes[newest])
    usable = (norm > 0) & (curvature[newest] > 0)
    scale = jnp.where(usable, curvature[newest] / jnp.where(usable, norm, 1.0), 1.0)
    return jax.lax.scan(forward, scale * rest, (*pairs, alphas))[0]


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
