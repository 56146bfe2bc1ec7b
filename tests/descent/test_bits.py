"""Answers where 0 or 1 is asked for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem


class Well(irem.energy.AbstractEnergy):
    """Lowest at the very numbers that are given, so that an answer is known before it is found."""

    format: irem.formats.AbstractFormat = irem.formats.Vectors((3,), (3,))

    def landscape(self, x):
        return lambda y: jnp.sum((y - x) ** 2)


WANTED = np.array(
    [[0.0, 1.0, 1.0], [0.2, 0.9, -0.2], [0.4, 1.0, 0.0], [0.6, 1.0, 0.0], [1.3, 0.0, 1.0]],
    np.float32,
)
BITS = np.array([[0, 1, 1], [0, 1, 0], [0, 1, 0], [1, 1, 0], [1, 0, 1]], np.float32)
DECIDED = [True, True, False, False, False]


@pytest.fixture(scope="module")
def solution():
    return irem.solve(Well(), WANTED, np.zeros_like(WANTED))


def with_answer(solution, y):
    return irem.Solution(**{**vars(solution), "y": jnp.asarray(y)})


def test_a_batch_is_rounded_and_decided_problem_by_problem(solution):
    np.testing.assert_array_equal(solution.rounded, BITS)
    np.testing.assert_array_equal(solution.decided, DECIDED)
    assert solution.decided.shape == solution.steps.shape == solution.energy.shape


@pytest.mark.parametrize("problem", range(len(WANTED)))
def test_one_problem_alone_is_decided_as_in_a_batch(solution, problem):
    alone = jax.tree.map(lambda leaf: leaf[problem], solution)
    np.testing.assert_array_equal(alone.rounded, BITS[problem])
    assert alone.decided.shape == alone.steps.shape == ()
    assert bool(alone.decided) == DECIDED[problem]


def test_solve_of_one_problem_has_one_decision():
    alone = irem.solve(Well(), WANTED[1], np.zeros(3))
    np.testing.assert_array_equal(alone.rounded, BITS[1])
    assert alone.decided.shape == alone.steps.shape == ()
    assert alone.decided


def test_answers_of_several_axes_have_one_decision_each(solution):
    matrices = jnp.stack([solution.y, solution.y], -1)
    both = with_answer(solution, matrices)
    assert both.rounded.shape == matrices.shape
    np.testing.assert_array_equal(both.decided, DECIDED)


def test_one_half_is_rounded_up_and_a_quarter_is_decided(solution):
    y = np.array([[0.5], [np.nextafter(np.float32(0.5), np.float32(0))], [0.25], [0.75], [1.25]])
    edges = with_answer(solution, y.astype(np.float32))
    np.testing.assert_array_equal(edges.rounded[:, 0], [1, 0, 0, 1, 1])
    np.testing.assert_array_equal(edges.decided, [False, False, True, True, True])


def test_nan_is_not_decided(solution):
    y = np.array([[0, np.nan], [np.nan, 1], [np.inf, 0], [-np.inf, 1], [0, 1]], np.float32)
    np.testing.assert_array_equal(with_answer(solution, y).decided, [False] * 4 + [True])


def test_the_precision_stays(solution):
    half = with_answer(solution, solution.y.astype(jnp.float16))
    assert half.rounded.dtype == jnp.float16
    np.testing.assert_array_equal(half.rounded, BITS)


def test_answers_on_the_host_are_rounded_as_well(solution):
    host = jax.device_get(solution)
    np.testing.assert_array_equal(host.rounded, BITS)
    np.testing.assert_array_equal(host.decided, DECIDED)
