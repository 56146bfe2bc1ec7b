"""Mazes and their shortest paths, beside networkx."""

import jax
import jax.numpy as jnp
import networkx as nx
import numpy as np
import pytest

import irem
from irem.mazes import (
    END,
    NO_WAY,
    START,
    WALL,
    carve,
    dead_end_filling,
    distances,
    is_shortest_path,
    nearest_shortest_path,
    open_walls,
    path_errors,
    scatter_walls,
    shortest_path,
    with_ends,
    with_joined_ends,
)

KEY = jax.random.key(0)
# Two ways around a block of walls, and a dead end in the corner.
LOOP = jnp.array([[2, 1, 1, 1], [1, 0, 0, 1], [1, 1, 3, 1], [0, 0, 0, 1]], jnp.int8)


def graph_of(x):
    """The open cells of a maze, and the pairs of them that touch."""
    x = np.asarray(x)
    graph = nx.grid_2d_graph(*x.shape)
    graph.remove_nodes_from([tuple(cell) for cell in np.argwhere(x <= WALL).tolist()])
    return graph


def place(x, symbol):
    return tuple(np.argwhere(np.asarray(x) == symbol)[0].tolist())


def with_loops(seed, size, p=0.3):
    keys = jax.random.split(jax.random.key(seed), 3)
    return with_ends(keys[0], open_walls(keys[1], carve(keys[2], size), p))


def all_paths(x):
    """All shortest paths as grids of 0 and 1."""
    found = nx.all_shortest_paths(graph_of(x), place(x, START), place(x, END))
    grids = np.zeros((1000, *x.shape))
    for number, cells in enumerate(found):
        grids[number][tuple(zip(*cells, strict=True))] = 1
    return grids[: number + 1]


