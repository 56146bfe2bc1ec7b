"""Refusals, checks and what a solution says of itself, on solutions written down by hand."""

import types

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.descent import RUNNING, Reason, Solution
from irem.descent.baselines import answer_all
from irem.descent.judging import judge_of, judged, refuse
from irem.domain import Domain, Rule
from irem.formats import Vectors
from irem.verdicts import Check, Verdict


class Positive:
    """A task whose problems are positive, and answers equal to the problem."""

    domain = Domain(Rule("positive", lambda x: None if (x > 0).all() else f"{x.min()} is not."))

    def check(self, x, y):
        wrong = np.abs(np.asarray(y) - np.asarray(x)).reshape(len(y), -1).max(axis=1)
        return Check(np.where(wrong == 0, Verdict.VERIFIED, Verdict.FAILED), wrong)


MODEL = types.SimpleNamespace(task=Positive())
STRANGER = types.SimpleNamespace()
X = jnp.array([[1.0, 2.0], [-3.0, 4.0], [5.0, -6.0]])


def test_a_model_without_a_task_refuses_nothing():
    assert judge_of(STRANGER) is None
    assert judge_of(MODEL) is MODEL.task
    assert refuse(STRANGER, X, alone=False) is None


def test_what_is_traced_is_neither_refused_nor_checked():
    def traced(x, y):
        assert refuse(MODEL, x, alone=False) is None
        solution = judged(MODEL, X, Solution(y, y[:, 0], jnp.zeros(3, jnp.int32)))
        assert solution.verdict is None
        return solution.y

    jax.eval_shape(traced, X, X)


def test_problems_outside_the_domain_are_refused_with_a_warning():
    with pytest.warns(
        UserWarning, match=r"^1 of 3 problems are answered\. Problem 1: -3.0 is not\.$"
    ):
        refused = refuse(MODEL, X, alone=False)
    np.testing.assert_array_equal(refused, [False, True, True])
    np.testing.assert_array_equal(refuse(MODEL, X[:1], alone=False), [False])


@pytest.mark.parametrize(
    ("rows", "alone", "message"),
    [
        (slice(1, 3), False, r"^None of 2 problems are answered\. Problem 0: -3.0 is not\.$"),
        (slice(2, 3), False, r"^-6.0 is not\.$"),
        (slice(2, 3), True, r"^-6.0 is not\.$"),
    ],
)
def test_where_all_are_refused_there_is_an_error(rows, alone, message):
    with pytest.raises(irem.InputError, match=message):
        refuse(MODEL, X[rows], alone=alone)


def solution_of(y, **fields):
    given = {
        "energy": jnp.arange(3.0),
        "steps": jnp.array([7, 8, 9]),
        "converged": jnp.array([True, True, False]),
        "reason": jnp.array([0, 3, 1]),
    }
    return Solution(y, **{**given, **fields})


@pytest.mark.parametrize("shape", [(3,), (3, 2), (3, 2, 2)])
def test_there_is_no_answer_to_a_problem_that_was_refused(shape):
    x = jnp.ones(shape)
    before = solution_of(x.at[2].set(3.0))
    after = judged(MODEL, x, before, np.array([False, True, False]))
    np.testing.assert_array_equal(np.isnan(after.y).reshape(3, -1).all(1), [False, True, False])
    np.testing.assert_array_equal(after.y[::2], before.y[::2])
    np.testing.assert_array_equal(after.energy, [0, np.nan, 2])
    np.testing.assert_array_equal(after.steps, [7, 0, 9])
    np.testing.assert_array_equal(after.reason, [0, Reason.REFUSED, 1])
    np.testing.assert_array_equal(after.converged, [True, False, False])
    np.testing.assert_array_equal(after.verdict, [Verdict.VERIFIED, Verdict.FAILED, Verdict.FAILED])
    np.testing.assert_array_equal(after.residual, [0, np.nan, 2])
    np.testing.assert_array_equal(after.answered, [True, False, True])


def test_an_answer_without_a_finite_energy_is_not_verified():
    before = solution_of(X, energy=jnp.array([1.0, jnp.inf, jnp.nan]))
    after = judged(MODEL, X, before)
    np.testing.assert_array_equal(after.verified, [True, False, False])
    np.testing.assert_array_equal(after.steps, before.steps)
    np.testing.assert_array_equal(judged(MODEL, X, before, np.zeros(3, bool)).reason, before.reason)
    assert judged(STRANGER, X, before) is before


def test_refusals_where_nothing_is_known_of_convergence():
    before = solution_of(X, converged=None)
    assert judged(MODEL, X, before, np.array([True, False, False])).converged is None


def test_the_numbers_of_reasons_are_those_of_saved_solutions():
    labels = ["energy-unchanged", "budget", "not-finite", "gradient-small", "flat", "stalled"]
    assert {r.label: int(r) for r in Reason} == {
        label: i for i, label in enumerate([*labels, "refused", "holds"])
    }
    assert RUNNING not in list(Reason)
    counted = solution_of(X, reason=jnp.array([1, 6, 1])).reasons()
    assert {label: n for label, n in counted.items() if n} == {"budget": 2, "refused": 1}


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (None, [False, True, False]),
        ([Verdict.VERIFIED] * 3, [True, True, False]),
        ([Verdict.FAILED] * 3, [False, True, False]),
        ([Verdict.UNCHECKED] * 3, [False, True, False]),
    ],
)
def test_a_first_guess_is_an_answer_only_if_it_is_verified(verdict, expected):
    reason = jnp.array([Reason.FLAT, Reason.BUDGET, Reason.REFUSED], jnp.int32)
    verdict = None if verdict is None else jnp.array(verdict, jnp.int32)
    solution = solution_of(X, reason=reason, verdict=verdict)
    np.testing.assert_array_equal(solution.answered, expected)
    not_finite = eqx.tree_at(lambda s: s.energy, solution, jnp.full(3, jnp.nan))
    np.testing.assert_array_equal(not_finite.answered, [False] * 3)
    if verdict is None:
        assert solution.verified is None


def test_without_reasons_a_finite_answer_is_one():
    y = X.at[1, 0].set(jnp.inf)
    solution = solution_of(y, energy=None, reason=None)
    np.testing.assert_array_equal(solution.answered, [True, False, True])
    # Where there is an energy, it decides.
    solution = solution_of(y, energy=jnp.array([1.0, 1.0, jnp.nan]), reason=None)
    np.testing.assert_array_equal(solution.answered, [True, True, False])


class Echo(eqx.Module):
    """A baseline that answers with the problem."""

    format: irem.formats.AbstractFormat = Vectors((2,), (2,))

    def answer(self, x, *, key):
        del key
        return x, jnp.array(1)

    def predict(self, x, num_steps, *, key):
        del x, num_steps, key
        pytest.fail("there is no memory for it")


def test_a_trajectory_of_a_baseline_that_no_memory_holds_is_refused(monkeypatch):
    monkeypatch.setattr("irem.memory.available", lambda: 1000)
    with pytest.raises(irem.InputError, match="of memory"):
        answer_all(Echo(), X, key=jax.random.key(0), num_steps=100)
