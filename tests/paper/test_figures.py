import types

import jax.numpy as jnp
import numpy as np
import pytest

from irem.paper import figures


def test_the_example_adds_four_operands(kept_study):
    example = figures.measure_example(kept_study)
    assert np.shape(example["operands"]) == (4, 9)
    np.testing.assert_allclose(np.sum(example["operands"], axis=0), example["truth"], atol=1e-5)
    error = np.mean(np.square(np.subtract(example["answer"], example["truth"])))
    assert example["mse"] == pytest.approx(error, rel=1e-3)  # all nine entries are shown


def test_the_teaser_descends_from_two_guesses_to_the_answer(kept_study):
    teaser = figures.measure_teaser(kept_study)
    starts = [path[0] for path in teaser["paths"]]
    np.testing.assert_allclose(starts, [[1, 0], [0, 1]], atol=1e-3)
    np.testing.assert_allclose(teaser["paths"][0][-1], [0, 0], atol=1e-3)
    assert np.shape(teaser["energies"]) == (len(teaser["second"]), len(teaser["first"]))


def test_curves_have_every_method_at_every_difficulty(kept_study):
    settings = figures.SETTINGS
    found = figures.measure_steps_by_difficulty(kept_study, settings)
    curves = found["addition"]["mse_by_step"]
    for by_level in curves.values():
        assert set(by_level) == {"same", "harder"}
    feedforward = curves["feedforward"]["same"]
    assert len(feedforward) == settings.steps + 1
    assert len(set(feedforward[1:])) == 1  # one pass, and nothing after it
    assert len(set(curves["recurrent"]["same"])) > 5
    # Zero and noise of the same variance are the first guesses of the baselines.
    assert feedforward[0] == pytest.approx(2 / 3, rel=0.1)


def test_energies_are_measured_around_the_truth(kept_study):
    points = figures.measure_energies(kept_study, figures.SETTINGS)["addition"]["same"]
    distance = np.asarray(points["distance"])
    assert len(points["height"]) == len(distance)
    assert distance.min() < 1e-3 < 0.3 < distance.max()


def test_entries_are_sorted_by_their_first_error(kept_study):
    errors = np.asarray(figures.measure_elements(kept_study, figures.SETTINGS)["errors"])
    assert errors.shape[0] == 9
    assert (np.diff(errors[:, 0]) <= 0).all()


def test_a_curve_is_the_mean_over_models_and_problems(kept_study, monkeypatch):
    task = kept_study.tasks["addition"]
    run = kept_study.trained(task, kept_study.recipe(task, "recurrent"), "addition-recurrent")[0]

    def off_by(model, x, *, max_steps, trajectory, key):
        """A model that is away from the truth by its number plus the number of steps."""
        number = next(i for i, other in enumerate(run.models) if other is model)
        away = number + np.arange(max_steps + 1)[None, :, None]
        ys = jnp.asarray(np.sum(x, axis=1)[:, None] + away)
        return types.SimpleNamespace(trajectory=types.SimpleNamespace(ys=ys))

    errors = {"same": np.array([[1.0, 2.0], [3.0, 8.0]])}
    descended = types.SimpleNamespace(errors=errors, trivial={"same": 0.5})
    monkeypatch.setattr(figures, "_run", lambda *_: run)
    monkeypatch.setattr(figures, "solve", off_by)
    monkeypatch.setattr(figures, "error_curves", lambda *_, **__: descended)
    levels, methods = ("same",), ("irem", "recurrent")
    found = figures.measure_curves(kept_study, task, levels, methods, 2, 4)
    assert found["mse_by_step"]["irem"]["same"] == [2.0, 5.0]
    np.testing.assert_allclose(
        found["mse_by_step"]["recurrent"]["same"], [0.5, 2.5, 6.5], rtol=1e-5
    )
    assert found["trivial"] == {"same": 0.5}
