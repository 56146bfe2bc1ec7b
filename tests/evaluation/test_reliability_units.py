"""Reports of trust on errors and expected errors written down by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import irem
from irem.descent import Solution
from irem.evaluation import COVERAGES, Calibration, reliability
from irem.evaluation.reliability import _best, _measure

KEY = jax.random.key(0)
INF = np.inf


def test_coverages_are_tenths():
    assert COVERAGES == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@pytest.mark.parametrize(
    ("share", "left"), [(0.0, [3.0]), (0.2, [3.0]), (0.4, [3.0, 1.0]), (1.0, [3.0, 1.0, 4, 5, 2])]
)
def test_the_best_are_those_that_rank_first_and_at_least_one(share, left):
    errors, ranking = np.array([1.0, 2, 3, 4, 5]), np.array([0.1, 0.5, 0.0, 0.1, 0.1])
    np.testing.assert_array_equal(_best(errors, ranking, share), left)


def test_a_report_on_errors_and_expected_errors():
    rng = np.random.default_rng(0)
    errors, expected = rng.exponential(0.1, 20), rng.exponential(0.2, 20)
    expected[3] = INF
    report = _measure("same", errors, expected)
    assert (report.difficulty, report.problems) == ("same", 20)
    assert report.mse == pytest.approx(errors.mean())
    assert report.mse_sem == pytest.approx(stats.sem(errors))
    assert report.expected == pytest.approx(np.delete(expected, 3).mean())
    assert report.unfamiliar == pytest.approx(1 / 20)
    assert report.rank_correlation == pytest.approx(stats.spearmanr(expected, errors)[0])
    assert report.variation == pytest.approx(stats.variation(errors))
    order = np.argsort(expected)
    for share, risk, best in zip(COVERAGES, report.risk, report.best_risk, strict=True):
        assert risk == pytest.approx(errors[order][: round(20 * share)].mean())
        assert best == pytest.approx(np.sort(errors)[: round(20 * share)].mean())
    assert report.abstaining == pytest.approx(errors[order][:18].mean())
    assert report.abstaining_sem == pytest.approx(stats.sem(errors[order][:18]))


def test_where_nothing_is_known_nothing_is_expected():
    report = _measure("same", np.array([1.0, 2.0, 4.0]), np.full(3, INF))
    assert (report.expected, report.unfamiliar, report.rank_correlation) == (INF, 1, 0)


@pytest.mark.parametrize("expected", [[0.5, 0.5, 0.5], [0.5, 0.5, INF]])
def test_one_expected_error_for_all_ranks_nothing(expected):
    assert _measure("same", np.array([1.0, 2.0, 4.0]), np.array(expected)).rank_correlation == 0


def test_a_model_without_errors_ranks_nothing():
    assert _measure("same", np.zeros(3), np.array([1.0, 2.0, 3.0])).rank_correlation == 0


def test_expected_errors_that_differ_by_one_rank_as_others_do():
    report = _measure("same", np.array([1.0, 2.0]), np.array([3.0, 2.0]))
    assert report.rank_correlation == pytest.approx(-1)


def test_answers_without_an_error_do_not_vary():
    assert _measure("same", np.zeros(4), np.zeros(4)).variation == 0


@pytest.fixture
def asked(monkeypatch):
    """The difficulties and numbers of problems that were asked for, and the keys."""
    made = []

    def stand_in(model, task, difficulty, problems, on_batch, key):
        del model, task, on_batch
        made.append((difficulty, problems, tuple(jax.random.key_data(key).tolist())))
        errors = np.arange(2.0) + len(made)
        return Solution(jnp.asarray(errors)[:, None], None, jnp.ones(2, int)), errors

    monkeypatch.setattr(reliability, "_answers", stand_in)
    monkeypatch.setattr(Calibration, "fit", lambda _, errors: Calibration(*[np.array(errors)] * 7))
    monkeypatch.setattr(Calibration, "expected_error", lambda _, found: np.asarray(found.y[:, 0]))
    return made


TASK = irem.tasks.get("addition", size=2)
MODEL = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2), answer_shape=(2,))
CALIBRATION = Calibration(*[np.zeros(1)] * 7)


def test_a_calibration_is_fitted_to_the_difficulties_of_its_task_unless_told(asked):
    fitted = irem.calibrate(MODEL, TASK, key=KEY)
    assert [one[:2] for one in asked] == [("same", 1000), ("harder", 1000)]
    assert asked[0][2] != asked[1][2]
    np.testing.assert_array_equal(fitted.errors, [[1, 2], [2, 3]])
    irem.calibrate(MODEL, TASK, difficulties=["harder"], problems=5, key=KEY)
    assert [one[:2] for one in asked[2:]] == [("harder", 5)]


@pytest.mark.parametrize(
    ("difficulties", "reported"),
    [
        (["same"], ["same"]),
        (["same", "harder"], ["same", "harder", "both"]),
        ([5, 10, 15], [5, 10, 15, "all"]),
    ],
)
def test_difficulties_are_reported_one_by_one_and_together(asked, difficulties, reported):
    found = irem.trust(MODEL, TASK, CALIBRATION, difficulties, key=KEY)
    assert [report.difficulty for report in found] == reported
    assert [one[:2] for one in asked] == [(d, 1000) for d in difficulties]
    assert len({one[2] for one in asked}) == len(difficulties)
    alone = found[: len(difficulties)]
    assert [report.mse for report in alone] == [1.5, 2.5, 3.5][: len(difficulties)]
    assert found[-1].mse == pytest.approx(np.mean([report.mse for report in alone]))


@pytest.mark.parametrize("measure", ["calibrate", "trust"])
def test_no_problems_tell_nothing(asked, measure):
    given = (MODEL, TASK, CALIBRATION)[: 2 + (measure == "trust")]
    with pytest.raises(irem.InputError, match="`problems` must be greater than 0"):
        getattr(irem, measure)(*given, problems=0, key=KEY)
    assert not asked
