"""Rules that never raise the energy, on landscapes with a known minimum and on networks."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optimistix as optx
import pytest
from scipy import optimize

import irem
from irem import AnyOf, Backtracking, EnergyUnchanged, FixedStep, GradientSmall, Reason
from irem.descent import (
    STEPS,
    conjugate_gradient,
    evaluate,
    lbfgs,
    momentum,
    nesterov,
    update,
)

EPS = np.finfo(np.float32).eps
# The others keep the lengths of training, and so may climb.
RULES = [name for name in STEPS if name not in ("fixed", "damped")]
WITH_MEMORY = ("momentum", "nesterov", "adam", "conjugate-gradient")


def solve(*arguments, **options):
    """`irem.solve`, its answer as NumPy arrays: those take indices without compiling anything."""
    return jax.device_get(irem.solve(*arguments, **options))


def squares(x, y):
    return jnp.sum((x["a"] @ y - x["b"]) ** 2)


def wells(x, y):
    return jnp.sum((y**2 - 1) ** 2 + x["b"][:4] * y)


def barrier(x, y):
    # Not a number where an entry is negative; least at 1 / b.
    return 10 * jnp.sum(x["b"][:4] * y - jnp.log(y))


def valley(x, y):
    # Rosenbrock's, twice; least at ones.
    return jnp.sum(100 * (y[1::2] - y[::2] ** 2) ** 2 + (1 - y[::2]) ** 2)


def slide(x, y):
    return x["b"][:4] @ y


KINDS = (squares, wells, barrier, valley, slide)
# All kinds in one energy, so that every rule is compiled once.
HAND_WRITTEN = irem.energy.from_function(
    lambda x, y: x["scale"] * jax.lax.switch(x["kind"], KINDS, x, y)
)
COUNT = 100
PLACES = {kind: slice(i * COUNT, (i + 1) * COUNT) for i, kind in enumerate(KINDS)}


def random_squares(count, largest_condition):
    """Least squares whose curvatures lie up to `largest_condition` apart, 2 the largest."""
    rng = np.random.default_rng(0)
    left, _, right = np.linalg.svd(rng.normal(size=(count, 6, 4)), full_matrices=False)
    exponents = rng.uniform(-0.5, 0, (count, 4)) * rng.uniform(0, 1, (count, 1))
    exponents[:, 0] = 0
    return (left * largest_condition ** exponents[:, None] @ right).astype(np.float32)


RNG = np.random.default_rng(1)
A = random_squares(COUNT, largest_condition=1e3)
CONDITION = np.linalg.cond(A) ** 2
B = RNG.uniform(-1, 1, (len(KINDS) * COUNT, 6)).astype(np.float32)
Y0 = RNG.uniform(-2, 2, (len(KINDS) * COUNT, 4)).astype(np.float32)
B[PLACES[barrier]] = RNG.uniform(0.5, 2, (COUNT, 6))
Y0[PLACES[barrier]] = RNG.uniform(0.1, 5, (COUNT, 4))
# The well-known starts of Rosenbrock's valley.
STARTS = np.array([[-1.2, 1], [0, 0], [2, 2], [-1, -1], [1.5, -0.5], [-2, 3]], np.float32)
Y0[PLACES[valley]][: len(STARTS)] = np.tile(STARTS, 2)


def problems(scale):
    count = len(KINDS) * COUNT
    a = np.zeros((count, 6, 4), np.float32)
    a[PLACES[squares]] = A
    kind = np.repeat(np.arange(len(KINDS), dtype=np.int32), COUNT)
    return {"a": a, "b": B, "kind": kind, "scale": np.full(count, scale, np.float32)}


@functools.cache
def descend(name, scale=1.0):
    options = {"max_steps": 500, "trajectory": True}
    return solve(HAND_WRITTEN, problems(scale), Y0, step=STEPS[name](), **options)


def energies_of(kind, y):
    """Energies in 64 bits."""
    y, b = np.asarray(y, np.float64), B[PLACES[kind]].astype(np.float64)
    if kind is squares:
        return np.sum((np.einsum("nij,nj->ni", A.astype(np.float64), y) - b) ** 2, axis=1)
    if kind is barrier:
        return 10 * np.sum(b[:, :4] * y - np.log(y), axis=1)
    assert kind is valley
    return optimize.rosen(y[:, :2].T) + optimize.rosen(y[:, 2:].T)


def minima_of(kind):
    if kind is squares:
        pairs = zip(A.astype(np.float64), B[PLACES[kind]].astype(np.float64), strict=True)
        return np.stack([np.linalg.lstsq(a, b)[0] for a, b in pairs])
    if kind is barrier:
        return 1 / B[PLACES[kind]].astype(np.float64)[:, :4]
    assert kind is valley
    return np.ones((COUNT, 4))


def left_over(kind, solution):
    """Energy above the minimum, in units of what the halting rule holds for no change."""
    lowest = energies_of(kind, minima_of(kind))
    descent = energies_of(kind, Y0[PLACES[kind]]) - lowest
    no_change = EnergyUnchanged().rtol * descent + 8 * EPS * np.abs(lowest)
    return (energies_of(kind, solution.y[PLACES[kind]]) - lowest) / no_change


@pytest.fixture(scope="module", params=RULES)
def descended(request):
    return request.param, descend(request.param)


MLP = irem.energy.MLP((3, 3), (3, 3), width=16, depth=1, key=jax.random.key(0))
GINE = irem.energy.GINE(width=4, depth=1, key=jax.random.key(1))
NETWORKS = (lambda x, y: MLP(x, y), lambda x, y: GINE(x, y), lambda x, y: 0.01 * jnp.sum(x * y))
TRAINED = irem.IREM(
    irem.energy.from_function(
        lambda x, y: jax.lax.switch(x["kind"], NETWORKS, x["x"], y) + x["quadratic"] * jnp.sum(y**2)
    ),
    step_size=100.0,
)
SLIDES = slice(200, 240)


@pytest.fixture(scope="module")
def networks():
    """Networks with random weights, which may fall for ever, every other one with a quadratic."""
    rng = np.random.default_rng(2)
    x = {
        "kind": np.repeat(np.array([0, 1, 2], np.int32), [100, 100, 40]),
        "x": rng.normal(size=(240, 3, 3)).astype(np.float32),
        "quadratic": np.where(np.arange(240) % 2 == 1, 0.01, 0.0).astype(np.float32),
    }
    x["quadratic"][SLIDES] = 0
    return x, rng.uniform(-1, 1, (240, 3, 3)).astype(np.float32)


@pytest.fixture(scope="module", params=RULES)
def trained(request, networks):
    return solve(TRAINED, *networks, step=STEPS[request.param](), max_steps=40, trajectory=True)


@pytest.fixture(scope="module")
def first_steps(networks):
    """Lengths of the first steps of training."""
    gradients = jax.jit(jax.vmap(lambda x, y: jax.grad(TRAINED.landscape(x))(y)))(*networks)
    return 100 * np.linalg.norm(np.reshape(gradients, (240, 9)), axis=1)


def test_the_energy_of_a_hand_written_landscape_never_rises(descended):
    energies = descended[1].trajectory.energies
    assert (np.diff(energies, axis=1) <= 0).all()
    assert (energies[:, -1] < energies[:, 0]).all()


def test_the_energy_of_a_network_never_rises(trained, request):
    energies = trained.trajectory.energies
    # L-BFGS goes by slopes where energies differ by rounding alone.
    by_slopes = "lbfgs" in request.node.callspec.id
    assert (np.diff(energies, axis=1) <= by_slopes * 8 * EPS * np.abs(energies[:, 1:])).all()
    assert (energies[:, -1] < energies[:, 0]).all()


def test_no_step_on_a_trained_energy_is_longer_than_four_of_the_first(trained, first_steps):
    ys = trained.trajectory.ys.reshape(240, -1, 9)
    longest = np.linalg.norm(np.diff(ys, axis=1), axis=2).max(axis=1)
    # An answer is rounded to its last place, and so is the length.
    slack = EPS * (np.linalg.norm(ys, axis=2).max(axis=1) + 32 * first_steps)
    # From a plateau a step may lead as far as guesses lie from zero: the root of 9 entries.
    assert (longest <= np.maximum(4 * first_steps, 3) + slack).all()
    # Where the energy falls for ever, steps of training are taken, or Adam's of 0.1 for each entry.
    assert (longest[SLIDES] >= np.minimum(first_steps, 0.1 * 3)[SLIDES] - slack[SLIDES]).all()


def ends_with_the_budget(solution, falling):
    np.testing.assert_array_equal(solution.reason[falling], Reason.BUDGET)
    assert not solution.converged[falling].any()
    assert np.isfinite(solution.y[falling]).all()
    assert np.isfinite(solution.energy[falling]).all()


def test_a_fall_for_ever_ends_with_the_budget(descended):
    ends_with_the_budget(descended[1], PLACES[slide])


def test_a_trained_fall_for_ever_ends_with_the_budget(trained):
    ends_with_the_budget(trained, SLIDES)


def test_least_squares_reaches_numpys_solution(descended):
    name, solution = descended
    done = solution.converged[PLACES[squares]]
    assert done.mean() > 0.8
    # A gradient step of length s promises s |g|^2, and at most |g|^2 / 2m is left to fall. Three
    # rejections end at s = 1 / 8L or longer: at most 4 L / m times the promise is left.
    near = left_over(squares, solution)[done] <= 4 * CONDITION[done]
    # A direction that remembers others may promise less than the gradient does.
    assert near.mean() >= (0.85 if name in WITH_MEMORY else 1)


def test_a_step_that_is_not_finite_is_rejected_and_the_descent_continues(descended):
    name, solution = descended
    place = PLACES[barrier]
    y0, b = Y0[place], B[place][:, :4]
    # With the gradient itself most of the first steps lead out.
    assert ((y0 - 10 * (b - 1 / y0)).min(axis=1) < 0).mean() > 0.9
    assert np.isfinite(solution.trajectory.energies[place]).all()
    assert (solution.trajectory.ys[place] > 0).all()
    assert solution.converged[place].all()
    # Curvatures at the minimum lie at most 16 apart.
    near = left_over(barrier, solution) <= 4 * 16
    assert near.mean() >= (0.9 if name in WITH_MEMORY else 1)


def test_the_rule_that_is_taken_where_none_is_given():
    solution = solve(HAND_WRITTEN, problems(1.0), Y0, max_steps=500, trajectory=True)
    jax.tree.map(np.testing.assert_array_equal, solution, descend("lbfgs"))


def test_lbfgs_descends_rosenbrocks_valley_like_scipys():
    solution = descend("lbfgs")
    # Rounding may stall a descent before it can tell that it has converged, but only at ones.
    exact = np.abs(solution.y[PLACES[valley]] - 1).max(axis=1) <= EPS
    assert (solution.converged[PLACES[valley]] | exact).all()
    for start, y in zip(STARTS, solution.y[PLACES[valley]], strict=False):
        start = start.astype(np.float64)
        options = {"jac": optimize.rosen_der, "method": "L-BFGS-B"}
        expected = optimize.minimize(optimize.rosen, start, **options).x
        # A millionth of the first energy may be left; the least curvature is 0.399.
        allowed = np.sqrt(2 * 1e-6 * 2 * optimize.rosen(start) / 0.399)
        np.testing.assert_allclose(y, np.tile(expected, 2), rtol=0, atol=allowed)


@pytest.mark.parametrize(
    ("name", "kind", "scale"),
    [
        *itertools.product(["backtracking", "lbfgs"], [squares, barrier], [1e-3, 1.0]),
        ("backtracking", squares, 1e3),
        ("backtracking", barrier, 1e3),
        ("lbfgs", valley, 1e-3),
        ("lbfgs", valley, 1.0),
        ("lbfgs", squares, 1e3),
        ("lbfgs", barrier, 1e3),
        ("lbfgs", valley, 1e3),
    ],
)
def test_the_scale_of_the_energy_does_not_matter(name, kind, scale):
    solution = descend(name, scale)
    done = solution.converged[PLACES[kind]]
    assert done.mean() > 0.8
    # A valley that bends holds more than a quasi-Newton step promises.
    slack = {squares: 4 * CONDITION, barrier: 4 * 16, valley: 1000}[kind]
    assert (left_over(kind, solution) <= slack)[done].all()


# L-BFGS shortens its steps until they lead nowhere, which is finite.
@pytest.mark.parametrize(
    ("step", "reason"), [("lbfgs", Reason.STALLED), ("backtracking", Reason.NOT_FINITE)]
)
def test_where_no_step_has_a_finite_energy_there_is_no_minimum(step, reason):
    edge = irem.energy.from_function(lambda x, y: jnp.sum(jnp.where(y == 1, x * y, jnp.nan)))
    solution = solve(edge, np.ones(1), np.ones((1, 2)), step=step)
    assert solution.reason[0] == reason
    assert not solution.converged[0]
    np.testing.assert_array_equal(solution.y, np.ones((1, 2)))


def test_conjugate_gradients_turn_by_the_formula_of_polak_and_ribiere():
    curvature = jnp.array([0.1, 1.1])
    rule = conjugate_gradient()

    def quadratic(y):
        return 0.5 * jnp.sum(curvature * y**2)

    @jax.jit
    def step(point, state):
        trial = evaluate(quadratic, update(point.y, *rule.propose(state)))
        return rule.judge(state, point, trial)

    start = evaluate(quadratic, jnp.array([1.0, 0.2]))
    first = rule.init(start, None)
    np.testing.assert_array_equal(first.line.direction, start.gradient)
    move, second = step(start, first)
    assert move.accepted
    old, new = (np.asarray(p.gradient, np.float64) for p in (start, move.trial))
    beta = new @ (new - old) / (old @ old)
    assert beta > 0
    np.testing.assert_allclose(
        optx.polak_ribiere(move.trial.gradient, start.gradient, -first.line.direction),
        beta,
        rtol=1e-6,
    )
    np.testing.assert_allclose(second.line.direction, new + beta * old, rtol=1e-6)
    np.testing.assert_allclose(second.line.slope, -second.line.direction @ new, rtol=1e-6)


def test_in_one_dimension_lbfgs_knows_the_curvature_after_one_step():
    quadratic = irem.energy.from_function(lambda x, y: 0.5 * x * jnp.sum((y - 3) ** 2))
    x = np.array([0.1, 0.3, 0.7, 1.4, 1.7], np.float32)
    # The first step may take two trials, and the second one is Newton's.
    y = solve(quadratic, x, np.zeros((5, 1)), step=lbfgs(), max_steps=4).y
    np.testing.assert_allclose(y[:, 0], 3, rtol=8 * EPS / 0.1)


def test_lbfgs_needs_a_few_steps_for_every_dimension(descended):
    name, solution = descended
    # The last steps only confirm the minimum.
    steps = solution.steps[PLACES[squares]] - EnergyUnchanged().patience
    if name == "lbfgs":
        assert np.median(steps) <= 3 * 4
        assert steps.max() <= 8 * 4
    else:
        assert np.median(steps) > 3 * 4


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Backtracking(decrease=1.0), "`decrease` must be less than 1, got 1.0"),
        (lambda: Backtracking(decrease=0.0), "`decrease` must be greater than 0, got 0.0"),
        (lambda: Backtracking(shrink=1.5), "`shrink` must be less than 1, got 1.5"),
        (lambda: Backtracking(shrink=-1.0), "`shrink` must be greater than 0, got -1.0"),
        (lambda: Backtracking(grow=0.9), "`grow` must be at least 1, got 0.9"),
        (lambda: Backtracking(grow=np.nan), "`grow` must be at least 1, got nan"),
        (lambda: momentum(1.0), "`decay` must be from 0 to below 1, got 1.0"),
        (lambda: nesterov(-0.1), "`decay` must be from 0 to below 1, got -0.1"),
        (lambda: lbfgs(0), "`memory` must be greater than 0, got 0"),
        (lambda: GradientSmall(rtol=-1.0), "`rtol` must be 0 or more, got -1.0"),
        (lambda: GradientSmall(atol=np.inf), "`atol` must be 0 or more, got inf"),
        (lambda: GradientSmall(rtol=0.0), "such a descent would never stop"),
        (lambda: AnyOf(()), "`AnyOf` needs at least one halting rule"),
    ],
)
def test_settings_that_mean_nothing_are_refused(build, message):
    with pytest.raises(ValueError, match=message) as caught:
        build()
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


QUADRATIC = irem.energy.from_function(lambda x, y: 0.5 * x * jnp.sum(y**2))


def test_the_step_of_training_is_refused_where_there_was_no_training():
    with pytest.raises(ValueError, match=r"not trained with a step size: write `FixedStep\("):
        irem.solve(QUADRATIC, np.ones(1), np.ones((1, 2)), step=FixedStep())


# Powers of two: no step rounds anything.
CURVATURES = np.array([0.5, 0.25, 0.75, 1.5, 1.0], np.float32)
RATES = np.abs(1 - CURVATURES.astype(np.float64))


def fixed(halt, y0=1.0, **options):
    return solve(
        QUADRATIC, CURVATURES, np.full((5, 2), y0), step=FixedStep(1.0), halt=halt, **options
    )


def first_step_at_most(share):
    return [next(t for t in range(1, 500) if rate**t <= share) for rate in RATES]


def test_a_small_gradient_stops_at_the_step_that_theory_gives():
    solution = fixed(GradientSmall(rtol=2.0**-10))
    np.testing.assert_array_equal(solution.steps, first_step_at_most(2.0**-10))
    np.testing.assert_array_equal(solution.reason, Reason.GRADIENT_SMALL)
    assert solution.converged.all()
    norms = np.sqrt(2) * CURVATURES * RATES**solution.steps
    np.testing.assert_allclose(solution.gradient_norm, norms, rtol=1e-6)


def test_a_norm_can_be_small_in_any_case():
    atol = 2.0**-8
    solution = fixed(GradientSmall(rtol=0.0, atol=atol))
    norms = np.sqrt(2) * CURVATURES[:, None] * RATES[:, None] ** np.arange(500)
    np.testing.assert_array_equal(solution.steps, np.argmax(norms <= atol, axis=1))


def test_of_two_rules_the_earlier_one_stops_and_gives_its_reason():
    gradient, energy = GradientSmall(rtol=2.0**-10), EnergyUnchanged(patience=2, rtol=1e-4)
    one, other = fixed(gradient), fixed(energy)
    earlier = one.steps < other.steps
    assert 0 < earlier.sum() < 5
    together = one.steps == other.steps
    assert together.any()
    for both, first in ((gradient | energy, True), (AnyOf((energy, gradient)), False)):
        solution = fixed(both)
        np.testing.assert_array_equal(solution.steps, np.minimum(one.steps, other.steps))
        np.testing.assert_array_equal(
            solution.reason,
            np.where(earlier | (together & first), Reason.GRADIENT_SMALL, Reason.ENERGY_UNCHANGED),
        )
