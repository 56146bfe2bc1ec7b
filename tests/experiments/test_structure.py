"""The experiment on energies that see structure, without its training."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.experiments import Budget, _structure
from irem.experiments._structure import FORMS, _cases
from irem.methods import build_method


@pytest.mark.parametrize("name", irem.tasks.TASKS)
def test_every_task_has_a_form_that_fits_all_that_is_asked_of_it(name):
    task = irem.tasks.get(name)
    build = lambda key: build_method(task, FORMS[name].method(), key=key)  # noqa: E731
    model = eqx.filter_eval_shape(build, jax.random.key(0))
    difficulties = []
    for difficulty, other, drawn in _cases(task):

        def energy(model, key, other=other, drawn=drawn):
            problem = other.sample(key, drawn)
            assert model.answer_shape(problem.x) == problem.y.shape
            return model.energy(problem.x, problem.y)

        assert eqx.filter_eval_shape(energy, model, jax.random.key(0)).shape == ()
        difficulties.append(difficulty)
    assert difficulties[:2] == ["same", "harder"]
    beyond = {"addition": 0, "matrix-inverse": 1}.get(name, 2)
    assert len(set(difficulties)) == len(difficulties) == 2 + beyond


def test_the_power_of_a_task_is_how_its_answers_scale():
    for name in irem.tasks.TASKS:
        task = irem.tasks.get(name)
        if task.power is None or name == "matrix-completion":  # whose noise does not scale
            continue
        x = task.sample(jax.random.key(0)).x
        edges = jnp.asarray(np.asarray(x))
        expected = 3.0**task.power * np.asarray(task.oracle(x))
        np.testing.assert_allclose(task.oracle(3 * edges), expected, rtol=1e-3, atol=1e-4)


def test_rows_tell_errors_floors_and_steps(tiny_study, monkeypatch):
    small = Budget(2, 4, learning_rate=1e-3)
    form = _structure.Form({"name": "table", "width": 4, "look": 0, "products": 1}, small)
    monkeypatch.setattr(_structure, "FORMS", {"addition": form})
    monkeypatch.setattr(_structure, "STEPS", (1, 3))
    study = tiny_study()
    rows = _structure.structure(study)
    assert [row["difficulty"] for row in rows] == ["same", "harder", "10 nested"]
    for row in rows:
        assert row["seeds"] == 2
        assert row["iterations"] == 2
        assert row["trivial"] > row["best"] == 0
    assert [row["paper"] for row in rows] == [None, None, 0.0422]  # the task is not the paper's
    assert all(list(row["error_by_step"]) == ["1", "3"] for row in rows[:2])
    assert all(row["walked"] == 1 for row in rows[:2])
    assert _structure.structure(study) == rows  # kept, not computed again


def test_a_share_of_the_iterations_is_that(tiny_study, monkeypatch):
    scale = dataclasses.replace(tiny_study().scale, structure=0.02)
    study = tiny_study(folder="other", scale=scale)

    def trained(*_, budget, **__):
        raise InterruptedError(budget.iterations)

    monkeypatch.setattr(study, "trained", trained)
    expected = round(0.02 * FORMS["shortest-path"].budget.iterations)
    with pytest.raises(InterruptedError, match=f"^{expected}$"):
        _structure.trained_form(study, irem.tasks.get("shortest-path"))
