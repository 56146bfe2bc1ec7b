"""Nested operations whose every answer is written down by hand."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.descent import Solution
from irem.evaluation import composition
from irem.methods import AbstractBaseline

TASK = irem.tasks.get("addition", size=2)
KEY = jax.random.key(0)


class Known(AbstractBaseline):
    """A baseline that answers all problems at once with a given function."""

    function: Callable = eqx.field(static=True)

    @property
    def format(self):
        return TASK.format

    def answer(self, x, *, key):
        raise NotImplementedError

    loss = predict = answer


SUM = Known(lambda x: x.sum(1))


@pytest.fixture
def asked(monkeypatch):
    """Problems that were asked, and with which options."""
    made = []

    def stand_in(model, x, **options):
        made.append((x, options))
        return Solution(model.function(x), None, jnp.ones(len(x), int))

    monkeypatch.setattr(composition, "solve", stand_in)
    return made


def test_every_answer_is_an_operand_of_the_next_problem(asked):
    errors = composition.nested_errors(
        Known(lambda x: x.sum(1) + 0.5), TASK, 3, problems=3, key=KEY
    )
    np.testing.assert_allclose(errors, np.full((3, 3), 0.25) * [[1], [4], [9]], rtol=1e-4)
    operands = TASK.operands(jax.random.split(KEY)[0], 3, 3)
    first, second, third = (x for x, _ in asked)
    np.testing.assert_allclose(first, jnp.stack([operands[0], operands[1]], 1))
    sums = operands[0] + operands[1] + 0.5
    np.testing.assert_allclose(second, jnp.stack([sums, operands[2]], 1), rtol=1e-6)
    np.testing.assert_allclose(third[:, 1], operands[3])


def test_the_error_of_a_problem_is_its_own_and_a_missing_answer_has_none(asked):
    def answer(x):
        return x.sum(1) + jnp.array([[1.0, 0.0], [0.0, 0.0], [jnp.nan, 0.0]])

    errors = composition.nested_errors(Known(answer), TASK, 2, problems=3, key=KEY)
    np.testing.assert_allclose(errors, [[0.5, 0, np.nan], [2, 0, np.nan]], rtol=1e-4, atol=1e-10)
    # Not one entry of it is used any further.
    assert jnp.isnan(asked[1][0][2, 0]).all()
    assert not jnp.isnan(asked[1][0][:2]).any()


@pytest.mark.parametrize("measure", [irem.compose, irem.evaluation.nested_errors])
def test_a_thousand_problems_are_composed_by_default_with_first_guesses_of_their_own(
    asked, measure
):
    measure(SUM, TASK, 2, key=KEY)
    assert [len(x) for x, _ in asked] == [1000, 1000]
    first, second = (jax.random.key_data(options["key"]).tolist() for _, options in asked)
    assert first != second


@pytest.mark.parametrize("name", ["operations", "problems"])
def test_counts_are_refused_before_anything_is_asked(asked, name):
    options = {"operations": 2, "problems": 3, name: 0}
    with pytest.raises(irem.InputError, match=rf"^`{name}` must be greater than 0, got 0"):
        composition.nested_errors(SUM, TASK, **options, key=KEY)
    assert not asked
