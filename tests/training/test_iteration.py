"""One iteration of Algorithm 1 beside the same written out as loops."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import irem
from irem.formats import Vectors
from irem.training import NoAverage, Training, init, iterate, run_chunk
from irem.trees import map_arrays

BATCH = 4
step = eqx.filter_jit(iterate)
slope = eqx.filter_jit(lambda energy, x, y: jax.grad(lambda y: energy(x, y))(y))


def make(name="addition", replay=None, step_size=100.0, seed=0, **settings):
    task = irem.tasks.get(name, **settings)
    kind = irem.energy.GINE if isinstance(task, irem.tasks.AbstractGraphTask) else irem.energy.MLP
    energy = kind.for_task(task, width=16, key=jax.random.key(seed))
    replay = irem.Replay(capacity=50) if replay is None else replay
    training = Training(task, optax.adam(1e-3), replay, NoAverage(), BATCH)
    state = init(training, irem.IREM(energy, step_size=step_size), jax.random.key(seed + 1))
    return training, state


def stack(*states):
    arrays = [eqx.filter(state, eqx.is_array) for state in states]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays)
    return eqx.combine(stacked, eqx.filter(states[0], eqx.is_array, inverse=True))


def assert_same(left, right, **tolerance):
    for a, b in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), **tolerance)


@pytest.mark.parametrize("name", ["addition", "shortest-path"])
def test_the_update_is_adam_on_the_mean_square_of_fresh_and_replayed_problems(name):
    training, state = make(name, **({"size": 6} if name == "addition" else {}))
    state, _ = step(training, state)  # fill the buffer
    after, info = step(training, state)

    buffer = state.replay.items
    pushed = jax.tree.map(lambda new: new[2 * BATCH : 4 * BATCH], after.replay.items)
    problems = [jax.tree.map(lambda leaf, i=i: leaf[i], pushed.problem) for i in range(2 * BATCH)]
    # The replayed half is in the buffer with its starting answer; the fresh half is new.
    kept_x = np.asarray(jax.tree.leaves(buffer.problem.x)[0][: 2 * BATCH])
    replayed_x = np.asarray(jax.tree.leaves(pushed.problem.x)[0][BATCH:])
    slots = [
        int(np.flatnonzero((kept_x == x).all(axis=tuple(range(1, kept_x.ndim))))[0])
        for x in replayed_x
    ]
    key = jax.random.fold_in(state.key, state.iteration)
    key_fresh = jax.random.split(key, 3)[0]
    shape = buffer.y.shape[1:]
    fresh_y0 = [
        jax.random.uniform(key_start, shape, minval=-1.0, maxval=1.0)
        for key_start in jax.random.split(jax.random.split(key_fresh)[1], BATCH)
    ]
    starts = [*fresh_y0, *(buffer.y[s] for s in slots)]

    def loss(method):
        total, entries, ends = 0.0, 0.0, []
        for problem, y in zip(problems, starts, strict=True):
            for _ in range(4):
                y = y - 100.0 * slope(method.energy, problem.x, y)
            y = jax.lax.stop_gradient(y)
            y = y - 100.0 * slope(method.energy, problem.x, y)
            mask = jnp.ones_like(y) if problem.mask is None else problem.mask
            total, entries = total + jnp.sum(mask * (y - problem.y) ** 2), entries + mask.sum()
            ends.append(y)
        return total / entries, jnp.stack(ends)

    (value, ends), gradient = eqx.filter_value_and_grad(loss, has_aux=True)(state.method)
    assert float(info.loss) == pytest.approx(float(value), rel=1e-4)
    updates, _ = training.optimiser.update(gradient, state.optimiser)
    expected = eqx.apply_updates(state.method, updates)
    # Adam's first updates are about the size of the learning rate, whatever the gradient.
    assert_same(
        eqx.filter(after.method, eqx.is_array), eqx.filter(expected, eqx.is_array), atol=2e-5
    )
    np.testing.assert_allclose(pushed.y, ends, rtol=1e-3, atol=1e-3)


def test_the_first_iteration_has_fresh_problems_only():
    training, state = make(size=6)
    after, with_replay = step(training, state)
    alone, state = make(size=6, replay=irem.NoReplay())
    _, without = step(alone, state)
    assert float(with_replay.loss) == pytest.approx(float(without.loss), rel=1e-6)
    assert int(after.replay.size) == 2 * BATCH


def test_a_chunk_is_its_iterations_in_a_row():
    training, state = make(size=6)
    chunked, infos = run_chunk(training, stack(state), 3)
    single = state
    for i in range(3):
        single, info = step(training, single)
        assert float(infos.loss[0, i]) == pytest.approx(float(info.loss), rel=1e-4)
    left, right = (
        eqx.filter(s.method, eqx.is_array) for s in (map_arrays(lambda a: a[0], chunked), single)
    )
    assert_same(left, right, rtol=1e-4, atol=1e-6)


def test_seeds_trained_together_are_the_seeds_trained_alone():
    training, first = make(size=6, seed=0)
    _, second = make(size=6, seed=5)
    _, together = run_chunk(training, stack(first, second), 5)
    for i, alone in enumerate((first, second)):
        _, info = run_chunk(training, stack(alone), 5)
        np.testing.assert_allclose(together.loss[i], info.loss[0], rtol=1e-3)
    assert np.abs(np.asarray(together.loss[0] - together.loss[1])).min() > 1e-4


def test_an_update_that_is_not_finite_is_skipped():
    training, state = make(size=6, step_size=1e38)
    before = eqx.filter((state.method, state.optimiser), eqx.is_array)
    after, info = step(training, state)
    assert not bool(info.applied)
    assert_same(eqx.filter((after.method, after.optimiser), eqx.is_array), before, rtol=0)
    assert bool(jnp.isfinite(after.replay.items.y).all())


def test_a_chunk_that_ends_with_weights_that_are_not_finite_is_undone():
    training, state = make(size=6)
    wild = dataclasses.replace(training, optimiser=optax.adam(3e38))
    learned = lambda s: eqx.filter((s.method, s.optimiser), eqx.is_array)  # noqa: E731
    after, infos = run_chunk(wild, stack(state), 3)
    assert not infos.applied.any()
    assert bool(infos.loss[0, 0] > 0)  # the first iteration was a good one
    assert int(after.iteration[0]) == 3
    assert_same(learned(after), learned(stack(state)), rtol=0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Counting(irem.tasks.AbstractTask):
    """Counts how often its problems are traced."""

    name: ClassVar[str] = "counting"
    summary: ClassVar[str] = "repeat"
    traces: ClassVar[list] = []

    @property
    def format(self):
        return Vectors((3,), (3,))

    def sample(self, key, difficulty="same"):
        self.traces.append(difficulty)
        x = jax.random.uniform(key, (3,))
        return irem.Problem(x, x)

    def trivial(self, x):
        return 0 * x

    def oracle(self, x):
        return x


def test_training_compiles_once_however_long_it_runs():
    counts = []
    for iterations in (100, 400):
        Counting.traces.clear()
        task = Counting()
        energy = irem.energy.MLP.for_task(task, width=8, key=jax.random.key(0))
        irem.train(
            task, irem.IREM(energy), iterations=iterations, batch_size=4, key=jax.random.key(1)
        )
        counts.append(len(Counting.traces))
    # The second run may find everything compiled; it must not trace more than the first.
    assert counts[1] <= counts[0]
