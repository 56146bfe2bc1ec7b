"""Calibrations against their formulas, on descents written down by hand."""

import dataclasses
import json

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

import irem
from irem import Calibration, Solution
from irem.evaluation import read_calibrations, write_calibrations
from irem.training import History, Run
from irem.training import calibration as module
from irem.training.calibration import _bound, _mean, _quadratic, _regress, _statistics

NAN = np.nan


def solution(y, energy, first, gradient, steps, **fields):
    numbers = {"y": y, "energy": energy, "first_energy": first, "gradient_norm": gradient}
    given = {name: jnp.asarray(value, jnp.float32) for name, value in numbers.items()}
    return Solution(**given, steps=jnp.asarray(steps), **fields)


def test_the_statistics_of_a_descent():
    y = [[[3.0, -5.0], [1.0, 1.0]], [[2.0, 2.0], [NAN, 2.0]]]
    found = _statistics(solution(y, [2.0, 1.0], [5.0, -3.0], [0.5, 4.0], [9, 0]))
    entries = np.array([3.0, -5.0, 1.0, 1.0])
    expected = [
        2.0,
        np.log(3.0),
        np.log(0.25),  # half of it, as there are four entries
        np.log(10.0),
        0.0,
        np.log(9.0),
        np.log(entries.std()),
        np.log(5.0),
        np.log(np.mean(entries**4)),
        np.log(4.0),
    ]
    np.testing.assert_allclose(found[0], expected, rtol=1e-6, atol=1e-9)
    # An entry that is no number is left out, and what is zero has a logarithm that is finite.
    others = [1.0, np.log(4), np.log(2), 0.0, 2.0, np.log(4), np.log(1e-9), np.log(2), np.log(16)]
    np.testing.assert_allclose(found[1], [*others, np.log(4)], rtol=1e-6)


