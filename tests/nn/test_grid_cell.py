"""The recurrent convolution of lines and grids."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.nn import GridCell

KEY = jax.random.key(0)


def grids(**settings):
    return GridCell.for_task(irem.tasks.Maze(), **{"width": 6, "layers": 2, **settings}, key=KEY)


def lines(**settings):
    task = irem.tasks.PrefixSums()
    return GridCell.for_task(task, **{"width": 6, "layers": 2, **settings}, key=KEY)


@eqx.filter_jit
def answers(cell, x, num_steps):
    step = lambda state, _: cell(x, state)  # noqa: E731
    return jax.lax.scan(step, cell.init(x), length=num_steps)[1]


both = pytest.mark.parametrize("recall", [True, False])


@both
def test_the_answer_to_a_turned_maze_is_turned(recall):
    x = irem.tasks.Maze().sample(KEY, 7).x
    cell = grids(recall=recall)
    turned = answers(cell, jnp.rot90(x), 3)
    np.testing.assert_allclose(turned, jnp.rot90(answers(cell, x, 3), axes=(1, 2)), atol=1e-5)


@both
def test_cells_outside_change_nothing(recall):
    x = irem.tasks.Maze().sample(KEY, 5).x
    cell = grids(recall=recall)
    padded = jnp.pad(x, ((0, 2), (0, 3)), constant_values=-1)
    found = answers(cell, padded, 3)
    np.testing.assert_allclose(found[:, :5, :5], answers(cell, x, 3), atol=1e-5)
    assert not found[:, 5:].any()
    assert not found[:, :, 5:].any()


@both
def test_information_crosses_as_many_cells_in_a_step_as_there_are_layers(recall):
    x = jnp.zeros(12, jnp.int8)
    cell = lines(recall=recall)
    differs = answers(cell, x, 3) != answers(cell, x.at[0].set(1), 3)
    reached = [int(np.flatnonzero(row).max()) for row in differs]
    assert reached[:2] == [2, 4]
    assert reached[2] <= 6  # by then rounding may hide what is left of the difference


def test_only_recall_reads_the_problem_after_the_first_step():
    x = jnp.zeros(6, jnp.int8)
    for recall in (True, False):
        cell = lines(recall=recall)
        state = cell.init(x)
        same = cell(x, state)[1] == cell(1 - x, state)[1]
        assert bool(same.all()) is not recall


@both
def test_states_stay_bounded_over_many_steps(recall):
    x = irem.tasks.Maze().sample(KEY, 5).x
    ys = answers(grids(recall=recall), x, 1000)
    assert np.isfinite(ys).all()
    assert abs(ys[-1]).max() < 10 * max(1.0, float(abs(ys[:10]).max()))


def test_steps_grow_with_the_size_of_a_problem():
    task = irem.tasks.PrefixSums()
    cell = {"name": "grid", "width": 4, "layers": 2}
    model = irem.Recurrent.for_task(task, cell=cell, num_steps=3, key=KEY)
    for size, steps in ((4, 3), (6, 3), (9, 5), (40, 20)):
        x = task.batch(KEY, 2, size).x
        found = irem.solve(model, x, key=KEY)
        assert found.steps.tolist() == [steps, steps]
        expected = irem.solve(model, x, key=KEY, max_steps=steps, trajectory=True)
        np.testing.assert_allclose(found.y, expected.trajectory.ys[:, -1], atol=1e-5)


def test_recall_is_a_setting_and_other_problems_are_refused():
    assert grids(recall=False).settings() == {"width": 6, "layers": 2, "recall": False}
    with pytest.raises(irem.InputError, match="needs lines or grids"):
        GridCell.fit(irem.tasks.get("addition"))
