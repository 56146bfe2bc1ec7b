"""The search for quasi-Newton steps, on lines whose energies and slopes are given."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.descent import Line, Point, Wolfe
from irem.descent.wolfe import _narrowed

LINE = Line(jnp.array([1.0]), jnp.float32(-1), (), True)
TRUE, FALSE = jnp.array(True), jnp.array(False)


def point(y, energy, slope, free=None):
    """A point where the energy has this slope along the line."""
    return Point(jnp.array([y]), jnp.float32(energy), jnp.array([-slope]), free)


START = point(0.0, 0.5, -1.0)


def state(length=1.0, trials=0, along_gradient=False, **ends):
    """A search on the line, within the ends of a bracket that are given."""
    first = Wolfe().begin_line(Wolfe().init(START, None), LINE)
    ends = {name: jnp.float32(value) for name, value in ends.items()}
    return dataclasses.replace(
        first,
        length=jnp.float32(length),
        trials=jnp.array(trials, jnp.int32),
        along_gradient=jnp.array(along_gradient),
        **ends,
    )


def judge(length, energy, slope, rule=None, y=None, begin=START, on=LINE, **options):
    """The step of this length to a point of this energy and slope."""
    trial = point(-length if y is None else y, energy, slope)
    rule = Wolfe() if rule is None else rule
    return rule.judge(state(length, **options), on, begin, trial)


def on_quadratic(length, **options):
    """A step on a convex quadratic whose minimum is at a length of 1."""
    return judge(length, 0.5 * (1 - length) ** 2, length - 1, **options)


@pytest.mark.parametrize(
    ("trained_with", "expected"),
    [(None, (1.0, np.inf, 1.0)), (0.5, (0.5, 10.0, np.inf)), (0.01, (0.01, np.sqrt(2), np.inf))],
)
def test_a_search_begins_with_the_bounds_of_training_if_there_was_any(trained_with, expected):
    begin = Point(jnp.zeros(2), jnp.float32(1), jnp.array([3.0, 4.0]))
    first = Wolfe().init(begin, None if trained_with is None else jnp.float32(trained_with))
    bounds = (first.step_size, first.max_distance, first.first_distance)
    np.testing.assert_allclose(bounds, expected, rtol=1e-6)
    assert Wolfe().scale(first) == first.step_size
    assert first.along_gradient
    assert first.length == 1


@pytest.mark.parametrize(
    ("along_gradient", "max_distance", "expected"),
    [(True, np.inf, 0.2), (False, np.inf, 1.0), (False, 2.5, 0.5), (True, 0.5, 0.1)],
)
def test_a_line_begins_with_length_one_within_the_bounds(along_gradient, max_distance, expected):
    before = dataclasses.replace(
        state(9.0, trials=7, along_gradient=along_gradient, low=3.0, low_slope=-3.0, high=8.0),
        max_distance=jnp.float32(max_distance),
        high_slope=jnp.float32(4),
    )
    line = Line(jnp.array([3.0, 4.0]), jnp.float32(-25), (), True)
    begun = Wolfe().begin_line(before, line)
    np.testing.assert_allclose(begun.length, expected, rtol=1e-6)
    assert Wolfe().length(begun, line) == begun.length
    assert (begun.low, begun.low_slope, begun.high, begun.trials) == (0, -25, np.inf, 0)
    assert np.isnan(begun.high_slope)


@pytest.mark.parametrize(
    ("length", "accepted"), [(0.05, False), (0.15, True), (1.0, True), (1.9, True), (2.1, False)]
)
def test_a_step_is_accepted_if_it_is_neither_too_short_nor_too_long(length, accepted):
    move, restart, after = on_quadratic(length)
    assert bool(move.accepted) == accepted
    np.testing.assert_allclose(move.promised, length, rtol=1e-6)
    np.testing.assert_allclose(move.share, min(1, length), rtol=1e-6)
    assert not restart
    assert not move.given_up
    assert after.trials == 1


def test_the_next_length_is_where_the_slope_would_vanish():
    _, _, after = on_quadratic(3.0)  # too long
    np.testing.assert_allclose((after.low, after.high, after.length), (0, 3, 1), rtol=1e-6)
    _, _, after = on_quadratic(0.3, rule=Wolfe(slope=0.1))  # too short
    np.testing.assert_allclose((after.low, after.high, after.length), (0.3, np.inf, 1), rtol=1e-6)
    np.testing.assert_allclose(after.low_slope, -0.7, rtol=1e-6)


def test_a_share_of_the_promise_has_to_come_true():
    # A step of 2 promises 2.
    rule = Wolfe(decrease=0.25)
    assert judge(2.0, 0.5 - 0.6, 0.0, rule=rule)[0].accepted
    assert not judge(2.0, 0.5 - 0.4, 0.0, rule=rule)[0].accepted
    # By default little more than a decrease is asked for.
    assert judge(2.0, 0.5 - 3e-4, 0.0)[0].accepted
    assert not judge(2.0, 0.5 - 1e-4, 0.0)[0].accepted


def test_a_step_that_bounds_cut_short_is_held_to_what_is_left_of_it():
    free = jnp.array([True])
    begin = point(3.0, 0.5, -1.0, free)
    for y, accepted in ((2.0, True), (1.0, False)):  # half of a way of 1 is gained, or of 2
        move, _, _ = judge(8.0, 0.0, 0.0, rule=Wolfe(decrease=0.4), y=y, begin=begin)
        assert bool(move.accepted) == accepted


@pytest.mark.parametrize(("slope", "accepted"), [(1.0, True), (1.5, True), (1.7, False)])
@pytest.mark.parametrize("energy", [1e8 - 40, 1e8, 1e8 + 40])
def test_where_energies_round_slopes_decide(slope, accepted, energy):
    line = Line(jnp.array([1.0]), jnp.float32(-2), (), True)
    move, _, _ = judge(1.0, energy, slope, begin=point(0.0, 1e8, -2.0), on=line)
    assert bool(move.accepted) == accepted


def test_a_steep_step_is_accepted_where_no_longer_one_is_allowed_or_many_were_tried():
    steep = {"length": 0.5, "energy": -2.0, "slope": -5.0}
    assert not judge(**steep)[0].accepted
    assert judge(**steep, max_distance=0.5)[0].accepted
    assert not judge(**steep, max_distance=0.6)[0].accepted
    assert not judge(**steep, trials=5)[0].accepted
    assert judge(**steep, trials=6)[0].accepted
    # What is not steep is accepted before.
    assert judge(0.5, 0.0, -0.8)[0].accepted


def test_a_step_that_leads_nowhere_is_not_accepted():
    move, restart, _ = judge(1e-9, 0.5, -0.5, y=0.0)
    assert not move.accepted
    assert not restart
    # Where it is too long even so, there is no use in another.
    move, restart, after = judge(1e-9, np.nan, -1.0, y=0.0)
    assert restart
    assert after.along_gradient
    assert not move.given_up
    move, restart, _ = judge(1e-9, np.nan, -1.0, y=0.0, along_gradient=True)
    assert move.given_up
    assert not restart


@pytest.mark.parametrize(
    ("along_gradient", "trials", "ends"),
    [(False, 10, False), (False, 11, True), (True, 11, False), (True, 38, False), (True, 39, True)],
)
def test_a_line_ends_after_many_trials(along_gradient, trials, ends):
    move, restart, after = on_quadratic(3.0, trials=trials, along_gradient=along_gradient)
    assert not move.accepted
    assert bool(restart) == (ends and not along_gradient)
    assert bool(move.given_up) == (ends and along_gradient)
    assert bool(after.along_gradient) == (along_gradient or ends)
    assert after.trials == trials + 1


def test_after_a_step_the_curvature_is_known():
    move, restart, after = on_quadratic(1.0, trials=39, along_gradient=True)
    assert move.accepted
    assert not move.given_up
    assert not restart
    assert not after.along_gradient


def test_a_step_that_is_not_finite_is_too_long():
    for energy in (np.nan, np.inf, -np.inf):
        move, _, after = judge(2.0, energy, 0.0)
        assert not move.accepted
        assert after.high == 2
        assert np.isnan(after.high_slope)
        # The next one is much shorter.
        np.testing.assert_allclose(after.length, 0.2, rtol=1e-6)


def narrowed(slope, too_long, longest=np.inf, **given):
    return _narrowed(state(**given), jnp.float32(slope), too_long, jnp.float32(longest))


@pytest.mark.parametrize(
    ("low_slope", "slope", "trials", "expected"),
    [
        (-1.0, 0.5, 0, 3.0),  # where a parabola is least
        (-1.0, 0.5, 2, 2.5),  # every third time the middle
        (-1.0, 0.5, 3, 3.0),
        (-1.0, np.nan, 0, 1.3),  # near the end that is known
        (-1.0, -0.5, 0, 2.5),
        (-0.001, 1.0, 0, 1.03),  # not too near either end
        (-1.0, 0.05, 0, 3.7),
    ],
)
def test_a_bracket_is_narrowed_from_above(low_slope, slope, trials, expected):
    after = narrowed(slope, TRUE, length=4.0, low=1.0, low_slope=low_slope, trials=trials)
    np.testing.assert_allclose(after.length, expected, rtol=1e-6)
    assert (after.low, after.high, after.trials) == (1, 4, trials + 1)
    np.testing.assert_array_equal(after.high_slope, np.float32(slope))
    np.testing.assert_array_equal(after.low_slope, np.float32(low_slope))


def test_a_bracket_is_narrowed_from_below():
    given = {"length": 4.0, "low": 1.0, "low_slope": -1.0, "high": 7.0, "high_slope": 0.5}
    after = narrowed(-0.25, FALSE, **given)
    assert (after.low, after.low_slope, after.high, after.high_slope) == (4, -0.25, 7, 0.5)
    np.testing.assert_allclose(after.length, 5.0, rtol=1e-6)


@pytest.mark.parametrize(
    ("slope", "longest", "expected"),
    [
        (-0.6, np.inf, 2.0),  # the slope lessens by a half for each length
        (-0.9, np.inf, 8.0),  # it does not lessen: ten times as long
        (-0.05, np.inf, 1.6),  # it has nearly vanished: twice as long
        (-0.6, 1.7, 1.7),
    ],
)
def test_beyond_the_last_length_it_is_where_the_slope_would_vanish(slope, longest, expected):
    after = narrowed(slope, FALSE, longest, length=0.8, low=0.4, low_slope=-0.8)
    np.testing.assert_allclose(after.length, expected, rtol=1e-5)
    assert after.high == np.inf


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decrease": 0.0}, "`decrease` must be greater than 0"),
        ({"slope": -0.5}, "`slope` must be greater than 0"),
        ({"decrease": 0.9, "slope": 0.5}, "`decrease` must be less than `slope`"),
        ({"slope": 1.5}, "that less than 1; got 0.0001 and 1.5"),
    ],
)
def test_conditions_that_no_step_meets_are_refused(settings, message):
    with pytest.raises(irem.InputError, match=message):
        Wolfe(**settings)
