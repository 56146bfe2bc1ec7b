"""With and without a scratchpad, at an equal number of parameters."""

import dataclasses
import types

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem import report
from irem._keys import fresh_key
from irem.experiments import (
    QUICK,
    Study,
    _scratchpad,
    energy_by_distance,
    plane,
    read_result,
    reproduce,
)
from irem.experiments._study import method_settings
from irem.learning import History, Run
from irem.methods import build_method, describe_method

KEY = jax.random.key(0)
TINY = dataclasses.replace(QUICK, name="tiny", problems=6)


@pytest.mark.parametrize("name", ["addition", "shortest-path"])
def test_the_narrower_network_has_as_many_parameters_as_fit(name):
    task = irem.tasks.get(name)
    graphs = isinstance(task, irem.tasks.AbstractGraphTask)
    size = 16 if graphs else 128

    def parameters(**energy):
        form = method_settings(task, "irem")
        form["energy"].update(energy)
        shapes = eqx.filter_eval_shape(lambda key: build_method(task, form, key=key), KEY)
        return sum(leaf.size for leaf in jax.tree.leaves(shapes) if hasattr(leaf, "size"))

    settings = _scratchpad.with_scratchpad(task, size)["energy"]
    assert settings.pop("scratch") == size
    width = settings.pop("width")
    plain = parameters()
    assert 0.98 * plain < parameters(width=width, scratch=size) <= plain
    assert parameters(width=width + (2 if graphs else 1), scratch=size) > plain


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study whose models are as they were built, and whose scores are made up."""

    def settings(task, name):
        energy = {"name": "mlp", "width": 16, "depth": 1}
        return {"name": name, "gradient": "last-step", "energy": energy}

    task = irem.tasks.get("addition", size=4)
    study = Study(tmp_path / "study", TINY, tasks={"addition": task})

    def trained(task, form, label):
        model = build_method(task, form, key=KEY)
        method = describe_method(model)
        return Run(task, (model, model), 0, History.empty(2), {"method": method}), 1.0

    def score(run, difficulty, max_steps=500):
        error = {"same": 1.0, "harder": 2.0}[difficulty] + max_steps / 1000
        size = run.settings["method"]["energy"].get("scratch", 0)
        return types.SimpleNamespace(
            mse_by_model=(error, error + size),
            paper_mse=None,
            trivial_mse=3.0,
            oracle_mse=0.0,
            steps_mean=9.0,
            converged=1.0,
        )

    monkeypatch.setattr(_scratchpad, "method_settings", settings)
    monkeypatch.setattr(_scratchpad, "VECTOR_SIZE", 5)
    monkeypatch.setattr(_scratchpad, "_chosen_steps", lambda *_: 7)
    monkeypatch.setattr(study, "trained", trained)
    monkeypatch.setattr(study, "score", score)
    return study


def test_cells_tell_both_errors_and_both_sizes(study):
    result = reproduce(study, "scratchpad")
    cells = result["cells"]
    places = [(c["scratchpad"], c["difficulty"]) for c in cells]
    assert places == [(0, "same"), (0, "harder"), (5, "same"), (5, "harder")]
    runs = ["models/addition-irem", "models/addition-irem-scratchpad-5"]
    assert [c["run"] for c in cells[::2]] == runs
    # 12 inputs or 17, 16 units or fewer, one output.
    assert [c["parameters"] for c in cells[::2]] == [14 * 16 + 1, 19 * 11 + 1]
    assert [c["width"] for c in cells[::2]] == [16, 11]
    assert cells[3]["mse_by_seed"] == [2.5, 7.5]
    assert cells[3]["stopped"]["mse_by_seed"] == pytest.approx([2.007, 7.007])
    assert cells[3]["stopped"]["max_steps"] == 7
    assert set(cells[0]) >= {"method", "mean", "std", "seeds", "paper", "trivial", "best", "commit"}
    assert read_result(study.folder, "scratchpad")["cells"] == cells
    rows = report.result_table(result).rows
    assert [row[3].strong for row in rows] == [True, True, False, False]
    assert [row[5].text for row in rows] == [
        "1.01 ± 0",
        "2.01 ± 0",
        "3.51 ± 4",
        "4.51 ± 4",
    ]
    assert "Appendix B" in report.reproduction_page(study.folder)


def test_steps_are_chosen_on_validation_problems(tmp_path, monkeypatch):
    monkeypatch.setattr(_scratchpad, "RECORDED_STEPS", 8)
    task = irem.tasks.get("addition", size=4)
    study = Study(tmp_path / "study", TINY, tasks={"addition": task})
    # A valley that lies beyond the answer: descents walk past it.
    beyond = irem.energy.from_function(
        lambda x, y: jnp.sum((y - 3 * x.sum(0)) ** 2) / 10, answer_shape=(4,)
    )
    model = irem.IREM(beyond, step_size=1.0)
    run = Run(task, (model,), 0, History.empty(1), {})
    key_problems, key_guesses = jax.random.split(fresh_key(0, "validate"))
    batch = task.batch(key_problems, TINY.problems, "same")
    errors = [
        irem.mse(irem.solve(model, batch.x, key=key_guesses, max_steps=k).y, batch.y)
        for k in range(1, 9)
    ]
    chosen = _scratchpad._chosen_steps(study, run)
    assert chosen == 1 + np.argmin(errors)
    assert 1 <= chosen < 8


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
