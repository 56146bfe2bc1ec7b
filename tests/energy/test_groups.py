"""The energy of puzzles: the same under every symmetry of the rules, and of any size."""

import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.energy import Groups
from irem.nn import groups
from irem.nn.groups import pool, spread
from irem.puzzles import (
    Family,
    NamedRules,
    Puzzle,
    Quota,
    colouring_families,
    known_of_grid,
    latin_families,
    queens_families,
    sudoku_families,
    with_excluded,
    with_open,
)

KEY = jax.random.key(0)
SYMBOLS = 6
SMALL = {"width": 8, "layers": 2, "scratch": 3}


@functools.cache
def energy(families=3):
    return Groups(families=families, key=KEY, **SMALL)


@eqx.filter_jit
def gradient_of(energy, x, point):
    return jax.value_and_grad(energy.landscape(x))(point)


def cube(seed, symbols=SYMBOLS):
    """A grid of which some cells are given, and a point, by row, column and symbol."""
    rng = np.random.default_rng(seed)
    grid = rng.integers(1, symbols + 1, (symbols, symbols)) * (rng.random((symbols, symbols)) < 0.3)
    return grid, rng.normal(size=(symbols, symbols, symbols, 1 + SMALL["scratch"]))


def at(grid, point):
    """Energy and gradient at a point, by row, column and symbol."""
    x = Puzzle(jnp.asarray(known_of_grid(grid)), sudoku_families(len(grid)))
    flat = jnp.asarray(point.reshape(-1, point.shape[-1]), jnp.float32)
    value, gradient = gradient_of(energy(), x, flat)
    return float(value), np.asarray(gradient).reshape(point.shape)


def listed_of(grid):
    """One puzzle with a list of its open variables."""
    batch = with_open(known_of_grid(grid)[None], NamedRules("sudoku", len(grid)))
    return jax.tree.map(lambda leaf: leaf[0], batch)


def relabelled(grid, order):
    return np.concatenate([[0], np.argsort(order) + 1])[grid]


# Boxes of 6 x 6 have two rows and three columns: bands of two rows, stacks of three columns.
ROWS, COLUMNS = np.array([1, 0, 3, 2, 4, 5]), np.array([2, 0, 1, 3, 5, 4])
BANDS, STACKS = np.array([4, 5, 0, 1, 2, 3]), np.array([3, 4, 5, 0, 1, 2])
SYMBOL_ORDER = np.array([3, 1, 5, 0, 2, 4])


@pytest.mark.parametrize(
    ("of_grid", "of_point"),
    [
        (lambda g: g[ROWS], lambda p: p[ROWS]),
        (lambda g: g[:, COLUMNS], lambda p: p[:, COLUMNS]),
        (lambda g: g[BANDS], lambda p: p[BANDS]),
        (lambda g: g[:, STACKS], lambda p: p[:, STACKS]),
        (lambda g: relabelled(g, SYMBOL_ORDER), lambda p: p[:, :, SYMBOL_ORDER]),
    ],
    ids=["rows in a band", "columns in a stack", "bands", "stacks", "symbols"],
)
def test_symmetries_of_a_sudoku_leave_the_energy_and_turn_the_gradient(of_grid, of_point):
    grid, point = cube(0)
    value, gradient = at(grid, point)
    turned_value, turned = at(of_grid(grid), of_point(point))
    np.testing.assert_allclose(turned_value, value, rtol=1e-5)
    np.testing.assert_allclose(turned, of_point(gradient), rtol=1e-3, atol=1e-4)


def test_a_transposed_sudoku_has_the_same_energy():
    grid, point = cube(0, symbols=4)  # boxes are square
    value, gradient = at(grid, point)
    turned_value, turned = at(grid.T, point.transpose(1, 0, 2, 3))
    np.testing.assert_allclose(turned_value, value, rtol=1e-5)
    np.testing.assert_allclose(turned, gradient.transpose(1, 0, 2, 3), rtol=1e-3, atol=1e-4)


def test_what_is_no_symmetry_changes_the_energy():
    grid, point = cube(0)
    value, _ = at(grid, point)
    across = np.array([2, 1, 0, 3, 4, 5])  # rows of different bands
    assert abs(at(grid[across], point[across])[0] - value) > 1e-3
    assert abs(at(grid, point[::-1])[0] - value) > 1e-3


def test_pooling_is_a_sum_over_members_and_spreading_its_transpose():
    family = Family.of([[0, 2], [1, 2, 3], [3]], Quota.AT_MOST_ONE, 4)
    incidence = np.array([[1, 0, 1, 0], [0, 1, 1, 1], [0, 0, 0, 1]], float)
    values = np.arange(8.0).reshape(4, 2)
    np.testing.assert_allclose(pool(jnp.asarray(values), family), incidence @ values)
    of_groups = np.arange(6.0).reshape(3, 2)
    np.testing.assert_allclose(spread(jnp.asarray(of_groups), family), incidence.T @ of_groups)


