"""One iteration of training with a method of one weight."""

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
from irem.methods import AbstractMethod
from irem.problem import Problem
from irem.training import Candidates, Layout, NoAverage, Replay, Training, init, iterate, run_chunk
from irem.training.algorithm1 import (
    StepInfo,
    _moments,
    _objective,
    _undo_unless_finite,
    sample,
)

KEY = jax.random.key(0)
SHAPE = (3, 2)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Same(irem.tasks.AbstractTask):
    """Problems and answers of the same random numbers."""

    name: ClassVar[str] = "same"
    summary: ClassVar[str] = "repeat"

    @property
    def format(self):
        return Vectors(SHAPE, SHAPE)

    def sample(self, key, difficulty="same"):
        del difficulty
        x = jax.random.uniform(key, SHAPE)
        return Problem(x, x)

    def trivial(self, x):
        return 0 * x

    def oracle(self, x):
        return x


class OneWeight(AbstractMethod):
    """The loss of every problem is a function of one weight."""

    weight: jax.Array
    name: str = "one"
    function: object = eqx.field(static=True, default=None)
    bad: bool = eqx.field(static=True, default=False)

    @property
    def format(self):
        return Vectors(SHAPE, SHAPE)

    def loss(self, problem, y0, *, key):
        del key
        end = y0 + 1.0
        if self.bad:  # one entry of one of the first problems
            end = jnp.where((problem.x == problem.x.max()) & (problem.x[0, 0] < 0.5), jnp.nan, end)
        return self.function(self.weight), end

    def predict(self, x, num_steps, *, key):
        raise NotImplementedError


def make(function, bad=False, batch_size=4):
    training = Training(Same(), optax.sgd(0.5), Replay(64), NoAverage(), batch_size)
    method = OneWeight(jnp.asarray(2.0), function=function, bad=bad)
    return training, init(training, method, KEY)


def square(weight):
    return weight**2


def test_the_weight_moves_against_the_gradient_of_the_mean_over_entries():
    training, state = make(square)
    assert state.iteration == 0
    after, info = iterate(training, state)
    # Every problem has six entries: w^2 / 6, of slope 2w / 6.
    assert info.loss == pytest.approx(4 / 6)
    assert info.gradient_norm == pytest.approx(4 / 6)
    assert info.applied
    assert after.method.weight == pytest.approx(2 - 0.5 * 4 / 6)
    assert after.iteration == 1
    assert after.replay.size == 8
    assert after.method.name == "one"


def infinite(weight):
    return weight + jax.lax.stop_gradient(jnp.inf)


def steep(weight):
    return jnp.sqrt(weight - jax.lax.stop_gradient(weight))


@pytest.mark.parametrize("function", [infinite, steep], ids=["loss", "gradient"])
def test_an_update_needs_a_finite_loss_and_a_finite_gradient(function):
    training, state = make(function)
    after, info = iterate(training, state)
    assert not info.applied
    assert after.method.weight == 2
    assert after.iteration == 1


def test_an_end_point_with_an_entry_that_is_not_finite_is_replaced_as_a_whole():
    training, state = make(square, bad=True, batch_size=16)
    key_data = jax.random.split(jax.random.fold_in(state.key, 0), 3)[0]
    fresh = sample(training, state.method, key_data)
    assert fresh.y.shape == (16, *SHAPE)
    after, _ = iterate(training, state)
    moved = after.replay.items.y[:16] - fresh.y
    diverged = fresh.problem.x[:, 0, 0] < 0.5
    assert 0 < diverged.sum() < 16
    for i in range(16):
        np.testing.assert_allclose(moved[i], 0.0 if diverged[i] else 1.0, atol=1e-6)


def test_the_loss_of_a_batch_is_the_mean_over_its_real_entries():
    method = OneWeight(jnp.asarray(3.0), function=square)
    y = jnp.zeros((2, *SHAPE))
    mask = jnp.zeros(y.shape, bool).at[0, 0].set(True).at[1, :, 0].set(True)
    for given, entries in ((None, 12), (mask, 5)):
        value, end = _objective(method, Candidates(Problem(y, y, given), y), KEY, Layout())
        assert value == pytest.approx(2 * 9 / entries)
        np.testing.assert_array_equal(end, y + 1)


def test_the_error_of_a_constant_is_the_variance_of_the_real_entries():
    y = jnp.array([[1.0, 3.0], [5.0, 100.0]])
    mask = jnp.array([[True, True], [True, False]])
    for given, real in ((None, [1, 3, 5, 100]), (mask, [1, 3, 5])):
        mean, square, variance = _moments(Problem(y, y, given))
        assert mean == pytest.approx(np.mean(real))
        assert square == pytest.approx(np.mean(real) ** 2)
        assert variance == pytest.approx(np.var(real))


def stacked(*weights):
    states = []
    for weight in weights:
        training, state = make(square)
        states.append(eqx.tree_at(lambda s: s.method.weight, state, jnp.asarray(weight)))
    arrays = [eqx.filter(state, eqx.is_array) for state in states]
    together = jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays)
    return training, eqx.combine(together, eqx.filter(states[0], eqx.is_array, inverse=True))


@pytest.mark.parametrize("weights", [(2.0,), (2.0, 5.0)], ids=["one seed", "two seeds"])
def test_a_chunk_is_its_iterations_for_every_seed(weights):
    training, states = stacked(*weights)
    after, infos = run_chunk(training, states, 2)
    # Every step multiplies the weight by 5 / 6.
    found = np.array(weights)
    np.testing.assert_allclose(after.method.weight, found * (5 / 6) ** 2, rtol=1e-5)
    np.testing.assert_allclose(infos.loss, np.stack([found**2, (found * 5 / 6) ** 2], 1) / 6)
    assert after.iteration.tolist() == [2] * len(weights)
    assert after.method.name == "one"


@pytest.mark.parametrize("weight", [3.0, np.nan], ids=["finite", "not finite"])
def test_weights_that_are_not_finite_are_undone(weight):
    _, before = make(square)
    after = eqx.tree_at(lambda s: s.method.weight, before, jnp.asarray(weight))
    after = eqx.tree_at(lambda s: s.iteration, after, jnp.asarray(2))
    zero = jnp.zeros(())
    both = [StepInfo(zero, zero, jnp.array(applied), zero) for applied in (True, False)]
    infos = jax.tree.map(lambda *leaves: jnp.stack(leaves), *both)
    found, told = _undo_unless_finite(before, after, infos)
    finite = bool(np.isfinite(weight))
    assert found.method.weight == (3 if finite else 2)
    assert found.iteration == 2
    assert found.method.name == "one"
    assert told.applied.tolist() == [finite, False]
