"""An energy of puzzles: variables in groups with rules, any number of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from irem.checks import count, count_or_zero, known
from irem.energy.base import AbstractEnergy, require
from irem.formats import Puzzles
from irem.nn.fitting import check_depth
from irem.nn.groups import GroupNet, Open
from irem.problem import Problem, first_guess
from irem.puzzles import Puzzle, violation
from irem.settings import HasFormat, setting, weights

_LEARNS = ("answer", "rules")


class Groups(AbstractEnergy):
    r"""An energy of variables that take part in groups with rules, such as those of a Sudoku.

    $$E(x, y, z) = \sum_i \tfrac12 \|(y_i, z_i) - F_i(x, y, z)\|^2 + R_i(x, y, z)$$

    The sum is over the open variables: those that neither are known nor excluded by a known one in
    the same group. $F_i$ and $R_i$ are read from features of variable $i$, which pass through
    layers: in each, a group sums its open members and answers all of them. So the energy is the
    same however variables, groups and members are ordered, and one model takes puzzles of any size.
    $z_i$ is a scratchpad of a few numbers for each variable, which descends along with the answer
    $y$. Variables that are not open have $\tfrac12 (y_i - x_i)^2$ alone.

    On a GPU features are in bfloat16 in training, unless full precision is asked for; `solve`
    computes in float32.

    Arguments:
        families: How many families of groups a puzzle has; three for a Sudoku (cells, lines,
            boxes).
        puzzle: How plain arrays are read, `"sudoku"` or `"latin"`; `None` where a problem is always
            a `Puzzle`.
        width: Features of a variable, and of a group.
        layers: How often variables and groups exchange features.
        scratch: Numbers that each variable has beside its entry of the answer.
        learns: What training makes small: `"answer"`, the squared error to the answer of the task,
            for puzzles with one solution; or `"rules"`, by how much any rule is broken
            (`irem.puzzles.violation`), for puzzles with many.
        key: Source of the initial weights.
    """

    default_step: ClassVar[str] = "fixed"
    default_max_steps: ClassVar[int] = 64
    default_retries: ClassVar[int] = 63

    families: int = eqx.field(static=True)
    puzzle: str | None = eqx.field(static=True, default=None)
    width: int = setting(128)
    layers: int = setting(4)
    scratch: int = setting(8)
    learns: str = setting("answer")
    network: GroupNet = weights()
    key: dataclasses.InitVar[PRNGKeyArray] = dataclasses.field(kw_only=True)

    def __post_init__(self, key: PRNGKeyArray) -> None:
        """Make the weights."""
        count("width", self.width)
        check_depth("layers", self.layers)
        count_or_zero("scratch", self.scratch)
        known("learns", self.learns, _LEARNS)
        self.network = GroupNet(1 + self.scratch, self.families, self.width, self.layers, key=key)

    @classmethod
    def fit(cls, task: HasFormat) -> dict[str, Any]:
        """Return the number of families, and how plain arrays are read."""
        puzzles = require("Groups", task, Puzzles)
        return {"families": puzzles.families, "puzzle": puzzles.puzzle}

    @property
    def format(self) -> Puzzles:
        """Puzzles of any size."""
        return Puzzles(self.families, self.puzzle)

    def landscape(self, x: Puzzle) -> Callable[[Array], Float[Array, ""]]:
        """Return the map from the entries and the scratchpads of all variables to the energy."""
        of_puzzle = Open.of(x)
        is_open = of_puzzle.is_open
        read = self.network(of_puzzle.groups, half=_in_half_precision())

        def energy(point: Float[Array, "variables numbers"]) -> Float[Array, ""]:
            found, penalties = read(point)
            known = jnp.zeros_like(found).at[:, 0].set(of_puzzle.truths.astype(found.dtype))
            target = jnp.where(is_open[:, None], found, known)
            penalty = jnp.sum(jnp.where(is_open, penalties, 0.0))
            return 0.5 * jnp.sum(jnp.square(point - target)) + penalty

        return energy

    def begin(self, x: Puzzle, y0: Array, *, key: PRNGKeyArray | None) -> Array:
        """Return a first guess with a scratchpad for every variable beside it.

        The scratchpad is random, or zero where there is no key.
        """
        if x.open is not None:
            y0 = jnp.take(y0, x.open, mode="fill", fill_value=0)
        shape = (*y0.shape, self.scratch)
        z0 = jnp.zeros(shape) if key is None else first_guess(key, shape)
        return jnp.concatenate([y0[..., None], z0.astype(y0.dtype)], axis=-1)

    def read(self, x: Puzzle, point: Array) -> Array:
        """Return the answer at a point, without the scratchpad."""
        if x.open is None:
            return point[..., 0]
        known = (x.known == 1).astype(point.dtype)
        return known.at[x.open].set(point[..., 0], mode="drop")

    def error(self, problem: Problem, point: Array) -> Float[Array, ""]:
        """Return the squared error of the answer at a point, or by how much it breaks the rules."""
        if self.learns == "answer":
            return super().error(problem, point)
        return violation(problem.x, self.read(problem.x, point))


def _in_half_precision() -> bool:
    """Whether features are in bfloat16: on a GPU, unless full precision is asked for."""
    asked = jax.config.jax_default_matmul_precision  # pyright: ignore[reportAttributeAccessIssue]
    return asked is None and jax.default_backend() == "gpu"