def test_the_statistics_of_what_is_zero_are_those_that_kept_calibrations_know():
    (found,) = _statistics(solution([0.0, 0.0], 0.0, 0.0, 0.0, 0))
    least = [0, 1e-9, 1e-12, 1, 0, 1e-12, 1e-9, 1e-9, 1e-12, 2]
    expected = [value if i in (0, 4) else np.log(value) for i, value in enumerate(least)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_mean_is_taken_over_entries_that_are_numbers():
    entries = np.array([[1.0, 2.0, 6.0], [NAN, 5.0, NAN], [NAN, 1.0, 3.0], [NAN, NAN, NAN]])
    np.testing.assert_allclose(_mean(entries), [3, 5, 2, NAN])


def test_a_residual_bounds_the_error_by_the_size_of_the_answer():
    verdicts = jnp.array([irem.Verdict.VERIFIED, irem.Verdict.FAILED])
    fields = {"residual": jnp.array([0.5, 0.5]), "verdict": verdicts}
    y = [[2.0, 4.0], [2.0, 4.0]]
    found = solution(y, [0, 0], [1, 1], [0, 0], [1, 1], **fields)
    np.testing.assert_allclose(_bound(found), [2.5, np.inf])
    without = solution(y, [0, 0], [1, 1], [0, 0], [1, 1])
    np.testing.assert_array_equal(_bound(without), [np.inf, np.inf])


def test_the_design_has_one_the_statistics_and_their_products():
    statistics = np.array([[3.0, 1.0], [100.0, -100.0]])
    found = _quadratic(statistics, np.array([1.0, 2.0]), np.array([4.0, 0.5]))
    # What is farther than four deviations counts as there.
    np.testing.assert_allclose(found, [[1, 0.5, -2, 0.25, -1, 4], [1, 4, -4, 16, -16, 16]])


def test_the_regression_is_that_of_ridge():
    rng = np.random.default_rng(0)
    design, target = rng.normal(size=(30, 4)), rng.normal(size=30)
    # Ridge is least squares with one more row for every coefficient.
    ridge = np.sqrt(1e-4 * 30) * np.eye(4)
    expected = np.linalg.lstsq(np.vstack([design, ridge]), np.append(target, np.zeros(4)))[0]
    np.testing.assert_allclose(_regress(design, target), expected, rtol=1e-9)


def answers(count, seed=0):
    """Made-up descents and errors that have to do with their energies."""
    rng = np.random.default_rng(seed)
    energy = rng.uniform(0, 3, count)
    first, gradient = energy + rng.uniform(5, 6, count), rng.uniform(0.1, 1, count)
    steps = rng.integers(5, 50, count)
    found = solution(rng.normal(size=(count, 6)), energy, first, gradient, steps)
    return found, np.exp(energy) * rng.gamma(2, 0.5, count)


def test_a_calibration_is_fitted_as_written():
    found, errors = answers(60)
    fitted = Calibration.fit([found], [errors])
    statistics = _statistics(found)
    np.testing.assert_allclose(fitted.centre, statistics.mean(axis=0))
    np.testing.assert_allclose(fitted.scale, statistics.std(axis=0) + 1e-9, rtol=1e-6)
    # Half of the range more is familiar, and of a statistic that never changed rounding alone.
    low, high = statistics.min(axis=0), statistics.max(axis=0)
    np.testing.assert_allclose(fitted.low, low - (high - low) / 2 - 1e-6, rtol=0, atol=1e-8)
    np.testing.assert_allclose(fitted.high, high + (high - low) / 2 + 1e-6, rtol=0, atol=1e-8)
    design = _quadratic(statistics, fitted.centre, fitted.scale)
    np.testing.assert_allclose(fitted.weights, _regress(design, np.log(errors)), rtol=1e-6)
    # Even problems are scored by weights of the odd ones, and the other way round.
    scores = np.empty(60)
    for one, other in ((0, 1), (1, 0)):
        scores[one::2] = design[one::2] @ _regress(design[other::2], np.log(errors[other::2]))
    order = np.argsort(scores)
    np.testing.assert_allclose(fitted.scores, scores[order], rtol=1e-6)
    np.testing.assert_allclose(fitted.errors, optimize.isotonic_regression(errors[order]).x)


def test_a_calibration_has_at_most_64_knots_from_the_first_to_the_last():
    found, errors = answers(500)
    fitted = Calibration.fit([found], [errors])
    assert fitted.scores.shape == fitted.errors.shape == (64,)
    monotone = optimize.isotonic_regression(errors[np.argsort(errors)]).x
    assert fitted.errors[0] >= monotone[0]
    assert (np.diff(fitted.scores) > 0).all()


def test_what_is_not_finite_is_left_out_of_a_fit():
    found, errors = answers(60)
    spoiled, more = answers(10, seed=1)
    spoiled = dataclasses.replace(spoiled, energy=spoiled.energy.at[:3].set(NAN))
    more[3:] = [NAN] * 4 + [np.inf] * 3
    fitted, expected = (
        Calibration.fit(*parts)
        for parts in (([spoiled, found], [more, errors]), ([found], [errors]))
    )
    for name, values in expected.as_dict().items():
        assert getattr(fitted, name).tolist() == values


def test_fifty_problems_are_enough_and_fewer_are_not():
    found, errors = answers(50)
    assert np.isfinite(Calibration.fit([found], [errors]).weights).all()
    errors[0] = NAN
    with pytest.raises(irem.InputError, match=r"at least 50 validation problems .*, got 49\.$"):
        Calibration.fit([found], [errors])


def test_answers_without_any_error_are_expected_to_have_none():
    found, _ = answers(60)
    fitted = Calibration.fit([found], [np.zeros(60)])
    np.testing.assert_array_equal(fitted.expected_error(found), np.zeros(60))
    assert np.isfinite(fitted.weights).all()


def by_energy(**changes):
    """A calibration that goes by the energy alone, and knows energies from -1 to 3."""
    fields = {
        "centre": np.zeros(10),
        "scale": np.ones(10),
        "low": np.array([-1.0] + [-100.0] * 9),
        "high": np.array([3.0] + [100.0] * 9),
        "weights": np.array([0.0, 1.0] + [0.0] * 64),
        "scores": np.array([0.0, 0.5, 2.0]),
        "errors": np.array([0.1, 0.2, 0.8]),
    }
    return Calibration(**{**fields, **changes})


def descended(energy, **fields):
    energy = np.asarray(energy)
    y = np.broadcast_to(np.array([2.0, 4.0]), (*energy.shape, 2))
    ones = np.ones(energy.shape)
    return solution(y, energy, energy + 1, ones, ones.astype(int), **fields)


def test_expected_errors_are_interpolated_between_knots():
    found = by_energy().expected_error(descended([-1.0, 0.0, 0.25, 1.0, 3.0]))
    np.testing.assert_allclose(found, [0.1, 0.1, 0.15, 0.4, 0.8])


def test_one_statistic_out_of_its_range_is_enough_to_be_unfamiliar():
    found = by_energy().expected_error(descended([-1.01, 3.01, NAN, 0.0]))
    np.testing.assert_allclose(found, [np.inf, np.inf, np.inf, 0.1])
    narrow = by_energy(high=np.array([3.0] + [100.0] * 8 + [0.1]))
    assert narrow.expected_error(descended(0.0)) == np.inf


def test_no_more_is_expected_than_a_check_allows():
    fields = {"residual": jnp.array([0.1, 0.5]), "verdict": jnp.full(2, irem.Verdict.VERIFIED)}
    found = by_energy().expected_error(descended([1.0, 1.0], **fields))
    np.testing.assert_allclose(found, [0.1, 0.4])


def test_a_calibration_is_read_as_it_was_written():
    values = by_energy(scale=np.full(10, 0.5)).as_dict()
    assert Calibration.from_dict(json.loads(json.dumps(values))).as_dict() == values
    single = by_energy(scores=np.array([0.5]), errors=np.array([0.0])).as_dict()
    assert Calibration.from_dict(single).as_dict() == single
    twice = by_energy(scores=np.array([0.0, 0.5, 0.5])).as_dict()
    assert Calibration.from_dict(twice).as_dict() == twice


FINITE = "'{}' must be a list of finite numbers"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("centre", [0.0] * 9, "'centre' must have 10 numbers, got 9"),
        ("low", [0.0] * 11, "'low' must have 10 numbers, got 11"),
        ("weights", [0.0] * 65, "'weights' must have 66 numbers, got 65"),
        ("scores", [0.0, 1.0], "'scores' must ascend, with as many 'errors', at least one"),
        ("scores", [0.0, 1.0, 0.5], "'scores' must ascend"),
        ("scale", [1.0] * 9 + [0.0], "'scale' must be above 0, and 'errors' not below"),
        ("errors", [0.1, -0.1, 0.2], "'scale' must be above 0, and 'errors' not below"),
        ("centre", ["1"] * 10, FINITE.format("centre")),
        ("centre", [True] * 10, FINITE.format("centre")),
        ("centre", [0.0] * 9 + [float("inf")], FINITE.format("centre")),
        ("centre", [0.0] * 9 + [-(10**400)], FINITE.format("centre")),
        ("centre", "0123456789", FINITE.format("centre")),
        ("centre", {}, FINITE.format("centre")),
        ("other", [0.0], "a calibration has the fields centre, errors, high"),
    ],
)
def test_what_is_wrong_with_a_calibration_is_said(name, value, sentence):
    with pytest.raises(irem.InputError, match=f"^{sentence}"):
        Calibration.from_dict({**by_energy().as_dict(), name: value})


