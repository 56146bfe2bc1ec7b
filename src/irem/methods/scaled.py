"""Methods that see problems and answers in learned units, and answer in those of the user."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from irem.checks import count
from irem.descent import Trajectory, descend
from irem.energy import ENERGIES
from irem.errors import InputError
from irem.formats import AbstractFormat, Vectors
from irem.methods.base import AbstractBaseline, AbstractMethod
from irem.methods.gradients import GRADIENTS
from irem.methods.irem import IREM
from irem.methods.units import Units, own_units
from irem.metrics import square_error
from irem.problem import Graph, Problem
from irem.settings import HasFormat, Registry, parsed, setting, setting_fields


class Scale(eqx.Module):
    """The map between the numbers of a user and those that a method inside sees.

    Every entry of a problem is centred and scaled. A missing entry becomes zero, and flags beside
    the entries say which are given.

    Arguments:
        format: What problems and answers of the user look like.
        units: Centres and scales.
    """

    format: AbstractFormat = eqx.field(static=True)
    units: Units

    @property
    def _fixed(self) -> Units:
        """The units, which are not trained."""
        return jax.lax.stop_gradient(self.units)

    def problem(self, x: PyTree) -> PyTree:
        """Return a problem as the method inside sees it."""
        units = self._fixed
        centre, size = own_units(x, units.own)
        numbers = x.edges if isinstance(x, Graph) else x
        scaled = ((numbers - centre) / size - units.x_centre) / units.x_scale
        if isinstance(x, Graph):
            return Graph(jnp.where(x.pairs, scaled, 0.0), x.nodes)
        if not getattr(self.format, "missing", False):
            return scaled
        given = jnp.isfinite(x)
        return jnp.stack([jnp.where(given, scaled, 0.0), given.astype(scaled.dtype)])

    def to_inside(self, x: PyTree, y: Array) -> Array:
        """Return an answer to the problem `x` as the method inside sees it."""
        units = self._fixed
        centre, size = own_units(x, units.own)
        return ((y - centre) / size - units.y_centre) / units.y_scale

    def to_user(self, x: PyTree, y: Array) -> Array:
        """Return an answer of the method inside in the units of the user."""
        units = self._fixed
        centre, size = own_units(x, units.own)
        return (y * units.y_scale + units.y_centre) * size + centre

    def row(self, problem: Problem) -> Problem:
        """Return problem and answer as the method inside sees them."""
        x, y = problem.x, problem.y
        return Problem(self.problem(x), self.to_inside(x, y), problem.mask)


class InsideTask:
    """A task as the method inside a scale sees it: as much as is needed to build that method.

    Arguments:
        task: The task of the user.
    """

    name: ClassVar[str] = "problems in learned units"
    power: ClassVar[int | None] = None

    def __init__(self, task: HasFormat) -> None:
        self.format = task.format
        self.has_flags = False
        if isinstance(task.format, Vectors) and task.format.missing:
            # Values, and flags that say which are given.
            self.has_flags = True
            self.format = Vectors((2, *task.format.x_shape), task.format.y_shape)


class Scaled(AbstractMethod):
    """IREM in learned units: problems and answers of any size and offset.

    The loss is in the units of the energy, so that every entry of an answer counts alike.

    Arguments:
        method: The method inside.
        scale: The map between its numbers and those of the user.
        starts: From how many points the loss descends; the end nearest to the answer counts. With
            several, a problem may have several answers, of which each row of training knows one.
        likelihood: Whether the loss is the surprise of the known answer instead, for energies that
            have one (`Proposals`); no descent is needed for it.
        task: As in `IREM`.
    """

    replays: ClassVar[bool] = True
    parts: ClassVar[Mapping[str, Registry[Any]]] = MappingProxyType(
        {"energy": ENERGIES, "gradient": GRADIENTS}
    )

    method: IREM
    scale: Scale
    starts: int = setting(1)
    likelihood: bool = setting(False)
    task: Any = eqx.field(static=True, default=None, kw_only=True)

    def __check_init__(self) -> None:
        """Refuse no starts at all, and likelihoods of energies that have none."""
        count("starts", self.starts)
        if self.likelihood and not hasattr(self.method.energy, "surprise"):
            raise InputError(
                f"The {type(self.method.energy).__name__} energy has no likelihood; use "
                "`Proposals`, or several `starts`."
            )

    @classmethod
    def for_task(
        cls,
        task: HasFormat,
        *,
        energy: Mapping[str, Any] | None = None,
        gradient: Mapping[str, Any] | None = None,
        units: Units | None = None,
        key: PRNGKeyArray,
        **settings: Any,
    ) -> Scaled:
        """Build IREM for the problems of `task` as they look in learned units.

        Arguments:
            task: Whose problems it answers.
            energy: Settings of the energy.
            gradient: Settings of the gradient rule.
            units: Centres and scales; by default those that change nothing, to be loaded.
            key: Source of the initial weights.
            settings: `starts`, `likelihood`, and the settings of `IREM`.
        """
        names = [f.name for f in setting_fields(cls)]
        own = parsed(cls, {n: settings.pop(n) for n in names if n in settings})
        sections = {"energy": energy, "gradient": gradient}
        inner = IREM.for_task(InsideTask(task), **sections, key=key, **settings)
        units = Units.blank(task.format) if units is None else units
        return cls(inner, Scale(task.format, units), **own)

    def settings(self) -> dict[str, Any]:
        """Return the settings of the method inside, and the number of starts."""
        return {**self.method.settings(), **super().settings()}

    def describe(self) -> dict[str, dict[str, Any]]:
        """Return name and settings of the energy and of the gradient rule."""
        return self.method.describe()

    def bound_to(self, task: Any) -> Scaled:
        """Return the method with its task, without the rows of that."""
        return dataclasses.replace(self, task=task.without_arrays())

    def loss(
        self, problem: Problem, y0: Float[Array, "..."], *, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """Return the loss of the method inside, in its units."""
        row = self.scale.row(problem)
        if self.likelihood:
            energy: Any = self.method.energy
            return energy.surprise(row.x, row.y), y0
        if self.starts > 1:
            y0 = self._best_start(row, y0, key)
        return self.method.loss(row, y0, key=key)

    def _best_start(
        self, problem: Problem, y0: Float[Array, "..."], key: PRNGKeyArray
    ) -> Float[Array, "..."]:
        """Return of `y0` and other starts the one whose descent ends nearest to the answer."""
        x, shape = problem.x, problem.y.shape
        keys = jax.random.split(key, self.starts - 1)
        others = jax.vmap(lambda k: self.method.start(x, shape, key=k))(keys)
        points = jnp.concatenate([y0[None], others])
        inner = self.method
        landscape = inner.landscape(x)

        def error(point: Array) -> Float[Array, ""]:
            end = descend(landscape, point, inner.step_size, inner.num_steps)
            return square_error(inner.read(x, end), problem.y, problem.mask)[0]

        errors = jax.lax.stop_gradient(jax.vmap(error)(points))
        # An error that is NaN is not small.
        return points[jnp.argmin(jnp.where(jnp.isnan(errors), jnp.inf, errors))]

    def in_units(self, problem: Problem) -> Problem:
        """Return the problem in the units of the loss."""
        return self.scale.row(problem)

    def start(self, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Float[Array, "..."]:
        """Return the point where the energy lets a descent begin."""
        return self.method.start(self.scale.problem(x), shape, key=key)

    def predict(self, x: PyTree, num_steps: int, *, key: PRNGKeyArray) -> Trajectory:
        """Return the answer after every step of a descent that does not halt."""
        path = self.method.predict(self.scale.problem(x), num_steps, key=key)
        return _to_user(self.scale, x, path)

    def minimum(self, x: PyTree) -> Float[Array, "..."] | None:
        """Return the answer at the minimum, if the gradient rule computes it."""
        y = self.method.minimum(self.scale.problem(x))
        return None if y is None else self.scale.to_user(x, y)

    @property
    def format(self) -> AbstractFormat:
        """What problems and answers of the user look like."""
        return self.scale.format

    def landscape(self, x: PyTree) -> Callable[[Array], Float[Array, ""]]:
        """Return the landscape of one problem, whose points are in the units of the energy."""
        return self.method.landscape(self.scale.problem(x))

    def guess(self, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """Return a first guess at the answer to one problem."""
        inner = self.method.guess(self.scale.problem(x), shape, key=key)
        return self.scale.to_user(x, inner)

    def begin(self, x: PyTree, y0: Array, *, key: PRNGKeyArray | None) -> Array:
        """Return the point of the landscape that a descent from a first guess starts at."""
        return self.method.begin(self.scale.problem(x), self.scale.to_inside(x, y0), key=key)

    def read(self, x: PyTree, point: Array) -> Array:
        """Return the answer at a point of the landscape."""
        return self.scale.to_user(x, self.method.read(self.scale.problem(x), point))

    @property
    def step_size(self) -> float:
        """That of the method inside."""
        return self.method.step_size

    @property
    def in_double(self) -> bool:
        """That of the energy."""
        return self.method.in_double

    @property
    def default_step(self) -> str:
        """That of the energy."""
        return self.method.default_step

    @property
    def default_max_steps(self) -> int:
        """That of the energy."""
        return self.method.default_max_steps


class ScaledBaseline(AbstractBaseline):
    """A baseline in learned units.

    Arguments:
        method: The baseline inside.
        scale: The map between its numbers and those of the user.
    """

    method: AbstractBaseline
    scale: Scale

    @property
    def format(self) -> AbstractFormat:
        """What problems and answers of the user look like."""
        return self.scale.format

    def loss(
        self, problem: Problem, y0: Float[Array, "..."], *, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """Return the loss of the baseline inside, in its units."""
        return self.method.loss(self.scale.row(problem), y0, key=key)

    def in_units(self, problem: Problem) -> Problem:
        """Return the problem in the units of the loss."""
        return self.scale.row(problem)

    def predict(self, x: PyTree, num_steps: int, *, key: PRNGKeyArray) -> Trajectory:
        """Return the answer after every step."""
        path = self.method.predict(self.scale.problem(x), num_steps, key=key)
        return _to_user(self.scale, x, path)

    def answer(self, x: PyTree, *, key: PRNGKeyArray) -> tuple[Float[Array, "..."], Int[Array, ""]]:
        """Return the answer to one problem, and the number of steps it took."""
        y, steps = self.method.answer(self.scale.problem(x), key=key)
        return self.scale.to_user(x, y), steps


def _to_user(scale: Scale, x: PyTree, path: Trajectory) -> Trajectory:
    """A trajectory in the units of the user."""
    return Trajectory(jax.vmap(lambda y: scale.to_user(x, y))(path.ys), path.energies)