def test_known_variables_are_left_out_of_lists_and_nothing_else_changes():
    grid, _ = cube(3)
    known = known_of_grid(grid)
    whole, short = Puzzle(jnp.asarray(known), NamedRules("sudoku", SYMBOLS)), listed_of(grid)
    assert short.open.shape == (96,) < known.shape
    y0 = jnp.asarray(np.random.default_rng(4).normal(size=known.shape), jnp.float32)
    points = [energy().begin(x, y0, key=None) for x in (whole, short)]
    values, gradients = zip(
        *(gradient_of(energy(), x, p) for x, p in zip((whole, short), points, strict=True)),
        strict=True,
    )
    decided = np.asarray(with_excluded(known, sudoku_families(SYMBOLS)))
    closed = decided != 0
    of_known = 0.5 * np.sum((np.asarray(y0)[closed] - (decided[closed] > 0)) ** 2)
    np.testing.assert_allclose(values[0], values[1] + of_known, rtol=1e-5)
    ends = [
        energy().read(x, p - g) for x, p, g in zip((whole, short), points, gradients, strict=True)
    ]
    np.testing.assert_allclose(*ends, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ends[0][closed], decided[closed] > 0, atol=1e-6)


def test_lists_and_matrices_of_members_give_the_same_energy(monkeypatch):
    grid, _ = cube(5)
    x = listed_of(grid)
    point = energy().begin(x, jnp.zeros(SYMBOLS**3), key=KEY)
    found = {}
    for kind in (groups.Lists, groups.Matrix):
        monkeypatch.setattr(groups, "_is_matrix_faster", lambda *_, k=kind: k is groups.Matrix)
        assert all(isinstance(g, kind) for g in groups.Open.of(x).groups)
        found[kind] = jax.value_and_grad(energy().landscape(x))(point)
    of_lists, of_matrices = found.values()
    np.testing.assert_allclose(of_lists[0], of_matrices[0], rtol=1e-5)
    np.testing.assert_allclose(of_lists[1], of_matrices[1], rtol=1e-3, atol=1e-5)


def test_a_group_that_has_its_true_variable_says_no_more():
    rules = (Family.of([[0, 1, 2], [2, 3]], Quota.AT_LEAST_ONE, 4),)
    for matrix in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(groups, "_is_matrix_faster", lambda *_, m=matrix: m)
            found = groups.Open.of(Puzzle(jnp.array([1, 0, 0, 0], jnp.int8), rules))
        assert found.is_open.tolist() == [False, True, True, True]
        ones = jnp.ones((4, 1))
        assert found.groups[0].pool(ones).ravel().tolist() == [0, 2]
        assert found.groups[0].spread(jnp.ones((2, 1))).ravel().tolist() == [0, 0, 1, 1]


def test_derivatives_of_first_and_second_order_agree_with_finite_differences():
    grid, point = cube(1, symbols=4)
    x = Puzzle(jnp.asarray(known_of_grid(grid)), sudoku_families(4))
    point = jnp.asarray(point.reshape(-1, point.shape[-1]))
    with jax.enable_x64():
        exact = jax.tree.map(lambda a: jnp.asarray(a, jnp.float64), energy())
        point = jnp.asarray(np.asarray(point), jnp.float64)
        landscape = exact.landscape(x)
        direction = jnp.asarray(np.random.default_rng(2).normal(size=point.shape))
        slope = lambda t: landscape(point + t * direction)  # noqa: E731
        tilt = lambda t: jnp.vdot(jax.grad(landscape)(point + t * direction), direction)  # noqa: E731
        small = 1e-5
        first = (slope(small) - slope(-small)) / (2 * small)
        second = (tilt(small) - tilt(-small)) / (2 * small)
        np.testing.assert_allclose(tilt(0.0), first, rtol=1e-6)
        np.testing.assert_allclose(jax.grad(tilt)(0.0), second, rtol=1e-5)


@pytest.mark.parametrize(
    ("families", "variables"),
    [
        (sudoku_families(9), 729),
        (sudoku_families(4), 64),
        (latin_families(5), 125),
        (queens_families(6), 36),
        (colouring_families(4, [(0, 1), (2, 3)], 3), 12),
    ],
)
def test_one_energy_takes_puzzles_of_any_size(families, variables):
    model = energy(len(families))
    x = Puzzle(jnp.zeros(variables, jnp.int8), families)
    point = model.begin(x, jnp.zeros(variables), key=KEY)
    assert point.shape == (variables, 1 + SMALL["scratch"])
    assert jnp.isfinite(model.landscape(x)(point))
    assert model.read(x, point).shape == (variables,)


def test_groups_that_only_fill_up_change_no_gradient():
    edges = list(itertools.combinations(range(4), 2))[:3]
    small = colouring_families(4, edges, 2)
    nodes, pairs = small
    filled = Family(
        jnp.concatenate([pairs.members, jnp.full((5, 2), 8, jnp.int32)]),
        jnp.where(
            pairs.of_variable == len(pairs.members), len(pairs.members) + 5, pairs.of_variable
        ),
        pairs.quota,
    )
    point = jnp.asarray(
        np.random.default_rng(0).normal(size=(8, 1 + SMALL["scratch"])), jnp.float32
    )
    known = jnp.zeros(8, jnp.int8)
    results = [
        gradient_of(energy(2), Puzzle(known, families), point)
        for families in (small, (nodes, filled))
    ]
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-5, atol=1e-6)


def test_a_scratchpad_is_random_with_a_key_and_zero_without():
    model, y0 = energy(), jnp.ones(64)
    x = Puzzle(jnp.zeros(64, jnp.int8), sudoku_families(4))
    points = [model.begin(x, y0, key=k) for k in (None, KEY, jax.random.key(1))]
    assert all((p[:, 0] == 1).all() for p in points)
    assert not points[0][:, 1:].any()
    assert (points[1][:, 1:] != points[2][:, 1:]).all()


def test_other_problems_are_refused():
    with pytest.raises(irem.InputError, match="needs puzzles"):
        Groups.fit(irem.tasks.Addition())
