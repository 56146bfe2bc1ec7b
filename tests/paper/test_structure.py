"""The experiment on the recipes `best`, without its training."""

import dataclasses
import types

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.evaluation.scores import Evaluation
from irem.keys import fresh_key
from irem.methods import build_method
from irem.paper import PAPER_TASKS, structure
from irem.paper.cells import spread
from irem.training import History, Recipe, Run

SMALL = structure.Settings(
    steps=(1, 3),
    changes={
        "energy.width": 4,
        "energy.products": 1,
        "iterations": 2,
        "batch_size": 4,
        "optimiser.learning_rate": 1e-3,
    },
)


@pytest.mark.parametrize("name", PAPER_TASKS)
def test_every_task_has_a_recipe_that_fits_all_that_is_asked_of_it(name):
    task, settings = irem.tasks.get(name), Recipe.named(name).method_settings()
    model = eqx.filter_eval_shape(
        lambda key: build_method(task, settings, key=key), jax.random.key(0)
    )
    difficulties = []
    for difficulty, other, drawn in structure.cases(task):

        def energy(model, key, other=other, drawn=drawn):
            problem = other.sample(key, drawn)
            assert model.format.answer_shape(problem.x) == problem.y.shape
            return model.energy(problem.x, problem.y)

        assert eqx.filter_eval_shape(energy, model, jax.random.key(0)).shape == ()
        difficulties.append(difficulty)
    assert difficulties[:2] == ["same", "harder"]
    beyond = {"addition": 0, "matrix-inverse": 1}.get(name, 2)
    assert len(set(difficulties)) == len(difficulties) == 2 + beyond


def test_the_power_of_a_task_is_how_its_answers_scale():
    for name in PAPER_TASKS:
        task = irem.tasks.get(name)
        if task.power is None or name == "matrix-completion":  # whose noise does not scale
            continue
        x = task.sample(jax.random.key(0)).x
        edges = jnp.asarray(np.asarray(x))
        expected = 3.0**task.power * np.asarray(task.oracle(x))
        np.testing.assert_allclose(task.oracle(3 * edges), expected, rtol=1e-3, atol=1e-4)


def test_cells_tell_errors_floors_and_steps(tiny_study):
    study = tiny_study()
    cells = structure.run(study, SMALL)
    assert [cell.difficulty for cell in cells] == ["same", "harder", "10 nested"]
    for cell in cells:
        assert cell.seeds == 2
        assert cell.iterations == 2
        assert cell.energy["width"] == 4
        assert cell.trivial > cell.best == 0
    assert [cell.paper for cell in cells] == [None, None, 0.0422]  # the task is not the paper's
    assert all(list(cell.error_by_step) == ["1", "3"] for cell in cells[:2])
    assert all(cell.walked == 1 for cell in cells[:2])
    assert not isinstance(cells[2], structure.DescentCell)
    assert structure.run(study, SMALL) == cells  # kept, not computed again
    run = irem.load(study.folder / cells[0].run, task=study.tasks["addition"])
    for cell in cells[:2]:
        again = study.score(run, cell.difficulty)
        np.testing.assert_allclose(cell.mse_by_seed, again.mse_by_model, rtol=1e-5)
        assert (cell.trivial, cell.best) == (again.trivial_mse, again.oracle_mse)


