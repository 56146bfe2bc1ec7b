"""What `solve` does not accept, and how it says so."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem import FixedStep

STEP = FixedStep(0.1)
QUADRATIC = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2))
X = np.zeros((4, 3), np.float32)


@pytest.fixture(scope="module")
def mlp():
    return irem.energy.MLP((2, 3), (3,), width=16, key=jax.random.key(0))


@pytest.mark.parametrize("name", ["max_steps", "starts"])
@pytest.mark.parametrize("value", [0, -1])
def test_counts_below_one(name, value):
    with pytest.raises(ValueError, match=rf"`{name}` must be greater than 0, got {value}"):
        irem.solve(QUADRATIC, X, X, step=STEP, **{name: value})


def test_neither_key_nor_guess(mlp):
    with pytest.raises(ValueError, match=r"pass `key=jax.random.key\(seed\)` or `y0`"):
        irem.solve(mlp, np.ones((2, 3)), step=STEP)


def test_a_hand_written_energy_without_the_shape_of_its_answers():
    with pytest.raises(ValueError, match=r"give a first guess `y0`, or build it with"):
        irem.solve(QUADRATIC, X, key=jax.random.key(0), step=STEP)


def test_guesses_for_another_number_of_problems():
    with pytest.raises(
        ValueError, match=r"`y0` has shape \(5, 3\), but the answers have shape \(4, 3\)"
    ):
        irem.solve(QUADRATIC, X, np.zeros((5, 3)), step=STEP)


@pytest.mark.parametrize(
    ("x_shape", "y0_shape"), [((4, 2, 3), (4, 2)), ((4, 2, 3), (4, 6)), ((2, 3), (4,))]
)
def test_guesses_that_are_not_shaped_like_the_answers(mlp, x_shape, y0_shape):
    with pytest.raises(ValueError, match=r"`y0` has shape"):
        irem.solve(mlp, np.ones(x_shape), np.zeros(y0_shape), step=STEP)


@pytest.mark.parametrize("shape", [(3, 3), (1, 5), (5,)])
def test_guesses_that_are_not_shaped_like_the_graph(shape):
    gine = irem.energy.GINE(width=16, key=jax.random.key(0))
    with pytest.raises(ValueError, match=r"`y0` has shape"):
        irem.solve(gine, np.ones((5, 5)), np.zeros(shape), step=STEP)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite(bad):
    broken = X.copy()
    broken[1, 2] = bad
    with pytest.raises(ValueError, match=r"`x` must be finite, but 1 of its 12 numbers"):
        irem.solve(QUADRATIC, broken, X, step=STEP)
    with pytest.raises(ValueError, match=r"`y0` must be finite, but 1 of its 12 numbers"):
        irem.solve(QUADRATIC, X, broken, step=STEP)


def test_guesses_that_are_no_numbers():
    with pytest.raises(ValueError, match=r"`y0` is not a rectangular array"):
        irem.solve(QUADRATIC, X, [[0.0] * 3] * 3 + [[0.0]], step=STEP)
    with pytest.raises(ValueError, match=r"`y0` must hold numbers"):
        irem.solve(QUADRATIC, X, [["a"] * 3] * 4, step=STEP)


def test_problems_of_the_wrong_shape(mlp):
    with pytest.raises(ValueError, match=r"`x` has shape \(3, 2\); expected one problem"):
        irem.solve(mlp, np.ones((3, 2)), key=jax.random.key(0), step=STEP)


def test_a_budget_beyond_32_bits():
    with pytest.raises(irem.InputError, match=r"`max_steps` must be at most 2,147,483,647, got"):
        irem.solve(QUADRATIC, X, X, step=STEP, max_steps=10**12)


def test_more_starts_than_memory_holds(mlp):
    with pytest.raises(irem.InputError, match=r"from 1,000,000,000,000 first guesses .* the limit"):
        irem.solve(mlp, np.ones((2, 3)), key=jax.random.key(0), starts=10**12)


def test_a_longer_trajectory_than_memory_holds(mlp):
    options = {"key": jax.random.key(0), "max_steps": 2 * 10**9, "trajectory": True}
    with pytest.raises(irem.InputError, match=r"after each of 2,000,000,000 steps needs about .*B"):
        irem.solve(mlp, np.ones((4, 2, 3)), step=STEP, **options)


@pytest.mark.parametrize("problems", [1, 3])
def test_problems_whose_descents_do_not_fit_into_memory(problems, mlp, monkeypatch):
    # So little is free that the program is asked what it needs.
    monkeypatch.setattr("irem.descent.footprint.available", lambda: 1000)
    what = "a problem" if problems == 1 else "3 problems at the same time, each"
    message = rf"Answering {what} of size 3 needs about .*B of memory, and 1\.0 KB is the limit"
    with pytest.raises(irem.InputError, match=message):
        irem.solve(mlp, np.ones((problems, 2, 3)), np.zeros((problems, 3)), step=STEP, max_steps=3)
    monkeypatch.setattr("irem.descent.footprint.available", lambda: 40_000)
    irem.solve(mlp, np.ones((problems, 2, 3)), np.zeros((problems, 3)), step=STEP, max_steps=3)
