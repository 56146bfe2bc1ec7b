"""Standard errors: as a bootstrap over problems finds them, and beside every error."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import irem
from irem.evaluation import draw, nested_errors, problem_errors, standard_error
from irem.evaluation.scores import summarise
from irem.evaluation.tables import with_error, with_spread

TASK = irem.tasks.get("addition", size=3)


def test_a_bootstrap_over_problems_finds_the_same():
    errors = np.random.default_rng(0).lognormal(sigma=2, size=500)
    resampled = stats.bootstrap(
        (errors,), np.mean, n_resamples=4000, rng=np.random.default_rng(1), method="basic"
    )
    # A standard deviation of 4,000 numbers is known to about 1 %.
    assert standard_error(errors) == pytest.approx(resampled.standard_error, rel=0.05)


def test_rare_failures_have_an_error_of_the_size_of_their_mean():
    errors = np.zeros(1000)
    errors[:2] = 0.1
    assert standard_error(errors) == pytest.approx(errors.mean() / 2**0.5, rel=0.01)


def test_one_problem_alone_has_no_standard_error():
    assert np.isnan(standard_error(np.ones(1)))


def answers(test_set, sizes):
    """Answers that are wrong by given sizes in every entry."""
    y = test_set.batch.y + jnp.asarray(sizes, jnp.float32)[:, None]
    steps = jnp.ones(len(sizes), jnp.int32)
    return irem.Solution(y=y, energy=None, steps=steps)


def test_an_evaluation_of_several_models_has_that_of_their_mean_over_problems():
    test_set, _ = draw(TASK, "same", 4, jax.random.key(0))
    found = [answers(test_set, [0, 0, 0, 1]), answers(test_set, [0, 0, 1, 1])]
    result = summarise(test_set, found, 1)
    assert result.mse == pytest.approx(3 / 8)
    assert result.mse_by_model == pytest.approx((0.25, 0.5))
    assert result.mse_sem == pytest.approx(np.std([0, 0, 0.5, 1], ddof=1) / 2, rel=1e-5)
    assert result.as_dict()["mse_sem"] == result.mse_sem


def test_a_report_of_trust_has_those_of_all_answers_and_of_the_best(monkeypatch):
    def energy(x, y):
        return jnp.sum((y - x[0] - x[1] - x[0, 0]) ** 2)

    model = irem.IREM(irem.energy.from_function(energy, answer_shape=(3,)), step_size=0.3)

    # The error is the square of `x[0, 0]`; the more is expected, the larger the answer is.
    by_size = lambda _, solution: np.asarray(solution.y[:, 0] ** 2)  # noqa: E731
    monkeypatch.setattr(irem.Calibration, "expected_error", by_size)
    calibration, key = irem.Calibration(*[np.zeros(1)] * 7), jax.random.key(1)
    (report,) = irem.trust(model, TASK, calibration, ["same"], problems=50, key=key)
    key_problems, key_guesses = jax.random.split(jax.random.fold_in(key, 0))
    batch = TASK.batch(key_problems, 50, "same")
    solution = irem.solve(model, batch.x, key=key_guesses)
    errors = problem_errors(solution.y, batch)
    best = np.argsort(np.asarray(solution.y[:, 0] ** 2), kind="stable")[:45]
    assert report.mse_sem == pytest.approx(standard_error(errors))
    assert report.abstaining == pytest.approx(errors[best].mean())
    assert report.abstaining_sem == pytest.approx(standard_error(errors[best]))


def test_errors_of_nested_operations_are_kept_by_problem():
    def energy(x, y):
        return jnp.sum((y - x[0] - x[1] - 0.1 * x[1, 0]) ** 2)

    model = irem.IREM(irem.energy.from_function(energy, answer_shape=(3,)), step_size=0.3)
    options = {"problems": 20, "key": jax.random.key(2)}
    errors = nested_errors(model, TASK, 3, **options)
    assert errors.shape == (3, 20)
    assert np.ptp(errors, axis=1).min() > 0
    assert irem.compose(model, TASK, 3, **options) == pytest.approx(errors.mean(1).tolist())


@pytest.mark.parametrize(
    ("mean", "std", "shown"),
    [
        (0.0343, 0.0107, "0.034 ± 0.011"),
        (0.016225, 0.000002, "0.0162 ± 2e-6"),
        (0.29831, 0.00013, "0.298 ± 0.0001"),
        (1.0, 0.7071, "1.0 ± 0.7"),
        (3.0, 0.0, "3.00 ± 0"),
        (0.25, None, "0.250"),
        (None, None, "not finite"),
    ],
)
def test_seeds_that_agree_tell_no_more_than_their_problems(mean, std, shown):
    cell = types.SimpleNamespace(mean=mean, std=std, mse_by_seed=())
    assert with_spread(cell) == shown


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (0.0342709, 0.01074, "0.034 ± 0.011"),
        (0.0342709, 0.00254, "0.034 ± 0.003"),
        (4.18e-5, 3.04e-5, "0.00004 ± 0.00003"),
        (2.310e-5, 8.3e-8, "2.310e-5 ± 0.008e-5"),
        (2.968e-9, 4.4e-11, "2.97e-9 ± 0.04e-9"),
        (1.2e-8, 3.4e-8, "1e-8 ± 3e-8"),
        (4.2e-7, 1.4e-7, "4.2e-7 ± 1.4e-7"),
        (17812.0, 491.0, "17,800 ± 500"),
        (17812.0, 1400.0, "17,800 ± 1,400"),
        (9.7e-7, 4.1e-7, "1.0e-6 ± 0.4e-6"),
        (3.0, 0.0, "3.00 ± 0"),
        (0.0, 0.02, "0.00 ± 0.02"),
        (0.12345, float("nan"), "0.123"),
        (0.12345, None, "0.123"),
        (float("nan"), float("nan"), "not finite"),
        (None, None, "not finite"),
    ],
)
def test_no_more_digits_are_printed_than_the_error_supports(value, error, shown):
    assert with_error(value, error) == shown
