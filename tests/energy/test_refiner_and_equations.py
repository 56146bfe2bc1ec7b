"""Energies for vectors: equations solved by least squares, and a proposal that is corrected."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.energy import Equations, Refiner
from irem.methods import Minimum
from irem.methods.gradients.minimum import _conjugate_gradient

KEY = jax.random.key(0)
SHAPES = {"x_shape": (2, 3), "y_shape": (4,)}
X = jax.random.normal(jax.random.key(1), (2, 3))


def equations(**settings):
    return Equations(**SHAPES, width=8, depth=2, **settings, key=KEY)


def quadratic(energy, x):
    """The Hessian and the gradient at zero of the landscape of `x`, by central differences."""
    landscape = jax.jit(energy.landscape(x))
    size, step = 4, 0.5  # a quadratic has no error of higher order
    unit = step * np.eye(size)
    gradient = [(landscape(u) - landscape(-u)) / (2 * step) for u in unit]
    hessian = [
        [
            (landscape(a + b) - landscape(a - b) - landscape(b - a) + landscape(-a - b))
            / (4 * step**2)
            for b in unit
        ]
        for a in unit
    ]
    return np.array(hessian, np.float64), np.array(gradient, np.float64)


@pytest.mark.parametrize(
    "settings",
    [
        {"equations": 0, "products": 0},
        {"equations": 0, "products": 5},
        {"equations": 6, "products": 0},
        {"equations": 6, "products": 5},
    ],
)
@pytest.mark.parametrize("largest", [0, 24])
def test_the_minimum_solves_the_linear_system_of_the_quadratic(settings, largest):
    energy = equations(**settings)
    hessian, gradient = quadratic(energy, X)
    assert np.linalg.eigvalsh(hessian).min() > 0
    found = Minimum(largest).descend(energy, X, jnp.zeros(4), 1.0, 12)
    np.testing.assert_allclose(found, np.linalg.solve(hessian, -gradient), rtol=2e-3, atol=2e-3)
    answer = irem.solve(irem.IREM(energy), X[None], key=KEY)
    np.testing.assert_allclose(answer.y[0], found, atol=1e-3)


def test_products_that_all_equations_share_are_products_too(monkeypatch):
    monkeypatch.setattr("irem.energy.equations._MOST_COEFFICIENTS", 0)
    energy = equations(equations=3, products=5)
    hessian, gradient = quadratic(energy, X)
    found = Minimum().descend(energy, X, jnp.zeros(4), 1.0, 12)
    np.testing.assert_allclose(found, np.linalg.solve(hessian, -gradient), rtol=2e-3, atol=2e-3)
    # Twice the problem has other curvature: the coefficients depend on it.
    assert np.abs(quadratic(energy, 2 * X)[0] - hessian).max() > 1e-4


def test_without_products_and_equations_the_energy_is_a_feedforward_network():
    energy = equations(equations=0, products=0)
    hessian, gradient = quadratic(energy, X)
    np.testing.assert_allclose(hessian, (1 + 1e-4) * np.eye(4), atol=1e-4)
    features = jnp.ravel(X)
    for layer in energy.network.layers:
        features = jax.nn.relu(layer(features))
    proposed = energy.network.proposal(features) + jnp.ravel(X) @ energy.network.shortcut
    np.testing.assert_allclose(-gradient, proposed, atol=1e-5)


@pytest.mark.parametrize("largest", [0, 24])
def test_the_gradient_of_the_minimum_is_that_of_finite_differences(largest):
    with jax.enable_x64():
        energy = jax.tree.map(
            lambda a: a.astype(float) if eqx.is_inexact_array(a) else a,
            equations(equations=3, products=5),
        )
        x, rule = X.astype(float), Minimum(largest)

        def loss(bias):
            changed = eqx.tree_at(lambda e: e.network.further.gates.bias, energy, bias)
            return jnp.sum(rule.descend(changed, x, jnp.zeros(4), 1.0, 12) ** 2)

        bias = energy.network.further.gates.bias
        slope = jax.grad(loss)(bias)
        for i in range(3):
            step = 1e-5 * jnp.eye(3)[i]
            expected = (loss(bias + step) - loss(bias - step)) / 2e-5
            np.testing.assert_allclose(slope[i], expected, rtol=1e-5, atol=1e-8)


def test_the_conjugate_gradient_solves_a_system_and_stays_there():
    matrix = np.diag([1.0, 2.0, 3.0]) + 0.1
    right = jnp.array([1.0, -2.0, 0.5])
    product = lambda y: jnp.asarray(matrix, float) @ y  # noqa: E731
    expected = np.linalg.solve(matrix, right)
    for steps in (3, 4, 50):
        np.testing.assert_allclose(
            _conjugate_gradient(product, right, steps), expected, rtol=1e-4, atol=1e-6
        )
    assert (_conjugate_gradient(product, jnp.zeros(3), 5) == 0).all()


def test_linear_systems_of_any_size_of_numbers_are_minima_of_one_energy():
    """The products of a matrix with the answer are an equation: (1 + A) y = b."""
    energy = Equations((2, 3), (2,), width=2, depth=1, equations=0, products=1, key=KEY)
    coefficients, shortcut = np.zeros((2, 3, 2, 2)), np.zeros((2, 3, 2))
    for i in range(2):
        shortcut[i, 2, i] = 1.0
        for j in range(2):
            coefficients[i, j, i, j] = 1.0
    net = energy.network
    net = eqx.tree_at(
        lambda n: n.products.coefficients, net, jnp.asarray(coefficients.reshape(6, 4))
    )
    net = eqx.tree_at(lambda n: n.shortcut, net, jnp.asarray(shortcut.reshape(6, 2)))
    net = eqx.tree_at(lambda n: n.proposal, net, jax.tree.map(jnp.zeros_like, net.proposal))
    energy = eqx.tree_at(lambda e: e.network, energy, net)
    rng = np.random.default_rng(0)
    a = rng.normal(0, 0.2, (20, 2, 2))
    b = rng.uniform(-1, 1, (20, 2, 1)) * np.logspace(-2, 3, 20)[:, None, None]
    found = irem.solve(irem.IREM(energy), np.concatenate([a, b], 2), key=KEY).y
    expected = np.linalg.solve(np.eye(2) + a, b)[..., 0]
    size = np.abs(expected).max(1, keepdims=True)
    np.testing.assert_allclose(found / size, expected / size, atol=2e-3)


def test_a_refiner_has_the_energy_of_its_formula():
    energy = Refiner(**SHAPES, width=8, depth=2, residuals=3, key=KEY)
    y = np.linspace(-1, 1, 4)
    net = jax.tree.map(lambda a: np.asarray(a, np.float64), energy.network)
    features = np.asarray(X, np.float64).ravel()
    for layer in net.layers:
        features = np.maximum(layer.weight @ features + layer.bias, 0)
    swish = lambda v: v / (1 + np.exp(-v))  # noqa: E731
    hidden = swish(net.from_features.weight @ features + net.from_features.bias + y @ net.from_y)
    hidden = hidden + swish(net.second.weight @ hidden + net.second.bias)
    out = hidden @ net.correction
    proposed = net.proposal.weight @ features + net.proposal.bias
    first, rest = y - proposed - out[:4], y @ net.residual_of_y - out[4:]
    expected = 0.5 * (np.square(first).sum() + np.square(rest).sum())
    assert float(energy(X, jnp.asarray(y, jnp.float32))) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (Equations, "width", 0),
        (Equations, "depth", 0),
        (Equations, "equations", -1),
        (Equations, "products", -1),
        (Refiner, "width", 0),
        (Refiner, "depth", 0),
        (Refiner, "residuals", -1),
    ],
)
def test_sizes_that_are_none_are_refused(kind, name, value):
    with pytest.raises(irem.InputError, match=f"`{name}` must be"):
        kind(**SHAPES, **{name: value}, key=KEY)


def test_a_guess_of_equations_is_zero_whatever_the_key():
    energy = equations()
    guesses = [energy.guess(X, (4,), key=jax.random.key(seed)) for seed in range(2)]
    assert not np.any(guesses)
    assert dataclasses.asdict(Minimum()) == {"largest": 24}
