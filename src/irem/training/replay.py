"""The replay buffer of Algorithm 1, on the device."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from irem.checks import count, positive
from irem.errors import InputError
from irem.problem import Problem
from irem.settings import AbstractComponent, Registry, setting


class Candidates(eqx.Module):
    """Problems, each with a point that a descent starts from or ended at."""

    problem: Problem
    y: Float[Array, "..."]


class Buffer(eqx.Module):
    """A ring of candidates; the first `size` slots hold something."""

    items: Candidates
    size: Int[Array, ""]
    next_slot: Int[Array, ""]


class AbstractReplay(AbstractComponent):
    """Where half of the starting candidates of an iteration come from."""

    @abc.abstractmethod
    def init(self, fresh: PyTree) -> PyTree:
        """Return the state before the first iteration, for fresh candidates shaped like these."""

    @abc.abstractmethod
    def extend(self, state: PyTree, fresh: Candidates, key: PRNGKeyArray) -> Candidates:
        """Return the candidates of one iteration: `fresh` and what is replayed beside them."""

    @abc.abstractmethod
    def push(self, state: PyTree, ended: Candidates) -> PyTree:
        """Return the state with the end points of one iteration."""


class Replay(AbstractReplay):
    """Replay as many end points of earlier iterations as there are fresh problems.

    The oldest candidates make room for new ones. While the buffer is empty there is nothing to
    replay, and the fresh candidates stand in: their mean is then the mean of the batch.

    Arguments:
        capacity: Most candidates kept; the authors' program keeps 10,000.
        clip: Largest size of an entry of a candidate; larger ones are clipped to it. A descent that
            diverged is then replayed from near where answers are, not from further and further out.
    """

    capacity: int = setting(10_000, positional=True)
    clip: float | None = setting(None)

    def __check_init__(self) -> None:
        """Refuse a buffer that holds nothing."""
        count("capacity", self.capacity)
        if self.clip is not None:
            positive("clip", self.clip)

    def init(self, fresh: PyTree) -> Buffer:
        """Return an empty buffer."""
        pushed = 2 * jax.tree.leaves(fresh)[0].shape[0]
        if self.capacity < pushed:
            raise InputError(
                f"The replay buffer holds {self.capacity} candidates, but an iteration adds "
                f"{pushed} (twice the batch size); raise its capacity."
            )
        empty = lambda leaf: jnp.zeros((self.capacity, *leaf.shape[1:]), leaf.dtype)  # noqa: E731
        zero = jnp.zeros((), jnp.int32)
        return Buffer(jax.tree.map(empty, fresh), zero, zero)

    def extend(self, state: Buffer, fresh: Candidates, key: PRNGKeyArray) -> Candidates:
        """Return `fresh` followed by as many replayed candidates, drawn with replacement."""
        count = fresh.y.shape[0]
        slots = jax.random.randint(key, (count,), 0, jnp.maximum(state.size, 1))
        holds = state.size > 0

        def join(new: Array, kept: Array) -> Array:
            return jnp.concatenate([new, jnp.where(holds, kept[slots], new)])

        return jax.tree.map(join, fresh, state.items)

    def push(self, state: Buffer, ended: Candidates) -> Buffer:
        """Write over the oldest candidates."""
        count = ended.y.shape[0]
        if self.clip is not None:
            ended = Candidates(ended.problem, jnp.clip(ended.y, -self.clip, self.clip))
        slots = (state.next_slot + jnp.arange(count)) % self.capacity
        items = jax.tree.map(lambda kept, new: kept.at[slots].set(new), state.items, ended)
        size = jnp.minimum(state.size + count, self.capacity)
        return Buffer(items, size, (state.next_slot + count) % self.capacity)


class NoReplay(AbstractReplay):
    """Start every descent from noise."""

    def init(self, fresh: PyTree) -> None:
        """Keep nothing."""
        del fresh

    def extend(self, state: None, fresh: Candidates, key: PRNGKeyArray) -> Candidates:
        """Return `fresh` alone."""
        del state, key
        return fresh

    def push(self, state: None, ended: Candidates) -> None:
        """Keep nothing."""
        del state, ended


REPLAYS: Registry[type[AbstractReplay]] = Registry("replay", {"buffer": Replay, "none": NoReplay})
"""Every replay that can be named in a recipe."""
