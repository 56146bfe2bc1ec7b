"""A task with arrays among its settings, written as a user would write it."""

import dataclasses
import json
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.formats import Vectors
from irem.training import Adam, Checkpoints

KEY = jax.random.key(1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Affine(irem.tasks.AbstractTask):
    """`y` is a matrix times `x`, plus a vector; harder problems are larger."""

    name: ClassVar[str] = "affine"
    summary: ClassVar[str] = "apply a matrix and add a vector"

    matrix: jax.Array
    offset: jax.Array
    scale: float  # without a default

    @property
    def format(self):
        return Vectors(self.matrix.shape[1:], self.offset.shape)

    def sample(self, key, difficulty="same"):
        self.check_difficulty(difficulty)
        scale = self.scale if difficulty == "same" else 2 * self.scale
        x = scale * jax.random.normal(key, self.matrix.shape[1:])
        return irem.Problem(x, self.oracle(x))

    def trivial(self, x):
        return jnp.zeros((*x.shape[:-1], *self.offset.shape))

    def oracle(self, x):
        return x @ self.matrix.T + self.offset


def affine(seed=0, scale=0.5):
    rng = np.random.default_rng(seed)
    matrix, offset = rng.normal(size=(3, 2)), rng.normal(size=3)
    return Affine(matrix=jnp.asarray(matrix), offset=jnp.asarray(offset), scale=scale)


TASK = affine()


def train(out=None, iterations=200, task=TASK):
    energy = irem.energy.MLP.for_task(task, width=16, key=jax.random.key(0))
    return irem.train(
        task,
        irem.IREM(energy),
        iterations=iterations,
        batch_size=16,
        optimiser=Adam(learning_rate=3e-3),
        replay=irem.Replay(capacity=100),
        key=KEY,
        out=out,
    )


def bits(run):
    leaves = jax.tree.leaves(eqx.filter(run.models, eqx.is_array))
    return [np.asarray(leaf).tobytes() for leaf in leaves]


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    return train(tmp_path_factory.mktemp("runs") / "straight")


def test_arrays_are_leaves_and_all_else_are_settings():
    assert TASK.settings() == {"variant": "released", "scale": 0.5}
    assert list(TASK.leaves()) == ["matrix", "offset"]
    assert [leaf.shape for leaf in jax.tree.leaves(TASK)] == [(3, 2), (3,)]
    doubled = jax.tree.map(lambda a: 2 * a, TASK)
    assert isinstance(doubled, Affine)
    assert doubled.settings() == TASK.settings()
    np.testing.assert_array_equal(doubled.matrix, 2 * TASK.matrix)
    with pytest.raises(TypeError, match="scale"):
        Affine(matrix=TASK.matrix, offset=TASK.offset)


def test_batches_have_the_answers_of_the_arrays():
    batch = TASK.batch(KEY, 20, "harder")
    expected = np.asarray(batch.x) @ np.asarray(TASK.matrix).T + np.asarray(TASK.offset)
    np.testing.assert_allclose(batch.y, expected, rtol=1e-5, atol=1e-6)
    other = affine(seed=1).batch(KEY, 20, "harder")
    np.testing.assert_array_equal(other.x, batch.x)
    assert np.abs(np.asarray(other.y - batch.y)).max() > 0.1


def test_such_a_task_trains_and_is_evaluated(straight):
    result = irem.evaluate(straight, TASK, problems=50, key=jax.random.key(2))
    assert result.task == "affine"
    assert result.oracle_mse < 1e-12
    assert result.mse < 0.5 * result.trivial_mse
    # Training uses the values of the arrays, not only their shapes.
    other = train(task=affine(seed=1))
    assert bits(other) != bits(straight)
    options = {"problems": 50, "key": jax.random.key(2)}
    own = irem.evaluate(other, other.task, **options)
    assert own.mse < 0.5 * own.trivial_mse
    assert irem.evaluate(other, TASK, **options).mse > 2 * result.mse


def test_a_run_keeps_the_settings_and_is_loaded_with_the_task(straight):
    kept = json.loads((straight.path / "run.json").read_text())
    assert kept["task"] == {"name": "affine", "variant": "released", "scale": 0.5}
    with pytest.raises(irem.InputError, match=r"^Unknown task 'affine'"):
        irem.load(straight.path)
    loaded = irem.load(straight.path, task=TASK)
    assert loaded.task is TASK
    assert bits(loaded) == bits(straight)
    x = TASK.batch(jax.random.key(3), 5).x
    answers = [irem.solve(run.model, x, key=KEY).y for run in (straight, loaded)]
    np.testing.assert_array_equal(*answers)


def test_a_run_is_resumed_bit_identically_but_not_with_another_setting(straight, tmp_path):
    train(tmp_path / "run", iterations=100)
    with pytest.raises(irem.InputError, match=r"task\.scale was 0\.5, now 0\.7"):
        train(Checkpoints(tmp_path / "run", resume=True), task=affine(scale=0.7))
    resumed = train(Checkpoints(tmp_path / "run", resume=True))
    assert bits(resumed) == bits(straight) == bits(irem.load(tmp_path / "run", task=TASK))
