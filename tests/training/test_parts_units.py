"""Replay buffers, averages and optimisers on a few numbers."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import irem
from irem.methods import AbstractMethod
from irem.problem import Problem
from irem.training import Adam, Candidates, ExponentialAverage, NoAverage, Replay
from irem.training.optimisers import fixes_length

KEY = jax.random.key(0)


def candidates(tags):
    """Candidates whose every number is their tag; problems are longer than answers."""
    tags = np.asarray(tags, np.float32)
    column = jnp.asarray(np.broadcast_to(tags[:, None], (len(tags), 3)))
    return Candidates(Problem(column, column[:, :2]), column[:, :2])


def test_an_empty_buffer_has_a_slot_for_every_candidate_it_may_hold():
    state = Replay(5).init(candidates([1, 2]))
    assert state.items.problem.x.shape == (5, 3)
    assert state.items.y.shape == (5, 2)
    assert (int(state.size), int(state.next_slot)) == (0, 0)
    assert Replay().capacity == 10_000
    assert Replay().clip is None


@pytest.mark.parametrize(("capacity", "fits"), [(3, False), (4, True)])
def test_a_buffer_holds_at_least_what_one_iteration_adds(capacity, fits):
    if fits:
        Replay(capacity).init(candidates([1, 2]))
        return
    with pytest.raises(irem.InputError, match=r"holds 3 candidates, but an iteration adds 4"):
        Replay(capacity).init(candidates([1, 2]))


def test_the_oldest_candidates_make_room():
    replay = Replay(5)
    state = replay.push(replay.init(candidates([1, 2])), candidates([1, 2, 3, 4]))
    assert (int(state.size), int(state.next_slot)) == (4, 4)
    np.testing.assert_array_equal(state.items.y[:, 0], [1, 2, 3, 4, 0])
    state = replay.push(state, candidates([5, 6, 7]))
    assert (int(state.size), int(state.next_slot)) == (5, 2)
    np.testing.assert_array_equal(state.items.problem.x[:, 2], [6, 7, 3, 4, 5])


def test_candidates_beyond_the_bound_are_clipped_on_both_sides():
    replay = Replay(4, clip=2.0)
    state = replay.push(replay.init(candidates([1])), candidates([-7, 1, 7]))
    np.testing.assert_array_equal(state.items.y[:3, 0], [-2, 1, 2])
    np.testing.assert_array_equal(state.items.problem.y[:3, 0], [-7, 1, 7])


@pytest.mark.parametrize("settings", [{"capacity": 0}, {"clip": 0.0}])
def test_a_buffer_of_nothing_is_refused(settings):
    with pytest.raises(irem.InputError, match="must be greater than 0"):
        Replay(**settings)


def drawn(replay, state, fresh, count=30):
    keys = jax.random.split(KEY, count)
    return np.asarray(jax.vmap(lambda key: replay.extend(state, fresh, key).y[:, 0])(keys))


def test_fresh_candidates_stand_in_for_an_empty_buffer_and_for_nothing_else():
    replay, fresh = Replay(6), candidates([8, 9])
    state = replay.init(fresh)
    assert (drawn(replay, state, fresh) == [8, 9, 8, 9]).all()
    # One candidate is enough to be replayed, and so is the one in the first slot.
    state = replay.push(state, candidates([1]))
    assert (drawn(replay, state, fresh) == [8, 9, 1, 1]).all()
    state = replay.push(state, candidates([2, 3]))
    found = drawn(replay, state, fresh)
    assert (found[:, :2] == [8, 9]).all()
    assert set(found[:, 2:].ravel()) == {1, 2, 3}


class Weights(AbstractMethod):
    """A method of which only the arrays matter."""

    w: jax.Array
    counts: jax.Array

    @property
    def format(self):
        raise NotImplementedError

    def loss(self, problem, y0, *, key):
        raise NotImplementedError

    def predict(self, x, num_steps, *, key):
        raise NotImplementedError


def weights(value, count=0):
    return Weights(jnp.array([value, 2.0 * value]), jnp.array([count]))


@pytest.mark.parametrize(
    ("decay", "iteration", "kept"),
    [(0.999, 0, 0.1), (0.999, 8, 0.5), (0.999, 10**6, 0.999), (0.3, 8, 0.3), (0.3, 1, 2 / 11)],
)
def test_an_average_forgets_the_first_weights_sooner(decay, iteration, kept):
    average = ExponentialAverage(decay)
    state = average.update(weights(4.0, 1), weights(8.0, 7), jnp.asarray(iteration))
    mean = kept * 4 + (1 - kept) * 8
    np.testing.assert_allclose(state.w, [mean, 2 * mean], rtol=1e-5)
    # Numbers that are not trained are the last ones.
    np.testing.assert_array_equal(state.counts, [7])
    read = average.read(state, weights(8.0, 7))
    np.testing.assert_array_equal(read.w, state.w)


def test_an_average_begins_with_a_copy_of_the_first_weights():
    method = weights(3.0)
    state = ExponentialAverage().init(method)
    np.testing.assert_array_equal(state.w, method.w)
    assert state.w is not method.w
    assert ExponentialAverage().decay == 0.999
    last = NoAverage()
    assert last.init(method) is last.update(None, method, jnp.asarray(0)) is None
    assert last.read(None, method) is method


@pytest.mark.parametrize("decay", [0.0, 1.0, 1.5, -0.1])
def test_a_decay_that_averages_nothing_is_refused(decay):
    with pytest.raises(irem.InputError, match="`decay` must be between 0 and 1"):
        ExponentialAverage(decay)


def first_update(optimiser):
    """Update and memory after one gradient, whatever size of which Adam makes its rate."""
    rule = optimiser.transformation(10)
    return rule.update(jnp.array([3.0, 4.0]), rule.init(jnp.zeros(2)))


def test_adam_has_the_settings_it_is_given():
    assert Adam() == Adam(1e-4, decay="constant", clip_norm=None)
    np.testing.assert_allclose(first_update(Adam(0.5))[0], -0.5, rtol=1e-5)
    # Clipping is felt in the memory of Adam alone, which keeps a tenth of the first gradient.
    for clip_norm, memory in ((None, [0.3, 0.4]), (1.0, [0.06, 0.08]), (10.0, [0.3, 0.4])):
        _, state = first_update(Adam(0.5, clip_norm=clip_norm))
        np.testing.assert_allclose(optax.tree.get(state, "mu"), memory, rtol=1e-5)


def test_the_rate_of_adam_decays_over_the_length_of_the_training():
    rule = Adam(0.5, decay="cosine").transformation(2)
    state, found = rule.init(jnp.zeros(1)), []
    for _ in range(3):
        update, state = rule.update(jnp.ones(1), state)
        found.append(float(update[0]))
    np.testing.assert_allclose(found, [-0.5, -0.25, 0.0], atol=1e-5)


@pytest.mark.parametrize(
    ("described", "fixed"),
    [
        ({"name": "adam"}, False),
        ({"name": "adam", "decay": "constant"}, False),
        ({"name": "adam", "decay": "cosine"}, True),
        ({"name": "optax"}, False),
    ],
    ids=str,
)
def test_a_decay_fixes_the_length_of_a_training(described, fixed):
    assert fixes_length(described) is fixed


@pytest.mark.parametrize(
    "settings", [{"learning_rate": 0.0}, {"decay": "linear"}, {"clip_norm": 0.0}], ids=str
)
def test_an_optimiser_that_cannot_learn_is_refused(settings):
    with pytest.raises(irem.InputError):
        Adam(**settings)


def test_arrays_of_a_method_are_all_there_is_to_average():
    state = ExponentialAverage().init(eqx.tree_at(lambda m: m.counts, weights(1.0), None))
    assert len(jax.tree.leaves(state)) == 1
