"""Expected errors: learned from answers whose errors are known."""

import dataclasses
import json

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import irem
from irem import Calibration, Solution
from irem.evaluation import read_calibrations, write_calibrations
from irem.training import History, Run


def solutions(count, seed, scale=1.0):
    """Made-up descents whose error is a known function of their energy, up to chance."""
    rng = np.random.default_rng(seed)
    energy = rng.uniform(0, 3, count) * scale
    errors = np.exp(energy - 4) * rng.gamma(20, 1 / 20, count)
    fields = {
        "y": rng.normal(size=(count, 6)),
        "energy": energy,
        "steps": rng.integers(5, 50, count),
        "converged": np.ones(count, bool),
        "reason": np.zeros(count, np.int32),
        "first_energy": energy + rng.uniform(5, 6, count),
        "gradient_norm": rng.uniform(1e-4, 1e-3, count),
    }
    return Solution(**{name: jnp.asarray(value) for name, value in fields.items()}), errors


@pytest.fixture(scope="module")
def calibration():
    solution, errors = solutions(2000, seed=0)
    return Calibration.fit([solution], [errors])


def test_expected_errors_rank_answers_like_their_errors(calibration):
    solution, errors = solutions(2000, seed=1)
    expected = calibration.expected_error(solution)
    # Chance alone puts a bound: the best ranking is that by energy.
    best = stats.spearmanr(solution.energy, errors)[0]
    assert stats.spearmanr(expected, errors)[0] > best - 0.01


def test_expected_errors_are_right_on_average_high_and_low(calibration):
    solution, errors = solutions(4000, seed=2)
    expected = calibration.expected_error(solution)
    for part in np.array_split(np.argsort(expected), 4):
        # Five standard errors, and as much again for a fit to 2,000 problems.
        slack = 10 * errors[part].std() / len(part) ** 0.5
        assert expected[part].mean() == pytest.approx(errors[part].mean(), abs=slack)


def test_what_is_unlike_the_validation_problems_has_no_expected_error(calibration):
    known, _ = solutions(100, seed=3)
    strange, _ = solutions(100, seed=3, scale=100.0)
    assert np.isfinite(calibration.expected_error(known)).all()
    far = np.asarray(strange.energy) > 10
    assert np.isinf(calibration.expected_error(strange)[far]).all()


def test_what_a_check_knows_bounds_the_expected_error(calibration):
    strange, _ = solutions(100, seed=3, scale=100.0)
    residual = np.linspace(1e-6, 0.02, 100)
    verdict = np.where(residual <= 0.01, irem.Verdict.VERIFIED, irem.Verdict.FAILED)
    checked = dataclasses.replace(
        strange, residual=jnp.asarray(residual), verdict=jnp.asarray(verdict)
    )
    expected, before = (calibration.expected_error(s) for s in (checked, strange))
    bound = np.square(residual) * np.square(np.asarray(strange.y)).mean(1)
    verified = verdict == irem.Verdict.VERIFIED
    np.testing.assert_allclose(expected[verified], np.minimum(before, bound)[verified], rtol=1e-5)
    np.testing.assert_array_equal(expected[~verified], before[~verified])
    assert np.isinf(before[verified]).any()


def test_an_answer_that_is_not_finite_has_no_expected_error(calibration):
    solution, _ = solutions(3, seed=4)
    broken = Solution(**{**vars(solution), "energy": jnp.array([jnp.nan, 1.0, jnp.inf])})
    np.testing.assert_array_equal(np.isinf(calibration.expected_error(broken)), [True, False, True])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("field", ["energy", "first_energy", "gradient_norm", "y"])
def test_what_is_not_finite_is_expected_to_be_infinitely_wrong(calibration, field, value):
    solution, _ = solutions(3, seed=4)
    spoiled = getattr(solution, field).at[1].set(value)
    expected = calibration.expected_error(Solution(**{**vars(solution), field: spoiled}))
    np.testing.assert_array_equal(np.isinf(expected), [False, True, False])


def test_a_bound_that_is_not_known_is_infinite(calibration):
    solution, _ = solutions(3, seed=4)
    verdict = jnp.full(3, irem.Verdict.VERIFIED)
    spoiled = dataclasses.replace(
        solution,
        y=solution.y.at[0].set(jnp.inf),
        verdict=verdict,
        residual=jnp.array([0.0, jnp.nan, 0.0]),
        energy=solution.energy.at[1].set(jnp.nan),
    )
    np.testing.assert_array_equal(calibration.expected_error(spoiled), [np.inf, np.inf, 0])
    assert not np.isnan(calibration.annotate(spoiled).expected_error).any()


def test_one_answer_alone_is_judged_like_one_of_many(calibration):
    solution, _ = solutions(5, seed=5)
    fields = {k: v for k, v in vars(solution).items() if v is not None}
    alone = Solution(**{name: value[2] for name, value in fields.items()})
    expected = calibration.expected_error(alone)
    assert expected.shape == ()
    assert expected == pytest.approx(calibration.expected_error(solution)[2], rel=1e-12)


def test_a_calibration_survives_a_file(calibration):
    solution, _ = solutions(50, seed=6)
    kept = Calibration.from_dict(json.loads(json.dumps(calibration.as_dict())))
    np.testing.assert_array_equal(
        kept.expected_error(solution), calibration.expected_error(solution)
    )


