"""What training makes small: the error to an answer, or by how much rules are broken."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.energy import MLP, Groups, Scratchpad
from irem.metrics import square_error
from irem.problem import Problem
from irem.puzzles import NamedRules, Puzzle, violation
from irem.tasks import Queens

KEY = jax.random.key(0)
EMPTY = Puzzle(jnp.zeros(64, jnp.int8), NamedRules("queens", 8))
FIRST, LAST = (irem.tasks.queens.eight_queens()[i] for i in (0, -1))


def board(columns):
    return jnp.asarray(np.asarray(columns)[:, None] == np.arange(8), jnp.float32).ravel()


def energy(**settings):
    return Groups(2, width=8, layers=1, scratch=2, key=KEY, **settings)


def test_another_solution_has_an_error_unless_rules_are_learnt():
    problem = Problem(EMPTY, board(FIRST))
    for y, right in ((board(FIRST), True), (board(LAST), False)):
        point = energy().begin(EMPTY, y, key=KEY)
        assert (energy().error(problem, point) == 0) == right
        assert energy(learns="rules").error(problem, point) == 0
    wrong = energy().begin(EMPTY, board(FIRST).at[0].set(0.5), key=KEY)
    expected = violation(EMPTY, board(FIRST).at[0].set(0.5))
    assert energy(learns="rules").error(problem, wrong) == expected > 0


def test_what_is_learnt_has_a_name():
    with pytest.raises(irem.InputError, match="Unknown learns 'rule'; known are answer, rules"):
        energy(learns="rule")


def test_the_scratchpad_is_not_in_the_error_of_an_energy():
    inner = MLP((3,), (2,), width=4, scratch=2, key=KEY)
    problem = Problem(jnp.ones(3), jnp.array([1.0, 2.0]), jnp.array([True, False]))
    point = jnp.array([3.0, 9.0, 5.0, 5.0])
    assert Scratchpad(inner).error(problem, point) == 4.0
    assert square_error(point[:2], problem.y, problem.mask)[0] == 4.0


def test_the_loss_of_a_method_is_the_error_of_its_energy_along_the_path():
    problem = jax.tree.map(lambda leaf: leaf[0], Queens().batch(KEY, 1, "training"))
    gradient = irem.methods.RandomSteps(k=2)
    losses = {}
    for learns in ("answer", "rules"):
        made = energy(learns=learns)
        method = irem.IREM(made, gradient=gradient, num_steps=3, step_size=0.5)
        y0 = method.start(problem.x, (64,), key=KEY)
        points = gradient.path(made, problem.x, y0, 0.5, 3, key=KEY)
        losses[learns], end = method.loss(problem, y0, key=KEY)
        expected = np.mean([made.error(problem, point) for point in points[1:]])
        np.testing.assert_allclose(losses[learns], expected, rtol=1e-5)
        np.testing.assert_array_equal(end, points[-1])
    assert losses["answer"] != losses["rules"]


def test_training_on_rules_breaks_fewer():
    task = Queens()
    method = irem.IREM(
        Groups(2, width=16, layers=1, scratch=2, learns="rules", key=KEY),
        gradient=irem.methods.RandomSteps(k=1),
        num_steps=1,
        step_size=1.0,
    )
    optimiser = irem.training.Adam(learning_rate=1e-2)
    run = irem.train(task, method, iterations=200, batch_size=8, optimiser=optimiser, key=KEY)
    loss = run.history.loss[:, 0]
    assert loss[-1] < 0.9 * loss[0]
