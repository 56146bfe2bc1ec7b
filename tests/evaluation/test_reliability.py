"""Trust in the answers of an energy that is wrong by a known amount."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.evaluation import COVERAGES

TASK = irem.tasks.get("addition", size=5)


def mistaken(x, y):
    """A bowl around a wrong sum; how wrong, its lowest energy tells."""
    mistake = 0.3 * jnp.sum(x[0]) * jnp.ones(5)
    return jnp.sum((y - x[0] - x[1] - mistake) ** 2) + jnp.mean(mistake**2)


MODEL = irem.IREM(irem.energy.from_function(mistaken, answer_shape=(5,)), step_size=0.3)


@pytest.fixture(scope="module")
def calibration():
    return irem.calibrate(MODEL, TASK, problems=400, key=jax.random.key(0))


@pytest.fixture(scope="module")
def reports(calibration):
    return irem.trust(MODEL, TASK, calibration, problems=400, key=jax.random.key(1))


def test_every_difficulty_is_reported_and_all_together(reports):
    assert [r.difficulty for r in reports] == ["same", "harder", "both"]
    assert [r.problems for r in reports] == [400, 400, 800]
    assert reports[2].mse == pytest.approx((reports[0].mse + reports[1].mse) / 2)


def test_an_energy_that_tells_its_error_is_trusted(reports):
    for report in reports:
        assert report.rank_correlation > 0.9
        assert report.unfamiliar < 0.02
        # Without the worst tenth a third or so is gone, most of what knowing the errors would take.
        gone, at_best = (report.mse - left for left in (report.abstaining, report.best_risk[-2]))
        assert gone > 0.7 * at_best > 0.1 * report.mse


def test_expected_errors_are_right_on_average_over_all_validation_problems(reports):
    # Errors deviate by 1.5 times their mean or so: five standard errors of 800, fitted and fresh.
    both = reports[2]
    assert both.expected == pytest.approx(both.mse, rel=5 * both.variation * (2 / 800) ** 0.5)


def test_risk_grows_with_coverage(reports):
    for report in reports:
        assert report.risk[-1] == pytest.approx(report.mse)
        assert (np.diff(report.best_risk) >= 0).all()
        assert (np.asarray(report.risk) >= np.asarray(report.best_risk) - 1e-12).all()
        assert report.risk[0] < 0.2 * report.mse
        assert report.as_dict()["coverage"] == COVERAGES


def test_an_error_that_leaves_no_trace_is_not_trusted():
    # The answer is wrong by a number that neither its energy nor its size shows.
    def silent(x, y):
        return jnp.sum((y - x[0] - x[1] - jnp.sin(1e4 * x[0, 0])) ** 2)

    model = irem.IREM(irem.energy.from_function(silent, answer_shape=(5,)), step_size=0.3)
    options = {"difficulties": ["same"], "problems": 300}
    calibration = irem.calibrate(model, TASK, **options, key=jax.random.key(2))
    (report,) = irem.trust(model, TASK, calibration, **options, key=jax.random.key(3))
    # Chance alone gives 0.06; the mean of the answer tells a little.
    assert report.rank_correlation < 0.7
    assert report.abstaining > 0.9 * report.mse


def test_solve_fills_expected_errors(calibration):
    x = TASK.batch(jax.random.key(4), 20, "same").x
    options = {"key": jax.random.key(5)}
    solution = calibration.annotate(irem.solve(MODEL, x, **options))
    plain = irem.solve(MODEL, x, **options)
    assert plain.expected_error is None
    np.testing.assert_allclose(
        solution.expected_error, calibration.expected_error(plain), rtol=1e-6
    )
