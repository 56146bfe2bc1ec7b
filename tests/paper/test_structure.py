"""The experiment on the recipes `best`, without its training."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.methods import build_method
from irem.paper import PAPER_TASKS, structure
from irem.paper.cells import spread
from irem.training import Recipe

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
