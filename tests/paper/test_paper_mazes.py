"""Prefix sums and mazes beside recurrent networks, at a size that takes seconds."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.nn import GridCell
from irem.paper import EXPERIMENTS, as_text, mazes, read_result, reproduce

LINES = mazes.Plan(
    1,
    (mazes.Tested("fair", 4, 3), mazes.Tested("fair", 9, 2)),
    (mazes.Tested("fair", 9, 2),),
    mazes.Tested("fair", 9, 1),
    9,
)
MAZES = mazes.Plan(
    1,
    (mazes.Tested("trees", 5, 2), mazes.Tested("loops", 5, 2)),
    (mazes.Tested("loops", 5, 2),),
    mazes.Tested("trees", 5, 2),
    5,
)
SMALL = mazes.Settings(
    seeds=2,
    plans={mazes.LINES: LINES, mazes.MAZES: MAZES},
    recurrent_iterations=1,
    recurrent_steps=2,
    moments=4,
    drawn=5,
    pictures=3,
    changes={"energy.width": 4, "energy.layers": 1, "batch_size": 2},
)
CELL_TASKS = (irem.tasks.PrefixSums(), irem.tasks.Maze())


def settings(*parts, **changes):
    return dataclasses.replace(SMALL, parts=parts, **changes)


def reproduced(study, *parts):
    run = functools.partial(mazes.run, settings=settings(*parts))
    return reproduce(study, dataclasses.replace(EXPERIMENTS["mazes"], run=run))


def of_kind(result, kind):
    return [cell for cell in result.cells if isinstance(cell, kind)]


def test_energies_of_mazes_are_trained_and_measured_under_every_condition(tiny_study):
    study = tiny_study()
    result = reproduced(study, "maze")
    conditions = [
        (cell.variant, cell.size, cell.condition) for cell in of_kind(result, mazes.DescentCell)
    ]
    assert conditions == [
        ("trees", 5, mazes.BY_ITSELF),
        ("loops", 5, mazes.BY_ITSELF),
        ("loops", 5, mazes.OTHER_START),
        ("trees", 5, mazes.LONGER),
    ]
    by_itself, _, _, longer = of_kind(result, mazes.DescentCell)
    assert len(by_itself.solved) == 2  # seeds
    assert longer.steps_most == tuple(10 * most for most in by_itself.steps_most)
    (speed,) = of_kind(result, mazes.SpeedCell)
    assert speed.steps[0] == 0
    assert speed.entries == 25
    assert all(0 <= ones <= speed.ones for ones in speed.ones_right)
    (walk,) = of_kind(result, mazes.WalkCell)
    assert len(walk.symbols) == 25
    assert {len(entries) for entries in walk.entries} == {25}
    assert all(0 <= entry <= 100 for entries in walk.entries for entry in entries)
    assert read_result(study.folder, "mazes") == result
    assert "mazes with loops" in as_text(result)
    with pytest.raises(irem.InputError, match="other settings"):
        mazes.run(study, settings("maze", moments=5))
    for drawing in EXPERIMENTS["mazes"].drawings.values():
        assert drawing.draw(result).axes


def test_parts_are_kept_by_themselves_and_together_are_the_experiment(tiny_study):
    study = tiny_study()
    names = ("prefix-sums-recurrent-recall", "prefix-sums-recurrent")
    alone = [mazes.run(study, settings(name)) for name in reversed(names)]
    together = reproduced(study, *names)
    assert list(together.cells) == [*alone[1], *alone[0]]
    for cell in together.cells:
        assert isinstance(cell, mazes.RecurrentCell)
        assert cell.steps[0] == 2
        assert cell.steps[-1] == max(2, cell.size)  # one layer
        assert all(len(solved) == len(cell.steps) for solved in cell.solved)
        assert all(0 <= n <= cell.problems for solved in cell.solved for n in solved)


def test_the_energy_of_lines_is_measured_too(tiny_study):
    result = reproduced(tiny_study(), "prefix-sums")
    assert len(of_kind(result, mazes.DescentCell)) == 4
    assert not of_kind(result, mazes.WalkCell)


@pytest.mark.parametrize("task", CELL_TASKS, ids=lambda task: task.name)
def test_a_walk_in_parts_is_that_of_solving(task):
    energy = irem.energy.Grid.for_task(task, width=4, layers=1, scratch=2, key=jax.random.key(0))
    model = irem.IREM(energy, num_steps=2, step_size=0.5)
    x = task.batch(jax.random.key(1), 2, 5).x
    found = irem.solve(model, x, key=jax.random.key(2), max_steps=6, trajectory=True)
    points = mazes.begun(model, x, jax.random.key(2))
    for steps in (0, 2, 3):
        points, y = mazes.walked(model, x, points, jnp.asarray(steps))
    np.testing.assert_allclose(y, found.trajectory.ys[:, 5], atol=1e-5)


@pytest.mark.parametrize("task", CELL_TASKS, ids=lambda task: task.name)
def test_fewer_problems_and_guesses_are_the_first_ones_of_more(task):
    energy = irem.energy.Grid.for_task(task, width=4, layers=1, scratch=2, key=jax.random.key(0))
    model, key = irem.IREM(energy), jax.random.key(1)
    more, fewer = task.batch(key, 4, 5), task.batch(key, 2, 5)
    np.testing.assert_array_equal(more.x[:2], fewer.x)
    np.testing.assert_array_equal(more.y[:2], fewer.y)
    points = [mazes.begun(model, problems.x, key) for problems in (more, fewer)]
    np.testing.assert_array_equal(points[0][:2], points[1])


@pytest.mark.parametrize("task", CELL_TASKS, ids=lambda task: task.name)
def test_a_recurrent_network_goes_on_where_it_stopped(task):
    settings = {"name": "grid", "width": 4, "layers": 2}
    model = irem.Recurrent.for_task(task, cell=settings, num_steps=2, key=jax.random.key(0))
    x = task.batch(jax.random.key(1), 2, 5).x
    assert mazes.step_numbers(model, x[0]) == ((2, 3) if x.ndim == 2 else (2, 4, 8, 13))
    states = jax.vmap(model.cell.init)(x)
    states, _ = mazes.continued(model, x, states, jnp.asarray(2))
    _, y = mazes.continued(model, x, states, jnp.asarray(3))
    ys = jax.vmap(lambda x: model.predict(x, 5, key=jax.random.key(0)).ys)(x)
    np.testing.assert_allclose(y, ys[:, 5], atol=1e-5)


def test_the_baseline_has_about_as_many_parameters_as_the_energy():
    for name, (task, method) in mazes.PARTS.items():
        recipe = mazes.recipe_of(name, mazes.SETTINGS)
        assert recipe.settings["iterations"] == {
            "prefix-sums": 5000,
            "maze": 12000,
        }.get(name, 3000)
        if method == mazes.ENERGY:
            continue
        assert recipe.settings["cell"]["recall"] == (method == mazes.RECALL)
        own = recipe.settings["cell"]
        cell = GridCell.for_task(recipe.make_task(), **without_name(own), key=jax.random.key(0))
        best = irem.training.Recipe.named(task).settings["energy"]
        energy = irem.energy.Grid.for_task(
            recipe.make_task(), **without_name(best), key=jax.random.key(0)
        )
        ratio = mazes.num_parameters(cell) / mazes.num_parameters(energy)
        assert 0.9 < ratio < 1.1


def without_name(settings):
    return {name: value for name, value in settings.items() if name != "name"}


def recurrent_cell(**changes):
    about = {"commit": "c0ffee", "task": "maze", "method": mazes.RECALL, "paper": None}
    size = {"variant": "trees", "size": 59, "problems": 10, "iterations": 3000}
    made = {"parameters": 100, "run": "models/run", "steps": (10, 20, 30)}
    return mazes.RecurrentCell(
        **{**about, **size, **made, "solved": ((1, 8, 3), (2, 6, 2)), **changes}
    )


def test_the_table_shows_the_best_number_of_steps_and_the_largest():
    found = mazes.table([recurrent_cell()], "x.json")
    texts = [[entry.text for entry in row] for row in found.rows]
    labels = ["mazes, trees", "59", "recurrent convolution, recall"]
    assert texts == [
        [*labels, "best number of steps", "10", "70.0 ± 14.1", "60.0", "97.3", "20"],
        [*labels, "most steps", "10", "25.0 ± 7.1", "20.0", "97.3", "30"],
    ]
    assert {len(row) for row in texts} == {len(found.header)}


def test_a_share_has_fewer_iterations_and_problems_and_small_sizes():
    share = mazes.SETTINGS.scaled(0.02, 0.05)
    assert share.recurrent_iterations == 60
    assert share.changes["energy.width"] == 16
    plan = share.plans[mazes.MAZES]
    assert plan.iterations == 120
    assert [(t.size, t.problems) for t in plan.sizes] == [(9, 50), (13, 25), (9, 50)]
    assert mazes.SETTINGS.scaled(1.0, 1.0) == mazes.SETTINGS
