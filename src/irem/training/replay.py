"""The replay buffer of Algorithm 1, on the device."""

import abc
import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from irem.checks import count, positive
from irem.errors import InputError
from irem.problem import Problem
from irem.settings import AbstractComponent, Registry, setting
from irem.training.layout import ALONE, Layout


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

    def for_parts(self, parts: int) -> "AbstractReplay":
        """Return the replay whose settings say by how many devices a batch is shared."""
        del parts
        return self

    def over(self, layout: Layout) -> "AbstractReplay":
        """Return the replay of batches that lie on several devices, each of which has its own."""
        return self if layout.parts == 1 else InParts(self, layout.parts, layout)


class Replay(AbstractReplay):
    """Replay as many end points of earlier iterations as there are fresh problems.

    The oldest candidates make room for new ones. While the buffer is empty there is nothing to
    replay, and the fresh candidates stand in: their mean is then the mean of the batch.

    Arguments:
        capacity: Most candidates kept; the authors' program keeps 10,000.
        clip: Largest size of an entry of a candidate; larger ones are clipped to it. A descent that
            diverged is then replayed from near where answers are, not from further and further out.
        parts: Into how many equal parts the buffer is split, each for its own part of the batch; by
            default as many as there are devices that share a batch. What is replayed depends on it,
            and not on the number of devices.
    """

    capacity: int = setting(10_000, positional=True)
    clip: float | None = setting(None)
    parts: int | None = setting(None)

    def __check_init__(self) -> None:
        """Refuse a buffer that holds nothing."""
        count("capacity", self.capacity)
        if self.clip is not None:
            positive("clip", self.clip)
        if self.parts is not None:
            count("parts", self.parts)

    def for_parts(self, parts: int) -> "Replay":
        """Return a buffer with a part for every device that shares a batch, if it has none."""
        unset = self.parts is None and parts > 1
        return dataclasses.replace(self, parts=parts) if unset else self

    def over(self, layout: Layout) -> AbstractReplay:
        """Return the parts of the buffer on the devices that share a batch."""
        parts = self.parts or layout.parts
        if parts % layout.parts:
            raise InputError(
                f"A replay buffer of {parts} parts cannot be on {layout.parts} devices for each "
                f"model; the number of devices must divide that of parts (`replay.parts`)."
            )
        part = dataclasses.replace(self, capacity=max(1, self.capacity // parts), parts=None)
        return part if parts == 1 else InParts(part, parts, layout)

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


class InParts(AbstractReplay):
    """A replay for every part of a batch: candidates of one part never come into another.

    Arguments:
        replay: The replay of one part.
        parts: Number of parts, of which every device has as many.
        layout: The devices.
    """

    replay: AbstractReplay
    parts: int = eqx.field(static=True)
    layout: Layout = eqx.field(static=True, default=ALONE)

    def init(self, fresh: PyTree) -> PyTree:
        """Return the states of the parts on this device, for its own fresh candidates."""
        fresh_here = fresh.y.shape[0]
        if fresh_here % self._here:
            raise InputError(
                f"A batch of {fresh_here * self.layout.parts} problems has no {self.parts} equal "
                "parts, one for each part of the replay; choose a batch size that is a multiple "
                f"of {self.parts}."
            )
        form = lambda leaf: jax.ShapeDtypeStruct(self._shape(leaf)[1:], leaf.dtype)  # noqa: E731
        one = self.replay.init(jax.tree.map(form, fresh))
        return jax.tree.map(lambda leaf: jnp.repeat(leaf[None], self._here, axis=0), one)

    def extend(self, state: PyTree, fresh: Candidates, key: PRNGKeyArray) -> Candidates:
        """Return what every part starts from, one part after the other."""
        keys = self.layout.own(jax.random.split(key, self.parts))
        together = jax.vmap(self.replay.extend)(state, self._apart(fresh), keys)
        size = together.y.shape[0] * together.y.shape[1]
        return jax.tree.map(lambda leaf: leaf.reshape(size, *leaf.shape[2:]), together)

    def push(self, state: PyTree, ended: Candidates) -> PyTree:
        """Give every part its own end points."""
        return jax.vmap(self.replay.push)(state, self._apart(ended))

    @property
    def _here(self) -> int:
        return self.parts // self.layout.parts

    def _apart(self, candidates: Candidates) -> Candidates:
        return jax.tree.map(lambda leaf: leaf.reshape(self._shape(leaf)), candidates)

    def _shape(self, leaf: Array) -> tuple[int, ...]:
        return self._here, leaf.shape[0] // self._here, *leaf.shape[1:]


class NoReplay(AbstractReplay):
    """Start every descent from noise."""

    def over(self, layout: Layout) -> "NoReplay":
        """Return this: nothing is shared."""
        del layout
        return self

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