def test_no_knots_are_refused():
    values = {**by_energy().as_dict(), "scores": [], "errors": []}
    with pytest.raises(irem.InputError, match="at least one"):
        Calibration.from_dict(values)


def run_of(path, iteration=10, models=2):
    task = irem.tasks.get("addition", size=2)
    return Run(task, (None,) * models, iteration, History.empty(models), {}, path)


def test_calibrations_of_the_present_state_are_read_and_no_others(tmp_path):
    assert read_calibrations(run_of(None)) is None
    assert read_calibrations(run_of(tmp_path)) is None
    write_calibrations(run_of(tmp_path), [by_energy(), by_energy(centre=np.ones(10))])
    assert (tmp_path / "calibration.json").read_text().endswith("]}\n")
    one, other = read_calibrations(run_of(tmp_path))
    assert (one.centre[0], other.centre[0]) == (0, 1)
    assert read_calibrations(run_of(tmp_path, iteration=11)) is None
    assert read_calibrations(run_of(tmp_path, models=1)) is None
    assert read_calibrations(run_of(tmp_path, iteration=11, models=1)) is None


@pytest.mark.parametrize("given", ["text", {"one": 1}, [1], [{}, 1]])
def test_calibrations_are_a_list_of_objects(tmp_path, given):
    (tmp_path / "calibration.json").write_text(json.dumps({"calibrations": given}))
    with pytest.raises(irem.InputError, match="'calibrations' must be a list of objects"):
        read_calibrations(run_of(tmp_path))


@pytest.mark.parametrize(("in_zoo", "cure"), [(True, "install irem again"), (False, "make it ag")])
def test_what_to_do_about_a_damaged_file_depends_on_whose_it_is(
    tmp_path, monkeypatch, in_zoo, cure
):
    monkeypatch.setattr(module, "is_in_zoo", lambda _: in_zoo)
    (tmp_path / "calibration.json").write_text("{")
    with pytest.raises(irem.InputError, match=cure):
        read_calibrations(run_of(tmp_path))


def test_annotations_are_those_of_jax():
    annotated = by_energy().annotate(descended([0.0, 1.0]))
    assert isinstance(annotated.expected_error, jnp.ndarray)
    np.testing.assert_allclose(annotated.expected_error, [0.1, 0.4], rtol=1e-6)
