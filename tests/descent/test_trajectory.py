"""Index 0 is the first guess, index t the answer after t steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem import FixedStep, Reason
from irem.descent.batches import minimise_all_recorded
from irem.descent.rules import make_descent

STEP, MAX_STEPS = 0.125, 60
# A double well with a tilt: smooth, not convex, and with a gradient that is easily written down.
WELLS = irem.energy.from_function(lambda x, y: jnp.sum((y**2 - 1) ** 2 + x * y))


def energy(x, y):
    return np.sum((y**2 - 1) ** 2 + x * y)


def gradient(x, y):
    return 4 * y * (y**2 - 1) + x


X = np.linspace(-0.8, 0.8, 24).reshape(6, 4).astype(np.float32)
Y0 = np.random.default_rng(0).uniform(-1, 1, (6, 4)).astype(np.float32)


def solve(*arguments, **options):
    """`irem.solve`, its answer as NumPy arrays: those take indices without compiling anything."""
    return jax.device_get(irem.solve(*arguments, **options))


@pytest.fixture(scope="module")
def recorded():
    return solve(WELLS, X, Y0, step=FixedStep(STEP), max_steps=MAX_STEPS, trajectory=True)


@pytest.fixture(scope="module")
def unrecorded():
    return solve(WELLS, X, Y0, step=FixedStep(STEP), max_steps=MAX_STEPS)


def test_there_is_one_entry_more_than_steps(recorded):
    assert recorded.trajectory.ys.shape == (6, MAX_STEPS + 1, 4)
    assert recorded.trajectory.energies.shape == (6, MAX_STEPS + 1)


def test_the_first_entry_is_the_first_guess(recorded):
    np.testing.assert_array_equal(recorded.trajectory.ys[:, 0], Y0)


def test_entry_t_is_the_answer_after_t_updates(recorded):
    for x, y, steps, ys in zip(X, Y0, recorded.steps, recorded.trajectory.ys, strict=True):
        y = y.astype(np.float64)
        for t in range(int(steps) + 1):
            # The wells contract, so rounding does not build up.
            np.testing.assert_allclose(ys[t], y, rtol=0, atol=1e-5)
            y = y - STEP * gradient(x.astype(np.float64), y)


def test_every_energy_belongs_to_the_answer_of_the_same_index(recorded):
    for x, ys, energies in zip(
        X, np.asarray(recorded.trajectory.ys), recorded.trajectory.energies, strict=True
    ):
        np.testing.assert_allclose(energies, [energy(x, y) for y in ys], rtol=1e-5, atol=1e-5)


def test_the_answer_is_the_entry_of_its_number_of_steps(recorded):
    steps = np.asarray(recorded.steps)
    rows = np.arange(6)
    np.testing.assert_array_equal(recorded.trajectory.ys[rows, steps], recorded.y)
    np.testing.assert_array_equal(recorded.trajectory.energies[rows, steps], recorded.energy)


def test_entries_after_halting_repeat_the_answer(recorded):
    assert len(set(np.asarray(recorded.steps).tolist())) > 2
    for y, value, steps, ys, energies in zip(
        recorded.y,
        recorded.energy,
        np.asarray(recorded.steps),
        recorded.trajectory.ys,
        recorded.trajectory.energies,
        strict=True,
    ):
        assert 0 < steps < MAX_STEPS
        np.testing.assert_array_equal(ys[steps:], np.tile(y, (MAX_STEPS + 1 - steps, 1)))
        np.testing.assert_array_equal(energies[steps:], np.full(MAX_STEPS + 1 - steps, value))
        # Up to there every step moves.
        assert (np.abs(np.diff(ys[: steps + 1], axis=0)).max(axis=1) > 0).all()


def test_recording_changes_nothing(recorded, unrecorded):
    assert unrecorded.trajectory is None
    np.testing.assert_array_equal(recorded.steps, unrecorded.steps)
    np.testing.assert_array_equal(recorded.reason, unrecorded.reason)
    np.testing.assert_array_equal(recorded.converged, unrecorded.converged)
    np.testing.assert_allclose(recorded.y, unrecorded.y, rtol=0, atol=1e-6)
    np.testing.assert_allclose(recorded.energy, unrecorded.energy, rtol=0, atol=1e-6)


def test_batches_are_joined_with_their_trajectories(recorded):
    descent = make_descent(WELLS, FixedStep(STEP), max_steps=MAX_STEPS)
    done = []
    parts = minimise_all_recorded(descent, X, jnp.asarray(Y0), MAX_STEPS, 4, done.append)
    assert done == [3, 3]
    parts = jax.device_get(parts)
    np.testing.assert_array_equal(parts.steps, recorded.steps)
    np.testing.assert_allclose(parts.trajectory.ys, recorded.trajectory.ys, rtol=0, atol=1e-6)


def test_a_budget_that_ends_the_descent_ends_the_trajectory():
    solution = solve(WELLS, X, Y0, step=FixedStep(STEP), max_steps=2, trajectory=True)
    assert solution.trajectory.ys.shape == (6, 3, 4)
    np.testing.assert_array_equal(solution.reason, np.full(6, Reason.BUDGET))
    np.testing.assert_array_equal(solution.trajectory.ys[:, -1], solution.y)
