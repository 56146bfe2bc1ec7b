"""The Polynomial energy: what holds for one matrix holds for all that have its eigenvalues."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.energy.polynomial import Polynomial, singular_bound
from irem.formats import Graphs
from irem.problem import Graph

KEY = jax.random.key(3)
RNG = np.random.default_rng(0)
INVERSE = irem.tasks.MatrixInverse(size=5)


@pytest.fixture(scope="module")
def energy():
    return Polynomial.for_task(INVERSE, width=4, depth=3, key=KEY)


@pytest.fixture(scope="module")
def inverting(energy):
    """An energy that knows its equation, x y = 1, but has not learned to solve it fast."""
    return eqx.tree_at(lambda e: e.equation, energy, jnp.array([[0.0, 1.0], [1.0, 0.0]]))


def orthogonal(n):
    return np.linalg.qr(RNG.normal(size=(n, n)))[0]


def matrix(eigenvalues, basis):
    return jnp.asarray(basis * np.asarray(eigenvalues) @ basis.T, jnp.float32)


X = matrix([3.0, 2.0, 1.5, 1.0, 0.5], orthogonal(5))
Z = jnp.asarray(RNG.normal(size=(5, 5)), jnp.float32)


def test_another_basis_has_the_same_energy_and_the_answer_in_that_basis(energy):
    q = jnp.asarray(orthogonal(5), jnp.float32)
    turn = lambda m: q @ m @ q.T  # noqa: E731
    np.testing.assert_allclose(energy(turn(X), turn(Z)), energy(X, Z), rtol=1e-4)
    np.testing.assert_allclose(
        energy.read(turn(X), turn(Z)), turn(energy.read(X, Z)), rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("scale", [1e-12, 1e3, 1e15])
def test_the_inverse_of_a_multiple_is_read_at_the_same_point(energy, scale):
    np.testing.assert_allclose(energy(scale * X, Z), energy(X, Z), rtol=1e-4)
    np.testing.assert_allclose(scale * energy.read(scale * X, Z), energy.read(X, Z), rtol=1e-3)
    shape, key = X.shape, jax.random.key(1)
    guesses = [energy.guess(x, shape, key=key) for x in (X, scale * X)]
    np.testing.assert_allclose(scale * guesses[1], guesses[0], rtol=1e-4)


def test_padding_changes_nothing(energy):
    nodes = jnp.arange(8) < 5
    # What lies in the padding must not be read.
    graph = Graph(jnp.full((8, 8), 7.0).at[:5, :5].set(X), nodes)
    point = jnp.zeros((8, 8)).at[:5, :5].set(Z)
    np.testing.assert_allclose(energy(graph, point), energy(X, Z), rtol=1e-5)
    padded = energy.read(graph, point)
    np.testing.assert_allclose(padded[:5, :5], energy.read(X, Z), rtol=1e-4, atol=1e-5)
    assert not padded[5:].any()
    assert not padded[:, 5:].any()


def test_the_curvature_is_at_most_one_and_not_far_below(energy):
    hessian = jax.hessian(energy.landscape(X))(Z).reshape(25, 25)
    largest = np.linalg.eigvalsh(hessian).max()
    assert 5 ** (-2 / 16) * (1 - 1e-4) <= largest <= 1 + 1e-4


@pytest.mark.parametrize("n", [1, 2, 7])
def test_descent_on_the_right_equation_ends_at_numpys_inverse(inverting, n):
    x = np.stack([matrix(RNG.uniform(0.2, 1, n), orthogonal(n)) for _ in range(4)])
    solution = irem.solve(inverting, x, key=KEY)
    assert np.asarray(solution.converged).all()
    expected = np.linalg.inv(np.asarray(x, np.float64))
    error = np.linalg.norm(solution.y - expected, axis=(1, 2))
    assert (error <= 1e-2 * np.linalg.norm(expected, axis=(1, 2))).all()


def test_a_descent_can_begin_at_any_answer(inverting):
    # What is read at the beginning is the answer, times a matrix whose eigenvalues are at most 1.
    y0 = jnp.asarray(RNG.normal(size=(5, 5)), jnp.float32)
    begun = inverting.read(X, inverting.begin(X, y0, key=None))
    share = np.linalg.norm(begun) / np.linalg.norm(y0)
    assert 0.01 < share <= 1 + 1e-4


@pytest.mark.parametrize("scale", [1e-18, 1.0, 1e18])
@pytest.mark.parametrize("n", [1, 3, 50])
def test_the_bound_exceeds_the_largest_singular_value_by_little(n, scale):
    matrix = scale * RNG.normal(size=(n, n))
    ratio = singular_bound(jnp.asarray(matrix, jnp.float32)) / np.linalg.norm(matrix, 2)
    assert 1 - 1e-5 <= ratio <= n ** (1 / 16) + 1e-5


def test_the_bound_of_zero_is_zero_and_its_energy_is_finite(energy):
    assert singular_bound(jnp.zeros((4, 4))) == 0
    assert np.isfinite(energy(jnp.zeros((5, 5)), Z))


class Missing(irem.tasks.ShortestPath):
    """Graphs of which edges may be missing."""

    @property
    def format(self):
        return Graphs(missing=True)


@pytest.mark.parametrize("task", [irem.tasks.Addition(size=3), Missing()])
def test_other_problems_are_refused(task):
    with pytest.raises(ValueError, match="needs whole square matrices, and"):
        Polynomial.for_task(task, key=KEY)


def test_an_unknown_power_is_refused():
    with pytest.raises(ValueError, match="`power` must be 1, -1 or None, got 2"):
        Polynomial(power=2, key=KEY)
