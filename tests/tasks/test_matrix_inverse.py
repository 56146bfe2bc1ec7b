"""Matrix inversion against NumPy in 64 bits, and the distribution of the matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from irem.problem import Graph
from irem.tasks import MatrixInverse
from irem.tasks.matrix_inverse import MEAN_INVERSE

COUNT = 2000
# A generator that compiles fast: no fact tested here depends on which one draws.
KEY = jax.random.key(71, impl="unsafe_rbg")
EPS = np.finfo(np.float32).eps
CASES = [("released", "same", 0.5), ("released", "harder", 0.1), ("paper", "same", 0.5)]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case[:2]))
def drawn(request):
    variant, difficulty, ridge = request.param
    problem = MatrixInverse(variant=variant).batch(KEY, COUNT, difficulty)
    return variant, np.asarray(problem.x, np.float64), np.asarray(problem.y, np.float64), ridge


def norm(matrices):
    return np.linalg.norm(matrices, ord=2, axis=(1, 2))


def test_answer_is_numpys_inverse(drawn):
    _, x, y, _ = drawn
    expected = np.linalg.inv(x)
    condition = norm(x) * norm(expected)
    # In 32 bits the condition number multiplies the rounding of sums of 20 terms, which grows with
    # the square root of their number. Beyond 1e5 an answer has no correct digits to speak of.
    solvable = condition < 1e5
    assert solvable.mean() > 0.99
    error = norm(y - expected) / norm(expected)
    assert (error[solvable] <= 20**0.5 * EPS * condition[solvable]).all()


def test_matrices_are_symmetric(drawn):
    _, x, _, _ = drawn
    np.testing.assert_array_equal(x, np.swapaxes(x, 1, 2))


def test_entries_have_the_declared_moments(drawn):
    variant, x, _, ridge = drawn
    diagonal = np.diagonal(x, axis1=1, axis2=2) - ridge
    rows, columns = np.triu_indices(20, 1)
    off_diagonal = x[:, rows, columns]
    if variant == "released":
        # Entries of 2 R R^T are sums of 20 products of entries with variance 1/3 and fourth
        # moment 1/5.
        assert_moments(diagonal, mean=40 / 3, variance=4 * 20 * (1 / 5 - 1 / 9))
        assert_moments(off_diagonal, mean=0, variance=4 * 20 / 9)
        # Among 2,000 random matrices R one is singular in 32 bits: the ridge alone is left.
        assert abs(np.linalg.eigvalsh(x).min() - ridge) < 1e-3
    else:
        assert_moments(diagonal, mean=0, variance=4 / 3)
        assert_moments(off_diagonal, mean=0, variance=2 / 3)
        assert np.abs(off_diagonal).max() <= 2
        assert np.linalg.eigvalsh(x).min() < 0  # Indefinite: its inverse has no variance.


def assert_moments(entries, *, mean, variance):
    """Mean and variance within five standard errors; matrices are independent, entries not."""
    for values, expected in ((entries, mean), ((entries - mean) ** 2, variance)):
        each = values.mean(axis=1)
        assert abs(each.mean() - expected) <= 5 * each.std() / len(each) ** 0.5


def test_mean_inverse_is_the_measured_multiple_of_the_identity():
    y = np.asarray(MatrixInverse().batch(KEY, COUNT).y, np.float64)
    diagonal = np.diagonal(y, axis1=1, axis2=2).mean(axis=1)
    tolerance = 0.00005 + 5 * diagonal.std() / COUNT**0.5
    assert abs(diagonal.mean() - MEAN_INVERSE) <= tolerance
    rows, columns = np.triu_indices(20, 1)
    assert_moments(y[:, rows, columns], mean=0, variance=np.mean(y[:, rows, columns] ** 2))


@pytest.mark.parametrize(("variant", "scale"), [("released", MEAN_INVERSE), ("paper", 0.0)])
def test_trivial_answer_is_a_multiple_of_the_identity(variant, scale):
    x = jnp.zeros((3, 2, 5, 5))
    expected = np.broadcast_to(np.float32(scale) * np.eye(5), x.shape)
    np.testing.assert_array_equal(MatrixInverse(variant=variant, size=5).trivial(x), expected)


def test_size_sets_the_number_of_rows():
    problem = MatrixInverse(size=1).batch(KEY, 50)
    np.testing.assert_allclose(problem.y, 1 / np.asarray(problem.x), rtol=4 * EPS)


def test_the_inverse_of_a_padded_graph_is_that_of_its_real_nodes():
    x = jnp.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 0.0]])
    expected = np.zeros((3, 3))
    expected[:2, :2] = np.linalg.inv(x[:2, :2])
    found = MatrixInverse().oracle(Graph(x, jnp.array([True, True, False])))
    np.testing.assert_allclose(found, expected, atol=1e-6)
