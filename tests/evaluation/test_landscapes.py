"""Measurements on energies whose landscape is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.evaluation import descents, energy_by_distance, plane

TASK = irem.tasks.get("addition", size=5)
SQUARES = irem.energy.from_function(
    lambda x, y: 3.0 * jnp.sum((y - x[0] - x[1]) ** 2), answer_shape=(5,)
)
MODEL = irem.IREM(SQUARES, step_size=0.1)  # every step takes 0.4 of the distance


def test_a_perfect_energy_has_no_error_and_converges():
    result = irem.evaluate(MODEL, TASK, "harder", problems=50, key=jax.random.key(0))
    # What is left of the energy is at most what the slope still promises, a millionth; the first
    # error is that of a guess, 4.5 on average, 9 at most here.
    assert result.mse < 9 * 1e-6
    assert result.converged == 1.0
    assert result.reasons["energy-unchanged"] == 50 == sum(result.reasons.values())
    # Entries are sums of two U(-2.5, 2.5): variance 2 * 25 / 12; five standard errors.
    assert result.trivial_mse == pytest.approx(50 / 12, abs=5 * 4.2 / 250**0.5)


def test_a_step_that_is_too_large_is_reported():
    model = irem.IREM(SQUARES, step_size=1e4)
    options = {"problems": 10, "key": jax.random.key(0)}
    result = irem.evaluate(model, TASK, step=irem.FixedStep(), **options)
    assert result.reasons["not-finite"] == 10
    assert result.converged == 0.0
    assert np.isfinite(result.mse)
    # The default finds a step that is not.
    assert irem.evaluate(model, TASK, **options).mse < 1e-5


def test_an_energy_that_is_not_finite_gives_no_error_that_looks_like_one():
    broken = irem.energy.from_function(lambda x, y: jnp.nan * jnp.sum(x[0] - y), answer_shape=(5,))
    result = irem.evaluate(broken, TASK, problems=3, step=0.1, key=jax.random.key(0))
    assert np.isnan(result.mse)
    assert result.reasons["not-finite"] == 3


def test_errors_along_descents_fall_at_the_rate_of_the_quadratic():
    batch = TASK.batch(jax.random.key(1), 20, "same")
    walks = descents(MODEL, batch, 6, step=irem.FixedStep(), key=jax.random.key(2))
    assert walks.errors.shape == walks.energies.shape == (20, 7)
    np.testing.assert_allclose(walks.errors[:, 1:], walks.errors[:, :-1] * 0.4**2, rtol=1e-3)
    np.testing.assert_allclose(walks.energies, 15 * walks.errors, rtol=1e-4)


def test_energy_above_the_minimum_is_the_distance_of_the_quadratic():
    batch = TASK.batch(jax.random.key(1), 20, "same")
    distance, height = energy_by_distance(MODEL, batch, key=jax.random.key(3))
    assert distance.shape == height.shape == (160,)
    assert distance.min() < 1e-3 < 0.1 < distance.max()
    np.testing.assert_allclose(height, 15 * distance, rtol=0.05, atol=1e-4)


def test_the_plane_holds_the_first_guesses_the_answer_and_its_energies():
    x = TASK.batch(jax.random.key(1), 1, "same").x[0]
    slice_ = plane(MODEL, x, resolution=21, key=jax.random.key(4))
    for path, corner in zip(slice_.paths, ((1, 0), (0, 1)), strict=True):
        np.testing.assert_allclose(path[0], corner, atol=1e-4)
        np.testing.assert_allclose(path[-1], (0, 0), atol=1e-2)
    at = np.unravel_index(slice_.energies.argmin(), slice_.energies.shape)
    assert abs(slice_.first[at]) < 0.1
    assert abs(slice_.second[at]) < 0.1
