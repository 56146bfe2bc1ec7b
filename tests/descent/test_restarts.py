"""Several guesses for every problem: the lowest answer wins, and all of them tell the spread."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem import FixedStep, Reason
from irem.descent.batches import minimise_all
from irem.descent.rules import make_descent
from irem.descent.starts import count_problems, lowest_of_starts, repeat

# Two wells at about -1 and 1 for every entry, tilted: the one at -sign(x) is lower. Above 5 there
# is no energy.
WELLS = irem.energy.from_function(
    lambda x, y: jnp.sum(jnp.where(y < 5, (y**2 - 1) ** 2 + x * y, jnp.nan)), answer_shape=(2,)
)
COUNT, STARTS = 12, 8
RNG = np.random.default_rng(0)
X = (RNG.choice([-1, 1], (COUNT, 2)) * RNG.uniform(0.2, 0.5, (COUNT, 2))).astype(np.float32)
Y0 = RNG.uniform(-1, 1, (COUNT, STARTS, 2)).astype(np.float32)
KEY = jax.random.key(3)


def solve(*arguments, **options):
    """`irem.solve`, its answer as NumPy arrays: those take indices without compiling anything."""
    return jax.device_get(irem.solve(WELLS, *arguments, step=FixedStep(0.1), **options))


def lowest_wells(x):
    """The lowest root of 4 y (y^2 - 1) + x, entry by entry."""
    roots = np.array([np.roots([4, 0, -4, tilt]).real for tilt in x.ravel().astype(np.float64)])
    energies = (roots**2 - 1) ** 2 + x.ravel()[:, None] * roots
    return np.take_along_axis(roots, energies.argmin(axis=1)[:, None], 1).reshape(x.shape)


@pytest.fixture(scope="module")
def several():
    return solve(X, Y0, starts=STARTS)


@pytest.fixture(scope="module")
def apart():
    """One descent for each start."""
    return solve(np.repeat(X, STARTS, axis=0), Y0.reshape(-1, 2))


def test_the_lowest_energy_wins(several, apart):
    energies = apart.energy.reshape(COUNT, STARTS)
    best = energies.argmin(axis=1)
    rows = np.arange(COUNT)
    for name in ("y", "energy", "steps", "converged", "reason", "first_energy", "gradient_norm"):
        values = getattr(apart, name)
        values = values.reshape(COUNT, STARTS, *values.shape[1:])
        np.testing.assert_array_equal(getattr(several, name), values[rows, best])
    assert len(set(best.tolist())) > 2


def test_the_spread_is_numpys(several, apart):
    answers = apart.y.reshape(COUNT, STARTS, 2).astype(np.float64)
    centre = answers.mean(axis=1, keepdims=True)
    expected = np.sqrt(np.mean((answers - centre) ** 2, axis=(1, 2)))
    np.testing.assert_allclose(several.spread, expected, rtol=1e-5)
    # Answers in both wells lie far apart.
    assert expected.max() > 0.5
    assert apart.spread is None


def test_starts_that_agree_have_no_spread():
    y0 = np.abs(Y0) + 0.5
    solution = solve(X, y0, starts=STARTS, max_steps=500)
    # All start in the same well; the halting rule leaves a thousandth of the way.
    assert (solution.spread < 3e-3).all()


def found(x, **options):
    """Whether the lowest of all wells was found."""
    return np.abs(solve(x, key=KEY, **options).y - lowest_wells(x)).max(axis=1) < 0.01


def test_many_starts_find_the_lowest_well_and_one_often_does_not():
    # All calls here run 96 descents, as the others do, and need no compilation.
    assert 0.1 < found(np.tile(X, (8, 1))).mean() < 0.6
    # A start in four or so is above both lower wells: all of 32 miss with a chance of 1e-4.
    assert all(found(X[i : i + 3], starts=32).all() for i in range(0, COUNT, 3))


def test_guesses_of_a_problem_do_not_depend_on_other_problems():
    every, some = (solve(x, key=KEY, starts=STARTS) for x in (X, X[:5]))
    for name in ("first_energy", "y", "spread"):
        np.testing.assert_allclose(
            getattr(some, name), getattr(every, name)[:5], rtol=1e-5, atol=1e-6
        )
    assert len(np.unique(every.first_energy)) == COUNT


def test_the_course_that_is_recorded_is_that_of_the_lowest_answer(several):
    solution = solve(X, Y0, starts=STARTS, trajectory=True, max_steps=500)
    assert solution.trajectory.ys.shape == (COUNT, 501, 2)
    rows = np.arange(COUNT)
    np.testing.assert_array_equal(solution.trajectory.ys[rows, solution.steps], solution.y)
    np.testing.assert_array_equal(
        solution.trajectory.energies[rows, solution.steps], solution.energy
    )
    np.testing.assert_allclose(solution.y, several.y, rtol=1e-5)
    np.testing.assert_allclose(solution.spread, several.spread, rtol=1e-5, atol=1e-6)
    # Its first entry is one of the guesses.
    first = solution.trajectory.ys[:, :1]
    np.testing.assert_array_equal((first == Y0).all(axis=2).sum(axis=1), 1)


def test_starts_are_queued(several):
    done = []
    descent = make_descent(WELLS, FixedStep(0.1))
    x, y0 = repeat(jnp.asarray(X), STARTS), jnp.asarray(Y0.reshape(-1, 2))
    every = minimise_all(descent, x, y0, 10, count_problems(done.append, STARTS))
    solution = jax.device_get(lowest_of_starts(every, STARTS))
    assert len(done) > 1
    assert sum(done) == COUNT
    np.testing.assert_array_equal(solution.steps, several.steps)
    np.testing.assert_allclose(solution.y, several.y, rtol=1e-6)
    np.testing.assert_allclose(solution.spread, several.spread, rtol=1e-5, atol=1e-6)


MLP = irem.energy.MLP((2,), (2,), width=4, depth=1, key=jax.random.key(0))


def test_one_problem_alone_has_one_answer():
    options = {"starts": STARTS, "step": FixedStep(0.1), "max_steps": 5}
    alone = jax.device_get(irem.solve(MLP, X[0], Y0[0], **options))
    batch = jax.device_get(irem.solve(MLP, X[:1], Y0[:1], **options))
    assert alone.y.shape == (2,)
    assert alone.spread.shape == alone.energy.shape == ()
    jax.tree.map(lambda a, b: np.testing.assert_array_equal(a, b[0]), alone, batch)
    assert alone.spread > 0


@pytest.mark.parametrize(
    ("x", "y0"),
    [(X, Y0[:, 0]), (X, Y0[:, :5]), (X, Y0[:5]), (X, Y0[..., :1]), (X[0], Y0), (X[0], Y0[0, 0])],
)
def test_guesses_that_are_not_shaped_like_the_starts_are_refused(x, y0):
    shape = str(y0.shape).replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ValueError, match=rf"`y0` has shape {shape}.*8 starts for each problem"):
        irem.solve(MLP, x, y0, starts=STARTS, step=FixedStep(0.1))


def test_a_start_without_a_finite_energy_never_wins():
    y0 = Y0.copy()
    y0[:, :3] = 6.0
    y0[:, 5:] = -1e20
    y0[-1] = 6.0
    solution = solve(X, y0, starts=STARTS)
    expected = solve(X, np.repeat(Y0[:, 3:5], 4, axis=1), starts=STARTS)
    assert solution.converged[:-1].all()
    np.testing.assert_array_equal(solution.y[:-1], expected.y[:-1])
    # Where no start has one, the problem says so.
    assert solution.reason[-1] == Reason.NOT_FINITE
    assert not solution.converged[-1]
    assert np.isnan(solution.energy[-1])
