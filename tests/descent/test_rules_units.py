"""Which step, halting rule and budget a descent has, and what one step of it does."""

import types

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import irem
from irem import Backtracking, EnergyUnchanged, FixedStep, Reason
from irem.descent import (
    LBFGS,
    RUNNING,
    AbstractHalt,
    Fixed,
    Gradient,
    Momentum,
    OptaxDirection,
    Stationary,
    Step,
    Wolfe,
    adam,
    default_max_steps,
    default_step,
    evaluate,
    lbfgs,
    momentum,
    nesterov,
)
from irem.descent.algorithm2 import advance, start
from irem.descent.protocols import MOST_STEPS
from irem.descent.rules import Descent, make_descent
from irem.descent.steps import as_step

HAND_WRITTEN = irem.energy.from_function(lambda _, y: jnp.sum(y**2))


def trained(**settings):
    """As much of a trained energy as the rules of its descents depend on."""
    methods = dict.fromkeys(("format", "landscape", "guess", "begin", "read"), print)
    return types.SimpleNamespace(step_size=0.25, **settings, **methods)


@pytest.mark.parametrize(
    ("model", "step", "max_steps"),
    [
        ({"step_size": None}, "lbfgs", 10_000),
        ({}, "lbfgs", 10_000),
        ({"step_size": 0.5}, "backtracking", 500),
        ({"step_size": 0.5, "default_step": "adam", "default_max_steps": 7}, "adam", 7),
    ],
    ids=["hand-written", "no step size", "trained", "with its own"],
)
def test_the_step_and_the_budget_where_none_is_given(model, step, max_steps):
    model = types.SimpleNamespace(**model)
    assert default_step(model) == step
    assert default_max_steps(model) == max_steps


def test_the_largest_budget_is_the_largest_number_of_32_bits():
    assert np.iinfo(np.int32).max == MOST_STEPS


@pytest.mark.parametrize(
    ("energy", "step", "search", "halt"),
    [
        (HAND_WRITTEN, None, Wolfe, Stationary),
        (HAND_WRITTEN, "lbfgs", Wolfe, Stationary),
        (HAND_WRITTEN, "fixed", Fixed, EnergyUnchanged),
        (trained(), None, Backtracking, EnergyUnchanged),
        (trained(), "lbfgs", Wolfe, EnergyUnchanged),
        (trained(default_step="lbfgs"), None, Wolfe, Stationary),
        (trained(default_step="lbfgs"), 0.5, Fixed, EnergyUnchanged),
    ],
)
def test_a_vanishing_gradient_is_asked_for_where_quasi_newton_steps_are_the_rule(
    energy, step, search, halt
):
    descent = make_descent(energy, step)
    assert isinstance(descent.step.search, search)
    assert isinstance(descent.halt, halt)
    assert descent.step_size == energy.step_size
    assert descent.max_steps == default_max_steps(energy)


def test_what_is_given_is_what_is_used():
    descent = make_descent(trained(), 0.5, EnergyUnchanged(patience=7, rtol=0.5), 9)
    assert descent.step.search.step_size == 0.5
    assert (descent.halt.patience, descent.halt.rtol, descent.max_steps) == (7, 0.5, 9)
    # Real settings are arrays, so that other values need no compilation.
    assert eqx.is_array(descent.step.search.step_size)
    assert eqx.is_array(descent.halt.rtol)
    assert isinstance(descent.halt.patience, int)


def test_the_rules_that_have_a_name():
    assert momentum().direction == Momentum(0.9)
    assert nesterov().direction == Momentum(0.9, nesterov=True)
    assert lbfgs() == Step(LBFGS(10), Wolfe())
    assert as_step(None) == Step(Gradient(), Backtracking())
    assert as_step(2) == FixedStep(2.0)
    # The first step of Adam moves every entry by a tenth.
    point = evaluate(lambda y: jnp.sum(jnp.array([3.0, -7.0]) * y), jnp.zeros(2))
    line = adam().init(point, None).line
    np.testing.assert_allclose(line.direction, [0.1, -0.1], rtol=1e-4)


UPHILL = OptaxDirection(optax.scale(-1.0))
PLANE = np.array([0.5, -0.5], np.float32)


def plane(y):
    return jnp.sum(PLANE * y)


@pytest.mark.parametrize(
    ("search", "direction", "slope"),
    [(Fixed(0.5), -PLANE, 0.5), (Backtracking(), 0.25 * PLANE, -0.125)],
    ids=["fixed", "backtracking"],
)
def test_a_search_that_needs_a_descent_replaces_what_points_uphill(search, direction, slope):
    # A search that scales has the step of training, 0.25, in its directions.
    line = Step(UPHILL, search).init(evaluate(plane, jnp.zeros(2)), jnp.array(0.25)).line
    np.testing.assert_allclose(line.direction, direction)
    np.testing.assert_allclose(line.slope, slope)


