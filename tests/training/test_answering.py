"""Answers that are checked, and tried again where the check fails."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.domain import Domain, Rule
from irem.energy import AbstractEnergy, Polynomial
from irem.formats import Vectors
from irem.methods import IREM
from irem.problem import Problem
from irem.tasks import AbstractTask
from irem.training import solve_checked
from irem.verdicts import Verdict

KEY = jax.random.key(0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Roots(AbstractTask):
    """`y` is the positive square root of `x`."""

    name: ClassVar[str] = "roots"
    summary: ClassVar[str] = "positive square roots"

    @property
    def format(self):
        return Vectors((1,), (1,))

    @property
    def domain(self):
        fault = lambda x: None if x[0] > 0 else f"{x[0]} has no root; give a positive number."  # noqa: E731
        return Domain(Rule("positive numbers", fault))

    def sample(self, key, difficulty="same"):
        self.check_difficulty(difficulty)
        x = jax.random.uniform(key, (1,), minval=0.5, maxval=2.0)
        return Problem(x, self.oracle(x))

    def trivial(self, x):
        return jnp.zeros_like(x)

    def oracle(self, x):
        return jnp.sqrt(x)

    def residuals(self, x, y):
        x = np.asarray(x, np.float64)
        return np.where(y < 0, 1.0, np.abs(np.square(y) - x) / x)[:, 0]


class Squares(AbstractEnergy):
    """Two minima, at both roots; only one of them is the answer."""

    height: jax.Array

    @property
    def format(self):
        return Vectors((1,), (1,))

    def landscape(self, x):
        return lambda y: self.height * jnp.sum(jnp.square(jnp.square(y) - x))

    def guess(self, x, shape, *, key):
        del x
        sign = jnp.where(jax.random.bernoulli(key), 1.0, -1.0)
        return sign * jax.random.uniform(key, shape, minval=0.3, maxval=1.0)


SQUARES = Squares(jnp.ones(()))
MODEL = IREM(SQUARES, step_size=0.1).bound_to(Roots())
X = np.linspace(0.5, 2.0, 8)[:, None]


def test_solve_checks_but_does_not_try_again():
    found = irem.solve(MODEL, X, key=KEY)
    right = np.asarray(found.y[:, 0]) > 0
    assert 0 < right.sum() < 8
    np.testing.assert_array_equal(found.verified, right)
    np.testing.assert_array_equal(found.verdict == Verdict.FAILED, ~right)
    assert np.asarray(found.residual)[right].max() < 0.01
    assert np.asarray(found.residual)[~right].min() == 1.0


def test_an_answer_that_fails_is_sought_again():
    once, found = irem.solve(MODEL, X, key=KEY), solve_checked(MODEL, X, key=KEY, retries=8)
    assert np.asarray(found.verified).all()
    np.testing.assert_allclose(found.y, np.sqrt(X), rtol=5e-3)
    kept = np.asarray(once.verified)
    for name in ("y", "energy", "steps", "reason"):
        np.testing.assert_array_equal(
            np.asarray(getattr(found, name))[kept], np.asarray(getattr(once, name))[kept]
        )
    # The steps of all tries are counted.
    assert (np.asarray(found.steps)[~kept] > np.asarray(once.steps)[~kept]).all()


def test_fewer_tries_leave_failures_and_say_so():
    none, one = (solve_checked(MODEL, X, key=KEY, retries=r) for r in (0, 1))
    assert np.asarray(none.verified).sum() < np.asarray(one.verified).sum() < len(X)
    assert (np.asarray(one.y)[~np.asarray(one.verified)] < 0).all()


def test_one_problem_alone_has_no_axis_of_problems():
    found = solve_checked(MODEL, X[3], key=KEY, retries=8)
    assert found.y.shape == (1,)
    assert found.verified.shape == ()
    assert bool(found.verified)


def test_problems_outside_the_domain_are_refused_and_the_others_answered():
    x = X.copy()
    x[5] = -1.0
    with pytest.warns(UserWarning, match=r"7 of 8 problems are answered. Problem 5: -1.0 has no"):
        found = irem.solve(MODEL, x, key=KEY)
    assert irem.Reason(int(found.reason[5])) is irem.Reason.REFUSED
    assert np.isnan(found.y[5]).all()
    assert not found.verified[5]
    assert not found.converged[5]
    assert not found.answered[5]
    assert found.steps[5] == 0
    rest = np.arange(8) != 5
    np.testing.assert_array_equal(found.y[rest], irem.solve(MODEL, X, key=KEY).y[rest])


@pytest.mark.parametrize("x", [np.array([-1.0]), np.array([[-1.0]]), np.array([[-1.0], [-2.0]])])
def test_where_no_problem_is_answered_an_error_says_why(x):
    with pytest.raises(irem.InputError, match=r"-1.0 has no root; give a positive number."):
        irem.solve(MODEL, x, key=KEY)


def test_a_model_without_a_task_has_no_verdicts():
    found = irem.solve(IREM(SQUARES, step_size=0.1), X, key=KEY)
    assert found.verdict is found.residual is found.verified is None
    assert solve_checked(IREM(SQUARES, step_size=0.1), X, key=KEY).verified is None


def test_an_answer_that_is_not_finite_fails():
    check = MODEL.task.check(X, np.full((8, 1), np.nan))
    assert (check.verdict == Verdict.FAILED).all()
    assert np.isinf(check.residual).all()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Halves(Roots):
    """A task whose check covers a part of an answer."""

    name: ClassVar[str] = "halves"
    complete_check: ClassVar[bool] = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Unknown(Roots):
    """A task without a check."""

    name: ClassVar[str] = "unknown"

    def residuals(self, x, y):
        del x, y
        return


def test_a_check_of_a_part_can_fail_but_not_verify():
    check = Halves().check(X, np.sqrt(X) * np.where(np.arange(8) % 2, 1, -1)[:, None])
    expected = np.where(np.arange(8) % 2, Verdict.UNCHECKED, Verdict.FAILED)
    np.testing.assert_array_equal(check.verdict, expected)


def test_without_a_check_nothing_is_said():
    check = Unknown().check(X, np.sqrt(X))
    assert (check.verdict == Verdict.UNCHECKED).all()
    assert np.isnan(check.residual).all()
    found = solve_checked(MODEL.bound_to(Unknown()), X, key=KEY)
    np.testing.assert_array_equal(found.y, irem.solve(MODEL, X, key=KEY).y)


def test_a_trained_run_checks_its_answers():
    run = irem.train(Roots(), IREM(SQUARES, step_size=0.1), iterations=1, batch_size=2, key=KEY)
    found = run.solve(X, retries=8)
    assert np.asarray(found.verified).all()
    assert run.model.task == Roots()


def test_a_matrix_of_another_size_is_inverted_by_the_same_programs(monkeypatch):
    run, rng, traced = irem.load("zoo:matrix-inverse"), np.random.default_rng(0), []
    landscape = Polynomial.landscape

    def counted(energy, x):
        traced.append(x.edges.shape)
        return landscape(energy, x)

    monkeypatch.setattr(Polynomial, "landscape", counted)
    for size in (3, 7, 20):
        half = rng.normal(size=(size, size))
        x = half @ half.T / size + np.eye(size)
        found = run.solve(x)
        assert bool(found.verified)
        np.testing.assert_allclose(found.y, np.linalg.inv(x), atol=1e-3)
    assert len(traced) <= 1  # a program of another test may serve
