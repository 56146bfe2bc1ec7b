"""Energies of pairs and tables: their symmetries, how they scale, and what they refuse."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.energy import Pair, Paths, Table
from irem.problem import Graph

KEY = jax.random.key(0)
RANDOM = np.random.default_rng(0)


def normal(*shape):
    """An array of NumPy, whose indexing needs no compilation."""
    return RANDOM.normal(size=shape).astype(np.float32)


def pair(*, products=3, maxima=3, aggregate="mean", **settings):
    paths = Paths(products=products, maxima=maxima, aggregate=aggregate)
    sizes = {"width": 8, "encoder_depth": 1, "depth": 2, **settings}
    return Pair(**sizes, paths=paths, key=KEY)


def table(**settings):
    sizes = {"width": 8, "encoder_depth": 1, "depth": 2, "products": 3, **settings}
    return Table(**sizes, key=KEY)


@eqx.filter_jit
def compiled(energy, x, y):
    return jax.value_and_grad(energy.landscape(x))(y)


def value_and_gradient(energy, x, y):
    return jax.device_get(compiled(energy, x, y))


def value_of(energy, x, y):
    return value_and_gradient(energy, x, y)[0]


def assert_close(a, b, rtol=2e-5):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-5), a, b)


@pytest.mark.parametrize("aggregate", ["mean", "sum"])
def test_energy_does_not_depend_on_the_order_of_nodes(aggregate):
    energy, x, y = pair(aggregate=aggregate), normal(6, 6), normal(6, 6)
    order = RANDOM.permutation(6)
    permute = lambda a: a[order][:, order]  # noqa: E731
    value, gradient = value_and_gradient(energy, x, y)
    assert_close(value_and_gradient(energy, permute(x), permute(y)), (value, permute(gradient)))
    # Another order of the answer alone is another answer.
    assert abs(value_and_gradient(energy, x, permute(y))[0] - value) > 1e-3 * value


def test_energy_does_not_depend_on_the_order_of_rows_and_columns():
    energy, x, y = table(), normal(4, 6), normal(4, 6)
    rows, columns = RANDOM.permutation(4), RANDOM.permutation(6)
    permute = lambda a: a[rows][:, columns]  # noqa: E731
    value, gradient = value_and_gradient(energy, x, y)
    assert_close(value_and_gradient(energy, permute(x), permute(y)), (value, permute(gradient)))
    assert abs(value_and_gradient(energy, x, permute(y))[0] - value) > 1e-3 * value


def test_energy_does_not_depend_on_the_order_of_entries_of_a_vector():
    energy, x, y = table(channels=2), normal(2, 7), normal(7)
    order = RANDOM.permutation(7)
    value, gradient = value_and_gradient(energy, x, y)
    assert_close(value_and_gradient(energy, x[:, order], y[order]), (value, gradient[order]))
    assert abs(value_and_gradient(energy, x, y[order])[0] - value) > 1e-3 * value


@pytest.mark.parametrize(("aggregate", "power"), [("mean", None), ("sum", -1)])
def test_padding_changes_neither_energy_nor_gradient(aggregate, power):
    energy, x, y = pair(aggregate=aggregate, power=power), normal(4, 4), normal(4, 4)
    nodes = np.arange(7) < 4
    # The padding holds arbitrary numbers.
    edges, candidate = normal(7, 7), normal(7, 7)
    edges[:4, :4], candidate[:4, :4] = x, y
    value, gradient = value_and_gradient(
        energy, Graph(jnp.asarray(edges), jnp.asarray(nodes)), candidate
    )
    assert_close((value, gradient[:4, :4]), value_and_gradient(energy, x, y))
    assert not gradient[4:].any()
    assert not gradient[:, 4:].any()


@pytest.mark.parametrize(("build", "power"), [(pair, -1), (table, 1)])
def test_the_energy_scales_with_the_problem_as_its_answers_do(build, power):
    energy, x, y = build(power=power), normal(5, 5), normal(5, 5)
    x[0, 1] = 0.0
    value, gradient = value_and_gradient(energy, x, y)
    unit = 7.0**power
    assert_close(
        value_and_gradient(energy, 7 * x, unit * y), (unit**2 * value, unit * gradient), rtol=1e-4
    )
    plain = build()
    other = value_of(plain, 7 * x, unit * y) / (unit**2 * value_of(plain, x, y))
    assert abs(other - 1) > 0.01


def test_a_table_without_products_and_activation_is_linear():
    energy = table(channels=2, products=0, activation="none")
    x, other_x, y, other_y = normal(2, 6), normal(2, 6), normal(6), normal(6)
    # Features that do not depend on the numbers of an entry are left out.
    energy = eqx.tree_at(lambda e: e.network.embed, energy, energy.network.embed.at[2:5].set(0.0))
    gradient = lambda x, y: value_and_gradient(energy, x, y)[1]  # noqa: E731
    assert_close(gradient(x + other_x, y + other_y), gradient(x, y) + gradient(other_x, other_y))


def test_all_vectors_of_a_problem_scale_together():
    energy, x, y = table(channels=2, power=1), normal(2, 6), normal(6)
    value, gradient = value_and_gradient(energy, x, y)
    assert_close(value_and_gradient(energy, 5 * x, 5 * y), (25 * value, 5 * gradient), rtol=1e-4)


@pytest.mark.parametrize("build", [pair, table])
def test_energy_of_a_problem_of_zeros_is_finite(build):
    value, gradient = value_and_gradient(build(power=1), jnp.zeros((3, 3)), normal(3, 3))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_first_guesses_are_as_large_as_answers():
    x = jnp.asarray(100 * normal(5, 5))
    sizes = {
        power: float(jnp.abs(pair(power=power).guess(x, (50, 50), key=KEY)).max())
        for power in (None, 1, -1)
    }
    size = float(jnp.sqrt(jnp.mean(jnp.square(x))))
    assert sizes[None] == pytest.approx(1.0, abs=0.01)
    assert sizes[1] == pytest.approx(size, rel=0.01)
    assert sizes[-1] == pytest.approx(1 / size, rel=0.01)


def test_second_derivatives_store_no_array_over_triples_of_nodes():
    n, maxima = 24, 8
    energy = pair(maxima=maxima, products=1, width=4, encoder_depth=0, depth=1)
    x, y = jnp.asarray(normal(n, n)), jnp.asarray(normal(n, n))
    parameters, rest = eqx.partition(energy, eqx.is_inexact_array)

    def squared_norm_of_gradient(parameters):
        landscape = eqx.combine(parameters, rest).landscape(x)
        return jnp.sum(jnp.square(jax.grad(landscape)(y)))

    kept = jax.eval_shape(lambda p: jax.vjp(squared_norm_of_gradient, p)[1], parameters)
    assert max(leaf.size for leaf in jax.tree.leaves(kept)) < n**3


def test_energy_depends_on_further_channels_which_do_not_scale():
    energy, x, y = pair(channels=2, power=1), normal(5, 5, 2), normal(5, 5)
    assert energy.format.answer_shape(jnp.asarray(x)) == (5, 5)
    value = value_of(energy, x, y)
    assert abs(value_of(energy, x * np.float32([1, 0]), y) - value) > 1e-3 * value
    scaled = value_of(energy, x * np.float32([3, 1]), 3 * y)
    np.testing.assert_allclose(scaled, 9 * value, rtol=1e-4)
    batch, alone = energy.format.as_batch(x)
    assert alone
    assert batch.shape == (1, 5, 5, 2)
    assert not energy.format.as_batch(x[None])[1]


@pytest.mark.parametrize(
    ("energy", "shape", "expected"),
    [
        (pair(channels=2), (5, 5), r"expected one problem of shape \(n, n, 2\)"),
        (pair(channels=2), (5, 4, 2), r"expected one problem of shape \(n, n, 2\)"),
        (table(), (3,), r"expected one problem of shape \(rows, columns\)"),
        (table(channels=2), (3, 7), r"expected one problem of shape \(2, n\)"),
    ],
)
def test_problems_of_another_shape_are_refused(energy, shape, expected):
    with pytest.raises(ValueError, match=expected):
        energy.format.as_batch(np.ones(shape))


def test_flat_rows_are_read_in_the_shape_of_training():
    energy = Table.for_task(irem.tasks.MatrixCompletion(size=3), width=4, key=KEY)
    rows = np.arange(18.0).reshape(2, 9)
    with pytest.raises(ValueError, match=r"one problem .* or 2 "):
        energy.format.as_batch(rows)
    batch, alone = energy.format.as_stack(rows, problems=2)
    assert not alone
    np.testing.assert_array_equal(batch, np.arange(18.0).reshape(2, 3, 3))
    assert energy.format.as_batch(np.arange(9.0))[1]
    assert energy.format.as_batch(np.ones((1, 5, 9)))[0].shape == (1, 5, 9)
    batch, alone = energy.format.as_batch(np.ones((5, 4)))  # a table of another size
    assert alone
    assert batch.shape == (1, 5, 4)


@pytest.mark.parametrize(
    ("energy", "task", "message"),
    [
        (Pair, irem.tasks.Addition(), r"needs graphs or square matrices, and 'addition' has"),
        (
            Pair,
            irem.tasks.Denoise(),
            r"needs graphs or square.*'denoise' has pictures",
        ),
        (
            Table,
            irem.tasks.ShortestPath(),
            r"needs problems of a fixed size.*use the GINE or the Pair energy",
        ),
        (Table, irem.tasks.Denoise(), r"needs problems of a fixed size.*use the Conv energy"),
    ],
)
def test_tasks_of_another_format_are_refused(energy, task, message):
    with pytest.raises(ValueError, match=message):
        energy.for_task(task, key=KEY)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"power": 2}, "`power` must be 1, -1 or None, got 2"),
        ({"encoder_depth": -1}, "`encoder_depth` must be 0 or more, got -1"),
        ({"activation": "relu"}, "Unknown activation 'relu'"),
        ({"aggregate": "max"}, "Unknown aggregate 'max'"),
        ({"maxima": -1}, "`maxima` must be 0 or more"),
        ({"activation": "none"}, 'with `activation="none"` has no maxima, got 3; ask for 0'),
    ],
)
def test_invalid_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        pair(**settings)


@pytest.mark.parametrize("settings", [{"maxima": 0}, {"products": 0, "maxima": 0}])
def test_products_and_maxima_may_be_left_out(settings):
    value, gradient = value_and_gradient(pair(**settings), normal(4, 4), normal(4, 4))
    assert np.isfinite(value)
    assert np.abs(gradient).max() > 0


@pytest.mark.parametrize(("build", "sizes"), [(pair, {"maxima": 0}), (table, {})])
def test_without_an_activation_the_energy_is_a_convex_quadratic(build, sizes):
    energy = build(activation="none", **sizes)
    with jax.enable_x64(True):
        energy = jax.tree.map(lambda a: jnp.asarray(np.asarray(a, np.float64)), energy)
        x, y, direction = (jnp.asarray(RANDOM.normal(size=(5, 5))) for _ in range(3))
        landscape = jax.jit(energy.landscape(x))
        along = [float(landscape(y + t * direction)) for t in range(4)]
    # Third differences of a quadratic vanish; second differences of a convex function are positive.
    np.testing.assert_allclose(np.diff(along, 3), 0, atol=1e-9 * max(map(abs, along)))
    assert (np.diff(along, 2) > 0).all()


def test_two_vectors_of_any_length_are_one_problem():
    energy = Table.for_task(irem.tasks.Addition(size=3), width=4, key=KEY)
    batch, alone = energy.format.as_batch(np.ones((2, 7)))
    assert alone
    assert batch.shape == (1, 2, 7)
    with pytest.raises(ValueError, match=r"one problem .* or 2 "):
        energy.format.as_batch(np.ones((2, 6)))
    assert energy.format.as_batch(np.ones((5, 6)))[0].shape == (5, 2, 3)


@pytest.mark.parametrize("power", [None, 1, -1])
def test_the_power_is_part_of_the_settings(power):
    task = irem.tasks.MatrixInverse(size=3)
    first = Pair.for_task(task, width=4, power=power, key=KEY)
    assert first.power == power
    assert Pair.for_task(task, **first.settings(), key=KEY).power == power
    assert Pair.for_task(task, width=4, key=KEY).power == -1


def test_a_trained_stack_is_described_and_loaded_in_its_form(tmp_path):
    task = irem.tasks.MatrixInverse(size=3)
    energy = {"name": "pair", "width": 4, "encoder_depth": 0, "activation": "none", "means": False}
    sections = {
        "method": {"name": "irem", "step_size": 1.0},
        "energy": {**energy, "paths": {"maxima": 0, "aggregate": "sum"}},
        "gradient": {"name": "last-steps", "diverged_beyond": 50.0},
    }
    keys = jax.random.split(KEY, 2)
    methods = irem.methods.build_methods(task, sections, keys=keys)
    run = irem.train(
        task,
        methods,
        iterations=1,
        batch_size=2,
        replay=irem.NoReplay(),
        key=keys,
        out=tmp_path / "r",
    )
    loaded = irem.load(tmp_path / "r")
    assert eqx.tree_equal(loaded.models[1], run.models[1])
    assert energy.items() <= loaded.settings["energy"].items()
    assert loaded.settings["energy"]["paths"] == {"products": 16, "maxima": 0, "aggregate": "sum"}
    assert loaded.models[1].gradient == irem.LastSteps(diverged_beyond=50.0)
    assert loaded.models[1].energy.network.scorer[0].means is None


def test_with_sums_the_size_of_a_problem_is_that_of_its_singular_values():
    energy = pair(aggregate="sum", power=-1)
    matrix = normal(5, 5)
    twice = np.kron(np.eye(2), matrix).astype(np.float32)
    expected = np.sqrt(np.mean(np.linalg.svd(matrix, compute_uv=False) ** 2))
    for x in (matrix, twice):
        np.testing.assert_allclose(
            energy._scale(*energy.table(jnp.asarray(x))), expected, rtol=1e-5
        )


def test_with_sums_features_that_all_pairs_share_have_a_spectral_norm_of_one():
    energy = pair(aggregate="sum")
    for n in (3, 7):
        features = np.asarray(energy.features(*energy.table(jnp.asarray(normal(n, n)))))
        given, ones, same = (np.linalg.norm(features[..., k], ord=2) for k in (1, 2, 3))
        np.testing.assert_allclose([given, ones, same], 1.0, rtol=1e-5)


@pytest.mark.parametrize("means", [False, True])
def test_a_pair_depends_on_its_row_only_with_means(means):
    energy = pair(encoder_depth=0, depth=1, products=0, maxima=0, means=means)
    x, y = jnp.asarray(normal(4, 4)), normal(4, 4)
    # How the gradient at one pair changes with the answer of another in its row.
    mixed = np.asarray(jax.jit(jax.jacobian(jax.grad(energy.landscape(x))))(y))[0, 1, 0, 2]
    assert (abs(mixed) > 1e-6) == means
