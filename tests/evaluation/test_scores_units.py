"""Errors, floors and shares of answers written down by hand, with the descents left out."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import irem
from irem.descent import Reason, Solution
from irem.evaluation import scores
from irem.problem import Problem
from irem.training import History, Run

SQUARES = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2), answer_shape=(2,))
ONE, ANOTHER = (irem.IREM(SQUARES, step_size=size) for size in (3.0, 5.0))
KEY = jax.random.key(0)
Y = jnp.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
BATCH = Problem(jnp.arange(3.0), Y)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bits(irem.tasks.Addition):
    """A task whose problems are numbers; the trivial answer is 1 everywhere, the best is off."""

    name: ClassVar[str] = "bits"
    binary: ClassVar[bool] = True

    def batch(self, key, problems, difficulty="same"):
        del key, difficulty
        return Problem(jnp.arange(problems, dtype=float), jnp.resize(Y, (problems, 2)))

    def trivial(self, x):
        return jnp.ones((*x.shape, 2))

    def oracle(self, x):
        """Right but for an error that grows from one problem to the next."""
        return jnp.resize(Y, (len(x), 2)) + x[:, None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Numbers(Bits):
    """The same as a task whose answers are not bits."""

    binary: ClassVar[bool] = False


def drawn(task=Bits):
    return scores.TestSet(task(), "same", BATCH, (0.5, 0.25, 3))


def test_the_error_of_a_problem_is_the_mean_over_its_real_entries():
    y = Y + jnp.array([[1.0, 2.0], [3.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(scores.problem_errors(y, BATCH), [2.5, 4.5, 0])
    mask = jnp.array([[True, False], [False, True], [True, True]])
    masked = Problem(BATCH.x, Y, mask)
    np.testing.assert_allclose(scores.problem_errors(y, masked), [1, 0, 0])
    # The entries of a matrix as well.
    square = Problem(BATCH.x, jnp.zeros((3, 2, 2)))
    np.testing.assert_allclose(scores.problem_errors(jnp.full((3, 2, 2), 2.0), square), [4, 4, 4])


def test_the_standard_error_of_two_problems():
    assert scores.standard_error(np.array([1.0, 5.0])) == pytest.approx(2)


@pytest.mark.parametrize(
    ("limit", "oracle_mse", "number"), [(None, 5 / 3, 3), (2, 0.5, 2), (200, 5 / 3, 3)]
)
def test_the_best_answer_is_asked_of_as_many_problems_as_it_has_time_for(
    monkeypatch, limit, oracle_mse, number
):
    monkeypatch.setattr(Bits, "oracle_problems", limit)
    trivial, oracle, asked = scores.floors(Bits(), BATCH)
    assert trivial == pytest.approx(1 / 3)
    assert oracle == pytest.approx(oracle_mse)
    assert asked == number


def descended(y, reasons, steps=(2, 4, 6)):
    """The solution of an energy; a problem that was refused has no number as its answer."""
    reason = jnp.array(reasons)
    return Solution(jnp.asarray(y), jnp.zeros(3), jnp.array(steps), reason=reason)


MINIMUM, BUDGET, REFUSED = Reason.GRADIENT_SMALL, Reason.BUDGET, Reason.REFUSED
RIGHT = descended(Y, [MINIMUM, MINIMUM, BUDGET])
OFF = descended(
    Y.at[:2, 0].set([3.0, 2.0]), [BUDGET, Reason.ENERGY_UNCHANGED, BUDGET], steps=(6, 8, 10)
)


def test_an_evaluation_has_the_means_over_models_and_problems():
    found = scores.summarise(drawn(Numbers), [RIGHT, OFF], 40)
    assert (found.task, found.difficulty, found.problems, found.max_steps) == (
        "bits",
        "same",
        3,
        40,
    )
    assert found.mse == pytest.approx(2.5 / 6)
    assert found.mse_by_model == pytest.approx((0, 2.5 / 3))
    assert found.mse_sem == pytest.approx(stats.sem([1, 0.25, 0]))
    assert found.steps_mean == 6
    assert found.converged == 0.5
    said = {name: number for name, number in found.reasons.items() if number}
    assert said == {"gradient-small": 2, "budget": 3, "energy-unchanged": 1}
    assert (found.trivial_mse, found.oracle_mse, found.oracle_problems) == (0.5, 0.25, 3)
    assert found.exact is None
    assert not {"exact", "entries_right", "trivial_exact", "trivial_entries_right"} & {
        *found.as_dict()
    }
    assert found.as_dict()["mse"] == found.mse


def test_a_baseline_has_no_reasons_and_no_budget():
    found = scores.summarise(drawn(Numbers), [Solution(Y, None, jnp.ones(3, int))], 40)
    assert found.max_steps is None
    assert found.converged is None
    assert set(found.reasons.values()) == {0}
    assert found.mse == 0


def test_a_problem_without_an_answer_has_no_error_and_is_wrong_throughout():
    refused = descended(Y, [REFUSED, MINIMUM, MINIMUM])
    found = scores.summarise(drawn(), [refused], 40)
    assert np.isnan(found.mse)
    assert found.entries_right == pytest.approx(2 / 3)
    assert found.exact == pytest.approx(2 / 3)


def test_answers_of_bits_are_counted_after_rounding():
    nearly = descended([[0.6, 0.4], [0.5, 0.4], [0.7, 0.2]], [MINIMUM] * 3)
    found = scores.summarise(drawn(), [RIGHT, nearly], 40)
    assert found.entries_right == pytest.approx((1 + 1 + 1 + 1 + 0.5 + 0) / 6)
    assert found.exact == pytest.approx(4 / 6)
    assert found.trivial_entries_right == pytest.approx(2 / 3)
    assert found.trivial_exact == pytest.approx(1 / 3)
    assert found.as_dict()["exact"] == found.exact


@pytest.fixture
def asked(monkeypatch):
    """What `solve` was asked, in order."""
    made = []

    def stand_in(model, x, **options):
        made.append((model, len(x), options))
        steps = jnp.ones(len(x), int)
        zeros = jnp.zeros(len(x))
        return Solution(jnp.zeros((len(x), 2)), zeros, steps, reason=jnp.zeros(len(x), int))

    monkeypatch.setattr(scores, "solve", stand_in)
    monkeypatch.setattr(scores, "default_max_steps", lambda model, _: int(model.step_size))
    return made


def test_the_budget_is_that_of_the_first_model_unless_given(asked):
    ones = scores.score([ONE, ANOTHER], drawn(), key=KEY)
    assert ones.max_steps == 3
    assert [model for model, _, _ in asked] == [ONE, ANOTHER]
    assert scores.score([ONE], drawn(), max_steps=7, key=KEY).max_steps == 7
    assert asked[-1][2]["max_steps"] == 7


def test_a_model_alone_several_and_those_of_a_run_are_asked():
    assert scores._as_models(ONE) == [ONE]
    assert scores._as_models([ONE, ANOTHER]) == [ONE, ANOTHER]
    run = Run(irem.tasks.get("addition", size=2), (ONE,), 1, History.empty(1), {}, None)
    assert scores._as_models(run) == (ONE,)


def test_a_thousand_problems_are_asked_by_default(asked):
    assert scores.evaluate([ONE], Bits(), key=KEY).problems == 1000
    assert asked[-1][1] == 1000
    with pytest.raises(irem.InputError, match="`problems` must be greater than 0"):
        scores.evaluate([ONE], Bits(), problems=0, key=KEY)
