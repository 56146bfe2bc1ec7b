"""Landscapes in closed form around points written down by hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from irem.descent import Solution, Trajectory
from irem.evaluation import Plane, landscapes
from irem.evaluation.landscapes import _energies, perturbed, plane_of, recorded
from irem.formats import Stacks
from irem.problem import Problem

KEY = jax.random.key(0)


class Quadratic(eqx.Module):
    """The squared distance of a point from the problem, with a scratchpad behind the answer."""

    answer: int | None = eqx.field(static=True, default=None)
    step_size: float = 0.1
    format = Stacks()

    def landscape(self, x):
        return lambda point: jnp.sum(jnp.square(point - x)) + 3.0

    def read(self, x, point):
        del x
        return point[: self.answer]

    def guess(self, x, shape, *, key):
        raise NotImplementedError

    begin = guess


def test_errors_and_energies_of_every_step_of_every_problem():
    ys = jnp.array([[[1.0, 3.0], [1.0, 1.0], [0.0, 0.0]], [[4.0, 4.0], [2.0, 4.0], [2.0, 2.0]]])
    energies = jnp.arange(6.0).reshape(2, 3)
    trajectory = Trajectory(ys, energies)
    solution = Solution(ys[:, -1], None, jnp.array([2, 2]), trajectory=trajectory)
    found = recorded(solution, Problem(None, jnp.array([[0.0, 0.0], [2.0, 2.0]])))
    np.testing.assert_allclose(found.errors, [[5, 1, 0], [4, 2, 0]])
    np.testing.assert_array_equal(found.energies, energies)


@pytest.fixture(scope="module")
def around():
    """Distances and heights around many answers, whose mean tells their deviation well."""
    y = jnp.arange(300.0)[:, None, None] * jnp.ones((1, 2, 200))
    batch = Problem(y, y)
    found = Solution(y + 1, jnp.arange(300.0), jnp.ones(300, int))
    return perturbed(Quadratic(), batch, found, key=KEY)


def test_candidates_lie_at_distances_from_a_hundredth_to_one_evenly_by_their_logarithms(around):
    distance, _ = around
    assert distance.shape == (8 * 300,)
    deviations = np.sqrt(distance)
    assert 0.008 < deviations.min() < 0.011
    assert 0.9 < deviations.max() < 1.2
    assert stats.kstest(np.log10(deviations), stats.uniform(-2, 2).cdf).pvalue > 0.01


def test_heights_are_energies_above_what_was_found(around):
    distance, height = around
    expected = 400 * distance + 3 - np.tile(np.arange(300), 8)
    np.testing.assert_allclose(height, expected, rtol=1e-2, atol=1e-2)


def test_as_many_candidates_as_asked_and_each_has_its_own_deviation():
    y = jnp.zeros((2, 500))
    found = Solution(y, jnp.zeros(2), jnp.ones(2, int))
    distance, height = perturbed(Quadratic(), Problem(y, y), found, candidates=3, key=KEY)
    assert distance.shape == height.shape == (6,)
    assert len(np.unique(distance.round(5))) == 6


def test_a_scratchpad_stays_where_an_answer_is_replaced():
    x = jnp.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    points = jnp.array([[7.0, 8.0, 4.0], [7.0, 8.0, 2.0]])
    energies = _energies(Quadratic(2), x, points, jnp.array([[2.0, 3.0], [1.0, 0.0]]))
    np.testing.assert_allclose(energies, [1 + 4 + 9 + 3, 1 + 4 + 3])


# Two descents of three points on a plane in four dimensions, and one point beside the plane.
ANSWER, FIRST, SECOND = np.array([[1.0, 1, 1, 1], [3, 1, 1, 1], [1, 2, 1, 1]])
ASIDE = np.array([0.0, 0, 0, 5])
PATHS = [
    [FIRST, (FIRST + ANSWER) / 2 + ASIDE, ANSWER],
    [SECOND, 0.25 * FIRST + 0.5 * SECOND + 0.25 * ANSWER, ANSWER + 0.125 * (FIRST - ANSWER)],
]
YS = jnp.array(PATHS, jnp.float32).reshape(2, 3, 2, 2)
PROBLEM = jnp.array([[2.0, 1.0], [0.0, 1.0]])


def test_paths_are_projected_onto_the_plane_of_the_answer_and_two_guesses():
    first, second = plane_of(Quadratic(), PROBLEM, YS, resolution=4).paths
    np.testing.assert_allclose(first, [[1, 0], [0.5, 0], [0, 0]], atol=1e-5)
    np.testing.assert_allclose(second, [[0, 1], [0.25, 0.5], [0.125, 0]], atol=1e-5)


def test_energies_are_those_of_the_points_of_the_plane():
    found = plane_of(Quadratic(), PROBLEM, YS, resolution=7)
    assert found.first.shape == found.second.shape == found.energies.shape == (7, 7)
    # Of a point, only the first two entries change: by 2 and by 1 for each unit.
    expected = np.square(2 * found.first - 1) + np.square(found.second) + 1 + 3
    np.testing.assert_allclose(found.energies, expected, rtol=1e-5)
    assert (np.diff(found.first, axis=1) > 0).all()
    assert (np.diff(found.second, axis=0) > 0).all()


def test_the_plane_shows_a_margin_around_the_answer_and_the_guesses():
    found = plane_of(Quadratic(), PROBLEM, YS)
    assert found.energies.shape == (60, 60)
    for ticks in (found.first, found.second):
        assert -0.5 < ticks.min() < -0.2
        assert 1.2 < ticks.max() < 2


def test_a_plane_is_printed_as_paths_and_the_range_of_its_energies():
    energies = np.array([[4.0, -1.0], [2.0, 3.0]])
    found = Plane(energies, energies, energies, (np.eye(2), np.zeros((1, 2))))
    assert found.as_dict() == {
        "paths": [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0]]],
        "lowest_energy": -1.0,
        "highest_energy": 4.0,
    }


@pytest.fixture
def asked(monkeypatch):
    """The options that descents were asked for with; what they find is written down above."""
    made = []

    def stand_in(model, x, *, trajectory=False, **options):
        made.append((model, x, options))
        found = Trajectory(YS, jnp.zeros((2, 3))) if trajectory else None
        return Solution(YS[:, -1], jnp.zeros(2), jnp.ones(2, int), trajectory=found)

    monkeypatch.setattr(landscapes, "solve", stand_in)
    return made


def test_descents_keep_every_step(asked):
    batch = Problem(jnp.stack([PROBLEM, PROBLEM]), YS[:, -1])
    found = landscapes.descents(Quadratic(), batch, 9, key=KEY)
    assert found.errors.shape == found.energies.shape == (2, 3)
    assert asked[0][2]["max_steps"] == 9


def test_the_plane_of_a_model_is_that_of_two_descents_of_thirty_steps_on_one_problem(asked):
    found = landscapes.plane(Quadratic(), PROBLEM, key=KEY)
    assert found.energies.shape == (60, 60)
    np.testing.assert_allclose(found.paths[0], [[1, 0], [0.5, 0], [0, 0]], atol=1e-5)
    _, x, options = asked[0]
    np.testing.assert_array_equal(x, [PROBLEM, PROBLEM])
    assert options["max_steps"] == 30


def test_eight_candidates_of_every_problem_by_default(asked):
    batch = Problem(jnp.stack([PROBLEM, PROBLEM]), YS[:, -1])
    distance, height = landscapes.energy_by_distance(Quadratic(), batch, key=KEY)
    assert distance.shape == height.shape == (16,)
