"""The low-rank energy: what it reads, what it answers, and how it treats missing entries."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.energy.lowrank import LowRank

KEY = jax.random.key(0)
ENERGY = LowRank(rank=4, key=KEY)


def rank_two(rng, rows=12, columns=12):
    return rng.normal(size=(rows, 2)) @ rng.normal(size=(2, columns))


def with_missing(table, share, rng):
    return np.where(rng.random(table.shape) < share, table, np.nan).astype(np.float32)


def root_mean_square(values):
    return np.sqrt(np.mean(np.square(values)))


@eqx.filter_jit
def begin(energy, x):
    """The point where a descent from zero begins."""
    return energy.begin(x, jnp.zeros_like(x), key=None)


def draw():
    """Tables by name, each with its missing entries and whole."""
    rng = np.random.default_rng(0)
    y = {f"rank 2 times {scale}": scale * rank_two(rng) for scale in (1.0, 1e-3, 1e6)}
    y["offsets"] = rng.normal(size=(12, 1)) + rng.normal(size=(1, 12)) + 5.0
    y["noise"] = rng.normal(size=(12, 12))
    y["columns"] = 10.0 + np.arange(12.0) * np.ones((12, 1))
    x = {name: with_missing(table, 0.75, rng) for name, table in y.items()}
    x["columns"][3] = x["columns"][:, 5] = np.nan
    for value in (0.0, 7.0):
        y[f"one {value}"] = np.full((12, 12), value)
        x[f"one {value}"] = np.full((12, 12), np.nan, np.float32)
        x[f"one {value}"][1, 2] = value
    return {name: (x[name], y[name]) for name in y}


TABLES = draw()


@pytest.fixture(scope="module")
def answers():
    """The answers to all tables, by name: one walk, and one compilation."""
    x = np.stack([table for table, _ in TABLES.values()])
    # A tenth of the usual budget, within which every table is answered.
    found = irem.solve(ENERGY, x, key=KEY, max_steps=1000)
    return dict(zip(TABLES, np.asarray(found.y), strict=True))


def test_given_entries_are_kept_to_the_bit(answers):
    for name, (x, _) in TABLES.items():
        given = np.isfinite(x)
        assert (answers[name][given] == x[given]).all()


@pytest.mark.parametrize("name", [name for name in TABLES if name[:4] in ("rank", "offs")])
def test_tables_of_low_rank_are_completed_at_any_scale(answers, name):
    x, y = TABLES[name]
    error = (answers[name] - y)[np.isnan(x)]
    assert root_mean_square(error) < 3e-3 * root_mean_square(y)


def test_rows_and_columns_without_entries_are_answered_by_the_means_of_the_others(answers):
    (_, y), found = TABLES["columns"], answers["columns"]
    others = np.arange(12) != 5
    np.testing.assert_allclose(found[3, others], y[3, others], rtol=0.02)
    np.testing.assert_allclose(found[:, 5], y[:, others].mean(), rtol=0.02)


def test_noise_is_not_fitted(answers):
    # The best answer to noise is zero; one that fits it is about twice as far off.
    x, y = TABLES["noise"]
    assert root_mean_square((answers["noise"] - y)[np.isnan(x)]) < 1.25


@pytest.mark.parametrize("value", [0.0, 7.0])
def test_one_given_entry_is_enough(answers, value):
    np.testing.assert_allclose(answers[f"one {value}"], value, atol=0.05)


def test_zeros_are_missing_where_nothing_is_nan():
    x, _ = TABLES["offsets"]
    table, zeros = jnp.asarray(x), jnp.asarray(np.nan_to_num(x))
    point = begin(ENERGY, table)
    value_and_answer = eqx.filter_jit(lambda energy, x: (energy(x, point), energy.read(x, point)))
    for a, b in zip(value_and_answer(ENERGY, table), value_and_answer(ENERGY, zeros), strict=True):
        np.testing.assert_array_equal(a, b)


def test_gradients_are_finite_in_the_point_and_in_the_weights():
    rng = np.random.default_rng(3)
    x = jnp.asarray(with_missing(rank_two(rng), 0.5, rng))
    point = begin(ENERGY, x)

    @eqx.filter_jit
    def gradients(energy, point):
        def loss(energy):
            step = 1e-3 * jax.grad(energy.landscape(x))(point)
            return jnp.sum(jnp.square(energy.read(x, point - step)))

        in_point = jax.grad(energy.landscape(x))
        return in_point(point), in_point(0 * point), eqx.filter_grad(loss)(energy)

    in_point, at_zero, in_weights = gradients(ENERGY, point)
    assert np.isfinite(in_point).all()
    assert np.isfinite(at_zero).all()
    assert np.isfinite(in_weights.log_weights).all()
    assert np.abs(in_weights.log_weights).max() > 0


def test_order_of_rows_and_columns_does_not_matter():
    rng = np.random.default_rng(4)
    x = with_missing(rank_two(rng) + 0.2 * rng.normal(size=(12, 12)), 0.8, rng)
    rows, columns = rng.permutation(12), rng.permutation(12)
    first_value = eqx.filter_jit(lambda energy, x: energy(x, begin(energy, x)))
    a, b = (first_value(ENERGY, table) for table in (x, x[rows][:, columns]))
    np.testing.assert_allclose(a, b, rtol=1e-3)


def test_tasks_without_missing_entries_are_refused():
    with pytest.raises(irem.InputError, match="missing entries"):
        LowRank.fit(irem.tasks.Addition(size=3))
    assert LowRank.fit(irem.tasks.MatrixCompletion(variant="wide", size=3)) == {"x_shape": (3, 3)}
