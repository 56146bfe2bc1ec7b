"""Landscapes: error and energy along descents, around answers, and on a plane."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem.descent import (
    Energy,
    Landscape,
    Solution,
    Step,
    default_max_steps,
    default_step,
    solve,
)
from irem.evaluation.scores import problem_errors
from irem.formats import AbstractFormat
from irem.problem import Problem


@dataclasses.dataclass(frozen=True)
class Descents:
    """Errors and energies of many descents; axes are problems and steps, step 0 the first guess."""

    errors: np.ndarray
    energies: np.ndarray


@dataclasses.dataclass(frozen=True)
class Plane:
    """Energies on the plane through an answer and two first guesses, and the paths on it.

    The answer is the origin; the first guesses are at (1, 0) and (0, 1). A path is projected onto
    the plane.
    """

    first: np.ndarray
    second: np.ndarray
    energies: np.ndarray
    paths: tuple[np.ndarray, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the paths and the range of energies as plain values."""
        return {
            "paths": [path.tolist() for path in self.paths],
            "lowest_energy": float(self.energies.min()),
            "highest_energy": float(self.energies.max()),
        }


def descents(
    model: Energy,
    batch: Problem,
    max_steps: int,
    *,
    step: Step | float | str | None = None,
    on_batch: Callable[[int], None] | None = None,
    key: PRNGKeyArray,
) -> Descents:
    """Return error and energy after every step."""
    options = {"step": step, "max_steps": max_steps, "on_batch": on_batch, "key": key}
    return recorded(solve(model, batch.x, **options, trajectory=True), batch)


def recorded(solution: Solution, batch: Problem) -> Descents:
    """Return error and energy after every step of a solution with its trajectory."""
    assert solution.trajectory is not None
    ys = np.asarray(solution.trajectory.ys)
    errors = [problem_errors(ys[:, step], batch) for step in range(ys.shape[1])]
    return Descents(np.stack(errors, axis=1), np.asarray(solution.trajectory.energies))


def energy_by_distance(
    model: Energy,
    batch: Problem,
    *,
    candidates: int = 8,
    max_steps: int | None = None,
    step: Step | float | str | None = None,
    on_batch: Callable[[int], None] | None = None,
    key: PRNGKeyArray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return distances of perturbed answers from the truth, and energies above the minimum.

    The perturbations are Gaussian, with deviations drawn evenly on a logarithmic scale from 0.01 to
    1. A scratchpad stays as the descent left it.
    """
    key_solve, key_noise = jax.random.split(key)
    options = {"step": step, "max_steps": max_steps, "on_batch": on_batch}
    found = solve(_Points(model), batch.x, key=key_solve, **options)
    return perturbed(model, batch, found, candidates=candidates, key=key_noise)


def perturbed(
    model: Energy, batch: Problem, found: Solution, *, candidates: int = 8, key: PRNGKeyArray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what `energy_by_distance` does, above minima that were found before.

    `found.y` are whole points of the landscape: the answers, where there is no scratchpad.
    """
    assert found.energy is not None
    distances, heights = [], []
    for y in _noisy(batch.y, candidates, key):
        distances.append(problem_errors(y, batch))
        energies = _energies(model, batch.x, found.y, jnp.asarray(y))
        heights.append(np.asarray(energies) - np.asarray(found.energy))
    return np.concatenate(distances), np.concatenate(heights)


def _noisy(y: Float[Array, "..."], candidates: int, key: PRNGKeyArray) -> np.ndarray:
    """Answers with Gaussian perturbations of many sizes, along a first axis of candidates."""

    @jax.jit
    def draw(y: Array, key: PRNGKeyArray) -> Array:
        def one(key: PRNGKeyArray) -> Array:
            key_scale, key_normal = jax.random.split(key)
            exponents = jax.random.uniform(key_scale, y.shape[:1], minval=-2.0, maxval=0.0)
            scales = 10.0 ** exponents.reshape(-1, *(1,) * (y.ndim - 1))
            return y + scales * jax.random.normal(key_normal, y.shape)

        return jax.vmap(one)(jax.random.split(key, candidates))

    return np.asarray(draw(y, key))


def plane(
    model: Energy,
    x: PyTree,
    *,
    resolution: int = 60,
    max_steps: int = 30,
    step: Step | float | str | None = None,
    key: PRNGKeyArray,
) -> Plane:
    """Descend from two first guesses and evaluate the plane that they span with the answer."""
    twice = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), x)
    options = {"step": step, "max_steps": max_steps, "trajectory": True}
    solution = solve(_Points(model), twice, key=key, **options)
    assert solution.trajectory is not None
    return plane_of(model, x, solution.trajectory.ys, resolution=resolution)


def plane_of(
    model: Energy,
    x: PyTree,
    ys: Float[Array, "2 steps ..."] | Float[np.ndarray, "2 steps ..."],
    *,
    resolution: int = 60,
) -> Plane:
    """Evaluate the plane through the first points of two descents and the end of the first."""
    path = np.asarray(ys)
    origin = path[0, -1]
    axes = np.stack([(path[i, 0] - origin).ravel() for i in range(2)], axis=1)
    offsets = (path - origin).reshape(2 * path.shape[1], -1).T
    coordinates = np.linalg.lstsq(axes, offsets, rcond=None)[0].T.reshape(2, -1, 2)
    ticks = np.linspace(-0.35, 1.45, resolution, dtype=path.dtype)
    first, second = np.meshgrid(ticks, ticks)
    points = origin + (np.stack([first.ravel(), second.ravel()], axis=1) @ axes.T).reshape(
        -1, *origin.shape
    )
    energies = np.asarray(_heights(model, x, jnp.asarray(points))).reshape(first.shape)
    return Plane(first, second, energies, tuple(coordinates))


class _Points(eqx.Module):
    """A model whose answers are whole points of the landscape, with a scratchpad if it has one."""

    model: Energy

    @property
    def step_size(self) -> float | None:
        return self.model.step_size

    @property
    def default_step(self) -> str:
        return default_step(self.model)

    @property
    def default_max_steps(self) -> int:
        return default_max_steps(self.model)

    def max_steps_for(self, x: PyTree) -> int:
        return default_max_steps(self.model, x)

    @property
    def format(self) -> AbstractFormat:
        return self.model.format

    def landscape(self, x: PyTree) -> Landscape:
        return self.model.landscape(x)

    def guess(self, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        return self.model.guess(x, shape, key=key)

    def begin(self, x: PyTree, y0: Array, *, key: PRNGKeyArray | None) -> Array:
        return self.model.begin(x, y0, key=key)

    def read(self, x: PyTree, point: Array) -> Array:
        del x
        return point


@eqx.filter_jit
def _heights(model: Energy, x: PyTree, points: Float[Array, "..."]) -> Float[Array, " points"]:
    # All at once would take gigabytes for a graph energy.
    return jax.lax.map(model.landscape(x), points, batch_size=256)


@eqx.filter_jit
def _energies(
    model: Energy, x: PyTree, points: Float[Array, "..."], y: Float[Array, "..."]
) -> Float[Array, " problems"]:
    """Energies at `points` with their answers replaced by `y`."""

    def one(x: PyTree, point: Array, y: Array) -> Array:
        # `read` picks some of the coordinates, and its transpose puts them where they were.
        answer, put = jax.vjp(lambda p: model.read(x, p), point)
        return model.landscape(x)(point - put(answer)[0] + put(y)[0])

    return jax.vmap(one)(x, points, y)
