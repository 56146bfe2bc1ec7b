"""Halting rules on single steps, whose numbers decide one condition each."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem import EnergyUnchanged, GradientSmall, Reason
from irem.descent import RUNNING, Move, Point, Stationary
from irem.descent.halting import (
    StationaryMemory,
    _curvature,
    _default_xtol,
    is_minimum,
    reason_to_stop,
)


def point(y, gradient, energy=1.0, free=None):
    free = None if free is None else jnp.array(free)
    y, gradient = (jnp.array(np.atleast_1d(part), jnp.float32) for part in (y, gradient))
    return Point(y, jnp.float32(energy), gradient, free)


def move(trial, accepted=True, share=0.8, given_up=False):
    return Move(trial, jnp.array(accepted), jnp.float32(0), jnp.float32(share), jnp.array(given_up))


def memory(first_y=0.0, largest=2.0, least=0.05, energy=1.0, curvature=np.inf, small=0, idle=0):
    return StationaryMemory(
        jnp.array([first_y], jnp.float32),
        *(jnp.float32(value) for value in (largest, least, energy, curvature)),
        *(jnp.array(value, jnp.int32) for value in (small, idle)),
    )


# The answer is 4, so a distance of 0.4 is small, and so is a step of 0.04; the gradient is small up
# to 0.2.
RULE = Stationary(patience=1, xtol=0.1, gtol=0.1, idle_patience=3)


def after_step(step=0.02, curvature=1.0, norm=0.06, state=None, rule=RULE, **options):
    before, after = point(4 + step, norm + curvature * step), point(4.0, norm)
    return rule(memory() if state is None else state, before, after, move(after, **options))


def verdict(*arguments, **options):
    return int(after_step(*arguments, **options)[1])


def test_a_small_step_to_a_small_gradient_near_the_minimum_ends_a_descent():
    assert verdict() == Reason.GRADIENT_SMALL


@pytest.mark.parametrize(
    "change",
    [
        {"state": memory(largest=0.4)},  # the gradient is not small
        {"curvature": 0.1},  # the minimum is farther than 0.4
        {"state": memory(curvature=0.1)},  # the same by an earlier step
        {"step": 0.06},
        {"share": 0.5},  # the step was cut short
        {"accepted": False},
        {"rule": dataclasses.replace(RULE, patience=2)},
    ],
    ids=["gradient", "distance", "distance before", "step", "share", "rejected", "patience"],
)
def test_one_condition_that_fails_keeps_a_descent_running(change):
    assert verdict(**change) == RUNNING


def test_small_steps_are_counted_in_a_row():
    rule = dataclasses.replace(RULE, patience=9)
    for change, expected in (({}, 6), ({"step": 0.06}, 0), ({"accepted": False}, 5)):
        new, _ = after_step(state=memory(small=5), rule=rule, **change)
        assert new.small_steps == expected


@pytest.mark.parametrize(("norm", "stops"), [(0.11, True), (0.13, False)])
def test_a_small_answer_is_measured_by_a_tenth_of_its_way(norm, stops):
    # From -11 to 1 are 12, a tenth of which is larger than the answer.
    before, after = point(1.01, norm + 0.01), point(1.0, norm)
    _, said = RULE(memory(first_y=-11.0), before, after, move(after))
    assert said == (Reason.GRADIENT_SMALL if stops else RUNNING)


def test_the_default_ends_after_two_small_steps_with_a_thousandth_of_the_gradient():
    for norm, expected in ((0.9e-3, [RUNNING, Reason.GRADIENT_SMALL]), (1.1e-3, [RUNNING] * 2)):
        state, here = memory(largest=1.0, least=0.0, curvature=1e3), point(4.0, norm)
        said = []
        for _ in range(2):
            state, one = Stationary()(state, here, here, move(here))
            said.append(int(one))
        assert said == expected


def rejected(norm, state, given_up=True, rule=None, energy=1.0):
    """What a rule says where a step from a point of this gradient was rejected."""
    here = point(4.0, norm, energy)
    rule = Stationary(patience=1, xtol=1e-5, gtol=0.1, idle_patience=3) if rule is None else rule
    return rule(state, here, here, move(here, accepted=False, given_up=given_up))


@pytest.mark.parametrize(
    ("norm", "largest", "reason"),
    [
        (3e-4, 2.0, Reason.GRADIENT_SMALL),  # at most 4e-4 is near
        (6e-4, 2.0, Reason.STALLED),
        (3e-4, 1e-3, Reason.STALLED),  # near, but the gradient was never larger
    ],
)
def test_where_a_search_gives_up_the_distance_decides(norm, largest, reason):
    state = memory(largest=largest, least=0.0, curvature=1.0)
    assert rejected(norm, state)[1] == reason
    assert rejected(norm, state, given_up=False)[1] == RUNNING


def test_steps_without_progress_end_a_descent():
    said = [int(rejected(0.5, memory(idle=i), given_up=False)[1]) for i in range(4)]
    assert said == [RUNNING, RUNNING, Reason.STALLED, Reason.STALLED]


@pytest.mark.parametrize(
    ("norm", "energy", "idle"),
    [
        (1.9, 1.0, 8),  # neither is lower
        (1.9, 0.5, 0),
        (1.0, 1.0, 0),
        (1.9, 1.0 - 4e-7, 8),  # lower by rounding alone
        (1.9, 2.0, 8),
    ],
)
def test_progress_is_a_lower_energy_or_a_lesser_gradient(norm, energy, idle):
    state = memory(least=2.0, idle=7)
    assert rejected(norm, state, energy=energy)[0].idle_steps == idle


def test_the_least_curvature_is_forgotten_with_every_new_least_gradient():
    state = memory(least=2.0, curvature=3.0)
    assert rejected(1.9, state)[0].curvature == 3
    assert 3 < rejected(1.0, state)[0].curvature < 6
    # One that is less along this step takes its place.
    new, _ = after_step(curvature=0.5, state=memory(curvature=3.0))
    np.testing.assert_allclose(new.curvature, 0.5, rtol=1e-3)


def test_the_extremes_of_a_descent_are_kept():
    new, _ = rejected(3.0, memory(largest=2.0, least=2.0, energy=1.0), energy=5.0)
    assert (new.largest_gradient, new.least_gradient, new.least_energy) == (3, 2, 1)
    new, _ = rejected(1.0, memory(largest=2.0, least=2.0, energy=1.0), energy=-5.0)
    assert (new.largest_gradient, new.least_gradient, new.least_energy) == (2, 1, -5)


def test_a_gradient_of_zero_ends_a_descent_at_once():
    rule = dataclasses.replace(RULE, patience=9)
    assert rejected(0.0, memory(), given_up=False, rule=rule)[1] == Reason.GRADIENT_SMALL
    assert rejected(1.0, memory(), given_up=False, rule=rule)[1] == RUNNING


@pytest.mark.parametrize(("y", "reason"), [(1.5e12, RUNNING), (2.5e12, Reason.STALLED)])
def test_a_descent_that_goes_on_and_on_has_diverged(y, reason):
    # Twice 1e12 is far from a first guess of 1.
    before, after = point(y, 1.0, 1.0), point(y, 1.0, 0.0)
    assert RULE(memory(first_y=1.0), before, after, move(after))[1] == reason


@pytest.mark.parametrize(
    ("name", "zero"), [("patience", 0), ("idle_patience", 0), ("gtol", 0.0), ("xtol", 0.0)]
)
def test_a_stationary_rule_that_means_nothing_is_refused(name, zero):
    with pytest.raises(irem.InputError, match=rf"`{name}` must be greater than 0, got 0"):
        Stationary(**{name: zero})


def test_the_tolerance_of_the_answer_is_that_of_the_precision():
    assert _default_xtol(point(1.0, 1.0)) == 1e-4
    with jax.enable_x64(True):
        one = jnp.ones((), jnp.float64)
        assert _default_xtol(Point(one, one, one)) == 1e-6


@pytest.mark.parametrize(("norm", "stops"), [(0.9e-4, True), (1.1e-4, False)])
def test_a_gradient_is_small_at_a_ten_thousandth_of_the_first(norm, stops):
    rule = GradientSmall()
    state, after = rule.init(point([3.0, 4.0], [0.6, 0.8])), point([3.0, 4.0], [0.0, norm])
    assert rule(state, after, after, move(after))[1] == (
        Reason.GRADIENT_SMALL if stops else RUNNING
    )


def test_a_gradient_is_small_in_any_case_below_the_absolute_tolerance():
    rule = GradientSmall(rtol=0.25, atol=0.5)
    for norm, reason in ((0.7, Reason.GRADIENT_SMALL), (0.8, RUNNING)):
        after = point(0.0, norm)
        assert rule(rule.init(point(0.0, 1.0)), after, after, move(after))[1] == reason


@pytest.mark.parametrize(
    ("norm", "promised", "reason"),
    [
        (0.5, 0.5, RUNNING),
        (0.05, 0.5, Reason.GRADIENT_SMALL),
        (0.5, 0.0, Reason.ENERGY_UNCHANGED),
        (0.05, 0.0, Reason.GRADIENT_SMALL),
    ],
)
def test_the_first_of_several_rules_that_stops_gives_the_reason(norm, promised, reason):
    gradient, energy = GradientSmall(rtol=0.1), EnergyUnchanged(patience=1)
    before, after = point(0.0, 1.0), point(0.0, norm)
    step = Move(after, jnp.array(True), jnp.float32(promised), jnp.float32(1))
    rules = gradient | energy
    memories, said = rules(rules.init(before), before, after, step)
    assert said == reason
    assert memories[0] == 1
    assert memories[1].unchanged_steps == (0 if promised else 1)


@pytest.mark.parametrize("length", [0.5, 4.0])
def test_the_curvature_is_the_change_of_the_slope_over_the_length(length):
    step = length * np.array([0.6, -0.8])
    before, after = point([1.0, 2.0], [0.5, 0.25]), point(np.array([1.0, 2.0]) + step, [1.5, -0.75])
    # Along the step the slope changes by 0.6 + 0.8.
    np.testing.assert_allclose(_curvature(before, after), 1.4 / length, rtol=1e-5)
    assert _curvature(before, before) == np.inf


def test_the_curvature_is_that_of_entries_that_are_free_at_both_ends():
    before = point([0.0, 0.0, 0.0], [1.0, 0.0, 2.0], free=[True, False, True])
    after = point([2.0, 5.0, 5.0], [7.0, 3.0, 0.0], free=[True, True, False])
    assert _curvature(before, after) == 3


@pytest.mark.parametrize(
    ("said", "finite", "out_of_steps", "reason"),
    [
        (RUNNING, True, False, RUNNING),
        (RUNNING, True, True, Reason.BUDGET),
        (RUNNING, False, False, RUNNING),  # a shorter step may be finite
        (RUNNING, False, True, Reason.BUDGET),
        (Reason.GRADIENT_SMALL, True, False, Reason.GRADIENT_SMALL),
        (Reason.GRADIENT_SMALL, True, True, Reason.GRADIENT_SMALL),
        (Reason.ENERGY_UNCHANGED, False, False, Reason.NOT_FINITE),
        (Reason.ENERGY_UNCHANGED, False, True, Reason.NOT_FINITE),
    ],
)
def test_the_halting_rule_comes_before_the_budget(said, finite, out_of_steps, reason):
    found = reason_to_stop(jnp.array(int(said)), jnp.array(finite), jnp.array(out_of_steps))
    assert found == reason


def test_some_reasons_are_those_of_an_answer():
    minima = [r for r in (RUNNING, *Reason) if is_minimum(jnp.array(int(r)))]
    assert minima == [Reason.ENERGY_UNCHANGED, Reason.GRADIENT_SMALL, Reason.HOLDS]
    assert [r for r in Reason if r.is_minimum] == minima