def test_every_case_has_its_own_problems(tiny_study, monkeypatch):
    task, drawn, walked = irem.tasks.get("shortest-path"), [], []
    found = Evaluation(
        "shortest-path", "same", 3, 500, 0.2, 0.1, (0.2,), 9.0, 1.0, {}, 0.5, 0.1, 3, 0.9, 0.8
    )

    def draw(task, difficulty, problems, key):
        drawn.append((difficulty, problems, key))
        return None, None

    def by_step(run, task, difficulty, problems, steps):
        walked.append((difficulty, problems))
        return {"5": 0.3}

    monkeypatch.setattr(structure, "draw", draw)
    monkeypatch.setattr(structure, "score", lambda *_, **__: found)
    monkeypatch.setattr(structure, "errors_by_step", by_step)
    model = irem.IREM(irem.energy.from_function(lambda _, y: jnp.sum(y)))
    run = Run(task, (model,), 7, History.empty(1), {"energy": {}})
    study = tiny_study(scale=dataclasses.replace(tiny_study("other").scale, problems=1000))
    monkeypatch.setattr(study, "trained", lambda *_, **__: (run, None))
    cells = structure.measure(study, task, structure.SETTINGS)
    levels = ["same", "harder", 30, 60]
    assert [(d, n) for d, n, _ in drawn] == list(zip(levels, (1000, 1000, 200, 200), strict=True))
    assert walked == [(level, 100) for level in levels]
    assert [(c.problems, c.walked) for c in cells] == [(n, 100) for n in (1000, 1000, 200, 200)]
    assert [c.paper for c in cells] == [0.0274, 0.0464, None, None]
    key = jax.random.key_data(fresh_key(0, "evaluate"))
    assert all(np.array_equal(jax.random.key_data(k), key) for _, _, k in drawn)
    (cell,) = {(c.mean, c.trivial, c.best, c.entries_right, c.exact) for c in cells}
    assert cell == (0.2, 0.5, 0.1, 0.9, 0.8)


def test_errors_by_step_are_means_over_models_and_problems(tiny_study, monkeypatch):
    task = irem.tasks.get("addition", size=9)
    errors = {1.0: [[1.0, 2.0, 4.0], [3.0, 4.0, 6.0]], 2.0: [[5.0, 0.0, 0.0], [5.0, 0.0, 2.0]]}

    def recorded(model, batch, most, *, key):
        assert (len(batch.y), most) == (2, 2)
        return types.SimpleNamespace(errors=np.asarray(errors[model.step_size]))

    monkeypatch.setattr(structure, "descents", recorded)
    energy = irem.energy.from_function(lambda _, y: jnp.sum(y))
    models = tuple(irem.IREM(energy, step_size=size) for size in errors)
    run = Run(task, models, 0, History.empty(2), {})
    found = structure.errors_by_step(run, task, "same", 2, (1, 2))
    assert found == {"1": 1.5, "2": 3.0}


def test_a_share_of_the_iterations_is_that(tiny_study, monkeypatch):
    scale = dataclasses.replace(tiny_study().scale, structure=0.02)
    study = tiny_study(folder="other", scale=scale)

    def trained(task, recipe, label, *, seeds):
        raise InterruptedError(recipe.length("iterations"), seeds)

    monkeypatch.setattr(study, "trained", trained)
    task = irem.tasks.get("shortest-path")
    expected = round(0.02 * Recipe.named("shortest-path").length("iterations"))
    with pytest.raises(InterruptedError) as raised:
        structure.train_best(study, task, structure.SETTINGS)
    assert raised.value.args == (expected, 2)


def test_the_table_shows_what_more_steps_do():
    about = {
        "method": "irem",
        "commit": None,
        "energy": {},
        "iterations": 2,
        "parameters": 3,
        "train_seconds": None,
        "skipped_updates": 0,
        "run": "models/it",
        "best": 0.0,
    }
    cells = [
        structure.DescentCell(
            **about,
            **vars(spread([0.019, 0.02, 0.021])),
            task="connected-components",
            difficulty="30 nodes",
            problems=200,
            paper=None,
            trivial=0.7,
            steps_mean=16.2,
            converged=1.0,
            entries_right=0.9876,
            exact=0.5,
            walked=20,
            error_by_step={"5": 0.3, "500": 0.025},
        ),
        structure.StructureCell(
            **about,
            **vars(spread([1e-4])),
            task="addition",
            difficulty="10 nested",
            problems=1000,
            paper=0.0422,
            trivial=3.67,
        ),
    ]
    text = structure.table(cells, "structure.json").as_markdown()
    assert "| after 5 | after 500 |" in text
    first, second = text.splitlines()[2:4]
    assert first.endswith("| 16 | 98.76 % | 50.00 % | 0.300 | 0.0250 |")
    assert "| 0.0422 |" in second
    assert second.endswith("|  |  |  |  |  |")
