"""The numbers behind the figures, from descents written down by hand."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import irem
from irem.descent import Solution, Trajectory
from irem.evaluation import Curves, Descents, Effort, Elements, Heights, Plane, curves
from irem.problem import Problem

KEY = jax.random.key(0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Numbers(irem.tasks.Addition):
    """A task whose answers are zero; the trivial answer is 2."""

    name: ClassVar[str] = "numbers"
    drawn: ClassVar[list] = []

    def batch(self, key, problems, difficulty="same"):
        del key
        self.drawn.append((problems, difficulty))
        x = jnp.arange(problems)[:, None] + jnp.arange(4) / 8
        return Problem(x, jnp.zeros((problems, 4)))

    def trivial(self, x):
        return jnp.full(x.shape, 2.0)


TASK = Numbers()
GRAPHS = irem.tasks.get("edge-copy")
SQUARES = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2), answer_shape=(4,))
MODELS = THREE, FIVE = [irem.IREM(SQUARES, step_size=size) for size in (3.0, 5.0)]


def test_sizes_begin_with_those_of_training():
    assert curves.sizes(GRAPHS) == (10, 15, 20, 25, 30)
    assert curves.ladder(GRAPHS) == (5, 10, 15, 20, 25, 30)
    assert curves.ladder(TASK) == ("same", "harder")
    with pytest.raises(irem.InputError, match="'numbers' have one size"):
        curves.sizes(TASK)


def test_numbers_of_nodes_are_labels():
    assert [curves.label_of(level) for level in ("same", 5)] == ["same", "5 nodes"]


@pytest.mark.parametrize(
    ("errors", "taken"),
    [
        ([[4.0, 2, 1, 1, 1], [4, 2, 2, 1, 1]], 3),
        ([[4.0, 2, 1], [4, 4, 4]], 2),
        ([[4.0, 1, 1, 1]], 1),
        ([[4.0, 2, 1, 1], [np.nan] * 4], 2),  # a problem without an answer takes no step
        ([[4.0, 4, 4, 4]], 1),  # at least the first guess and one step are shown
    ],
)
def test_the_last_step_is_that_of_the_longest_descent(errors, taken):
    assert curves._steps_taken(np.array(errors)) == taken


def test_curves_are_printed_as_means_over_descents():
    errors = {"same": np.array([[4.0, 1.0], [2.0, 0.0]])}
    printed = Curves(errors, {"same": 0.5}).as_dict()
    assert printed == {"mse_by_step": {"same": [3.0, 0.5]}, "trivial_mse": {"same": 0.5}}


def test_heights_are_printed_as_medians_over_tenths_of_the_candidates():
    rng = np.random.default_rng(0)
    distance, height = rng.permutation(np.arange(30.0)), rng.normal(0.4, 1, 30)
    printed = Heights({"same": (distance, height)}).as_dict()
    order = np.argsort(distance).reshape(10, 3)
    np.testing.assert_allclose(printed["distance"]["same"], 1 + 3 * np.arange(10))
    medians = np.median(height[order], axis=1)
    np.testing.assert_allclose(printed["energy_above_minimum"]["same"], medians)
    expected = stats.spearmanr(distance, height)[0]
    assert printed["rank_correlation"]["same"] == pytest.approx(expected)
    assert printed["below_minimum"]["same"] == np.mean(height < 0)
    assert 0 < np.mean(height < 0) < np.mean(height < 1) < 1


def test_a_few_candidates_are_printed_one_by_one():
    points = np.array([3.0, 1.0, 2.0]), np.array([0.3, 0.1, 0.2])
    assert Heights({"same": points}).as_dict()["energy_above_minimum"]["same"] == [0.1, 0.2, 0.3]


def test_a_minimum_itself_does_not_lie_below_it():
    points = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    assert Heights({"same": points}).as_dict()["below_minimum"]["same"] == 0


def test_entries_are_printed_with_the_band_of_nine_tenths():
    steps = np.array([1.0, 10.0, 100.0])
    printed = Elements(np.arange(101.0)[:, None] * steps).as_dict()
    assert printed["elements"] == 101
    for name, value in (("mse_by_step", 50), ("low_by_step", 5), ("high_by_step", 95)):
        np.testing.assert_allclose(printed[name], value * steps)


def test_steps_are_printed_with_the_band_of_nine_tenths():
    assert Effort({"same": np.arange(101)}, {"same": 0.5}, 60).as_dict() == {
        "steps_mean": {"same": 50.0},
        "steps_low": {"same": 5.0},
        "steps_high": {"same": 95.0},
        "converged": {"same": 0.5},
    }


# Entries x steps of the one descent that `element_errors` makes; the last two steps change nothing.
PATH = np.array([[1.0, 0.5, 0.1, 0.1, 0.1], [-3, 0, 0, 0, 0], [2, 2, 1, 1, 1], [0, 1, 1, 1, 1]])


# The first problem of a batch whose energy is not finite.
NO_ENERGY = 101


@pytest.fixture
def asked(monkeypatch):
    """What descents were asked for, with their options."""
    made = []

    def solve(model, x, *, trajectory=False, **options):
        made.append(("solve", model, len(x), options))
        steps = jnp.full(len(x), int(model.step_size))
        found = Trajectory(jnp.asarray(PATH.T)[None]) if trajectory else None
        return Solution(jnp.zeros(x.shape), None, steps, converged=steps > 3, trajectory=found)

    def descents(model, batch, max_steps, **options):
        made.append(("descents", model, len(batch.x), {"max_steps": max_steps, **options}))
        errors = np.tile([[9.0, 1.0, 1.0, 1.0]], (len(batch.x), 1)) * model.step_size
        return Descents(errors, np.where(batch.x[:, :1] < NO_ENERGY, 1.0, np.nan) * errors)

    def energy_by_distance(model, batch, **options):
        made.append(("heights", model, len(batch.x), options))
        return np.full(len(batch.x), model.step_size), np.zeros(len(batch.x))

    for stand_in in (solve, descents, energy_by_distance):
        monkeypatch.setattr(curves, stand_in.__name__, stand_in)
    monkeypatch.setattr(curves, "default_max_steps", lambda model, _: int(10 * model.step_size))
    return made


def test_errors_of_all_models_are_cut_after_the_last_step(asked):
    found = curves.error_curves(MODELS, TASK, ["same", 5], problems=3, key=KEY)
    assert list(found.errors) == ["same", "5 nodes"]
    three, five = [27.0, 3.0], [45.0, 5.0]
    for errors in found.errors.values():
        np.testing.assert_array_equal(errors, [three] * 3 + [five] * 3)
    assert found.trivial == {"same": 4.0, "5 nodes": 4.0}
    assert [each[1:3] for each in asked] == [(THREE, 3), (FIVE, 3)] * 2


def test_a_descent_without_an_energy_has_no_error(asked):
    errors = curves.error_curves([THREE], TASK, ["same"], problems=NO_ENERGY + 2, key=KEY).errors
    assert np.isnan(errors["same"][NO_ENERGY:]).all()
    assert np.isfinite(errors["same"][:NO_ENERGY]).all()


def test_heights_of_all_models_are_joined(asked):
    found = curves.heights(MODELS, TASK, ["same"], problems=2, max_steps=7, key=KEY)
    np.testing.assert_array_equal(found.points["same"][0], [3, 3, 5, 5])
    assert asked[0][3]["max_steps"] == 7


@pytest.mark.parametrize(("given", "budget"), [(None, 30), (7, 7)])
def test_the_budget_of_steps_is_that_of_the_first_model_unless_given(asked, given, budget):
    found = curves.steps_spent(MODELS[:1], TASK, ["same"], problems=2, max_steps=given, key=KEY)
    assert found.max_steps == budget
    found = curves.steps_spent(MODELS, TASK, ["same"], problems=2, max_steps=given, key=KEY)
    assert found.max_steps == budget
    np.testing.assert_array_equal(found.steps["same"], [3, 3, 5, 5])
    assert found.converged == {"same": 0.5}
    assert {each[3]["max_steps"] for each in asked} == {given}


def test_entries_are_sorted_by_their_first_error_and_cut_after_the_last_step(asked):
    found = curves.element_errors(THREE, TASK, key=KEY)
    np.testing.assert_allclose(found.errors, np.square(PATH[[1, 2, 0, 3], :3]))
    assert asked[0][2] == 1
    assert asked[0][3]["max_steps"] == 100


def test_the_plane_of_a_problem_is_that_of_the_only_one_drawn(monkeypatch):
    made = []

    def stand_in(model, x, **options):
        made.append((model, x, options))
        return Plane(PATH, PATH, PATH, ())

    monkeypatch.setattr(curves, "plane", stand_in)
    monkeypatch.setattr(Numbers, "drawn", [])
    curves.problem_plane(THREE, TASK, key=KEY)
    assert Numbers.drawn == [(1, "harder")]
    ((model, x, options),) = made
    assert model is THREE
    np.testing.assert_array_equal(x, np.arange(4) / 8)
    assert options["max_steps"] == 100


MEASURES = [curves.error_curves, curves.heights, curves.steps_spent]


@pytest.mark.parametrize("measure", MEASURES)
def test_a_hundred_problems_of_each_difficulty_by_default(asked, measure):
    measure(MODELS[:1], TASK, ["same", "harder"], key=KEY)
    assert [each[2] for each in asked] == [100, 100]
    with pytest.raises(irem.InputError, match="`problems` must be greater than 0"):
        measure(MODELS, TASK, ["same"], problems=0, key=KEY)
