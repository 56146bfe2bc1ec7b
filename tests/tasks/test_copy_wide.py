"""The wide variant of edge copy, and which copies pass."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from irem.problem import Graph
from irem.tasks import EdgeCopy
from irem.verdicts import Verdict

KEY = jax.random.key(74, impl="unsafe_rbg")
WIDE = EdgeCopy(variant="wide")


@pytest.mark.parametrize("difficulty", ["train", "same", 7])
def test_wide_values_are_of_many_sizes_and_some_are_zero(difficulty):
    problem = WIDE.batch(KEY, 400, difficulty)
    values = np.asarray(problem.x.edges)[np.asarray(problem.x.pairs)]
    assert abs(np.mean(values == 0) - 0.1) < 0.01
    sizes = np.abs(values[values != 0])
    assert sizes.min() < 2e-3
    assert sizes.max() > 500
    assert abs(np.mean(sizes < 1) - 0.5) < 0.02
    assert (WIDE.check(problem.x, problem.y).verdict == Verdict.VERIFIED).all()


@pytest.mark.parametrize(
    ("answer", "residual"), [(2.0, 0), (2.1, 0.05), (0.0, 1), (np.nan, np.inf), (-np.inf, np.inf)]
)
def test_the_residual_is_the_largest_relative_error(answer, residual):
    x = np.array([[[1e6, 2.0], [0.0, 1e-9]]])
    y = x.copy()
    y[0, 0, 1] = answer
    assert WIDE.check(x, y).residual[0] == pytest.approx(residual, rel=1e-4, abs=1e-6)


def test_a_zero_is_copied_exactly_or_not_at_all():
    x = np.zeros((1, 2, 2))
    assert WIDE.check(x, x + 1e-20).residual[0] == np.inf


def test_padding_is_not_checked():
    x = Graph(jnp.ones((1, 2, 2)), jnp.array([[True, False]]))
    y = np.array([[[1.0, np.nan], [5.0, 5.0]]])
    assert WIDE.check(x, y).verdict[0] == Verdict.VERIFIED
