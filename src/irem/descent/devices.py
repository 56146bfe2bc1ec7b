"""Descents that are shared among devices, each of which has a queue of its own."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, PyTree

from irem.descent.algorithm2 import minimise
from irem.descent.precision import in_best_precision
from irem.descent.queue import drain
from irem.descent.rules import Descent
from irem.descent.solution import Solution
from irem.devices import make_mesh, on_each
from irem.trees import map_arrays

_PROBLEMS = "problems"


def minimise_shared(
    devices: tuple[Any, ...],
    descent: Descent,
    x: PyTree,
    y0: Float[Array, "problems ..."],
    slots: int,
    on_done: Callable[[int], None],
) -> Solution:
    """Descend on many problems, of which every device has an equal part and answers it by itself.

    The devices send each other nothing, and none waits for another before its part is done.

    Arguments:
        devices: The devices.
        descent: The energy, and how it is descended.
        x: The problems.
        y0: The points where their descents begin.
        slots: How many descents run at the same time on each device.
        on_done: Called with the number of problems once all have stopped.
    """
    problems = y0.shape[0]
    solution = _minimise(descent, x, y0, make_mesh(devices, **{_PROBLEMS: len(devices)}), slots)
    solution = jax.device_put(solution, devices[0])
    jax.block_until_ready(solution)
    on_done(problems)
    return jax.tree.map(lambda leaf: leaf[:problems], solution)


@in_best_precision
def _minimise(
    descent: Descent, x: PyTree, y0: Float[Array, "problems ..."], mesh: Mesh, slots: int
) -> Solution:
    """Return the solutions on their devices, with those of problems that fill the last part up."""
    filled_x, filled_y0 = _filled(x, y0, mesh.size)
    whole, apart = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in ((), (_PROBLEMS,)))
    descent = map_arrays(lambda a: jax.device_put(a, whole), descent)
    filled_x, filled_y0 = jax.device_put((filled_x, filled_y0), apart)
    return minimise_apart(descent, filled_x, filled_y0, mesh, slots)


@eqx.filter_jit
def minimise_apart(
    descent: Descent, x: PyTree, y0: Float[Array, "problems ..."], mesh: Mesh, slots: int
) -> Solution:
    """Descend on every device of a mesh on the problems that lie there."""

    def own_part(descent: Descent, x: PyTree, y0: Array) -> Solution:
        if y0.shape[0] > slots:
            return drain(descent, x, y0, slots)
        return minimise(descent, x, y0)

    apart = PartitionSpec(_PROBLEMS)
    return on_each(own_part, mesh, (PartitionSpec(), apart, apart), apart)(descent, x, y0)


def _filled(x: PyTree, y0: Array, parts: int) -> tuple[Any, Array]:
    """Problems and first points, filled up to equal parts by problems that stop at once."""
    missing = -y0.shape[0] % parts
    if not missing:
        return x, y0
    more = jax.tree.map(lambda leaf: jnp.repeat(leaf[:1], missing, axis=0), (x, y0))
    more = (more[0], jnp.full_like(more[1], jnp.nan))
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), (x, y0), more)
