"""The fully connected energy against NumPy, and what it does once per problem."""

import jax
import numpy as np
import pytest

import irem
from irem.energy import MLP

WIDTH = 16


@pytest.fixture(scope="module")
def energy():
    # 7 = 1 x 7 entries in a problem and 5 in an answer: sizes that nothing else here has.
    return MLP((7,), (5,), width=WIDTH, depth=3, key=jax.random.key(0))


def swish(z):
    return z / (1 + np.exp(-z))


def reference(energy, x, y):
    """A plain forward pass on the concatenated problem and answer, in 64 bits."""
    hidden = np.concatenate([np.ravel(x), np.ravel(y)]).astype(np.float64)
    for layer in energy.layers:
        hidden = swish(np.asarray(layer.weight, np.float64) @ hidden + np.asarray(layer.bias))
    return float((np.asarray(energy.readout.weight, np.float64) @ hidden)[0]) + float(
        energy.readout.bias[0]
    )


@pytest.mark.parametrize(("x_shape", "y_shape", "depth"), [((2, 4), (4,), 3), ((3, 3), (3, 3), 1)])
def test_energy_is_that_of_a_numpy_forward_pass(x_shape, y_shape, depth):
    energy = MLP(x_shape, y_shape, width=WIDTH, depth=depth, key=jax.random.key(1))
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, *x_shape)).astype(np.float32)
    y = rng.normal(size=(20, *y_shape)).astype(np.float32)
    values = jax.jit(jax.vmap(energy))(x, y)
    expected = [reference(energy, *pair) for pair in zip(x, y, strict=True)]
    # Three layers of sums of at most 18 terms of order one.
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-5)


def products(jaxpr, *, inside=False):
    """Every matrix product in `jaxpr` as (is it in a loop, sizes of its operands)."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            yield inside, {axis for v in equation.invars for axis in v.aval.shape}
        for parameter in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda p: hasattr(p, "eqns")
        ):
            inner = getattr(parameter, "jaxpr", parameter)
            if hasattr(inner, "eqns"):
                loop = equation.primitive.name in ("scan", "while")
                yield from products(inner, inside=inside or loop)


def test_the_share_of_the_problem_is_found_once_outside_the_loop(energy):
    def descend(x, y):
        slope = jax.grad(energy.landscape(x))
        return jax.lax.scan(lambda y, _: (y - slope(y), None), y, length=4)[0]

    found = list(products(jax.make_jaxpr(descend)(np.ones(7), np.ones(5)).jaxpr))
    assert sum(7 in sizes for inside, sizes in found if not inside) == 1
    in_loop = [sizes for inside, sizes in found if inside]
    # There are products in the loop, with the weight of the answer, but none of the problem's.
    assert any(5 in sizes for sizes in in_loop)
    assert not any(7 in sizes for sizes in in_loop)


def test_solve_keeps_the_share_of_the_problem_outside_its_loop(energy):
    def answer(x):
        return irem.solve(energy, x, np.zeros((2, 5)), step=irem.FixedStep(1.0)).y

    found = list(products(jax.make_jaxpr(answer)(np.ones((2, 7))).jaxpr))
    in_loop = [sizes for inside, sizes in found if inside]
    assert any(7 in sizes for inside, sizes in found if not inside)
    assert any(5 in sizes for sizes in in_loop)
    assert not any(7 in sizes for sizes in in_loop)


def test_initial_weights_are_those_of_pytorch():
    energy = MLP((30,), (34,), width=64, depth=2, key=jax.random.key(2))
    for layer in (*energy.layers, energy.readout):
        # Uniform in +-1/sqrt(inputs), 64 everywhere here; the variance is a third of its square.
        weight = np.asarray(layer.weight, np.float64)
        assert np.abs(weight).max() <= 1 / 8
        assert np.abs(np.asarray(layer.bias)).max() <= 1 / 8
        # A uniform variable's fourth moment gives the standard error of its variance.
        error = 5 * (1 / 64) * (4 / 45 / weight.size) ** 0.5
        assert abs((weight**2).mean() - 1 / 192) <= error


@pytest.mark.parametrize(
    ("shape", "alone"),
    [((2, 3), True), ((6,), True), ((4, 2, 3), False), ((4, 6), False), ((1, 2, 3), False)],
)
def test_problems_are_taken_alone_stacked_and_as_flat_rows(shape, alone):
    energy = MLP((2, 3), (3,), width=WIDTH, key=jax.random.key(0))
    x = np.arange(np.prod(shape), dtype=float).reshape(shape)
    batch, was_alone = energy.format.as_batch(x.tolist())
    assert was_alone == alone
    assert batch.dtype == np.float32
    np.testing.assert_array_equal(batch, x.reshape(-1, 2, 3))


@pytest.mark.parametrize("shape", [(), (5,), (3, 2), (4, 3, 2), (4, 5), (0, 2, 3), (2, 4, 2, 3)])
def test_problems_of_another_shape_are_refused(shape):
    energy = MLP((2, 3), (3,), width=WIDTH, key=jax.random.key(0))
    with pytest.raises(ValueError, match=r"`x` has shape .*; expected one problem of shape \(2, 3"):
        energy.format.as_batch(np.ones(shape))


def test_ragged_lists_and_words_are_refused(energy):
    with pytest.raises(ValueError, match=r"`x` is not a rectangular array"):
        energy.format.as_batch([[1.0, 2.0], [3.0]])
    with pytest.raises(ValueError, match=r"`x` must hold numbers, got an array of <U5"):
        energy.format.as_batch("seven")
    with pytest.raises(ValueError, match=r"`x` must hold numbers, got an array of object"):
        energy.format.as_batch([None] * 7)


@pytest.mark.parametrize("name", ["edge-copy", "connected-components", "shortest-path"])
def test_tasks_of_any_size_are_refused(name):
    task = irem.tasks.get(name)
    with pytest.raises(
        ValueError, match=rf"fixed size, and '{name}' has graphs; use the GINE or the Pair energy"
    ):
        MLP.for_task(task, key=jax.random.key(0))
