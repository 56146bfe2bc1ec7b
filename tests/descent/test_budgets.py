"""How many steps a descent may take where nobody says so."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.descent import default_max_steps
from irem.energy import Grid
from irem.methods import IREM
from irem.tasks import Maze, PrefixSums

KEY = jax.random.key(0)


def model(task, **settings):
    energy = Grid.for_task(task, width=4, layers=1, key=KEY, **settings)
    return IREM(energy, num_steps=1, step_size=1.0)


def mazes(size, count=1):
    return jnp.stack([Maze().sample(KEY, size).x] * count)


@pytest.mark.parametrize(("size", "speed", "budget"), [(9, 1, 145), (9, 2, 104), (59, 2, 1804)])
def test_the_budget_of_a_grid_is_enough_to_cross_all_of_its_cells(size, speed, budget):
    found = model(Maze(), lesson="waves", speed=speed)
    # 64 steps more than cells by the cells of a step.
    assert default_max_steps(found, mazes(size)) == budget
    assert default_max_steps(found, mazes(size, count=3)) == budget


def test_the_budget_of_a_line_grows_with_its_length():
    found = model(PrefixSums())
    budgets = [default_max_steps(found, jnp.zeros((2, n), jnp.int8)) for n in (32, 512)]
    assert budgets == [96, 576]


def test_other_models_have_the_same_budget_for_every_problem():
    task = irem.tasks.Addition(size=3)
    energy = irem.energy.MLP.for_task(task, width=4, depth=1, key=KEY)
    trained = IREM(energy, num_steps=1, step_size=1.0)
    for x in (None, jnp.zeros((1, 18)), jnp.zeros((7, 18))):
        assert default_max_steps(trained, x) == 500
        assert default_max_steps(energy, x) == 10_000  # was not trained with steps of its own


def test_without_problems_the_budget_of_a_grid_is_that_of_its_class():
    assert default_max_steps(model(PrefixSums())) == Grid.default_max_steps


def test_solving_takes_no_more_steps_than_the_budget():
    found = model(PrefixSums())
    x = np.zeros((2, 12), np.int8)
    solution = irem.solve(found, x, key=KEY)
    assert np.max(solution.steps) <= 12 + 64
