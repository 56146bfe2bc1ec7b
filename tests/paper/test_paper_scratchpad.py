"""With and without a scratchpad, at an equal number of parameters."""

import dataclasses
import functools
import types

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.evaluation import energy_by_distance, plane
from irem.formats import Graphs
from irem.keys import fresh_key
from irem.methods import build_method, describe_method
from irem.paper import (
    EXPERIMENTS,
    QUICK,
    Study,
    read_result,
    reproduce,
    reproduction_page,
    result_table,
)
from irem.paper import scratchpad as experiment
from irem.training import PAPER, History, Recipe, Run

KEY = jax.random.key(0)
TINY = dataclasses.replace(QUICK, name="tiny", problems=6)
SMALL = experiment.Settings(vector_size=5, changes={"energy.width": 16, "energy.depth": 1})


@pytest.mark.parametrize("name", ["addition", "shortest-path"])
def test_the_narrower_network_has_as_many_parameters_as_fit(name):
    task, recipe = irem.tasks.get(name), Recipe.named(name, PAPER)
    graphs = isinstance(task.format, Graphs)
    size = 16 if graphs else 128

    def parameters(**energy):
        settings = recipe.override({f"energy.{n}": v for n, v in energy.items()}).method_settings()
        shapes = eqx.filter_eval_shape(lambda key: build_method(task, settings, key=key), KEY)
        return sum(leaf.size for leaf in jax.tree.leaves(shapes) if hasattr(leaf, "size"))

    energy = experiment.with_scratchpad(task, recipe, size).settings["energy"]
    assert energy["scratch"] == size
    width, plain = energy["width"], parameters()
    assert 0.98 * plain < parameters(width=width, scratch=size) <= plain
    assert parameters(width=width + (2 if graphs else 1), scratch=size) > plain


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study whose models are as they were built, and whose scores are made up."""
    task = irem.tasks.get("addition", size=4)
    study = Study(tmp_path / "study", TINY, tasks={"addition": task})

    def trained(task, recipe, label):
        model = build_method(task, recipe.method_settings(), key=KEY)
        return Run(task, (model, model), 0, History.empty(2), describe_method(model)), 1.0

    def score(run, difficulty, max_steps=500):
        error = {"same": 1.0, "harder": 2.0}[difficulty] + max_steps / 1000
        size = run.settings["energy"].get("scratch", 0)
        return types.SimpleNamespace(
            mse_by_model=(error, error + size),
            trivial_mse=3.0,
            oracle_mse=0.0,
            steps_mean=9.0,
            converged=1.0,
        )

    monkeypatch.setattr(experiment, "choose_steps", lambda *_: 7)
    monkeypatch.setattr(study, "trained", trained)
    monkeypatch.setattr(study, "score", score)
    return study


def test_cells_tell_both_errors_and_both_sizes(study):
    run = functools.partial(experiment.run, settings=SMALL)
    result = reproduce(study, dataclasses.replace(EXPERIMENTS["scratchpad"], run=run))
    cells = result.cells
    places = [(c.scratchpad, c.difficulty) for c in cells]
    assert places == [(0, "same"), (0, "harder"), (5, "same"), (5, "harder")]
    runs = ["models/addition-irem", "models/addition-irem-scratchpad-5"]
    assert [c.run for c in cells[::2]] == runs
    # 12 inputs or 17, 16 units or fewer, one output.
    assert [c.parameters for c in cells[::2]] == [14 * 16 + 1, 19 * 11 + 1]
    assert [c.width for c in cells[::2]] == [16, 11]
    assert cells[3].mse_by_seed == (2.5, 7.5)
    assert {(c.trivial, c.best) for c in cells} == {(3.0, 0.0)}
    assert cells[3].stopped.mse_by_seed == pytest.approx([2.007, 7.007])
    assert cells[3].stopped.max_steps == 7
    assert read_result(study.folder, "scratchpad").cells == cells
    rows = result_table(result).rows
    assert [row[3].strong for row in rows] == [True, True, False, False]
    assert [row[5].text for row in rows] == [
        "1.01 ± 0",
        "2.01 ± 0",
        "4 ± 4",
        "5 ± 4",
    ]
    assert "Appendix B" in reproduction_page(study.folder)


def test_steps_are_chosen_on_validation_problems():
    task = irem.tasks.get("addition", size=4)
    # A minimum that lies beyond the answer: descents pass the answer.
    beyond = irem.energy.from_function(
        lambda x, y: jnp.sum((y - 3 * x.sum(0)) ** 2) / 10, answer_shape=(4,)
    )
    model = irem.IREM(beyond, step_size=1.0)
    run = Run(task, (model,), 0, History.empty(1), {})
    key_problems, key_guesses = jax.random.split(fresh_key(0, "validate"))
    batch = task.batch(key_problems, 6, "same")
    errors = [
        irem.mse(irem.solve(model, batch.x, key=key_guesses, max_steps=k).y, batch.y)
        for k in range(1, 9)
    ]
    chosen = experiment.choose_steps(run, 6, 8)
    assert chosen == 1 + np.argmin(errors)
    assert 1 <= chosen < 8


def test_no_step_count_is_chosen_on_a_test_problem(tmp_path, monkeypatch):
    task = irem.tasks.get("addition", size=4)
    study, asked = Study(tmp_path / "study", TINY, tasks={"addition": task}), []

    def recorded(model, batch, most, *, key):
        asked.append((batch, key))
        return types.SimpleNamespace(errors=np.ones((len(batch.y), most + 1)))

    monkeypatch.setattr(experiment, "descents", recorded)
    model = irem.IREM(irem.energy.from_function(lambda _, y: jnp.sum(y), answer_shape=(4,)))
    experiment.choose_steps(Run(task, (model,), 0, History.empty(1), {}), 20, 8)
    ((chosen_on, key),) = asked
    assert chosen_on.x.shape == (20, 2, 4)
    assert 0.5 < np.abs(chosen_on.x).max() <= 1  # as in training, not harder
    for difficulty in ("same", "harder"):
        test_set, key_guesses = study.test_set(task, difficulty)
        same = np.isclose(chosen_on.x[:, None], test_set.batch.x).all((-1, -2))
        assert not same.any()
        assert not np.array_equal(jax.random.key_data(key), jax.random.key_data(key_guesses))


# The scratchpad has a minimum of its own, whatever the answer is.
APART = irem.energy.Scratchpad(
    irem.energy.from_function(
        lambda x, y, z: jnp.sum((y - x) ** 2) + jnp.sum((z - 3) ** 2), answer_shape=(4,), scratch=2
    )
)


def test_candidates_have_the_scratchpad_that_the_descent_found():
    x = jax.random.normal(KEY, (5, 4))
    distance, height = energy_by_distance(APART, irem.Problem(x, x), key=KEY)
    np.testing.assert_allclose(height, 4 * distance, rtol=0.05, atol=0.01)


def test_the_plane_is_one_of_whole_points():
    slice_ = plane(APART, jnp.ones(4), resolution=5, key=KEY)
    starts = [path[0] for path in slice_.paths]
    np.testing.assert_allclose(starts, [[1, 0], [0, 1]], atol=1e-3)
    # At the first guess the scratchpad is at least two away from its minimum, twice.
    assert slice_.energies.max() > 8
