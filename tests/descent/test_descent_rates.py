"""Gradient descent on landscapes whose course is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

import irem
from irem import EnergyUnchanged, FixedStep, Reason

EPS = np.finfo(np.float32).eps
# One function object for each landscape, so that tests share compiled programs.
QUADRATIC = irem.energy.from_function(lambda x, y: 0.5 * jnp.sum(x * y**2))
QUARTIC = irem.energy.from_function(lambda x, y: jnp.sum(x * y**4))
LEAST_SQUARES = irem.energy.from_function(lambda x, y: jnp.sum((x["a"] @ y - x["b"]) ** 2))
ROSENBROCK = irem.energy.from_function(lambda x, y: (1 - y[0]) ** 2 + x * (y[1] - y[0] ** 2) ** 2)


def solve(*arguments, **options):
    """`irem.solve`, its answer as NumPy arrays: those take indices without compiling anything."""
    return jax.device_get(irem.solve(*arguments, **options))


def test_each_direction_of_a_convex_quadratic_shrinks_at_its_own_rate():
    eigenvalues = np.array([[0.1, 0.5, 1.0, 1.5, 1.9]], np.float32)
    y0 = np.array([[1.0, -2.0, 3.0, -4.0, 5.0]], np.float32)
    halt = EnergyUnchanged(patience=30, rtol=1e-30)
    solution = solve(
        QUADRATIC, eigenvalues, y0, step=FixedStep(0.8), halt=halt, max_steps=30, trajectory=True
    )
    t = np.arange(31)[:, None]
    rates = 1 - 0.8 * eigenvalues.astype(np.float64)
    expected = rates**t * y0
    # A step rounds numbers of the size of y three times, and shrinks y to `rate` times that.
    tolerance = 3 * EPS * t / np.abs(rates) * np.abs(expected)
    assert (np.abs(solution.trajectory.ys[0] - expected) <= tolerance).all()
    energies = 0.5 * np.sum(eigenvalues * expected**2, axis=1)
    np.testing.assert_allclose(solution.trajectory.energies[0], energies, rtol=1e-4)


def steps_until_unchanged(rate, patience=3, rtol=1e-6):
    """When E_t = rate^2t had promised a move of `rtol` of its descent, `patience` times in a row.

    The slope promises (1 - rate)^2 y^2, and E is (1 - rate) / 2 y^2.
    """
    t = np.arange(1, 1000)
    energies = rate ** (2.0 * np.arange(1000))
    moves = np.maximum(energies[:-1] - energies[1:], 2 * (1 - rate) * energies[:-1])
    unchanged = moves <= rtol * (1 - energies[1:]) + 8 * EPS * energies[1:]
    # Moves shrink and descents grow, so the energy remains unchanged from then on.
    return t[unchanged][0] + patience - 1


def test_the_number_of_steps_is_the_one_that_theory_gives():
    eigenvalues = np.array([[0.05], [0.2], [0.7], [1.0], [1.3], [1.9]], np.float32)
    solution = solve(
        QUADRATIC,
        eigenvalues,
        np.ones((6, 1)),
        step=FixedStep(1.0),
        max_steps=999,
        trajectory=False,
    )
    rates = 1 - eigenvalues[:, 0].astype(np.float64)
    # At eigenvalue 1 the first step lands on the minimum and the next three change nothing.
    assert int(solution.steps[3]) == 4
    np.testing.assert_array_equal(solution.steps, [steps_until_unchanged(rate) for rate in rates])
    assert np.asarray(solution.converged).all()


def random_quadratics(count, size, largest):
    """Positive semi-definite matrices with the given largest eigenvalue."""
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(count, size, size))
    matrices = roots @ np.swapaxes(roots, 1, 2)
    return (largest * matrices / np.linalg.eigvalsh(matrices)[:, -1, None, None]).astype(np.float32)


TILTED = irem.energy.from_function(lambda x, y: 0.5 * y @ x @ y)


def energies_on_quadratics(largest):
    y0 = np.random.default_rng(1).normal(size=(20, 4)).astype(np.float32)
    solution = solve(
        TILTED,
        random_quadratics(20, 4, largest),
        y0,
        step=FixedStep(1.0),
        halt=EnergyUnchanged(rtol=1e-30),
        max_steps=50,
        trajectory=True,
    )
    return np.asarray(solution.trajectory.energies, np.float64)


def test_energy_never_rises_on_a_convex_quadratic():
    energies = energies_on_quadratics(largest=1.95)
    # The energy of 16 products is known to a few units in the last place of the first one.
    assert (np.diff(energies, axis=1) <= 8 * EPS * energies[:, :1]).all()
    assert (energies[:, -1] < 0.3 * energies[:, 0]).all()


def test_energy_rises_on_a_quadratic_too_steep_for_the_step():
    energies = energies_on_quadratics(largest=2.1)
    assert (energies[:, -1] > energies[:, 0]).all()


def test_a_step_that_is_not_finite_keeps_the_last_finite_answer():
    x, y0 = np.array([1.0, 0.01], np.float32), np.array([[10.0], [1.0]], np.float32)
    solution = solve(QUARTIC, x, y0, step=FixedStep(1.0), max_steps=60, trajectory=True)
    y, steps = np.float32(10), 0
    with np.errstate(over="ignore"):
        while np.isfinite(following := y - 4 * y**3) and np.isfinite(following**4):
            y, steps = following, steps + 1
    assert 0 < steps < 10
    assert solution.reason[0] == Reason.NOT_FINITE
    assert not solution.converged[0]
    assert solution.steps[0] == steps
    np.testing.assert_allclose(solution.y[0], [y], rtol=1e-5)
    np.testing.assert_allclose(solution.energy[0], np.float64(y) ** 4, rtol=1e-4)
    assert np.isfinite(solution.trajectory.ys).all()
    assert np.isfinite(solution.trajectory.energies).all()
    # The gentle problem beside it does not suffer.
    assert solution.reason[1] != Reason.NOT_FINITE
    assert solution.energy[1] < 0.01
    assert solution.reasons()["not-finite"] == 1


def test_a_step_to_infinity_is_not_an_answer_even_where_the_energy_is_bounded():
    # The energy and its slope are finite at infinity, the answer is not.
    slide = irem.energy.from_function(lambda x, y: jnp.sum(x * jnp.tanh(y)))
    solution = solve(slide, np.array([100.0]), np.zeros((1, 2)), step=FixedStep(1e38), max_steps=5)
    assert solution.reason[0] == Reason.NOT_FINITE
    assert np.isfinite(solution.y).all()


def test_a_first_guess_without_a_finite_energy_is_returned_as_it_is():
    solution = solve(QUARTIC, np.ones(1), np.full((1, 1), 1e10), step=FixedStep(1.0), max_steps=60)
    assert solution.reason[0] == Reason.NOT_FINITE
    assert solution.steps[0] == 0
    np.testing.assert_array_equal(solution.y, np.full((1, 1), np.float32(1e10)))


def test_least_squares_reaches_numpys_solution():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(8, 12, 3)) / 12**0.5, rng.normal(size=(8, 12))
    curvature = 2 * np.linalg.svd(a, compute_uv=False) ** 2
    step = 1 / float(curvature.max())
    solution = solve(
        LEAST_SQUARES,
        {"a": a, "b": b},
        np.zeros((8, 3)),
        step=FixedStep(step),
        halt=EnergyUnchanged(rtol=1e-9, patience=20),
        max_steps=2000,
    )
    expected = np.stack([np.linalg.lstsq(a[i], b[i])[0] for i in range(8)])
    assert np.asarray(solution.converged).all()
    # At distance d a step lowers the energy by at least step (curvature d)^2, which is no change
    # below four units in the last place of the energy that remains; its own rounding doubles it.
    residual = np.stack([np.sum((a[i] @ expected[i] - b[i]) ** 2) for i in range(8)])
    tolerance = 2 * np.sqrt(4 * EPS * residual / step) / curvature.min(axis=1)
    distance = np.linalg.norm(solution.y - expected, axis=1)
    assert (distance <= tolerance).all()
    assert (tolerance < 0.02 * np.linalg.norm(expected, axis=1)).all()


def test_rosenbrocks_valley_is_descended_to_its_minimum():
    y0 = np.array([[-1.2, 1.0]], np.float32)
    solution = solve(
        ROSENBROCK,
        np.array([100.0]),
        y0,
        step=FixedStep(5e-4),
        halt=EnergyUnchanged(rtol=1e-9),
        max_steps=20_000,
        trajectory=True,
    )
    ys = np.asarray(solution.trajectory.ys[0], np.float64)
    energies = np.asarray(solution.trajectory.energies[0], np.float64)
    # SciPy's function, and its gradient, on the same course.
    np.testing.assert_allclose(energies[:200], optimize.rosen(ys[:200].T), rtol=1e-3)
    y = y0[0].astype(np.float64)
    for _ in range(200):
        y = y - 5e-4 * optimize.rosen_der(y)
    np.testing.assert_allclose(ys[200], y, rtol=1e-4)
    assert (np.diff(energies) <= 4 * EPS * energies[:-1]).all()
    distances = np.linalg.norm(ys - 1, axis=1)
    assert (np.diff(distances) <= 8 * EPS).all()
    assert distances[-1] < 0.05
    assert solution.converged[0]


@pytest.mark.parametrize("size", [0.0, -1.0, float("nan")])
def test_a_step_that_does_not_go_down_is_refused(size):
    with pytest.raises(ValueError, match=r"`step_size` must be greater than 0, got"):
        FixedStep(size)
