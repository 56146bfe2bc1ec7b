"""Points of a landscape, with bounds and without."""

import jax.numpy as jnp
import numpy as np
import pytest

from irem.descent.points import Move, Point, evaluate, project, rounding

SLOPES = np.array([0.5, -0.5, -0.5, 0.5, 0.5, -0.5, 0.0], np.float32)


class Slope:
    """A plane between bounds."""

    bounds = (jnp.full(7, -1.0), jnp.full(7, 1.0))

    def __call__(self, y):
        return jnp.sum(SLOPES * y)


def test_only_entries_at_a_bound_that_the_gradient_points_out_of_are_held():
    y = jnp.array([-1.0, -1.0, 1.0, 1.0, 0.0, 0.0, -1.0])
    point = evaluate(Slope(), y)
    held = np.array([True, False, True, False, False, False, False])
    np.testing.assert_array_equal(point.free, ~held)
    np.testing.assert_array_equal(point.gradient, np.where(held, 0, SLOPES))
    assert point.energy == float(np.sum(SLOPES * np.asarray(y)))


def test_without_bounds_every_entry_follows_the_gradient():
    point = evaluate(lambda y: jnp.sum(SLOPES * y), jnp.full(7, -1.0))
    assert point.free is None
    np.testing.assert_array_equal(point.gradient, SLOPES)


def test_a_point_is_moved_to_the_nearest_one_within_the_bounds():
    y = jnp.array([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0])
    np.testing.assert_array_equal(project(Slope(), y), np.clip(y, -1, 1))
    np.testing.assert_array_equal(project(jnp.sum, y), y)


@pytest.mark.parametrize(
    ("y", "energy", "gradient", "expected"),
    [
        (1.0, 1.0, 1.0, True),
        (np.nan, 1.0, 1.0, False),
        (1.0, np.inf, 1.0, False),
        (1.0, 1.0, -np.inf, False),
    ],
)
def test_a_point_is_finite_if_all_of_it_is(y, energy, gradient, expected):
    point = Point(jnp.array([0.0, y]), jnp.array(energy), jnp.array([gradient, 0.0]))
    assert bool(point.is_finite()) == expected


@pytest.mark.parametrize("energy", [-3.0, 0.25, 0.0])
def test_eight_units_in_the_last_place_may_be_rounding(energy):
    units = 8 * np.finfo(np.float32).eps * abs(energy)
    np.testing.assert_allclose(rounding(jnp.float32(energy)), units, rtol=1e-6)


def test_a_step_is_not_given_up_unless_a_search_says_so():
    point = evaluate(jnp.sum, jnp.ones(1))
    assert not Move(point, jnp.array(True), jnp.array(1.0), jnp.array(1.0)).given_up
