import numpy as np
import pytest

from irem.experiments import _paper_figures as made
from irem.experiments import _step_size


def test_the_example_adds_four_operands(kept_study):
    example = made._example(kept_study)
    assert np.shape(example["operands"]) == (4, 9)
    np.testing.assert_allclose(np.sum(example["operands"], axis=0), example["truth"], atol=1e-5)
    error = np.mean(np.square(np.subtract(example["answer"], example["truth"])))
    assert example["mse"] == pytest.approx(error, rel=1e-3)  # all nine entries are shown


def test_the_teaser_walks_from_two_guesses_to_the_answer(kept_study):
    teaser = made._teaser(kept_study)
    starts = [path[0] for path in teaser["paths"]]
    np.testing.assert_allclose(starts, [[1, 0], [0, 1]], atol=1e-3)
    np.testing.assert_allclose(teaser["paths"][0][-1], [0, 0], atol=1e-3)
    assert np.shape(teaser["energies"]) == (len(teaser["second"]), len(teaser["first"]))


def test_curves_have_every_method_at_every_difficulty(kept_study):
    curves = made._steps_by_difficulty(kept_study)["addition"]["mse_by_step"]
    for by_level in curves.values():
        assert set(by_level) == {"same", "harder"}
    feedforward = curves["feedforward"]["same"]
    assert len(feedforward) == made.STEPS + 1
    assert len(set(feedforward[1:])) == 1  # one pass, and nothing after it
    assert len(set(curves["recurrent"]["same"])) > 5
    # Zero and noise of the same variance are the first guesses of the baselines.
    assert feedforward[0] == pytest.approx(2 / 3, rel=0.1)


def test_energies_are_measured_around_the_truth(kept_study):
    points = made._energies(kept_study)["addition"]["same"]
    distance = np.asarray(points["distance"])
    assert len(points["height"]) == len(distance)
    assert distance.min() < 1e-3 < 0.3 < distance.max()


def test_entries_are_sorted_by_their_first_error(kept_study):
    errors = np.asarray(made._elements(kept_study)["errors"])
    assert errors.shape[0] == 9
    assert (np.diff(errors[:, 0]) <= 0).all()


def test_the_usual_step_size_has_the_models_of_table1(kept_study, monkeypatch):
    monkeypatch.setattr(_step_size, "PAPER_STEP_SIZE", {30: (0.1, 0.2), 100: (0.3, 0.4)})
    cells = _step_size.step_size(kept_study)
    places = [(c["step_size"], c["difficulty"], c["paper"]) for c in cells]
    assert places == [
        (30, "same", 0.1),
        (30, "harder", 0.2),
        (100, "same", 0.3),
        (100, "harder", 0.4),
    ]
    usual = [c["run"] for c in cells if c["step_size"] == 100]
    assert usual == ["models/addition-irem"] * 2
    assert cells[0]["mean"] != cells[2]["mean"]