def noise(count, seed):
    """Made-up descents that say nothing of their errors, which differ by orders of magnitude."""
    solution, _ = solutions(count, seed)
    return solution, np.exp(2 * np.random.default_rng(seed + 100).normal(size=count))


def test_what_is_expected_is_not_what_the_weights_were_fitted_to():
    # The quadratic function has 66 coefficients: on its own 150 problems it would seem to know.
    calibration = Calibration.fit(*([part] for part in noise(150, seed=0)))
    fresh, errors = noise(4000, seed=1)
    expected = calibration.expected_error(fresh)
    lowest = np.argsort(expected)[:1000]
    assert expected[lowest].mean() > 0.4 * errors.mean()


def test_too_few_problems_are_refused():
    solution, errors = solutions(20, seed=7)
    with pytest.raises(ValueError, match=r"at least 50 validation problems .* got 20"):
        Calibration.fit([solution], [errors])


def test_other_values_are_no_calibration():
    with pytest.raises(ValueError, match=r"a calibration has the fields centre, errors, high"):
        Calibration.from_dict({"weights": [1.0]})


ODD = [
    None, True, 3, "text", {}, [], [[1.0]], ["1"], [True], [None], [float("nan")], [float("inf")],
    [10**400], [0.0] * 10, [-1.0] * 10, [3.0, 2.0], [0.0] * 66, [0.0] * 67,
]  # fmt: skip


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(Calibration)])
def test_a_field_that_is_odd_is_refused_or_can_be_used(field, calibration, tmp_path):
    solution, _ = solutions(3, seed=4)
    said = []
    for value in ODD:
        damaged = {"iteration": 10, "calibrations": [{**calibration.as_dict(), field: value}]}
        (tmp_path / "calibration.json").write_text(json.dumps(damaged))
        try:
            (kept,) = read_calibrations(a_run(tmp_path, models=1))
        except irem.InputError as error:
            said.append(str(error))
        else:
            assert not np.isnan(kept.expected_error(solution)).any()
    assert len(said) >= len(ODD) - 3
    assert not any("\n" in sentence for sentence in said)


def test_a_calibration_that_comes_along_is_not_made_again():
    # Nothing is written to the folders of the zoo.
    run = irem.load("zoo:addition")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pathlib.Path.read_text", lambda _: "{")
        with pytest.raises(irem.InputError, match=r"damaged .*; install irem again\.$"):
            read_calibrations(run)


def a_run(path, iteration=10, models=2):
    task = irem.tasks.get("addition", size=4)
    return Run(task, (None,) * models, iteration, History.empty(models), {}, path)


def test_calibrations_are_kept_with_the_state_of_a_run_that_they_belong_to(calibration, tmp_path):
    assert read_calibrations(a_run(None)) is None
    assert read_calibrations(a_run(tmp_path)) is None
    write_calibrations(a_run(tmp_path), [calibration, calibration])
    kept = read_calibrations(a_run(tmp_path))
    solution, _ = solutions(50, seed=8)
    for one in kept:
        np.testing.assert_array_equal(
            one.expected_error(solution), calibration.expected_error(solution)
        )
    assert len(kept) == 2
    # A run that was trained further, or has other models, has none.
    assert read_calibrations(a_run(tmp_path, iteration=20)) is None
    assert read_calibrations(a_run(tmp_path, models=1)) is None


DAMAGED = [
    "", "{", "[]", "{}", "null", "3", '"text"', '{"iteration": 10}', "[" * 100_000,
    '{"iteration": 10, "calibrations": ' + "[" * 100_000,
    '{"iteration": 10, "calibrations": [{}]}',
    '{"iteration": 10, "calibrations": {}}',
    '{"iteration": 10, "calibrations": ["text"]}',
    '{"iteration": 10, "calibrations": 1e400}',
]  # fmt: skip


@pytest.mark.parametrize("text", DAMAGED, ids=range(len(DAMAGED)))
def test_calibrations_that_are_damaged_are_refused_in_one_sentence(text, tmp_path):
    (tmp_path / "calibration.json").write_text(text)
    advice = r"is truncated or damaged .*; make it again with `irem calibrate"
    with pytest.raises(irem.InputError, match=advice):
        read_calibrations(a_run(tmp_path))


def test_bytes_that_are_not_text_and_a_folder_are_refused_too(tmp_path):
    (tmp_path / "calibration.json").write_bytes(bytes(range(256)))
    with pytest.raises(irem.InputError, match="is truncated or damaged"):
        read_calibrations(a_run(tmp_path))
    (tmp_path / "calibration.json").unlink()
    (tmp_path / "calibration.json").mkdir()
    with pytest.raises(irem.InputError, match=r"cannot be read \(Is a directory\); remove it\.$"):
        read_calibrations(a_run(tmp_path))


def test_a_solution_is_annotated_and_otherwise_unchanged(calibration):
    solution, _ = solutions(5, seed=9)
    annotated = calibration.annotate(solution)
    assert solution.expected_error is None
    np.testing.assert_allclose(
        annotated.expected_error, calibration.expected_error(solution), rtol=1e-6
    )
    for name, value in vars(solution).items():
        if name != "expected_error":
            assert getattr(annotated, name) is value
