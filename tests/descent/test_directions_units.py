"""Directions against their formulas, written out in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from irem.descent import LBFGS, ConjugateGradient, Gradient, Momentum, OptaxDirection
from irem.descent.directions import CurvatureMemory, _inverse_hessian_product, _remember

GRADIENT = np.array([1.0, -2.0, 0.5], np.float32)
# Pairs of a step and the change of the gradient on it.
OLD = ([1.0, 0.0, 0.5], [2.0, 0.3, 0.2])  # of curvature 2.1
NEW = ([0.2, 1.0, -0.3], [0.1, 0.4, 0.1])  # of curvature 0.39
DOWN = ([0.0, 1.0, 1.0], [0.3, -1.0, -0.5])  # of curvature -1.5
EMPTY = ([0.0] * 3, [0.0] * 3)


def bfgs(pairs, gradient):
    """The inverse Hessian of BFGS as a matrix, times a gradient."""
    pairs = [tuple(np.asarray(p, np.float64) for p in pair) for pair in pairs]
    if not pairs:
        return gradient
    step, change = pairs[-1]
    inverse = step @ change / (change @ change) * np.eye(len(step))
    for step, change in pairs:
        left = np.eye(len(step)) - np.outer(step, change) / (step @ change)
        inverse = left @ inverse @ left.T + np.outer(step, step) / (step @ change)
    return inverse @ gradient


@pytest.mark.parametrize(
    ("pairs", "used"),
    [
        ([EMPTY] * 4, []),
        ([EMPTY, EMPTY, EMPTY, NEW], [NEW]),
        ([EMPTY, EMPTY, OLD, NEW], [OLD, NEW]),
        ([NEW, OLD, NEW, OLD], [NEW, OLD, NEW, OLD]),
        ([EMPTY, OLD, NEW, DOWN], [OLD, NEW]),
        ([OLD, NEW, DOWN, DOWN], [OLD, NEW]),
        ([DOWN] * 4, []),
    ],
    ids=["empty", "one", "two", "full", "one down", "two down", "all down"],
)
def test_the_two_loop_recursion_is_the_matrix_of_bfgs(pairs, used):
    steps, changes = (jnp.array(part) for part in zip(*pairs, strict=True))
    product = _inverse_hessian_product(steps, changes, jnp.array(GRADIENT))
    np.testing.assert_allclose(product, bfgs(used, GRADIENT), rtol=1e-5, atol=1e-6)


def memory_of(pairs, y, gradient, is_empty=False):
    steps, changes = (jnp.array(part) for part in zip(*pairs, strict=True))
    return CurvatureMemory(
        jnp.array(y, float), jnp.array(gradient, float), jnp.array(is_empty), steps, changes
    )


def test_a_step_is_remembered_per_unit_of_its_length_in_place_of_the_oldest():
    memory = memory_of([OLD, NEW], [1.0, 2.0, 2.0], [0.25, 4.0, 1.0])
    new = _remember(memory, jnp.array([1.0, 2.3, 2.4]), jnp.array([1.0, 4.2, 2.0]))
    # The step has a length of a half.
    np.testing.assert_allclose(new.steps, [NEW[0], [0.0, 0.6, 0.8]], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(new.changes, [NEW[1], [1.5, 0.4, 2.0]], rtol=1e-5)
    np.testing.assert_array_equal(new.y, np.array([1.0, 2.3, 2.4], np.float32))
    np.testing.assert_array_equal(new.gradient, np.array([1.0, 4.2, 2.0], np.float32))
    assert not new.is_empty


def test_entries_at_a_bound_say_nothing_of_the_curvature():
    memory = memory_of([OLD, NEW], [0.0, 0.0, 0.0], [2.0, 5.0, 0.0])
    new = _remember(memory, jnp.array([2.0, 9.0, 9.0]), jnp.array([4.0, 0.0, 3.0]))
    np.testing.assert_allclose(new.steps[-1], [1, 0, 0])
    np.testing.assert_allclose(new.changes[-1], [1, 0, 0])


@pytest.mark.parametrize(
    ("y", "gradient", "is_empty"),
    [
        ([1.0, 0.0, 0.0], [-1.0, 1.0, 1.0], False),  # the gradient falls along the step
        ([0.0, 0.0, 0.0], [5.0, 1.0, 1.0], False),  # there is no step
        ([1.0, 0.0, 0.0], [2.0, 1.0, 1.0], True),  # there is no point before
    ],
    ids=["down", "no step", "first point"],
)
def test_a_step_without_positive_curvature_is_not_remembered(y, gradient, is_empty):
    memory = memory_of([OLD, NEW], [0.0] * 3, [1.0] * 3, is_empty)
    new = _remember(memory, jnp.array(y), jnp.array(gradient))
    np.testing.assert_array_equal(new.steps, memory.steps)
    np.testing.assert_array_equal(new.changes, memory.changes)
    np.testing.assert_array_equal(new.gradient, np.array(gradient, np.float32))


def test_the_curvature_of_a_flat_landscape_is_remembered_as_well():
    memory = memory_of([OLD, NEW], [0.0] * 3, [1e-9] * 3)
    new = _remember(memory, jnp.array([1.0, 0.0, 0.0]), jnp.array([2e-9, 2e-9, 1e-9]))
    np.testing.assert_allclose(new.changes[-1], [1e-9, 1e-9, 0], rtol=1e-5)


def test_entries_at_a_bound_stay_and_the_others_make_up_the_landscape():
    gradient = np.array([1.0, 0.0, 0.5], np.float32)
    # Steps at the same point are not remembered.
    memory = memory_of([OLD, NEW], [0.0] * 3, gradient)
    direction, _ = LBFGS(2)(jnp.array(gradient), memory, jnp.zeros(3))
    moving = np.array([True, False, True])
    reduced = [tuple(np.array(part)[moving] for part in pair) for pair in (OLD, NEW)]
    used = [pair for pair in reduced if pair[0] @ pair[1] > 0]
    np.testing.assert_allclose(
        direction, np.array([1, 0, 1]) * np.insert(bfgs(used, gradient[moving]), 1, 0), rtol=1e-5
    )


def test_lbfgs_remembers_as_many_steps_as_scipys_by_default():
    memory = LBFGS().init(jnp.zeros((2, 3)))
    assert memory.steps.shape == memory.changes.shape == (10, 6)
    assert memory.is_empty
    direction, _ = LBFGS()(jnp.ones((2, 3)), memory, jnp.zeros((2, 3)))
    np.testing.assert_array_equal(direction, np.ones((2, 3)))


def test_momentum_is_a_decaying_sum():
    one, two = jnp.array([1.0, 2.0]), jnp.array([3.0, -1.0])
    for rule, expected in (
        (Momentum(), two + 0.9 * one),
        (Momentum(nesterov=True), two + 0.9 * (two + 0.9 * one)),
        (Momentum(0.0), two),
    ):
        _, memory = rule(one, rule.init(one), one)
        direction, _ = rule(two, memory, one)
        np.testing.assert_allclose(direction, expected, rtol=1e-6)


def test_the_first_conjugate_direction_is_the_gradient_and_the_next_one_turns():
    rule, one, two = ConjugateGradient(), jnp.array([1.0, 0.0]), jnp.array([0.5, 1.0])
    first, memory = rule(one, rule.init(one), one)
    np.testing.assert_array_equal(first, one)
    second, _ = rule(two, memory, one)
    beta = two @ (two - one) / (one @ one)
    np.testing.assert_allclose(second, two + beta * one, rtol=1e-6)
    # The last direction, not the last gradient, is what is added.
    third, _ = rule(jnp.array([1.0, 1.5]), rule(two, memory, one)[1], one)
    beta = 0.5 * (1.0 + 1.5) / (two @ two)
    np.testing.assert_allclose(third, np.array([1.0, 1.5]) + beta * second, rtol=1e-5)


def test_only_quasi_newton_directions_have_a_length_of_their_own():
    rules = [Gradient(), Momentum(), ConjugateGradient(), OptaxDirection(optax.scale_by_adam())]
    assert not any(rule.own_length for rule in rules)
    assert LBFGS().own_length


def test_what_fixes_shapes_and_branches_is_no_array_of_a_rule():
    assert jax.tree.leaves(LBFGS(3)) == []
    assert jax.tree.leaves(Momentum(0.5, nesterov=True)) == [0.5]
    assert jax.tree.leaves(OptaxDirection(optax.scale_by_adam())) == []