@pytest.mark.parametrize("size", [1, 3, 5, 9, 13])
def test_a_carved_maze_is_a_tree_of_all_cells(size):
    floors = jax.vmap(lambda k: carve(k, size))(jax.random.split(KEY, 4))
    for floor in np.asarray(floors):
        assert floor.shape == (size, size)
        assert floor[::2, ::2].all()
        assert not floor[1::2, 1::2].any()
        cells = ((size + 1) // 2) ** 2
        assert floor.sum() - cells == cells - 1
        assert nx.is_tree(graph_of(floor))
    assert size < 5 or len(np.unique(floors, axis=0)) == 4


def test_a_large_maze_is_carved_as_well():
    assert nx.is_tree(graph_of(jax.jit(carve, static_argnums=1)(KEY, 201)))


def test_an_even_size_is_refused():
    with pytest.raises(irem.InputError, match="odd number of rows, got 8"):
        carve(KEY, 8)


def test_every_wall_between_cells_is_opened_with_the_same_probability():
    floor = carve(KEY, 101)
    opened = np.asarray(open_walls(KEY, floor, 0.25)) & ~np.asarray(floor)
    walls = ~np.asarray(floor)
    assert not opened[1::2, 1::2].any()
    share = opened.sum() / (walls.sum() - walls[1::2, 1::2].sum())
    assert 0.21 < share < 0.29
    assert (open_walls(KEY, floor, 1.0).sum() == 101**2 - 50**2).item()
    np.testing.assert_array_equal(open_walls(KEY, floor, 0.0), floor)


def test_ends_are_two_cells_and_any_two():
    found = jax.vmap(lambda k: with_ends(k, carve(k, 3)))(jax.random.split(KEY, 300))
    pairs = {(place(x, START), place(x, END)) for x in found}
    corners = [(0, 0), (0, 2), (2, 0), (2, 2)]
    assert pairs == {(a, b) for a in corners for b in corners if a != b}


@pytest.mark.parametrize("seed", range(3))
def test_distances_are_those_of_networkx(seed):
    x = with_loops(seed, 11)
    expected = np.full(x.shape, NO_WAY)
    lengths = nx.single_source_shortest_path_length(graph_of(x), place(x, START))
    for cell, steps in dict(lengths).items():
        expected[cell] = steps
    np.testing.assert_array_equal(distances(x, x == START), expected)


def test_no_way_leads_through_a_wall_or_from_one():
    x = jnp.array([[2, 0, 3]], jnp.int8)
    assert distances(x, x == START).tolist() == [[0, NO_WAY, NO_WAY]]
    assert (distances(x, x == WALL) == NO_WAY).all()


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_shortest_path_is_the_nearest_of_all(seed):
    x = with_loops(seed, 9, p=0.6)
    paths = all_paths(x)
    ys = jax.random.uniform(jax.random.key(seed), (8, *x.shape), minval=-0.5, maxval=1.5)
    found = np.asarray(jax.vmap(lambda y: nearest_shortest_path(x, y))(ys))
    for y, path in zip(np.asarray(ys), found, strict=True):
        errors = np.square(paths - y).sum(axis=(1, 2))
        assert np.square(path - y).sum() == pytest.approx(errors.min(), rel=1e-5)
        assert (paths == path).all(axis=(1, 2)).any()


def test_a_random_shortest_path_may_be_any_of_them():
    paths = {
        bytes(np.asarray(shortest_path(k, LOOP)).astype(np.uint8))
        for k in jax.random.split(KEY, 20)
    }
    assert paths == {bytes(p.astype(np.uint8)) for p in all_paths(LOOP)}
    two = jnp.array([[2, 1], [1, 3]], jnp.int8)
    drawn = [shortest_path(k, two)[0, 1].item() for k in jax.random.split(KEY, 60)]
    assert 15 < sum(drawn) < 45


@pytest.mark.parametrize("rows", [[[2, 0, 3]], [[2, 1, 1]], [[1, 1, 3]], [[0, 0, 0]]])
def test_where_there_is_no_way_the_path_is_empty(rows):
    x = jnp.array(rows, jnp.int8)
    assert not nearest_shortest_path(x, jnp.ones(x.shape)).any()
    assert not shortest_path(KEY, x).any()


def test_answers_that_are_not_finite_still_have_a_nearest_path():
    for bad in (jnp.nan, jnp.inf, -jnp.inf):
        found = nearest_shortest_path(LOOP, jnp.full(LOOP.shape, bad))
        assert is_shortest_path(np.asarray(LOOP), np.asarray(found)).all()


def test_cells_outside_are_no_way():
    x = np.full((7, 6), -1, np.int8)
    x[:4, :4] = LOOP
    found = nearest_shortest_path(jnp.asarray(x), jnp.ones(x.shape))
    assert not found[4:].any()
    assert not found[:, 4:].any()
    assert is_shortest_path(x, np.asarray(found)).all()


def test_filling_dead_ends_leaves_the_path_of_a_tree_and_more_where_there_are_loops():
    tree = with_loops(0, 21, p=0.0)
    np.testing.assert_array_equal(dead_end_filling(tree), shortest_path(KEY, tree))
    for seed in range(3):
        x = with_loops(seed, 11)
        kept, path = (np.asarray(a) for a in (dead_end_filling(x), shortest_path(KEY, x)))
        assert (kept >= path).all()
    assert dead_end_filling(LOOP).sum() == 10  # all but the corner
    assert dead_end_filling(LOOP)[3, 3] == 0


def test_every_shortest_path_counts_and_nothing_else():
    x = np.asarray(with_loops(3, 9, p=0.6))
    paths = all_paths(x)
    assert is_shortest_path(np.stack([x] * len(paths)), paths).all()
    rng = np.random.default_rng(0)
    for path in paths[:5]:
        for cell in rng.choice(x.size, 20, replace=False):
            other = path.copy()
            other.flat[cell] = 1 - other.flat[cell]
            assert not is_shortest_path(x, other).item()


def test_errors_are_counted_in_cells():
    x = np.asarray(LOOP)
    right = np.zeros(x.shape)
    right[[0, 1, 2, 2, 2], [0, 0, 0, 1, 2]] = 1
    longer = np.zeros(x.shape)
    longer[0], longer[1, 3], longer[2, 2:] = 1, 1, 1
    wall = right.copy()
    wall[1, 1] = 1
    cut = right.copy()
    cut[2, 0] = 0
    found = path_errors(np.stack([x] * 5), np.stack([right, longer, wall, cut, 0 * right]))
    # A path of 7 cells in place of 5; a wall, so that there are 6 cells; the cell and the end
    # beyond the gap, and a cell too few; both ends, and five cells too few.
    assert found.tolist() == [0, 2, 2, 3, 7]


def test_errors_are_infinite_where_nothing_is_right():
    x = np.array([[2, 0, 3]])
    assert path_errors(x, x > 0) == np.inf
    assert path_errors(np.array([[2, 3]]), np.array([[1.0, np.nan]])) == np.inf
    assert path_errors(np.array([[2, 3, -1]]), np.array([[1.0, 1.0, np.nan]])) == 0
    assert path_errors(np.array([[2, 1]]), np.array([[1.0, 1.0]])) == np.inf


def test_a_detour_of_the_right_number_of_cells_is_no_path():
    x = np.array([[2, 1, 3], [1, 1, 1]])
    assert not is_shortest_path(x, np.array([[1, 0, 1], [1, 0, 0]])).item()


@pytest.mark.parametrize("walls", [0.0, 0.45, 1.0])
def test_ends_among_scattered_walls_are_joined_as_networkx_sees_it(walls):
    def draw(key):
        key_walls, key_ends = jax.random.split(key)
        return with_joined_ends(key_ends, scatter_walls(key_walls, 9, walls))

    mazes = np.asarray(jax.vmap(draw)(jax.random.split(KEY, 100)))
    assert (mazes == WALL).mean() == pytest.approx(walls, abs=0.04)
    for x in mazes:
        graph = nx.grid_2d_graph(9, 9)
        graph.remove_nodes_from(map(tuple, np.argwhere(x == WALL).tolist()))
        ends = [tuple(np.argwhere(x == end)[0].tolist()) for end in (START, END)]
        assert nx.has_path(graph, *ends)
