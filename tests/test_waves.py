"""The waves that descents on mazes are taught, beside a breadth-first search with a queue."""

from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irem.mazes import END, OUTSIDE, START, WALL, Waves, first_state, is_shortest_path, tie_codes
from irem.tasks import Maze

SIZE = 9
# All shortest paths of an empty square, of which there are many.
EMPTY = jnp.ones((5, 5), jnp.int8).at[0, 0].set(START).at[4, 4].set(END)
# Walls part the start from the end.
PARTED = jnp.array([[2, 1, 0, 1], [1, 1, 0, 3], [1, 1, 0, 1]], jnp.int8)

waves_of = jax.jit(Waves.of)
codes_of = jax.jit(tie_codes)


def neighbours(x, cell):
    row, column = cell
    for other in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
        if all(0 <= i < n for i, n in zip(other, x.shape, strict=True)):
            yield other


def by_queue(x):
    """The distance of every open cell from the end, infinite where there is no way."""
    x = np.asarray(x)
    found = np.full(x.shape, np.inf)
    queue = deque(tuple(cell) for cell in np.argwhere(x == END).tolist())
    found[x == END] = 0
    while queue:
        cell = queue.popleft()
        for other in neighbours(x, cell):
            if x[other] > WALL and np.isinf(found[other]):
                found[other] = found[cell] + 1
                queue.append(other)
    return found


def preferred_by_hand(x, codes):
    """The cells from start to end, each followed by the nearer neighbour of the largest code."""
    x, to_end = np.asarray(x), by_queue(x)
    numbers = np.asarray(codes) @ np.arange(5)
    (cell,) = map(tuple, np.argwhere(x == START).tolist())
    path = [cell]
    while to_end[cell]:
        nearer = [o for o in neighbours(x, cell) if to_end[o] == to_end[cell] - 1]
        cell = max(nearer, key=lambda other: numbers[other])
        path.append(cell)
    return path


def maze(seed, variant="loops", size=SIZE):
    return Maze(variant=variant, opened=0.3).sample(jax.random.key(seed), size).x


def lesson(x, seed=0):
    codes = codes_of(jax.random.key(seed), x)
    return waves_of(x, codes), codes


def states(waves, times):
    return np.asarray(jax.vmap(waves.at)(jnp.asarray(times)))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31 - 1), st.sampled_from(Maze.variants))
def test_the_first_wave_leaves_distances_modulo_3(seed, variant):
    x = maze(seed, variant)
    waves, codes = lesson(x, seed)
    to_end = by_queue(x)
    times = np.arange(int(waves.duration) + 1)
    found = states(waves, times)
    for time, state in zip(times, found, strict=True):
        expected = np.zeros((*x.shape, 3))
        for cell in np.argwhere(to_end < time):
            expected[*cell, int(to_end[*cell]) % 3] = 1
        np.testing.assert_array_equal(state[..., 1:4], expected)
        np.testing.assert_array_equal(state[..., 4:], codes)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**31 - 1), st.sampled_from(Maze.variants))
def test_the_second_wave_marks_the_preferred_path_cell_by_cell(seed, variant):
    x = maze(seed, variant)
    waves, codes = lesson(x, seed)
    path = preferred_by_hand(x, codes)
    length = len(path) - 1
    assert int(waves.length) == length
    times = np.arange(int(waves.duration) + 1)
    for time, state in zip(times, states(waves, times), strict=True):
        expected = np.zeros(x.shape)
        # The start is marked one step after the first wave has reached it.
        for cell in path[: max(0, time - length)]:
            expected[cell] = 1
        np.testing.assert_array_equal(state[..., 0], expected)


@pytest.mark.parametrize("variant", Maze.variants)
def test_the_last_state_has_a_shortest_path(variant):
    for seed in range(5):
        x = maze(seed, variant)
        waves, _ = lesson(x, seed)
        assert is_shortest_path(np.asarray(x), np.asarray(waves.at(waves.duration))[..., 0])


@pytest.mark.parametrize("x", [EMPTY, PARTED, maze(0), maze(1, "trees", 13)])
def test_nothing_changes_after_their_duration_and_something_does_at_it(x):
    waves, _ = lesson(x)
    last = int(waves.duration)
    before, end, *later = states(waves, [last - 1, last, last + 1, last + 7, 10 * last])
    assert (before != end).any()
    for state in later:
        np.testing.assert_array_equal(state, end)


def test_before_the_waves_there_are_codes_alone():
    waves, codes = lesson(EMPTY)
    first = np.asarray(waves.at(jnp.asarray(0)))
    assert not first[..., :4].any()
    np.testing.assert_array_equal(first[..., 4:], codes)
    key = jax.random.key(0)
    np.testing.assert_array_equal(first[..., 1:], first_state(EMPTY, key))
    assert first.shape[-1] == 1 + Waves.numbers


def test_of_several_shortest_paths_one_is_taken_and_which_depends_on_the_codes():
    found = set()
    for seed in range(20):
        waves, _ = lesson(EMPTY, seed)
        answer = np.asarray(waves.at(waves.duration))[..., 0]
        assert is_shortest_path(np.asarray(EMPTY), answer)
        found.add(answer.tobytes())
    assert len(found) == 5  # codes are shifted by 0 to 4


def test_where_there_is_no_way_the_second_wave_never_begins():
    waves, _ = lesson(PARTED)
    assert int(waves.duration) == 2  # one step from the end to the cells beside it
    state = np.asarray(waves.at(waves.duration))
    assert not state[..., 0].any()
    np.testing.assert_array_equal(state[..., 1:4].any(axis=-1), np.isfinite(by_queue(PARTED)))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**31 - 1))
def test_codes_of_the_neighbours_of_any_cell_differ(seed):
    x = jnp.ones((7, 8), jnp.int8)
    codes = np.asarray(codes_of(jax.random.key(seed), x))
    assert set(np.unique(codes)) <= {0, 1}
    numbers = codes @ np.arange(5)
    for cell in np.ndindex(x.shape):
        around = [numbers[other] for other in neighbours(x, cell)]
        assert len(set(around)) == len(around)


def test_cells_outside_have_no_codes_and_no_labels():
    x = jnp.pad(maze(2), ((0, 2), (0, 3)), constant_values=OUTSIDE)
    waves, codes = lesson(x)
    assert not codes[x == OUTSIDE].any()
    assert not waves.at(waves.duration)[x == OUTSIDE].any()
