"""The wide variant of addition, and which sums pass."""

import jax
import numpy as np
import pytest

from irem.tasks import Addition
from irem.verdicts import Verdict

KEY = jax.random.key(73, impl="unsafe_rbg")
WIDE = Addition(variant="wide", size=50)


@pytest.mark.parametrize(("difficulty", "largest"), [("same", 1e3), ("harder", 1e6)])
def test_wide_entries_have_either_sign_and_log_uniform_sizes(difficulty, largest):
    problem = WIDE.batch(KEY, 500, difficulty)
    x = np.asarray(problem.x, np.float64).ravel()
    given = x[x != 0]
    share = lambda events: abs(np.mean(events))  # noqa: E731
    assert abs(share(x == 0) - 0.1) < 5 * 0.3 / x.size**0.5
    assert abs(share(given > 0) - 0.5) < 5 * 0.5 / given.size**0.5
    logs = np.log(np.abs(given)) / np.log(largest)
    assert np.abs(logs).max() <= 1 + 1e-6
    # Uniform between -1 and 1: mean 0, variance 1/3, fourth moment 1/5.
    assert share(logs) < 5 * (1 / 3 / logs.size) ** 0.5
    assert abs(np.mean(logs**2) - 1 / 3) < 5 * ((1 / 5 - 1 / 9) / logs.size) ** 0.5
    np.testing.assert_array_equal(problem.y, problem.x[:, 0] + problem.x[:, 1])


@pytest.mark.parametrize("variant", ["released", "wide"])
def test_sums_in_32_bits_are_verified(variant):
    task = Addition(variant=variant, size=50)
    problem = task.batch(KEY, 200)
    check = task.check(problem.x, problem.y)
    assert (check.verdict == Verdict.VERIFIED).all()
    assert check.residual.max() <= 1e-6


def test_one_wrong_entry_among_large_ones_fails():
    x = np.array([[[1e6, 2.0], [1.0, 3.0]]])
    right = x.sum(axis=1)
    assert WIDE.check(x, right + np.array([0, 0.02])).verdict[0] == Verdict.VERIFIED
    check = WIDE.check(x, right + np.array([0, 0.15]))
    assert check.verdict[0] == Verdict.FAILED
    assert check.residual[0] == pytest.approx(0.03, rel=1e-4)


@pytest.mark.parametrize("answer", [0.3, -1e-30, np.nan, np.inf])
def test_zero_plus_zero_is_zero_and_nothing_else(answer):
    x = np.zeros((1, 2, 1))
    assert WIDE.check(x, np.array([[0.0]])).verdict[0] == Verdict.VERIFIED
    assert WIDE.check(x, np.array([[answer]])).residual[0] == np.inf


def test_roundings_of_two_numbers_that_cancel_are_no_error():
    x = np.array([[[1.0], [-1.0]]])
    assert WIDE.check(x, np.array([[1e-7]])).verdict[0] == Verdict.VERIFIED
    assert WIDE.check(x, np.array([[1e-6]])).verdict[0] == Verdict.FAILED


def test_a_small_sum_of_large_numbers_is_held_to_its_own_size():
    x = np.array([[[1e6], [-999999.5]]])
    assert WIDE.check(x, np.array([[0.5]])).verdict[0] == Verdict.VERIFIED
    assert WIDE.check(x, np.array([[0.6]])).verdict[0] == Verdict.FAILED
