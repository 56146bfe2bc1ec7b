"""Iterative reasoning by energy minimisation: the paper's method."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from irem.checks import count, positive
from irem.descent import Trajectory, descend_recorded, first_point
from irem.energy import ENERGIES, AbstractEnergy, AbstractJointEnergy, Scratchpad
from irem.errors import InputError
from irem.formats import AbstractFormat
from irem.methods.base import AbstractMethod
from irem.methods.gradients import GRADIENTS, AbstractGradient, LastSteps
from irem.problem import Problem
from irem.settings import HasFormat, Registry, first_fitting, parsed, setting


def _without_empty_scratchpad(energy: AbstractEnergy) -> AbstractEnergy:
    """Return the energy inside a scratchpad of size 0, which is the same to the bit."""
    if isinstance(energy, Scratchpad) and not energy.energy.scratch:
        return energy.energy
    return energy


class IREM(AbstractMethod):
    """An energy together with the descent it is trained for.

    The defaults are the paper's. A trained `IREM` goes straight into `irem.solve`.

    Arguments:
        energy: The landscape.
        gradient: Through how much of the descent the loss is differentiated.
        num_steps: Steps of the descent in training (the paper's N).
        step_size: Size of a step (the paper's lambda).
        task: What it was trained on, which knows which problems are answered and checks answers.
    """

    replays: ClassVar[bool] = True
    parts: ClassVar[Mapping[str, Registry[Any]]] = MappingProxyType(
        {"energy": ENERGIES, "gradient": GRADIENTS}
    )

    energy: AbstractEnergy = eqx.field(converter=_without_empty_scratchpad)
    gradient: AbstractGradient = eqx.field(default=LastSteps(), kw_only=True)
    num_steps: int = setting(5)
    step_size: float = setting(100.0)
    task: Any = eqx.field(static=True, default=None, kw_only=True)

    def __check_init__(self) -> None:
        """Refuse a descent without steps."""
        count("num_steps", self.num_steps)
        positive("step_size", self.step_size)
        self.gradient.check_steps(self.num_steps)

    @classmethod
    def for_task(
        cls,
        task: HasFormat,
        *,
        energy: Mapping[str, Any] | None = None,
        gradient: Mapping[str, Any] | None = None,
        key: PRNGKeyArray,
        **settings: Any,
    ) -> IREM:
        """Build an energy for the problems of `task`, by default the first that fits."""
        own, rule = dict(energy or {}), dict(gradient or {})
        name = own.pop("name", None) or first_fitting(ENERGIES, task)
        kind: Any = ENERGIES[name]
        made = kind(**{**kind.fit(task), **parsed(kind, own, f"the {name} energy")}, key=key)
        if isinstance(made, AbstractJointEnergy) and made.scratch:
            made = Scratchpad(made)
        rule_name = rule.pop("name", "last-steps")
        rule_kind: Any = GRADIENTS[rule_name]
        made_rule = rule_kind(**parsed(rule_kind, rule, f"the gradient rule {rule_name}"))
        return cls(made, gradient=made_rule, **parsed(cls, settings, "the method irem"))

    def bound_to(self, task: Any) -> IREM:
        """Return the method with its task, unless that holds arrays, which are no part of it."""
        return dataclasses.replace(self, task=task.without_arrays())

    def describe(self) -> dict[str, dict[str, Any]]:
        """Return name and settings of the energy and of the gradient rule."""
        inner = self.energy.energy if isinstance(self.energy, Scratchpad) else self.energy
        return {**super().describe(), "energy": ENERGIES.describe(inner)}

    def loss(
        self, problem: Problem, y0: Float[Array, "..."], *, key: PRNGKeyArray
    ) -> tuple[Float[Array, ""], Float[Array, "..."]]:
        """Return the error of the energy at the end of the descent (Algorithm 1).

        That is the squared distance to the answer, unless the energy or the gradient rule has
        another.
        """
        descent = (self.energy, problem, y0, self.step_size, self.num_steps)
        return self.gradient.loss(*descent, key=key)

    def start(self, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Float[Array, "..."]:
        """Return the point where the energy lets a descent begin."""
        return first_point(self.energy, x, shape, key=key)

    def predict(self, x: PyTree, num_steps: int, *, key: PRNGKeyArray) -> Trajectory:
        """Return the answer after every step of a descent that does not halt."""
        shape = self.format.answer_shape(x)
        if shape is None:
            raise InputError("`predict` needs an energy that knows the shape of its answers.")
        start = self.start(x, shape, key=key)
        path = descend_recorded(self.landscape(x), start, self.step_size, num_steps)
        return Trajectory(jax.vmap(lambda y: self.read(x, y))(path.ys), path.energies)

    def minimum(self, x: PyTree) -> Float[Array, "..."] | None:
        """Return the answer at the minimum, if the gradient rule computes it, without a descent."""
        shape = self.format.answer_shape(x)
        if not self.gradient.ends_at_minimum or shape is None:
            return None
        start = jnp.zeros(shape)
        point = self.gradient.descend(self.energy, x, start, self.step_size, self.num_steps)
        return self.energy.read(x, point)

    @property
    def format(self) -> AbstractFormat:
        """That of the energy."""
        return self.energy.format

    def landscape(self, x: PyTree) -> Callable[[Array], Float[Array, ""]]:
        """Return the landscape of one problem."""
        return self.energy.landscape(x)

    def guess(self, x: PyTree, shape: tuple[int, ...], *, key: PRNGKeyArray) -> Array:
        """Return a first guess at the answer to one problem."""
        return self.energy.guess(x, shape, key=key)

    @property
    def in_double(self) -> bool:
        """That of the energy."""
        return self.energy.in_double

    @property
    def default_step(self) -> str:
        """That of the energy."""
        return self.energy.default_step

    @property
    def default_max_steps(self) -> int:
        """That of the energy."""
        return self.energy.default_max_steps

    def max_steps_for(self, x: PyTree) -> int:
        """That of the energy."""
        return self.energy.max_steps_for(x)

    @property
    def default_retries(self) -> int:
        """That of the energy."""
        return self.energy.default_retries

    def begin(self, x: PyTree, y0: Array, *, key: PRNGKeyArray | None) -> Array:
        """Return the point of the landscape that a descent from a first guess starts at."""
        return self.energy.begin(x, y0, key=key)

    def read(self, x: PyTree, point: Array) -> Array:
        """Return the answer at a point of the landscape."""
        return self.energy.read(x, point)
