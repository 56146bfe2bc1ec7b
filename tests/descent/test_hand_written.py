"""Hand-written energies reach their minima, or say that they did not."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

import irem
from irem import Reason
from irem.descent.problems import as_problems
from irem.formats import Stacks

RNG = np.random.default_rng(0)


def solve(function, y0, x=None, **options):
    energy = irem.energy.from_function(function, **options)
    y0 = np.asarray(y0, np.float32)
    x = np.zeros(len(y0), np.float32) if x is None else x
    return jax.device_get(irem.solve(energy, x, y0))


def rosenbrock(x, y):
    return jnp.sum(100 * (y[1:] - y[:-1] ** 2) ** 2 + (1 - y[:-1]) ** 2)


@pytest.mark.parametrize(("factor", "offset"), [(1.0, 0.0), (1e-6, 0.0), (1.0, 1e5)])
def test_rosenbrocks_valley_is_walked_to_its_end(factor, offset):
    y0 = RNG.uniform(-2, 2, (8, 2))
    solution = solve(lambda x, y: factor * rosenbrock(x, y) + offset, y0)
    assert solution.converged.all()
    np.testing.assert_allclose(solution.y, np.ones((8, 2)), atol=1e-3)
    assert solution.y.dtype == solution.energy.dtype == np.float32


def test_a_quadratic_of_condition_a_million_is_solved():
    q, _ = np.linalg.qr(RNG.normal(size=(4, 4)))
    matrix, minimum = (q * np.geomspace(1, 1e6, 4)) @ q.T, RNG.normal(size=4)
    # As NumPy's float64 these keep their digits in the descent.
    solution = solve(
        lambda _, y: 0.5 * (y - minimum) @ (matrix @ (y - minimum)), RNG.uniform(-2, 2, (8, 4))
    )
    assert solution.converged.all()
    np.testing.assert_allclose(solution.y, np.tile(minimum, (8, 1)), atol=1e-3)


@pytest.mark.parametrize(
    ("function", "y0"),
    [
        pytest.param(lambda _, y: jnp.sum(jnp.abs(y - 0.3)), [[1.0, -2.0]], id="kink"),
        pytest.param(lambda _, y: y[0] ** 2 - y[1] ** 2 + y[1] ** 4, [[0.0, 0.0]], id="saddle"),
        pytest.param(lambda _, y: jnp.sum(jnp.tanh(y)), [[40.0, 40.0]], id="plateau"),
        pytest.param(lambda _, y: jnp.sum(1 / (1 + y**2)), [[1.0, 2.0]], id="no minimum"),
        pytest.param(lambda _, y: jnp.sum(y), [[1.0, 2.0]], id="slope"),
        pytest.param(lambda _, y: jnp.sum(jnp.log(y - 2)), [[1.0, 1.0]], id="not finite"),
    ],
)
def test_what_is_no_minimum_is_not_called_one(function, y0):
    solution = solve(function, y0)
    assert not solution.converged[0], Reason(int(solution.reason[0])).label


def test_the_energy_of_a_function_that_insists_on_32_bits_is_descended_in_them():
    def function(x, y):
        return rosenbrock(x, jax.lax.mul(y, jnp.ones(2, jnp.float32)))

    solution = solve(function, [[-1.2, 1.0]])
    assert solution.converged[0]
    np.testing.assert_allclose(solution.y[0], [1, 1], atol=1e-3)


def test_bounds_are_those_of_scipys_lbfgsb():
    lower, upper = np.array([-0.5, -np.inf, 1.0]), np.array([0.75, 0.5, np.inf])
    root = RNG.normal(size=(3, 3))
    matrix, y0 = root @ root.T + np.eye(3), RNG.uniform(-2, 2, (6, 3)).astype(np.float32)
    solution = solve(lambda _, y: 0.5 * y @ (matrix @ y) - jnp.sum(y), y0, lower=lower, upper=upper)
    assert solution.converged.all()
    expected = optimize.minimize(
        lambda y: 0.5 * y @ matrix @ y - y.sum(),
        np.clip(y0[0].astype(np.float64), lower, upper),
        jac=lambda y: matrix @ y - 1,
        bounds=list(zip(lower, upper, strict=True)),
        options={"ftol": 1e-15, "gtol": 1e-10},
    ).x
    assert (np.isclose(expected, lower) | np.isclose(expected, upper)).any()
    np.testing.assert_allclose(solution.y, np.tile(expected, (6, 1)), atol=1e-3)
    assert ((solution.y >= lower) & (solution.y <= upper)).all()


def test_a_corner_that_the_gradient_points_out_of_is_a_minimum():
    solution = solve(lambda _, y: jnp.sum(y), [[-1.0, 3.0]], lower=np.array([0.0, 1.0]))
    assert solution.converged[0]
    np.testing.assert_array_equal(solution.y[0], [0, 1])


def test_first_guesses_are_drawn_within_the_bounds():
    for lower, upper in ((3.0, 5.0), (3.0, None), (None, -4.0), (-0.5, 0.25)):
        energy = irem.energy.from_function(rosenbrock, lower=lower, upper=upper)
        guess = np.asarray(energy.guess(None, (50,), key=jax.random.key(0)))
        assert (guess >= (-np.inf if lower is None else lower)).all()
        assert (guess <= (np.inf if upper is None else upper)).all()
        assert len(np.unique(guess)) == 50


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lower": 1.0, "upper": 1.0}, r"`lower` must be less than `upper` for every entry\."),
        ({"lower": np.nan}, r"`lower` must not be NaN; write -inf"),
        ({"upper": "much"}, r"`upper` is one number or an array of them, got 'much'\."),
        ({"lower": np.zeros(3), "answer_shape": (2,)}, r"`lower` has shape \(3,\), but the"),
        ({"lower": 0.0, "scratch": 2}, r"An energy with a scratchpad has no bounds"),
    ],
)
def test_bounds_that_mean_nothing_are_refused(options, message):
    with pytest.raises(irem.InputError, match=message):
        irem.energy.from_function(rosenbrock, **options)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda _, y: y**2, r"returned an array of shape \(2,\): sum it"),
        (lambda _, y: jnp.sum(y + 1j), r"a real number, but the function returned complex"),
        (lambda _, y: jnp.argmax(y), r"a real number, but the function returned int"),
        (lambda *_: None, r"An energy is one number, got a NoneType\."),
    ],
)
def test_a_function_that_is_no_energy_gets_one_sentence(function, message):
    with pytest.raises(irem.InputError, match=message) as caught:
        solve(function, [[1.0, 2.0]])
    assert "\n" not in str(caught.value)


def test_one_problem_is_told_from_a_stack_by_its_first_guess():
    known, unknown = Stacks((2,)), Stacks()
    x, alone = as_problems(known, np.ones(3), np.zeros(2))
    assert (x.shape, alone) == ((1, 3), True)
    x, alone = as_problems(known, np.ones(3), np.zeros((3, 2)))
    assert (x.shape, alone) == ((3,), False)
    x, alone = as_problems(unknown, None, np.zeros(2))
    assert (x.shape, alone) == ((1,), True)
    x, alone = as_problems(unknown, None, np.zeros((5, 2)))
    assert (x.shape, alone) == ((5,), False)
    x, alone = as_problems(known, None, np.zeros((4, 2)), starts=4)
    assert (x.shape, alone) == ((1,), True)
    with pytest.raises(irem.InputError, match=r"`x=None` is for functions of the answer alone"):
        as_problems(unknown, None)
