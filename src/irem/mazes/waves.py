"""How a shortest path is found by waves: what descents on mazes are taught."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from irem.mazes.grids import END, NO_WAY, OUTSIDE, START, distances, preferred_path

_LABELS = 3
# A cell has four neighbours: five codes are enough for all of them to differ.
_CODES = 5


class Waves(eqx.Module):
    """The state of every cell while a shortest path is found by waves.

    A wave runs from the end through the maze, one cell after another, and leaves at every cell its
    distance from the end modulo 3. So a cell knows which of its neighbours are nearer to the end.
    When the wave has reached the start, a second one runs from there back to the end, always to a
    neighbour that is nearer: the path. Where several are, it takes the one of the largest code.

    Arguments:
        to_end: The distance of every cell from the end.
        is_path: Which cells the second wave passes.
        codes: Which of five codes every cell has.
        length: Steps from the start to the end.
    """

    numbers = _LABELS + _CODES
    """How many numbers a cell has beside its entry of the answer."""

    to_end: Int[Array, "height width"]
    is_path: Bool[Array, "height width"]
    codes: Float[Array, "height width codes"]
    length: Int[Array, ""]

    @staticmethod
    def of(x: Int[Array, "height width"], codes: Float[Array, "height width codes"]) -> Waves:
        """Compute when the waves reach every cell of a maze."""
        to_end = distances(x, x == END)
        preference = jnp.argmax(codes, axis=-1).astype(jnp.float32)
        is_path = preferred_path(x, to_end, preference) > 0
        return Waves(to_end, is_path, codes, jnp.min(jnp.where(x == START, to_end, NO_WAY)))

    @property
    def duration(self) -> Int[Array, ""]:
        """How far the waves go until nothing changes."""
        farthest = jnp.max(jnp.where(self.to_end < NO_WAY, self.to_end, 0))
        return jnp.maximum(2 * self.length, farthest) + 1

    def at(self, time: Int[Array, ""]) -> Float[Array, "height width numbers"]:
        """Return answer, labels and codes of all cells once the waves have gone so far."""
        is_reached = self.to_end < time
        labels = is_reached[..., None] & (self.to_end[..., None] % _LABELS == jnp.arange(_LABELS))
        answer = self.is_path & (2 * self.length - self.to_end < time)
        parts = (answer[..., None], labels, self.codes)
        return jnp.concatenate([part.astype(jnp.float32) for part in parts], axis=-1)


def tie_codes(key: PRNGKeyArray, x: Int[Array, "height width"]) -> Array:
    """Return for every cell which of five codes it has; those of a cell's neighbours differ.

    Examples:
        >>> tie_codes(jax.random.key(0), jnp.ones((3, 3), int)).argmax(-1)[1].tolist()
        [1, 2, 3]
    """
    rows, columns = (jnp.arange(n) for n in x.shape)
    offset = jax.random.randint(key, (), 0, _CODES)
    # Two steps along rows, one along columns: -2, -1, 1 and 2 differ modulo 5.
    code = (2 * rows[:, None] + columns + offset) % _CODES
    is_code = (code[..., None] == jnp.arange(_CODES)) & (x[..., None] != OUTSIDE)
    return is_code.astype(jnp.float32)


def first_state(x: Int[Array, "height width"], key: PRNGKeyArray) -> Array:
    """Return what cells have beside their entries of the answer before any wave: codes alone."""
    labels = jnp.zeros((*x.shape, _LABELS))
    return jnp.concatenate([labels, tie_codes(key, x)], axis=-1)
