"""The numbers behind the figures, on energies whose landscape is known."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.evaluation import (
    difficulties,
    element_errors,
    error_curves,
    heights,
    ladder,
    problem_plane,
    sizes,
    steps_spent,
)

TASK = irem.tasks.get("addition", size=5)
GRAPHS = irem.tasks.get("edge-copy")
SQUARES = irem.energy.from_function(
    lambda x, y: 3.0 * jnp.sum((y - x[0] - x[1]) ** 2), answer_shape=(5,)
)
MODEL = irem.IREM(SQUARES, step_size=0.1)  # every step takes 0.4 of the distance
LEVELS = ("same", "harder")
# One number of problems nearly everywhere: another would be compiled anew.
COUNT = 8


@functools.cache
def graph_model():
    return irem.IREM(irem.energy.GINE.for_task(GRAPHS, key=jax.random.key(0), width=8))


def test_errors_fall_at_the_rate_of_the_quadratic():
    options = {
        "problems": COUNT,
        "max_steps": 6,
        "step": irem.FixedStep(),
        "key": jax.random.key(1),
    }
    curves = error_curves([MODEL], TASK, LEVELS, **options)
    for errors in curves.errors.values():
        assert errors.shape == (COUNT, 7)
        np.testing.assert_allclose(errors[:, 1:], errors[:, :-1] * 0.4**2, rtol=1e-3)
    assert list(curves.errors) == list(curves.trivial) == list(LEVELS)
    assert curves.as_dict()["mse_by_step"]["same"] == curves.errors["same"].mean(0).tolist()


def test_the_last_error_and_the_floor_are_those_of_an_evaluation():
    options = {"problems": COUNT, "key": jax.random.key(1)}
    curves = error_curves([MODEL], TASK, LEVELS, **options)
    for level in LEVELS:
        result = irem.evaluate(MODEL, TASK, level, **options)
        assert curves.errors[level][:, -1].mean() == pytest.approx(result.mse, rel=1e-3)
        assert curves.trivial[level] == pytest.approx(result.trivial_mse, rel=1e-6)


def test_steps_that_nobody_took_are_left_out():
    options = {"problems": COUNT, "key": jax.random.key(1)}
    errors = error_curves([MODEL], TASK, ("same",), max_steps=90, **options).errors["same"]
    taken = steps_spent([MODEL], TASK, ("same",), **options).steps["same"]
    assert errors.shape[1] <= 1 + taken.max() < 90
    assert (errors[:, -1] != errors[:, -2]).any()
    still = irem.energy.from_function(lambda x, y: 0.0 * jnp.sum(y - x[0]), answer_shape=(5,))
    curves = error_curves([still], TASK, ("same",), max_steps=5, step=0.1, **options)
    assert curves.errors["same"].shape == (COUNT, 2)


def test_an_energy_that_is_not_finite_has_no_error():
    broken = irem.energy.from_function(lambda x, y: jnp.nan * jnp.sum(x[0] - y), answer_shape=(5,))
    options = {"problems": COUNT, "max_steps": 2, "step": 0.1, "key": jax.random.key(0)}
    assert np.isnan(error_curves([broken], TASK, ("same",), **options).errors["same"]).all()


def test_a_diverging_descent_shows():
    model = irem.IREM(SQUARES, step_size=1e4)  # every step multiplies the distance by 6e4
    options = {
        "problems": COUNT,
        "max_steps": 20,
        "step": irem.FixedStep(),
        "key": jax.random.key(0),
    }
    errors = error_curves([model], TASK, ("same",), **options).errors["same"]
    np.testing.assert_allclose(errors[:, 1] / errors[:, 0], (6e4 - 1) ** 2, rtol=1e-3)
    assert (errors[:, -1] > 1e20).all()


def test_all_models_count():
    worse = irem.IREM(
        irem.energy.from_function(
            lambda x, y: 3.0 * jnp.sum((y - x[0] - x[1] - 1.0) ** 2), answer_shape=(5,)
        ),
        step_size=0.1,
    )
    options = {"problems": COUNT, "key": jax.random.key(1)}
    errors = error_curves([MODEL, worse], TASK, ("same",), **options).errors["same"]
    np.testing.assert_allclose(errors[:COUNT, -1], 0, atol=1e-4)
    np.testing.assert_allclose(errors[COUNT:, -1], 1, atol=1e-2)
    assert steps_spent([MODEL, worse], TASK, ("same",), **options).steps["same"].shape == (
        2 * COUNT,
    )
    distance, height = heights([MODEL, worse], TASK, ("same",), **options).points["same"]
    assert distance.shape == height.shape == (2 * COUNT * 8,)


def test_heights_of_the_quadratic_tell_the_distance():
    found = heights([MODEL], TASK, LEVELS, problems=COUNT, key=jax.random.key(3))
    for distance, height in found.points.values():
        np.testing.assert_allclose(height, 15 * distance, rtol=0.05, atol=1e-4)
    printed = found.as_dict()
    for level in LEVELS:
        assert printed["rank_correlation"][level] > 0.99
        assert printed["below_minimum"][level] == 0
        assert printed["distance"][level] == sorted(printed["distance"][level])
        ratios = np.divide(printed["energy_above_minimum"][level], printed["distance"][level])
        np.testing.assert_allclose(ratios, 15, rtol=0.1)


def test_candidates_below_what_a_descent_found_are_counted():
    # The slope is too small for this step to get anywhere: the truth lies below.
    options = {"problems": COUNT, "max_steps": 1, "step": 1e-9, "key": jax.random.key(3)}
    printed = heights([MODEL], TASK, ("harder",), **options).as_dict()
    assert printed["below_minimum"]["harder"] > 0.5


def test_every_entry_falls_at_the_rate_of_the_quadratic():
    options = {"max_steps": 4, "step": irem.FixedStep(), "key": jax.random.key(4)}
    elements = element_errors(MODEL, TASK, **options)
    assert elements.errors.shape == (5, 5)
    assert (np.diff(elements.errors[:, 0]) <= 0).all()
    np.testing.assert_allclose(elements.errors[:, 1:], elements.errors[:, :-1] * 0.16, rtol=1e-2)
    printed = elements.as_dict()
    assert printed["elements"] == 5
    np.testing.assert_allclose(printed["mse_by_step"], elements.errors.mean(0))
    assert printed["low_by_step"][0] < printed["mse_by_step"][0] < printed["high_by_step"][0]


def test_steps_are_those_that_solve_counts():
    key = jax.random.key(5)
    effort = steps_spent([MODEL], TASK, LEVELS, problems=COUNT, key=key)
    key_problems, key_guesses = jax.random.split(key)
    for level in LEVELS:
        x = TASK.batch(key_problems, COUNT, level).x
        expected = irem.solve(MODEL, x, key=key_guesses)
        np.testing.assert_array_equal(effort.steps[level], expected.steps)
        assert effort.as_dict()["steps_mean"][level] == pytest.approx(expected.steps.mean())
    assert effort.converged == {"same": 1.0, "harder": 1.0}


def test_a_budget_that_is_too_small_is_spent_and_said():
    effort = steps_spent(
        [MODEL], TASK, ("same",), problems=COUNT, max_steps=2, key=jax.random.key(5)
    )
    assert effort.steps["same"].tolist() == COUNT * [2]
    assert (effort.converged["same"], effort.max_steps) == (0.0, 2)


def test_graphs_of_several_sizes_have_labels_of_their_own():
    options = {"problems": 3, "max_steps": 2, "key": jax.random.key(0)}
    curves = error_curves([graph_model()], GRAPHS, (2, 4), **options)
    assert list(curves.errors) == ["2 nodes", "4 nodes"]
    assert list(steps_spent([graph_model()], GRAPHS, (2, 4), **options).steps) == [
        "2 nodes",
        "4 nodes",
    ]


def test_pairs_of_nodes_are_entries_and_graphs_have_planes():
    options = {"max_steps": 2, "key": jax.random.key(0)}
    assert element_errors(graph_model(), GRAPHS, 4, **options).errors.shape[0] == 16
    slice_ = problem_plane(graph_model(), GRAPHS, 4, **options)
    assert slice_.energies.shape == (60, 60)
    assert np.isfinite(slice_.energies).all()


def test_levels():
    assert sizes(GRAPHS) == (10, 15, 20, 25, 30)
    assert ladder(GRAPHS) == (5, 10, 15, 20, 25, 30)
    assert ladder(TASK) == difficulties(TASK) == difficulties(GRAPHS) == LEVELS
    with pytest.raises(irem.InputError, match=r"need graphs.*'addition' have one size"):
        sizes(TASK)


def test_progress_counts_every_problem_of_every_level_and_model():
    for measure in (error_curves, heights, steps_spent):
        done = []
        options = {"problems": COUNT, "max_steps": 2, "on_batch": done.append}
        measure([MODEL, MODEL], TASK, LEVELS, **options, key=jax.random.key(0))
        assert sum(done) == 2 * 2 * COUNT


@pytest.mark.parametrize("measure", [error_curves, heights, steps_spent])
def test_no_problems(measure):
    with pytest.raises(irem.InputError, match="`problems` must be greater than 0, got 0"):
        measure([MODEL], TASK, LEVELS, problems=0, key=jax.random.key(0))
