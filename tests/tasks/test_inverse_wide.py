"""The wide variant of matrix inversion, and which matrices and inverses pass."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from irem.problem import Graph
from irem.tasks import MatrixInverse
from irem.tasks.matrix_inverse import WIDE_MEAN_INVERSE
from irem.verdicts import Verdict

COUNT = 2000
KEY = jax.random.key(72, impl="unsafe_rbg")
WIDE = MatrixInverse(variant="wide", size=8)
RNG = np.random.default_rng(2)


@pytest.fixture(scope="module", params=[("same", 1, 2e3), ("harder", 2e3, 1e4)])
def drawn(request):
    difficulty, lowest, highest = request.param
    problem = WIDE.batch(KEY, COUNT, difficulty)
    return np.asarray(problem.x, np.float64), np.asarray(problem.y, np.float64), lowest, highest


def test_wide_matrices_are_positive_definite_with_condition_numbers_in_the_range(drawn):
    x, _, lowest, highest = drawn
    np.testing.assert_array_equal(x, np.swapaxes(x, 1, 2))
    condition = np.linalg.cond(x)
    assert (np.linalg.eigvalsh(x) > 0).all()
    assert condition.min() >= 0.99 * lowest
    assert condition.max() <= 1.01 * highest
    # Log-uniform: half of them below the geometric mean of the bounds.
    assert abs(np.mean(condition < (lowest * highest) ** 0.5) - 0.5) < 5 * 0.5 / COUNT**0.5


def test_half_of_the_wide_matrices_are_diagonal_and_the_others_full(drawn):
    x, _, _, _ = drawn
    off_diagonal = np.abs(x * (1 - np.eye(8))).max(axis=(1, 2))
    assert abs(np.mean(off_diagonal == 0) - 0.5) < 0.1


def test_wide_answers_are_inverses_of_unit_size(drawn):
    x, y, _, highest = drawn
    np.testing.assert_allclose((y**2).sum(axis=(1, 2)) / 8, 1, rtol=1e-3)
    expected = np.linalg.inv(x)
    error = np.linalg.norm(y - expected, axis=(1, 2)) / np.linalg.norm(expected, axis=(1, 2))
    assert error.max() <= 8**0.5 * 1e-7 * highest


def test_trivial_answer_of_the_wide_variant_is_the_mean_inverse():
    y = np.asarray(MatrixInverse(variant="wide").batch(KEY, COUNT).y)
    diagonal = np.diagonal(y, axis1=1, axis2=2).mean(axis=1)
    spread = 5 * diagonal.std() / COUNT**0.5
    assert abs(diagonal.mean() - WIDE_MEAN_INVERSE) <= spread + 5 * diagonal.std() / 20_000**0.5


def test_the_residual_bounds_the_relative_error_of_any_answer(drawn):
    x, _, _, _ = drawn
    x = x[:300]
    exact = np.linalg.inv(x)
    wrong = exact + RNG.normal(size=exact.shape) * 10.0 ** RNG.uniform(-6, 1, (300, 1, 1))
    error = np.linalg.norm(wrong - exact, axis=(1, 2)) / np.linalg.norm(exact, axis=(1, 2))
    residual = WIDE.check(x, wrong).residual
    assert (error <= residual).all()
    # The roundings of a matrix that was given in 64 bits count too.
    assert (WIDE.check(x, exact).residual >= 1e-8 * np.linalg.cond(x)).all()


def test_right_inverses_are_verified_and_wrong_ones_fail(drawn):
    x, y, _, _ = drawn
    assert (WIDE.check(x, y).verdict == Verdict.VERIFIED).all()
    assert (WIDE.check(x, 1.03 * y).verdict == Verdict.FAILED).all()
    assert (WIDE.check(x, np.full_like(y, np.nan)).residual == np.inf).all()
    assert (WIDE.check(x, np.full_like(y, np.inf)).residual == np.inf).all()


def test_the_padding_of_a_graph_is_not_checked():
    x = Graph(jnp.zeros((1, 3, 3)).at[0, :2, :2].set(2 * jnp.eye(2)), jnp.array([[1, 1, 0]]) > 0)
    y = np.full((1, 3, 3), np.nan)
    y[0, :2, :2] = np.eye(2) / 2
    assert WIDE.check(x, y).verdict[0] == Verdict.VERIFIED
    y[0, 0, 0] = 0.52
    assert WIDE.check(x, y).verdict[0] == Verdict.FAILED


@pytest.mark.parametrize("variant", ["released", "wide"])
@pytest.mark.parametrize(
    ("x", "fault"),
    [
        (
            [[1, 2], [1, 9]],
            r"not symmetric: entry \(0, 1\) is 2 and entry \(1, 0\) is 1; .*m\.T @ m",
        ),
        ([[1, 2], [2, 1]], r"not positive definite: its smallest eigenvalue is -1; .*m @ m"),
        ([[-2]], r"smallest eigenvalue is -2"),
        ([[1, 1], [1, 1]], r"singular: it has the eigenvalue .* add a multiple of the identity"),
        ([[0, 0], [0, 0]], r"singular"),
    ],
)
def test_matrices_outside_the_domain_are_refused_with_the_entry_and_the_cure(variant, x, fault):
    said = MatrixInverse(variant=variant).domain.fault(np.array(x, np.float64))
    assert said is not None
    assert re.search(fault, said)


def test_matrices_of_the_paper_may_be_indefinite_but_not_singular():
    domain = MatrixInverse(variant="paper").domain
    assert domain.fault(np.array([[1.0, 2], [2, 1]])) is None
    assert "singular" in str(domain.fault(np.array([[1.0, 1], [1, 1]])))
    assert "not symmetric" in str(domain.fault(np.array([[1.0, 1], [0, 1]])))


@pytest.mark.parametrize("variant", ["released", "paper", "wide"])
def test_problems_of_a_variant_are_in_its_domain(variant):
    task = MatrixInverse(variant=variant, size=6)
    for difficulty in task.difficulties:
        x = task.batch(KEY, 100, difficulty).x
        # Rounding to 32 bits, and a matrix that is symmetric but for that.
        rounded = np.asarray(x, np.float64) * (1 + 1e-7 * RNG.normal(size=x.shape))
        assert task.domain.faults(x) == task.domain.faults(rounded) == [None] * 100


def test_the_wide_domain_says_up_to_which_condition_answers_are_good():
    rules = MatrixInverse(variant="wide").domain.rules
    assert any("condition number is at most 1,000" in rule.says for rule in rules)
