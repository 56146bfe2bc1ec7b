"""Nested operations on models whose every answer is known."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.evaluation import Composable
from irem.formats import Vectors
from irem.methods import AbstractBaseline

TASK = irem.tasks.get("addition", size=5)
KEY = jax.random.key(0)


class Sum(AbstractBaseline):
    """Adds two vectors and a constant."""

    constant: float

    @property
    def format(self):
        return Vectors((2, 5), (5,))

    def answer(self, x, *, key):
        del key
        return x[0] + x[1] + self.constant, jnp.asarray(1)

    def loss(self, problem, y0, *, key):
        raise NotImplementedError

    def predict(self, x, num_steps, *, key):
        raise NotImplementedError


def test_errors_of_a_constant_add_up():
    errors = irem.compose(Sum(0.25), TASK, 4, problems=10, key=KEY)
    np.testing.assert_allclose(errors, np.square(0.25 * np.arange(1, 5)), rtol=1e-4)
    assert irem.compose(Sum(0.0), TASK, 3, problems=10, key=KEY) == [0, 0, 0]


def test_an_energy_is_composed_with_the_options_of_its_descents():
    energy = irem.energy.from_function(
        lambda x, y: 3.0 * jnp.sum((y - x[0] - x[1]) ** 2), answer_shape=(5,)
    )
    exact = irem.compose(energy, TASK, 3, problems=10, step=0.1, key=KEY)
    assert max(exact) < 1e-4
    options = {"problems": 10, "step": irem.FixedStep(1e-6), "max_steps": 1, "key": KEY}
    assert irem.compose(energy, TASK, 1, **options)[0] > 0.1


def test_an_answer_that_is_missing_has_no_error():
    (error,) = irem.compose(Sum(float("inf")), TASK, 1, problems=3, key=KEY)
    assert np.isnan(error)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Scaling(irem.tasks.Addition):
    """A composition of one's own: the operand is added twice."""

    name: ClassVar[str] = "scaling"

    def join(self, y, operand):
        return jnp.stack([y, 2 * operand], axis=1)


def test_any_task_with_operands_and_a_way_to_join_them_is_composed():
    task = Scaling(size=5)
    assert isinstance(task, Composable)
    assert irem.compose(Sum(0.0), task, 3, problems=4, key=KEY) == [0, 0, 0]


def test_other_tasks_are_refused():
    task = irem.tasks.get("matrix-inverse", size=3)
    assert not isinstance(task, Composable)
    with pytest.raises(irem.InputError, match=r"this is 'matrix-inverse'\.$"):
        irem.compose(Sum(0.0), task, 2, key=KEY)


@pytest.mark.parametrize("name", ["operations", "problems"])
def test_counts_are_checked(name):
    options = {"operations": 2, "problems": 3, name: 0}
    with pytest.raises(irem.InputError, match=rf"^`{name}` must be greater than 0, got 0"):
        irem.compose(Sum(0.0), TASK, **options, key=KEY)
