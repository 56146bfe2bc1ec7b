"""Tables of the wide variant of matrix completion, its domain and its check."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from irem.tasks import MatrixCompletion
from irem.verdicts import Verdict

TASK = MatrixCompletion(variant="wide", size=12, columns=15)
COUNT = 400


@pytest.fixture(scope="module", params=["same", "harder"])
def drawn(request):
    problem = TASK.batch(jax.random.key(3), COUNT, request.param)
    return request.param, np.asarray(problem.x), np.asarray(problem.y)


def test_given_entries_are_those_of_the_answer_and_the_others_nan(drawn):
    difficulty, x, y = drawn
    given = np.isfinite(x)
    assert (x[given] == y[given]).all()
    low, high = {"same": (0.3, 0.95), "harder": (0.15, 0.4)}[difficulty]
    shares = given.mean(axis=(1, 2))
    assert shares.min() > low - 0.15
    assert shares.max() < high + 0.15
    assert abs(shares.mean() - (low + high) / 2) < 0.03


def test_answers_have_mean_square_one(drawn):
    _, _, y = drawn
    np.testing.assert_allclose(np.square(y).mean(axis=(1, 2)), 1.0, rtol=1e-4)


def test_ranks_from_one_on_are_drawn_with_noise_and_without(drawn):
    difficulty, _, y = drawn
    values = np.linalg.svd(y.astype(np.float64), compute_uv=False)
    ranks = (values > 1e-5 * values[:, :1]).sum(1)
    assert (ranks == 12).mean() > 0.4  # noise, or ratings
    exact = (ranks < 11).mean()
    assert exact == 0 if difficulty == "harder" else 0.15 < exact < 0.5
    if difficulty == "same":
        assert {1, 2, 3, 5, 8} <= set(ranks.tolist())


def test_some_tables_are_ratings_from_one_to_five(drawn):
    _, _, y = drawn
    few = [len(np.unique(table)) <= 5 for table in y]
    assert 0.1 < np.mean(few) < 0.3


def test_trivial_answer_keeps_what_is_given_and_has_its_mean_elsewhere(drawn):
    _, x, _ = drawn
    found = np.asarray(TASK.trivial(jnp.asarray(x[:3])))
    for table, filled in zip(x, found, strict=False):
        given = np.isfinite(table)
        assert (filled[given] == table[given]).all()
        np.testing.assert_allclose(filled[~given], table[given].mean(), rtol=1e-4, atol=1e-6)


def test_reference_is_far_better_than_the_mean_and_keeps_what_is_given():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(2, 20, 2)) @ rng.normal(size=(2, 2, 20))
    given = rng.random(y.shape) < 0.7
    x = np.where(given, y, np.nan).astype(np.float32)
    found = np.asarray(jax.jit(TASK.oracle)(jnp.asarray(x)))
    assert (found[given] == x[given]).all()
    assert np.square(found - y)[~given].mean() < 1e-3 * np.square(y).mean()


def test_check_fails_changed_entries_and_says_that_others_cannot_be_checked():
    x = np.array([[[1.0, np.nan], [3.0, 4.0]]] * 4)
    y = np.array([[[1.0, 9.0], [3.0, 4.0]]] * 4)
    y[1, 0, 0] += 0.1
    y[2, 0, 1] = np.nan
    y[3, 0, 0] += 1e-3
    check = TASK.check(x, y)
    failed, unchecked = int(Verdict.FAILED), int(Verdict.UNCHECKED)
    assert check.verdict.tolist() == [unchecked, failed, failed, unchecked]
    rms = np.sqrt((1 + 9 + 16) / 3)
    np.testing.assert_allclose(check.residual, [0, 0.1 / rms, np.inf, 1e-3 / rms], rtol=1e-6)


def test_check_of_the_released_variant_takes_zeros_as_missing():
    x = np.array([[[1.0, 0.0], [3.0, 4.0]]])
    y = np.array([[[1.0, 9.0], [3.0, 4.0]]])
    assert MatrixCompletion().check(x, y).residual.tolist() == [0.0]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([[np.nan, np.nan]], "no entry of the table is given"),
        ([[0.0, 0.0]], "no entry of the table is given"),
        ([[1.0, -1e16]], r"entry \(0, 1\) is -1e\+16"),
    ],
)
def test_tables_outside_the_domain_are_refused_by_name(table, said):
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(TASK.domain.fault(np.array(table)))


def test_tables_with_one_entry_are_inside_the_domain():
    assert TASK.domain.fault(np.array([[np.inf, 0.0]])) is None
    assert TASK.domain.fault(np.array([[0.0, 2.0]])) is None
