"""An energy of the cells of a line or a grid, each of which sees its neighbours alone."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from irem.checks import count, count_or_zero, known
from irem.energy.base import AbstractEnergy, require
from irem.errors import InputError
from irem.formats import Cells
from irem.lessons import Lesson
from irem.mazes import Waves, first_state, tie_codes
from irem.nn.fitting import check_depth
from irem.nn.grid import GridNet, directions
from irem.problem import first_guess
from irem.settings import HasFormat, setting, weights

_LESSONS = ("none", "waves")
# Steps beyond those in which information crosses all cells one after another.
_MORE_STEPS = 64


class Grid(AbstractEnergy):
    r"""An energy of the cells of a line or a grid.

    $$E(x, y, z) = \sum_i \tfrac12 \|(y_i, z_i) - F_i(x, y, z)\|^2 + R_i(x, y, z)$$

    $F_i$ and $R_i$ are read from features of cell $i$, which pass through layers: in each, a cell
    receives the sum and the maximum of what its neighbours send. So a step carries information over
    as many cells as there are layers, twice that with its way back in the gradient, and a larger
    problem needs more steps. $z_i$ is a scratchpad of a few numbers for each cell, which descends
    along with the answer $y$.

    A lesson tells what the scratchpad is to hold in every step of a descent (`irem.mazes.Waves`),
    so that training need not find that out. The scratchpad then begins as the lesson does.

    Arguments:
        axes: 1 for lines, 2 for grids.
        symbols: How many symbols a cell of a problem may have.
        symmetric: Whether what is computed of a problem that is mirrored or turned is mirrored or
            turned as well.
        width: Features of a cell.
        layers: How often neighbours exchange features.
        scratch: Numbers that each cell has beside its entry of the answer, where no lesson says how
            many.
        lesson: `"none"`, or `"waves"` for mazes.
        speed: By how many cells the waves of a lesson go on in one step.
        key: Source of the initial weights.
    """

    default_step: ClassVar[str] = "damped"

    axes: int = eqx.field(static=True)
    symbols: int = eqx.field(static=True)
    symmetric: bool = eqx.field(static=True)
    width: int = setting(48)
    layers: int = setting(3)
    scratch: int = setting(8)
    lesson: str = setting("none")
    speed: int = setting(1)
    network: GridNet = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the weights."""
        count("width", self.width)
        check_depth("layers", self.layers)
        count_or_zero("scratch", self.scratch)
        count("speed", self.speed)
        self._check_lesson()
        around = directions(self.axes, self.symmetric)
        scratch = Waves.numbers if self.lesson == "waves" else self.scratch
        self.network = GridNet(1 + scratch, self.symbols, around, self.width, self.layers, key=key)

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return what cells there are."""
        cells = require("Grid", task, Cells)
        return {"axes": cells.axes, "symbols": cells.symbols, "symmetric": cells.symmetric}

    def _check_lesson(self) -> None:
        """Refuse a lesson that is not about such problems."""
        known("lesson", self.lesson, _LESSONS)
        if self.lesson == "waves" and self.axes == 1:
            raise InputError("The lesson 'waves' is about mazes, which are grids; take 'none'.")

    @property
    def format(self) -> Cells:
        """Lines or grids of any size."""
        return Cells(self.axes, self.symbols, self.symmetric)

    def landscape(self, x: Int[Array, "*cells"]) -> Callable[[Array], Float[Array, ""]]:
        """Return the map from the entries and the scratchpads of all cells to the energy."""
        real = x >= 0
        read = self.network(x, half=False)

        def energy(point: Float[Array, "*cells numbers"]) -> Float[Array, ""]:
            target, penalty = read(point)
            target = jnp.where(real[..., None], target, 0.0)
            return 0.5 * jnp.sum(jnp.square(point - target)) + jnp.sum(penalty, where=real)

        return energy

    def begin(self, x: Array, y0: Array, *, key: PRNGKeyArray | None) -> Array:
        """Return a first guess with a scratchpad for every cell beside it.

        The scratchpad is random, or zero where there is no key; or it is that of the lesson.
        """
        if self.lesson == "waves":
            z0 = first_state(x, jax.random.key(0) if key is None else key)
        elif key is None:
            z0 = jnp.zeros((*y0.shape, self.scratch))
        else:
            z0 = first_guess(key, (*y0.shape, self.scratch))
        return jnp.concatenate([y0[..., None], z0.astype(y0.dtype)], axis=-1)

    def teach(self, x: Array, *, key: PRNGKeyArray) -> Lesson:
        """Return the points of a descent that finds a shortest path by waves."""
        if self.lesson == "none":
            return super().teach(x, key=key)
        waves = Waves.of(x, tie_codes(key, x))
        return Lesson(lambda step: waves.at(self.speed * step), -(-waves.duration // self.speed))

    def max_steps_for(self, x: Array) -> int:
        """Return how many steps are enough for information to cross all cells of a problem."""
        return math.prod(x.shape[1:]) // self.speed + _MORE_STEPS

    def read(self, x: Array, point: Array) -> Array:
        """Return the answer at a point, without the scratchpad."""
        return jnp.where(x >= 0, point[..., 0], 0.0)
