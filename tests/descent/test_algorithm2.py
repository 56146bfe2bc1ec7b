"""The loop of Algorithm 2 against plain Python, in inference and in training."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.descent import Energy, descend, descend_recorded, evaluate, first_point, update

STEP_SIZE = 0.3
MLP = irem.energy.MLP((3,), (2,), width=8, depth=2, key=jax.random.key(0))
X = jnp.array([0.3, -0.8, 0.5])
Y0 = jnp.array([-0.6, 0.9])
LANDSCAPE = MLP.landscape(X)


def python_loop(num_steps):
    """Every point of the descent, and their energies."""
    ys = [Y0]
    for _ in range(num_steps):
        ys.append(ys[-1] - STEP_SIZE * jax.grad(LANDSCAPE)(ys[-1]))
    return np.stack(ys), np.stack([LANDSCAPE(y) for y in ys])


@pytest.mark.parametrize("num_steps", [0, 1, 3, 20])
def test_descend_is_a_python_loop(num_steps):
    y = descend(LANDSCAPE, Y0, STEP_SIZE, num_steps)
    np.testing.assert_allclose(y, python_loop(num_steps)[0][-1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("num_steps", [0, 7])
def test_a_recorded_descent_has_every_point_and_its_energy(num_steps):
    path = descend_recorded(LANDSCAPE, Y0, STEP_SIZE, num_steps)
    ys, energies = python_loop(num_steps)
    np.testing.assert_allclose(path.ys, ys, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(path.energies, energies, rtol=1e-5, atol=1e-6)


def test_training_and_inference_take_the_same_steps():
    model = irem.IREM(MLP, step_size=STEP_SIZE)
    solution = irem.solve(model, X, Y0, step="fixed", max_steps=12, trajectory=True)
    assert solution.steps == 12
    path = descend_recorded(LANDSCAPE, Y0, STEP_SIZE, 12)
    np.testing.assert_allclose(solution.trajectory.ys, path.ys, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(solution.y, descend(LANDSCAPE, Y0, STEP_SIZE, 12), rtol=1e-5)


def test_descend_is_differentiated_through_every_step():
    def quadratic(curvature):
        return lambda y: 0.5 * curvature * jnp.sum(y**2)

    def end(curvature):
        return jnp.sum(descend(quadratic(curvature), Y0, STEP_SIZE, 4))

    # y_4 = (1 - s c)^4 y_0.
    expected = -4 * STEP_SIZE * (1 - STEP_SIZE * 0.5) ** 3 * jnp.sum(Y0)
    np.testing.assert_allclose(jax.grad(end)(0.5), expected, rtol=1e-5)


def test_an_update_goes_against_the_gradient():
    point = evaluate(lambda y: jnp.sum(y**2), Y0)
    np.testing.assert_allclose(update(point.y, point.gradient, 0.25), 0.5 * Y0, rtol=1e-6)


def test_the_first_point_is_the_guess_of_the_energy():
    key = jax.random.key(2)
    expected = jax.random.uniform(key, (2,), minval=-1.0, maxval=1.0)
    np.testing.assert_array_equal(first_point(MLP, X, (2,), key=key), expected)


def test_energies_and_trained_models_are_energies():
    assert isinstance(MLP, Energy)
    assert isinstance(irem.IREM(MLP), Energy)
    assert not isinstance(object(), Energy)
