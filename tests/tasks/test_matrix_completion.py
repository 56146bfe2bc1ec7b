"""Matrix completion: what is given, how entries are spread, and how good its Bayes estimate is."""

import jax
import numpy as np
import pytest

from irem.tasks import MatrixCompletion

COUNT = 2000
# A generator that compiles fast: no fact tested here depends on which one draws.
KEY = jax.random.key(81, impl="unsafe_rbg")
# Standard deviation of the entries of both factors, rank 10 and noise 0.1 (Appendix C).
CASES = [
    ("released", "same", 20**-0.5),
    ("released", "harder", 5**-0.5),
    ("paper", "same", 0.22),
    ("paper", "harder", 0.47),
]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case[:2]))
def drawn(request):
    variant, difficulty, factor = request.param
    problem = MatrixCompletion(variant=variant).batch(KEY, COUNT, difficulty)
    return np.asarray(problem.x, np.float64), np.asarray(problem.y, np.float64), factor


def within_five_standard_errors(each, expected):
    """Whether independent numbers have the expected mean."""
    return abs(each.mean() - expected) <= 5 * each.std() / len(each) ** 0.5


def test_given_entries_are_those_of_the_answer_and_the_others_zero(drawn):
    x, y, _ = drawn
    assert (y != 0).all()
    assert ((x == y) | (x == 0)).all()


def test_half_of_the_entries_are_given_independently_of_their_values(drawn):
    x, y, _ = drawn
    given = x != 0
    assert within_five_standard_errors(given.mean(axis=(1, 2)), 0.5)
    # Coin flips: the number given in a matrix varies like a binomial of 400.
    assert within_five_standard_errors((given.sum(axis=(1, 2)) - 200.0) ** 2, 100)
    assert within_five_standard_errors(((given - 0.5) * y**2).mean(axis=(1, 2)), 0)


def test_entries_have_the_declared_variance(drawn):
    _, y, factor = drawn
    signal = 10 * factor**4
    assert within_five_standard_errors(y.mean(axis=(1, 2)), 0)
    assert within_five_standard_errors((y**2).mean(axis=(1, 2)), signal + 0.01)
    # The noise alone has no part in products around a rectangle, whose mean is known for a product
    # of factors: E[y11 y12 y21 y22] = rank factor^8.
    rectangles = y[:, :-1, :-1] * y[:, :-1, 1:] * y[:, 1:, :-1] * y[:, 1:, 1:]
    assert within_five_standard_errors(rectangles.mean(axis=(1, 2)), 10 * factor**8)


def test_trivial_answer_is_what_is_given():
    x = jax.random.bernoulli(jax.random.key(0), 0.5, (2, 20, 20)).astype(float)
    np.testing.assert_array_equal(MatrixCompletion().trivial(x), x)


@pytest.fixture(scope="module")
def estimated():
    task = MatrixCompletion()
    problem = jax.tree.map(lambda leaf: leaf[:100], jax.device_get(task.batch(KEY, COUNT)))
    oracle = jax.jit(task.oracle)(problem.x)
    return tuple(np.asarray(part, np.float64) for part in (problem.x, problem.y, oracle))


def test_oracle_keeps_what_is_given(estimated):
    x, _, oracle = estimated
    np.testing.assert_array_equal(oracle[x != 0], x[x != 0])


def test_oracle_is_clearly_better_than_trivial_and_near_the_measured_floor(estimated):
    x, y, oracle = estimated
    trivial_errors = np.square(x - y).mean(axis=(1, 2))
    oracle_errors = np.square(oracle - y).mean(axis=(1, 2))
    gains = trivial_errors - oracle_errors
    assert gains.mean() > 5 * gains.std() / 10
    # The error of a Gibbs sampler written apart from this one, half a digit of it, and five
    # standard errors.
    assert abs(oracle_errors.mean() - 0.0158) <= 0.00005 + 5 * oracle_errors.std() / 10


def test_oracle_is_calibrated_like_a_posterior_mean(estimated):
    x, y, oracle = estimated
    # What a posterior mean leaves over has no correlation with it. An estimate that shrinks too
    # little or too much has.
    left_over = np.where(x == 0, (y - oracle) * oracle, 0).mean(axis=(1, 2))
    assert within_five_standard_errors(left_over, 0)


def test_oracle_is_not_worse_than_soft_impute(estimated):
    x, y, oracle = estimated
    # The best convex estimate (nuclear norm, threshold 0.5); no estimate has a
    # lower expected error than the posterior mean.
    filled = np.zeros_like(x)
    for _ in range(100):
        u, s, vt = np.linalg.svd(np.where(x != 0, x, filled))
        filled = (u * np.maximum(s - 0.5, 0)[:, None, :]) @ vt
    soft = np.where(x != 0, x, filled)
    gains = (np.square(soft - y) - np.square(oracle - y)).mean(axis=(1, 2))
    assert gains.mean() >= -5 * gains.std() / 10


def test_oracle_is_the_posterior_mean_of_a_small_matrix():
    # One entry of four is missing. Prior draws weighted by their likelihood give its mean.
    x = np.full((2, 2), 0.3, np.float32)
    x[0, 0] = 0
    u, v = np.random.default_rng(0).normal(0, 20**-0.5, (2, 400_000, 2, 10))
    drawn = u @ np.swapaxes(v, 1, 2)
    weights = np.exp(-0.5 * (np.square(drawn - x) * (x != 0)).sum(axis=(1, 2)) / 0.1**2)
    weights /= weights.sum()
    expected = weights @ drawn[:, 0, 0]
    spread = np.sqrt(weights**2 @ (drawn[:, 0, 0] - expected) ** 2)
    # The same problem in 16 disguises, each of which the sampler answers with other draws.
    signs = [np.outer((1, s), (1, r)) for s in (1, -1) for r in (1, -1)]
    shifts = [(i, j) for i in range(2) for j in range(2)]
    disguised = np.stack([np.roll(sign * x, ij, axis=(0, 1)) for sign in signs for ij in shifts])
    answers = np.asarray(jax.jit(MatrixCompletion(size=2).oracle)(disguised.astype(np.float32)))
    found = np.array([answers[k][ij] for k, ij in enumerate(shifts * 4)])
    # The missing corner is never flipped: signs leave the first row and column of `x` as they are.
    assert abs(found.mean() - expected) <= 5 * np.hypot(spread, found.std() / 4)
    assert spread < 0.1 * expected
