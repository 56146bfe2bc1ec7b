"""Mazes: grids of walls and floor with one start and one end, and the shortest ways through them.

A maze is an array of the symbols below. Everything outside counts as wall. Functions take one maze
and have fixed shapes, so that they are compiled and mapped over batches.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from irem.errors import InputError

OUTSIDE = -1
"""The symbol that fills up mazes which share an array with larger ones."""

WALL = 0
"""The symbol of a wall."""

FLOOR = 1
"""The symbol of the floor."""

START = 2
"""The symbol of the cell where a path starts, which is open."""

END = 3
"""The symbol of the cell where a path ends, which is open."""

NO_WAY = 2**30
"""The number of steps between cells that no way connects."""

_UNVISITED = -1
# Steps of a search between two looks at whether it has ended, which cost more than a step.
_STEPS_AT_ONCE = 4

_Maze = Int[Array, "height width"]
_Flags = Bool[Array, "height width"]
_Path = Float[Array, "height width"]


def carve(key: PRNGKeyArray, size: int) -> _Flags:
    """Return the floor of a random maze without loops, by depth-first search.

    Cells have even coordinates, the walls between them one odd coordinate. The search begins at a
    random cell, goes on to a random neighbour that was not visited, and goes back where there is
    none.

    Arguments:
        key: Where the maze is drawn from.
        size: Rows and columns, walls included; an odd number. There is no wall around the maze.

    Examples:
        >>> floor = carve(jax.random.key(0), 5)
        >>> floor[::2, ::2].all().item(), floor.sum().item()
        (True, 17)
    """
    if size % 2 == 0 or size < 1:
        raise InputError(f"Mazes are carved in an odd number of rows, got {size}.")
    side = (size + 1) // 2
    width = side + 2  # a border of visited cells needs no checks
    around = jnp.array([-width, width, -1, 1])
    moves = 2 * (side**2 - 1)  # every cell but the first is entered once and left once
    key_first, key_moves = jax.random.split(key)
    draws = jax.random.uniform(key_moves, (max(1, moves), 4))

    def move(i: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        here, came_from = state
        options = jnp.where(came_from[here + around] == _UNVISITED, draws[i], -1.0)
        there = here + around[jnp.argmax(options)]
        is_new = jnp.any(options >= 0)
        came_from = came_from.at[there].set(jnp.where(is_new, here, came_from[there]))
        return jnp.where(is_new, there, came_from[here]), came_from

    row, column = jax.random.randint(key_first, (2,), 1, side + 1)
    first = row * width + column
    came_from = jnp.pad(jnp.full((side, side), _UNVISITED), 1).ravel().at[first].set(first)
    _, came_from = jax.lax.fori_loop(0, moves, move, (first, came_from))
    return _floor_of_tree(came_from.reshape(width, width))


def _floor_of_tree(came_from: Int[Array, "bordered bordered"]) -> _Flags:
    """Cells, and the openings between each one and the one it was entered from."""
    width = len(came_from)
    places = jnp.arange(width**2).reshape(width, width)
    inner = slice(1, -1)

    def joined(a: tuple[slice, slice], b: tuple[slice, slice]) -> Array:
        return (came_from[a] == places[b]) | (came_from[b] == places[a])

    side = width - 2
    floor = jnp.zeros((2 * side - 1, 2 * side - 1), bool).at[::2, ::2].set(True)
    left, right = slice(1, -2), slice(2, -1)
    floor = floor.at[::2, 1::2].set(joined((inner, left), (inner, right)))
    return floor.at[1::2, ::2].set(joined((left, inner), (right, inner)))


def open_walls(key: PRNGKeyArray, floor: _Flags, p: float | Float[Array, ""]) -> _Flags:
    """Open every wall between two adjacent cells with probability `p`, which makes loops."""
    rows, columns = (jnp.arange(n) % 2 for n in floor.shape)
    between = rows[:, None] != columns
    return floor | (between & jax.random.bernoulli(key, p, floor.shape))


def scatter_walls(key: PRNGKeyArray, size: int, p: float | Float[Array, ""]) -> _Flags:
    """Return the floor of a square in which every cell by itself is a wall with probability `p`."""
    return jax.random.bernoulli(key, 1 - p, (size, size))


def with_ends(key: PRNGKeyArray, floor: _Flags) -> _Maze:
    """Return a maze with this floor, and with its start and its end in two random cells."""
    side = (floor.shape[0] + 1) // 2
    key_start, key_end = jax.random.split(key)
    start = jax.random.randint(key_start, (), 0, side**2)
    end = (start + jax.random.randint(key_end, (), 1, side**2)) % side**2
    x = jnp.where(floor, FLOOR, WALL).astype(jnp.int8)
    for place, symbol in ((start, START), (end, END)):
        x = x.at[2 * (place // side), 2 * (place % side)].set(symbol)
    return x


def with_joined_ends(key: PRNGKeyArray, floor: _Flags) -> _Maze:
    """Return a maze with this floor, its start in any cell of it and its end in one within reach.

    Where the start has no neighbour on the floor, the end opens one of the walls around it.

    Examples:
        >>> floor = jnp.array([[True, False, True], [True, False, False]])
        >>> x = with_joined_ends(jax.random.key(1), floor)
        >>> bool(shortest_path(jax.random.key(2), x).any())
        True
    """
    key_start, key_end = jax.random.split(key)
    start = _random_cell(key_start, floor)
    x = jnp.where(floor, FLOOR, WALL).astype(jnp.int8)
    x = jnp.where(start, START, x)
    to_start = distances(x, start)
    joined = (to_start < NO_WAY) & ~start
    around = jnp.any(_neighbours(start, False), axis=0)
    end = _random_cell(key_end, jnp.where(jnp.any(joined), joined, around))
    return jnp.where(end, END, x)


def _random_cell(key: PRNGKeyArray, cells: _Flags) -> _Flags:
    """True at one random cell of those given; of all cells where there are none."""
    draws = cells + jax.random.uniform(key, cells.shape)
    return jnp.arange(cells.size).reshape(cells.shape) == jnp.argmax(draws)


def distances(x: _Maze, at: _Flags) -> Int[Array, "height width"]:
    """Return the number of steps from a cell to every cell; `NO_WAY` for walls and where no way is.

    Arguments:
        x: A maze.
        at: True at the cell from which steps are counted; with several, from the nearest.
    """
    return _search(x, at, jnp.zeros(x.shape))[0]


def shortest_path(key: PRNGKeyArray, x: _Maze) -> _Path:
    """Return a random shortest path: 1 on its cells, ends included; zeros where there is none.

    From the start on, every step goes to a random one of the cells that are nearer to the end.
    """
    return _path(x, distances(x, x == END), jax.random.uniform(key, (4, *x.shape)))


def preferred_path(x: _Maze, to_end: Int[Array, "height width"], preference: _Path) -> _Path:
    """Return the shortest path on which every step goes to the cell that is preferred most.

    Arguments:
        x: A maze.
        to_end: The number of steps from every cell to the end, as `distances` counts them.
        preference: How much every cell is preferred to others that are as near to the end.
    """
    return _path(x, to_end, _neighbours(preference, -jnp.inf))


def nearest_shortest_path(x: _Maze, y: _Path) -> _Path:
    """Return the shortest path that is nearest to an answer in squared error.

    That is the one with the largest sum of `2 y - 1` over its cells, found by dynamic programming
    over the distances to the end. Zeros where there is no path. Not differentiable in `y`.

    Arguments:
        x: A maze.
        y: A number for every cell.

    Examples:
        >>> x = jnp.array([[2, 1, 1], [1, 0, 1], [1, 1, 3]])
        >>> y = jnp.zeros((3, 3)).at[2, 0].set(0.3)
        >>> nearest_shortest_path(x, y).astype(int).tolist()
        [[1, 0, 0], [1, 0, 0], [1, 1, 1]]
    """
    gain = jnp.clip(jnp.nan_to_num(2 * y - 1), -1e6, 1e6)
    steps, gains = _search(x, x == END, gain)
    return _path(x, steps, _neighbours(gains, -jnp.inf))


def dead_end_filling(x: _Maze) -> _Path:
    """Return what is left of the floor once dead ends are filled until none is left.

    That is the path where a maze has no loops; where it has some, the path and more.
    """

    def fill(state: tuple[Array, Array]) -> tuple[Array, Array]:
        kept, _ = state
        ways = _neighbours(kept, False).sum(axis=0)
        after = kept & ((ways > 1) | (x != FLOOR))
        return after, jnp.any(after != kept)

    start = (x > WALL, jnp.array(True))
    return jax.lax.while_loop(lambda state: state[1], fill, start)[0].astype(jnp.float32)


def _search(x: _Maze, at: _Flags, gain: _Path) -> tuple[Array, Array]:
    """Breadth-first: the steps to every cell, and the largest sum of gains over a shortest path."""
    is_open = x > WALL

    def spread(_: Array, state: tuple[Array, Array, Array, Array]) -> tuple[Array, ...]:
        step, steps, gains = state[:3]
        reached = _neighbours(steps == step, False)
        is_new = is_open & (steps == NO_WAY) & jnp.any(reached, axis=0)
        before = jnp.max(jnp.where(reached, _neighbours(gains, 0.0), -jnp.inf), axis=0)
        gains = jnp.where(is_new, gain + before, gains)
        return step + 1, jnp.where(is_new, step + 1, steps), gains, jnp.any(is_new)

    first = is_open & at
    state = (jnp.array(0), jnp.where(first, 0, NO_WAY), jnp.where(first, gain, 0.0), jnp.any(first))
    _, steps, gains, _ = jax.lax.while_loop(
        lambda state: state[3],
        lambda state: jax.lax.fori_loop(0, _STEPS_AT_ONCE, spread, state, unroll=True),
        state,
    )
    return steps, gains


def _path(x: _Maze, steps: Array, preference: Float[Array, "4 height width"]) -> _Path:
    """The way from the start on which every cell is followed by the preferred nearer one.

    Arguments:
        x: A maze.
        steps: The number of steps from every cell to the end.
        preference: How much each neighbour of every cell is preferred.
    """
    width = x.shape[1]
    is_nearer = _neighbours(steps, NO_WAY) == steps - 1
    best = jnp.argmax(jnp.where(is_nearer, preference, -jnp.inf), axis=0)
    move = jnp.where(jnp.any(is_nearer, axis=0), jnp.array([-width, width, -1, 1])[best], 0)
    follower = jnp.arange(x.size) + move.ravel()
    first = ((x == START) & (steps < NO_WAY)).ravel().astype(jnp.int32)

    def double(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        """The cells of twice as many steps, and the cell that follows after twice as many."""
        cells, follower = state
        return cells.at[follower].max(cells), follower[follower]

    rounds = max(1, x.size - 1).bit_length()
    cells, _ = jax.lax.fori_loop(0, rounds, double, (first, follower))
    return cells.reshape(x.shape).astype(jnp.float32)


def _neighbours(grid: Array, fill: bool | int | float) -> Array:
    """The cells above, below, to the left and to the right of every cell; `fill` outside."""
    padded = jnp.pad(grid, 1, constant_values=fill)
    inner = slice(1, -1)
    return jnp.stack([padded[:-2, inner], padded[2:, inner], padded[inner, :-2], padded[inner, 2:]])


def is_shortest_path(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return whether answers are shortest paths once every number is rounded to 0 or 1.

    Any shortest path from start to end will do. Takes leading axes of problems.

    Examples:
        >>> x = np.array([[2, 1, 1], [1, 0, 1], [1, 1, 3]])
        >>> is_shortest_path(x, np.array([[1, 1, 1], [0, 0, 1], [0, 0, 1]])).item()
        True
        >>> is_shortest_path(x, x > 0).item()
        False
    """
    return np.asarray(path_errors(x, y) == 0)


