"""The buffer beside a `deque`."""

from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irem
from irem.problem import Problem
from irem.training import Candidates

BATCH = 4


def candidates(tags):
    """Candidates whose every number is their tag."""
    tags = jnp.asarray(tags, jnp.float32)
    column = jnp.broadcast_to(tags[:, None], (len(tags), 3))
    return Candidates(Problem(column, column[:, :2]), column[:, :2])


replay_of = {capacity: irem.Replay(capacity=capacity) for capacity in (8, 11, 20)}
push = jax.jit(
    lambda capacity, state, ended: replay_of[capacity].push(state, ended), static_argnums=0
)
extend = jax.jit(
    lambda capacity, state, fresh, key: replay_of[capacity].extend(state, fresh, key),
    static_argnums=0,
)


@settings(max_examples=25, deadline=None)
@given(
    capacity=st.sampled_from(sorted(replay_of)), pushes=st.integers(0, 9), seed=st.integers(0, 99)
)
def test_the_buffer_holds_what_a_deque_would(capacity, pushes, seed):
    state = replay_of[capacity].init(jax.eval_shape(lambda: candidates(np.zeros(BATCH))))
    reference = deque(maxlen=capacity)
    for i in range(pushes):
        tags = 1 + i * 2 * BATCH + np.arange(2 * BATCH)
        state = push(capacity, state, candidates(tags))
        reference.extend(tags)
    assert int(state.size) == len(reference)
    assert set(np.asarray(state.items.y[: int(state.size), 0])) == set(reference)
    drawn = extend(capacity, state, candidates(-np.ones(BATCH)), jax.random.key(seed))
    assert drawn.y.shape == (2 * BATCH, 2)
    np.testing.assert_array_equal(drawn.y[:BATCH], -1)
    allowed = set(reference) if reference else {-1.0}
    assert set(np.asarray(drawn.y[BATCH:, 0])) <= allowed
    # A problem is replayed with its own answer.
    np.testing.assert_array_equal(drawn.problem.x[:, 0], drawn.y[:, 0])


def test_an_empty_buffer_is_not_sampled():
    state = replay_of[20].init(jax.eval_shape(lambda: candidates(np.zeros(BATCH))))
    drawn = extend(20, state, candidates([1, 2, 3, 4]), jax.random.key(0))
    np.testing.assert_array_equal(drawn.y[:, 0], [1, 2, 3, 4, 1, 2, 3, 4])


def test_every_slot_is_drawn_equally_often():
    state = replay_of[8].init(jax.eval_shape(lambda: candidates(np.zeros(BATCH))))
    state = push(8, state, candidates(np.arange(8)))
    keys = jax.random.split(jax.random.key(1), 2000)
    drawn = jax.vmap(lambda k: replay_of[8].extend(state, candidates(np.zeros(BATCH)), k).y)(keys)
    counts = np.bincount(np.asarray(drawn[:, BATCH:, 0], int).ravel(), minlength=8)
    # 8,000 draws over 8 slots: mean 1,000, standard deviation sqrt(8000 * 1/8 * 7/8) = 30.
    assert np.abs(counts - 1000).max() < 5 * 30


def test_a_buffer_smaller_than_one_iteration_is_refused():
    with pytest.raises(ValueError, match="raise its capacity"):
        irem.Replay(capacity=7).init(jax.eval_shape(lambda: candidates(np.zeros(BATCH))))


def test_no_replay_starts_every_descent_from_noise():
    fresh = candidates([1, 2, 3, 4])
    assert irem.NoReplay().init(fresh) is None
    assert irem.NoReplay().extend(None, fresh, jax.random.key(0)) is fresh
    assert irem.NoReplay().push(None, fresh) is None
