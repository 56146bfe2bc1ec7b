"""Addition against NumPy in 64 bits, and the distribution of its entries."""

import jax
import numpy as np
import pytest
from scipy import stats

from irem.tasks import Addition

COUNT = 2000
# A generator that compiles fast: no fact tested here depends on which one draws.
KEY = jax.random.key(21, impl="unsafe_rbg")


@pytest.fixture(scope="module", params=[("same", 1.0), ("harder", 2.5)], ids=["same", "harder"])
def drawn(request):
    difficulty, half_width = request.param
    problem = Addition().batch(KEY, COUNT, difficulty)
    return np.asarray(problem.x, np.float64), np.asarray(problem.y, np.float64), half_width


def test_answer_is_the_sum(drawn):
    x, y, half_width = drawn
    # One rounding of a number below 2 half_width.
    tolerance = np.finfo(np.float32).eps * half_width
    np.testing.assert_allclose(y, x.sum(axis=1), rtol=0, atol=tolerance)


def test_entries_are_uniform(drawn):
    x, _, half_width = drawn
    assert -half_width <= x.min() < -0.999 * half_width
    assert 0.999 * half_width < x.max() <= half_width
    # A subset, because the grid of 32-bit draws shows in very large samples. 6e-7 is five sigma.
    entries = x.ravel()[:20_000]
    assert stats.kstest(entries, stats.uniform(-half_width, 2 * half_width).cdf).pvalue > 6e-7


def test_the_two_vectors_are_independent(drawn):
    x, _, half_width = drawn
    correlation = np.mean(x[:, 0] * x[:, 1]) / (half_width**2 / 3)
    assert abs(correlation) <= 5 / (COUNT * 400) ** 0.5


def test_size_sets_the_length_of_the_vectors():
    problem = jax.device_get(Addition(size=3).batch(KEY, 5))
    assert problem.x.shape == (5, 2, 3)
    np.testing.assert_array_equal(problem.y, problem.x[:, 0] + problem.x[:, 1])
