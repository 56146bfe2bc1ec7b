"""Rows of one's own as a task."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.tasks import Arrays, arrays

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X @ np.arange(6.0).reshape(3, 2)


def held(count=5):
    return irem.Problem(jnp.asarray(X[:count], float), jnp.asarray(Y[:count], float))


def rows_of(batch):
    """The numbers of the rows that a batch is made of."""
    return [int(np.argmin(np.abs(X - x).sum(1))) for x in np.asarray(batch.x)]


def test_training_draws_rows_with_their_own_answers_and_all_of_them():
    task = Arrays(X, Y)
    batch = task.batch(KEY, 400, "train")
    drawn = rows_of(batch)
    np.testing.assert_allclose(batch.y, Y[drawn], rtol=1e-5)
    assert set(drawn) == set(range(40))


def test_problems_like_those_of_training_are_the_rows_that_are_held_out():
    task = Arrays(X[5:], Y[5:], held_out=held())
    assert set(rows_of(task.batch(KEY, 100, "same"))) == set(range(5))
    assert set(rows_of(task.batch(KEY, 300, "train"))) == set(range(5, 40))
    assert (task.training, task.calibration_difficulties) == ("train", ("same",))


def test_the_trivial_answer_is_the_mean_of_training_and_the_best_one_is_not_known():
    task = Arrays(X, Y)
    np.testing.assert_allclose(task.trivial(jnp.asarray(X[:2], float)), [Y.mean(0)] * 2, rtol=1e-5)
    assert np.isnan(task.oracle(jnp.asarray(X[:2], float))).all()


def test_rows_are_evaluated_and_trained_on_like_any_other_task():
    task = Arrays(X, Y, held_out=held())
    method = irem.IREM.for_task(task, energy={"name": "mlp", "width": 8, "depth": 1}, key=KEY)
    run = irem.train(task, method, iterations=3, batch_size=4, replay=irem.Replay(16), key=KEY)
    found = irem.evaluate(run, task, problems=7, max_steps=3, key=KEY)
    assert np.isfinite(found.mse)
    assert np.isnan(found.oracle_mse)


def test_a_task_without_its_rows_knows_what_they_look_like():
    x = np.where(RNG.random((40, 3)) < 0.2, np.nan, X)
    task = Arrays(x, Y, x_names=("a", "b", "c"), y_names=("u", "v"))
    again = irem.tasks.get(**{"name": "arrays", **task.settings()})
    assert again.format == task.format == irem.formats.Vectors((3,), (2,), missing=True)
    assert (again.x_names, again.y_names) == (("a", "b", "c"), ("u", "v"))
    assert hash(again) == hash(task.without_arrays())
    with pytest.raises(irem.InputError, match="fitted to arrays, which are not kept with it"):
        again.batch(KEY, 2)


def test_graphs_of_different_sizes_are_padded_and_masked():
    nodes = np.array([[True, True, False], [True, True, True]])
    graph = irem.Graph(jnp.asarray(RNG.normal(size=(2, 3, 3)), float), jnp.asarray(nodes))
    task = Arrays(graph, np.ones((2, 3, 3)))
    assert isinstance(task.format, irem.formats.Graphs)
    np.testing.assert_array_equal(task.problems("train").mask, graph.pairs)
    assert np.allclose(task.trivial(graph), 1.0)


@pytest.mark.parametrize(
    ("x", "y"), [(X, Y[:-1]), (X[:0], Y[:0]), (np.float64(3), Y), (X, np.float64(1))]
)
def test_rows_without_answers_are_refused(x, y):
    with pytest.raises(irem.InputError, match="expected as many answers as problems"):
        Arrays(x, y)


def test_unknown_kinds_and_difficulties_are_refused():
    with pytest.raises(irem.InputError, match="Unknown kind of rows 'words'"):
        Arrays(X, Y, kind="words")
    with pytest.raises(irem.InputError, match="Unknown difficulty 'harder'"):
        Arrays(X, Y).batch(KEY, 1, "harder")


@pytest.fixture
def streamed(monkeypatch, tmp_path):
    """Rows on a disk, in blocks of sixteen."""
    path = tmp_path / "x.npy"
    np.save(path, X)
    monkeypatch.setattr(arrays, "_LARGEST_SHARE", 0.0)
    monkeypatch.setattr(arrays, "_FEWEST_ROWS_OF_A_BLOCK", 16)
    monkeypatch.setattr(arrays, "_BLOCK_BYTES", 16 * 4 * 5)
    return Arrays(np.load(path, mmap_mode="r"), Y, held_out=held())


def test_rows_that_are_too_large_are_loaded_a_block_at_a_time(streamed):
    assert streamed.is_streamed
    assert streamed.rows == 40
    blocks = [streamed.for_chunk(number) for number in range(20)]
    assert {block.y.shape for block in blocks} == {(16, 2)}
    seen = set()
    for block in blocks:
        drawn = rows_of(block)
        np.testing.assert_allclose(block.y, Y[drawn], rtol=1e-5)
        seen |= set(drawn)
    assert seen == set(range(40))
    again = streamed.for_chunk(3)
    np.testing.assert_array_equal(again.x, blocks[3].x)  # a resumed run sees the same rows


def test_a_streamed_task_is_trained_on_with_another_block_for_every_chunk(streamed):
    method = irem.IREM.for_task(streamed, energy={"name": "mlp", "width": 4, "depth": 1}, key=KEY)
    run = irem.train(streamed, method, iterations=150, batch_size=2, replay=irem.Replay(8), key=KEY)
    assert np.isfinite(run.history.loss).all()
    assert run.iteration == 150


def test_missing_entries_of_rows_on_a_disk_are_noticed(streamed, monkeypatch):
    x = X.copy()
    x[-1, 1] = np.nan
    assert not streamed.missing
    assert Arrays(x, Y).missing
