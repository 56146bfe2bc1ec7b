"""Any direction with any search, and every way to say which step is meant."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import irem
from irem import Backtracking, FixedStep
from irem.descent import (
    LBFGS,
    STEPS,
    ConjugateGradient,
    Fixed,
    Gradient,
    Momentum,
    OptaxDirection,
    Step,
    adam,
    lbfgs,
    momentum,
    nesterov,
)
from irem.descent.steps import as_step

CURVATURE = np.array([0.2, 0.5, 1.0], np.float32)
X = np.array([[1.0, -1.0, 0.5], [0.3, 0.7, -0.2]], np.float32)
Y0 = np.zeros((2, 3), np.float32)
QUADRATIC = irem.energy.from_function(lambda x, y: 0.5 * jnp.sum(CURVATURE * (y - x) ** 2))
DIRECTIONS = {
    "gradient": Gradient(),
    "momentum": Momentum(0.5),
    "nesterov": Momentum(0.5, nesterov=True),
    "rms": OptaxDirection(optax.scale_by_rms()),
    "conjugate gradient": ConjugateGradient(),
    "lbfgs": LBFGS(5),
}
SEARCHES = {"fixed": Fixed(0.05), "backtracking": Backtracking(decrease=0.1)}


def solve(step, **options):
    return jax.device_get(irem.solve(QUADRATIC, X, Y0, step=step, **options))


def assert_same(one, other):
    jax.tree.map(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize(("direction", "search"), [*itertools.product(DIRECTIONS, SEARCHES)])
def test_any_direction_goes_with_any_search(direction, search):
    solution = solve(Step(DIRECTIONS[direction], SEARCHES[search]), max_steps=2000)
    first = 0.5 * np.sum(CURVATURE * (Y0 - X) ** 2, axis=1)
    # RMS scales every entry to a step of 1, and so with a fixed step jumps around the minimum.
    if (direction, search) != ("rms", "fixed"):
        assert solution.converged.all()
        assert (solution.energy <= 1e-3 * first).all()
    assert (solution.energy <= 0.05 * first).all()


@pytest.mark.parametrize(
    ("direction", "optimiser"),
    [
        (Momentum(0.5), optax.sgd(0.3, momentum=0.5)),
        (Momentum(0.5, nesterov=True), optax.sgd(0.3, momentum=0.5, nesterov=True)),
        (OptaxDirection(optax.scale_by_adam()), optax.adam(0.3)),
    ],
    ids=["momentum", "nesterov", "adam"],
)
def test_with_a_fixed_step_a_direction_of_optax_is_optaxs_optimiser(direction, optimiser):
    ys = solve(Step(direction, Fixed(0.3)), max_steps=12, trajectory=True).trajectory.ys
    for x, y, path in zip(X, Y0, ys, strict=True):
        state = optimiser.init(jnp.asarray(y))
        for t in range(13):
            np.testing.assert_allclose(path[t], y, rtol=1e-5, atol=1e-6)
            updates, state = optimiser.update(CURVATURE * (y - x), state, y)
            y = y + updates


@pytest.mark.parametrize("name", [name for name in STEPS if name != "fixed"])
def test_a_name_is_the_rule_of_that_name(name):
    assert_same(solve(name, max_steps=20), solve(STEPS[name](), max_steps=20))


def test_what_a_step_may_be():
    fixed = solve(Step(Gradient(), Fixed(0.5)))
    for same in (FixedStep(0.5), Fixed(0.5), 0.5, np.float32(0.5), jnp.asarray(0.5)):
        assert_same(solve(same), fixed)
    plain = solve("backtracking")
    for same in (Step(), Backtracking(), Step(search=Backtracking())):
        assert_same(solve(same), plain)
    assert_same(solve(None), solve("lbfgs"))
    # A search alone keeps its settings.
    assert as_step(Backtracking(grow=2.0)).search == Backtracking(grow=2.0)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            "back-tracking",
            r"Unknown step rule 'back-tracking'; known are fixed, .* 'backtracking'\?",
        ),
        ("conjugate", r"Unknown step rule 'conjugate'; .*Did you mean 'conjugate-gradient'\?"),
        ("newton", r"Unknown step rule 'newton'; known are fixed, damped, backtracking, momentum"),
        (Gradient(), r"`step` is a step rule, a search, .*; got a Gradient\."),
        (True, r"`step` is a step rule, a search, .*; got a bool\."),
        (np.ones(2), r"`step` is a step rule, a search, .*; got a ndarray\."),
        (0.0, r"`step_size` must be greater than 0, got 0.0\."),
    ],
)
def test_other_steps_are_refused(step, message):
    with pytest.raises(irem.InputError, match=message):
        as_step(step)
    if isinstance(step, str):
        with pytest.raises(irem.InputError, match=message):
            solve(step)


def test_equal_settings_are_one_rule():
    assert momentum(0.8) is momentum(0.8)
    assert nesterov() is nesterov()
    assert adam() is adam()
    assert lbfgs(4) is lbfgs(4)


def test_other_values_of_a_setting_compile_nothing():
    traces = []

    def counted(x, y):
        traces.append(None)
        return jnp.sum((y - x) ** 2)

    energy = irem.energy.from_function(counted)
    families = [
        [FixedStep(size) for size in (0.1, 0.2)],
        [
            Backtracking(decrease, grow, shrink)
            for decrease, grow, shrink in ((0.4, 1.5, 0.5), (0.2, 1.2, 0.25))
        ],
        [momentum(decay) for decay in (0.9, 0.5)],
        [lbfgs(memory) for memory in (3, 3)],
    ]
    for first, second in families:
        irem.solve(energy, X, Y0, step=first, halt=irem.EnergyUnchanged(rtol=1e-5))
        compiled = len(traces)
        one = irem.solve(energy, X, Y0, step=second, halt=irem.EnergyUnchanged(rtol=1e-4))
        assert len(traces) == compiled
        assert one.converged.all()