def test_a_direction_that_is_replaced_forgets_what_it_remembered():
    rule, point = momentum(0.5), evaluate(plane, jnp.zeros(2))
    first = rule.init(point, None)
    for kept, sign in ((True, 1), (False, -1)):
        memory = jnp.asarray(sign * 10 * PLANE)
        memory = eqx.tree_at(lambda m: m.trace, first.line.memory, memory)
        line = rule._on_new_line(point, memory, first.search).line
        np.testing.assert_allclose(line.direction, 6 * PLANE if kept else PLANE)
        np.testing.assert_allclose(line.memory.trace, 6 * PLANE if kept else 0 * PLANE)
        np.testing.assert_allclose(line.slope, -3.0 if kept else -0.5)


def test_a_direction_leaves_entries_alone_that_are_held_by_bounds():
    rule, point = momentum(0.5), evaluate(plane, jnp.zeros(2))
    first = rule.init(point, None)
    memory = eqx.tree_at(lambda m: m.trace, first.line.memory, jnp.asarray(10 * PLANE))
    held = eqx.tree_at(
        lambda p: p.free, point, jnp.array([True, False]), is_leaf=lambda leaf: leaf is None
    )
    line = rule._on_new_line(held, memory, first.search).line
    np.testing.assert_allclose(line.direction, [3.0, 0.0])


def test_a_rule_starts_afresh_after_four_rejections():
    rule, point = momentum(0.5), evaluate(plane, jnp.zeros(2))
    state = rule.init(point, None)
    state = rule._on_new_line(point, state.line.memory, state.search)
    np.testing.assert_allclose(state.line.direction, 1.5 * PLANE)
    higher = evaluate(lambda y: 1 + 0 * jnp.sum(y), jnp.zeros(2))
    for length in (0.5, 0.25, 0.125, 1.0):
        move, state = rule.judge(state, point, higher)
        assert not move.accepted
        assert state.search.length == length
        np.testing.assert_allclose(state.line.direction, PLANE * (1.0 if length == 1 else 1.5))
    lower = evaluate(plane, jnp.asarray(-PLANE))
    move, state = rule.judge(state, point, lower)
    assert move.accepted
    np.testing.assert_allclose(state.line.direction, 1.5 * PLANE)


class Says(AbstractHalt):
    """A halting rule that always says the same."""

    reason: int = eqx.field(static=True)

    def init(self, point):
        del point
        return ()

    def __call__(self, state, before, after, move):
        del before, after, move
        return state, jnp.array(self.reason)


class Bounded:
    """A plane between bounds."""

    bounds = (jnp.zeros(2), jnp.ones(2))

    def __call__(self, y):
        return plane(y)


def parabola(y):
    return jnp.sum(y**2)


def one_step(landscape, y0, reason, size, max_steps=5):
    descent = Descent(
        HAND_WRITTEN, FixedStep(size), Says(int(reason)), None, jnp.array(max_steps, jnp.int32)
    )
    return advance(descent, landscape, start(descent, landscape, jnp.array(y0)))


# On y^2 a step of 1 jumps to the other side, where the energy is the same.
@pytest.mark.parametrize(
    ("landscape", "y0", "size", "said", "reason"),
    [
        (parabola, [1.0, 1.0], 0.25, RUNNING, RUNNING),
        (parabola, [1.0, 1.0], 1.0, RUNNING, RUNNING),
        (parabola, [1.0, 1.0], 0.25, Reason.ENERGY_UNCHANGED, Reason.ENERGY_UNCHANGED),
        (parabola, [1.0, 1.0], 1.0, Reason.ENERGY_UNCHANGED, Reason.FLAT),
        (parabola, [1.0, 1.0], 1.0, Reason.GRADIENT_SMALL, Reason.GRADIENT_SMALL),
        (parabola, [1.0, 1.0], 1.0, Reason.STALLED, Reason.STALLED),
        (Bounded(), [0.0, 1.0], 0.25, Reason.ENERGY_UNCHANGED, Reason.ENERGY_UNCHANGED),
    ],
)
def test_a_minimum_is_told_from_where_nothing_changed(landscape, y0, size, said, reason):
    state = one_step(landscape, y0, said, size)
    assert state.reason == reason
    assert state.steps == 1
    assert state.moved


def test_the_last_step_ends_a_descent():
    assert one_step(parabola, [1.0, 1.0], RUNNING, 0.25, max_steps=2).reason == RUNNING
    assert one_step(parabola, [1.0, 1.0], RUNNING, 0.25, max_steps=1).reason == Reason.BUDGET


def test_a_step_to_where_the_energy_is_not_finite_is_taken_back():
    state = one_step(lambda y: jnp.sum(jnp.log(y)), [1.0, 1.0], RUNNING, 4.0)
    assert state.reason == Reason.NOT_FINITE
    assert state.steps == 0
    np.testing.assert_array_equal(state.point.y, [1, 1])