def path_errors(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return by how many cells answers fail to be shortest paths, after rounding.

    It counts the marked cells that no open marked cells connect with the start, the ends that are
    not so connected, and by how many cells the answer is longer or shorter than a shortest path.
    The sum is zero for shortest paths and no others. Infinite where a number is NaN, or no way
    leads from the start to the end. Cells outside do not count. Takes leading axes of problems.
    """
    x, y = np.asarray(x), np.asarray(y)
    batch = x.shape[:-2]
    x, y = (a.reshape(-1, *a.shape[-2:]) for a in (x, np.where(x == OUTSIDE, 0, y)))
    marked = y > 0.5
    start, end, cells = x == START, x == END, (1, 2)
    length = np.where(end, _steps(x > WALL, start), 0).sum(axis=cells) + 1
    connected = np.isfinite(_steps(marked & (x > WALL), start & marked))
    unconnected = ((marked | start | end) & ~connected).sum(axis=cells)
    errors = unconnected + abs(marked.sum(axis=cells) - length)
    undefined = np.isnan(y).any(axis=cells) | (end.sum(axis=cells) != 1)
    return np.where(undefined, np.inf, errors).reshape(batch)


def _steps(is_open: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The number of steps between open cells, for a stack of grids; infinite where no way is."""
    from scipy.sparse import csr_array  # noqa: PLC0415  (`import irem.mazes` stays light)
    from scipy.sparse.csgraph import dijkstra  # noqa: PLC0415

    first = np.flatnonzero(at & is_open)
    if not first.size:
        return np.full(is_open.shape, np.inf)
    places = np.arange(is_open.size).reshape(is_open.shape)
    pairs = []
    for axis in (1, 2):
        here, there = (np.delete(np.arange(is_open.shape[axis]), end) for end in (-1, 0))
        both = np.take(is_open, here, axis) & np.take(is_open, there, axis)
        pairs.append([np.take(places, cells, axis)[both] for cells in (here, there)])
    rows, columns = np.concatenate(pairs, axis=1)
    graph = csr_array((np.ones(len(rows)), (rows, columns)), shape=(places.size, places.size))
    found = dijkstra(graph, directed=False, indices=first, unweighted=True, min_only=True)
    return found.reshape(is_open.shape)
