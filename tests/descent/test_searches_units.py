"""Searches along a line of slope -4: a step of length 1 promises 4."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem import Backtracking
from irem.descent import Damped, Fixed, FixedStep, Line, Point
from irem.descent.searches import longest_on


def point(energy=10.0, gradient=2.0, y=0.0):
    return Point(jnp.array([y]), jnp.float32(energy), jnp.array([gradient]))


def line(has_memory=False, own_length=False):
    memory = jnp.zeros(1) if has_memory else ()
    return Line(jnp.array([2.0]), jnp.float32(-4), memory, own_length)


def state(length=1.0, rejections=0, probes=0, met_not_finite=False, max_distance=np.inf):
    first = Backtracking().init(point(), None)
    return dataclasses.replace(
        first,
        length=jnp.float32(length),
        rejections=jnp.array(rejections, jnp.int32),
        probes=jnp.array(probes, jnp.int32),
        met_not_finite=jnp.array(met_not_finite),
        max_distance=jnp.float32(max_distance),
    )


def judge(gained, before=None, energy=10.0, on=None):
    """The step, whether to start afresh, and the state, where the energy fell by this much."""
    trial = point(energy - gained, gradient=1.0, y=-2.0)
    before = state() if before is None else before
    return Backtracking().judge(before, line() if on is None else on, point(energy), trial)


@pytest.mark.parametrize(
    ("size", "trained_with", "expected"),
    [
        (0.5, 2.0, (0.5, 0.25)),
        (4.0, 2.0, (4.0, 1.0)),
        (None, 2.0, (2.0, 1.0)),
        (0.5, None, (0.5, 1.0)),
    ],
)
def test_a_fixed_step_knows_its_share_of_the_step_of_training(size, trained_with, expected):
    trained_with = None if trained_with is None else jnp.float32(trained_with)
    assert Fixed(size).init(point(), trained_with) == expected


@pytest.mark.parametrize(("after", "share"), [(-2.0, 0.5), (-1.6, 0.5), (-2.6, 1.0), (1.9, 1.0)])
def test_a_damped_step_is_halved_after_a_jump_across_a_valley(after, share):
    search = Damped()
    before = search.init(point(), jnp.float32(3))
    assert float(search.length(before, line())) == 3
    higher = point(energy=11.0, gradient=after)
    move, restart, state = search.judge(before, line(), point(), higher)
    assert bool(move.accepted)
    assert not bool(restart)
    assert float(search.length(state, line())) == 3 * share


def test_damped_steps_settle_where_fixed_ones_go_back_and_forth():
    # Between 1 and -1, for ever: the slope is 2 wherever the step leads.
    energy = irem.energy.from_function(lambda x, y: jnp.sum(jnp.abs(y)) * x)
    x, y0 = np.ones(1, np.float32), np.ones((1, 1), np.float32)
    for step, ends in ((FixedStep(2.0), 1.0), (irem.Step(search=Damped()), 0.05)):
        model = irem.IREM(energy, step_size=2.0)
        found = irem.solve(model, x, y0, step=step, max_steps=20)
        assert abs(float(found.y[0, 0])) == pytest.approx(ends, abs=0.05)


@pytest.mark.parametrize(("name", "value"), [("rtol", 0.0), ("rtol", 1.0), ("shrink", 1.5)])
def test_damped_steps_refuse_lengths_that_do_not_adapt(name, value):
    with pytest.raises(irem.InputError, match=rf"`{name}` must be (less|greater) than"):
        Damped(**{name: value})


def test_a_fixed_step_is_always_accepted():
    search = Fixed(0.5)
    before = search.init(point(), jnp.float32(2))
    assert search.scale(before) == 1
    assert search.begin_line(before, line()) == before
    assert search.length(before, line()) == 0.5
    move, restart, after = search.judge(before, line(), point(gradient=3.0), point(energy=99.0))
    assert move.accepted
    assert not restart
    assert after == before
    # Half of a direction of 2 times a gradient of 3.
    assert (move.promised, move.share) == (3.0, 0.25)


def gradient_of(entries):
    return Point(jnp.zeros(2), jnp.float32(1), jnp.array(entries))


def test_a_trained_energy_has_bounds_on_its_steps():
    first = Backtracking().init(gradient_of([3.0, 4.0]), jnp.float32(0.5))
    assert (first.step_size, first.length, first.max_length) == (0.5, 1, 1)
    # Four steps of half the gradient; on a plateau, as far as guesses lie from zero.
    assert first.max_distance == 10
    plateau = Backtracking().init(gradient_of([0.0, 0.0]), jnp.float32(0.5))
    np.testing.assert_allclose(plateau.max_distance, np.sqrt(2), rtol=1e-6)
    assert (first.rejections, first.probes, first.met_not_finite) == (0, 0, False)


def test_a_hand_written_energy_has_none():
    search, first = Backtracking(), Backtracking().init(gradient_of([3.0, 4.0]), None)
    assert search.scale(first) == first.length == 1
    assert first.max_distance == np.inf
    assert first.max_length > 1e9


def test_a_line_begins_within_the_bound_of_the_distance():
    # The direction has a length of 2.
    for length, expected in ((5.0, 1.5), (1.0, 1.0)):
        begun = Backtracking().begin_line(state(length, max_distance=3.0), line())
        assert begun.length == expected


@pytest.mark.parametrize(
    ("probes", "max_distance", "expected"),
    [(0, np.inf, 0.5), (1, np.inf, 5.0), (2, np.inf, 50.0), (2, 6.0, 3.0), (2, 0.4, 0.5)],
)
def test_every_probe_is_ten_times_as_long_up_to_the_bound(probes, max_distance, expected):
    before = state(0.5, probes=probes, max_distance=max_distance)
    assert Backtracking().length(before, line()) == expected


@pytest.mark.parametrize(
    ("gained", "accepted"), [(4.0, True), (1.7, True), (1.5, False), (0.0, False), (-1.0, False)]
)
def test_two_fifths_of_the_promise_are_enough(gained, accepted):
    move, restart, after = judge(gained)
    assert bool(move.accepted) == accepted
    assert move.promised == 4
    assert not restart
    assert after.length == (1.5 if accepted else 0.5)
    assert after.rejections == (0 if accepted else 1)
    assert not after.met_not_finite


@pytest.mark.parametrize("energy", [np.nan, np.inf, -np.inf])
def test_a_step_that_is_not_finite_is_rejected(energy):
    trial = point(energy)
    move, _, after = Backtracking().judge(state(), line(), point(), trial)
    assert not move.accepted
    np.testing.assert_array_equal(move.trial.energy, np.float32(energy))
    assert after.met_not_finite
    assert after.length == 0.5


def test_energies_that_differ_by_rounding_decide_nothing():
    # Of an energy of 1e8 a change of 95 may be rounding, and the step promises 4.
    move, _, after = judge(gained=80.0, energy=1e8)
    assert not move.accepted
    assert (after.length, after.probes, after.rejections) == (1, 1, 1)
    # After a step that was not finite the next one is shorter all the same.
    _, _, after = judge(gained=80.0, energy=1e8, before=state(met_not_finite=True))
    assert (after.length, after.probes) == (0.5, 0)
    assert after.met_not_finite


@pytest.mark.parametrize(
    ("gained", "rejections", "share"), [(3.5, 0, 0), (2.5, 0, 1), (3.5, 1, 1), (1.0, 0, 1)]
)
def test_a_step_that_met_no_curvature_ends_no_descent(gained, rejections, share):
    move, _, _ = judge(gained, before=state(rejections=rejections))
    assert move.share == share


def test_a_probe_promises_what_the_step_before_it_did_unless_it_is_accepted():
    before = state(probes=1)  # ten times as long
    move, _, after = judge(gained=1.0, before=before)
    assert not move.accepted
    assert move.promised == 4
    assert move.trial.energy == 9
    assert not after.met_not_finite
    move, _, after = judge(gained=30.0, before=before, energy=100.0)
    assert move.accepted
    assert move.promised == 40
    assert (after.length, after.probes) == (15, 0)


def test_a_probe_that_is_not_finite_says_nothing():
    move, _, after = Backtracking().judge(state(probes=1), line(), point(), point(np.nan))
    assert not move.accepted
    assert move.trial.energy == 10
    assert not after.met_not_finite


def test_a_step_that_is_accepted_begins_anew():
    before = state(length=0.25, rejections=3, probes=0, met_not_finite=True)
    move, restart, after = judge(gained=0.9, before=before, on=line(has_memory=True))
    assert move.accepted
    assert not restart
    assert (after.length, after.rejections, after.probes) == (0.375, 0, 0)
    assert not after.met_not_finite
    # A quasi-Newton direction has a length of its own.
    _, _, after = judge(gained=0.9, before=before, on=line(own_length=True))
    assert after.length == 1
    # Steps of training are the longest.
    before = dataclasses.replace(state(), max_length=jnp.float32(1))
    assert judge(gained=2.0, before=before)[2].length == 1


@pytest.mark.parametrize(
    ("rejections", "has_memory", "energy", "restarts"),
    [
        (3, True, 10.0, True),
        (2, True, 10.0, False),
        (4, True, 10.0, False),
        (3, False, 10.0, False),
        (3, True, 1e8, False),  # a longer step is tried first
    ],
)
def test_a_direction_with_a_memory_is_dropped_after_four_rejections(
    rejections, has_memory, energy, restarts
):
    before = state(length=0.25, rejections=rejections)
    _, restart, after = judge(gained=0.0, before=before, energy=energy, on=line(has_memory))
    assert bool(restart) == restarts
    assert after.length == (1 if restarts else 0.25 if energy > 10 else 0.125)
    assert after.rejections == rejections + 1


@pytest.mark.parametrize(("direction", "expected"), [([0.3, 0.4], 4), ([3.0, 4.0], 0.4)])
def test_the_longest_step_goes_as_far_as_the_distance(direction, expected):
    on = Line(jnp.array(direction), jnp.float32(-1), (), False)
    np.testing.assert_allclose(longest_on(on, jnp.float32(2)), expected, rtol=1e-6)
    nowhere = Line(jnp.zeros(2), jnp.float32(0), (), False)
    assert longest_on(nowhere, jnp.float32(2)) == np.inf


def test_a_growth_without_end_is_refused():
    with pytest.raises(irem.InputError, match=r"`grow` must be at least 1, got inf"):
        Backtracking(grow=np.inf)
    assert Backtracking(grow=1.0).grow == 1
