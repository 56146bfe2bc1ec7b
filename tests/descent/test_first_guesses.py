"""Where a descent starts when it is not told."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import irem
from irem import FixedStep
from irem.descent.batches import minimise_all_recorded
from irem.descent.rules import make_descent
from irem.descent.starts import first_points

KEY = jax.random.key(5)
ENERGY = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2), answer_shape=(3,))
X = np.zeros((8, 3), np.float32)


def solve(*arguments, **options):
    """`irem.solve`, its answer as NumPy arrays: those take indices without compiling anything."""
    return jax.device_get(irem.solve(*arguments, **options))


def guesses(x, key=KEY, **options):
    solution = solve(
        ENERGY, x, key=key, step=FixedStep(0.1), max_steps=1, trajectory=True, **options
    )
    return np.asarray(solution.trajectory.ys[:, 0])


def test_the_guess_of_a_problem_depends_on_the_key_and_its_index_alone():
    first = guesses(X)
    assert first.shape == (8, 3)
    assert len(np.unique(first)) == first.size
    np.testing.assert_array_equal(guesses(X), first)
    np.testing.assert_array_equal(guesses(X + 1), first)
    np.testing.assert_array_equal(guesses(X[:4]), first[:4])
    drawn = first_points(ENERGY, jnp.asarray(X), None, alone=False, key=KEY, starts=1)
    np.testing.assert_array_equal(drawn, first)
    parts = minimise_all_recorded(make_descent(ENERGY, 0.1, max_steps=1), X, drawn, 1, 4)
    np.testing.assert_array_equal(parts.trajectory.ys[:, 0], first)
    assert not np.isin(guesses(X, jax.random.key(6)), first).any()


def test_guesses_are_uniform_between_minus_one_and_one():
    drawn = guesses(np.zeros((4000, 3), np.float32))
    assert -1 <= drawn.min() < -0.99
    assert 0.99 < drawn.max() <= 1
    # 6e-7 is five sigma.
    assert stats.kstest(drawn.ravel(), stats.uniform(-1, 2).cdf).pvalue > 6e-7
    # Entries of one guess are independent, and so are neighbouring problems.
    for a, b in ((drawn[:, 0], drawn[:, 1]), (drawn[:-1, 0], drawn[1:, 0])):
        assert abs(np.mean(a * b) * 3) <= 5 / len(a) ** 0.5


def test_a_guess_that_is_given_is_used():
    y0 = np.arange(24.0).reshape(8, 3)
    np.testing.assert_array_equal(guesses(X, key=None, y0=y0), y0)


# The points of other energies are no answers.
NAMES = ("mlp", "gine", "conv", "pair", "table", "entrywise")


@pytest.mark.parametrize("name", NAMES)
def test_one_problem_alone_is_answered_like_a_batch_of_one(name):
    addition = irem.tasks.Addition(size=3)
    tasks = {"mlp": addition, "table": addition, "conv": irem.tasks.Denoise()}
    task = tasks.get(name, irem.tasks.ShortestPath())
    energy = irem.energy.ENERGIES[name].for_task(task, width=16, depth=1, key=jax.random.key(0))
    x = np.random.default_rng(0).uniform(size=(2, 3) if task is addition else (5, 5))
    options = {"key": KEY, "step": FixedStep(1.0), "max_steps": 7, "trajectory": True}
    alone, batch = (solve(energy, problem, **options) for problem in (x, x[None]))
    assert alone.steps.shape == alone.reason.shape == alone.energy.shape == ()
    assert alone.trajectory.energies.shape == (8,)
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b[0]), alone, batch)
    assert alone.reasons() == batch.reasons()
    # A guess for one problem has no axis of problems either.
    again = solve(energy, x, alone.trajectory.ys[0], **options)
    np.testing.assert_allclose(again.y, alone.y, rtol=1e-6)
