"""What every task of the public surface promises, whatever it asks."""

import functools

import jax
import numpy as np
import pytest

import irem
from irem.formats import Graphs, Vectors
from irem.tasks import TASKS, AbstractGraphTask

# One number of problems everywhere, so that each task compiles once.
COUNT = 2000
# On so few the two floors of matrix completion, the closest of all, are six standard errors apart.
FEW = 24
KEY = jax.random.key(11)
# A generator that compiles fast, for what does not depend on which one draws.
FAST_KEY = jax.random.key(11, impl="unsafe_rbg")

# Those of numbers with an oracle; the others have files of their own.
WITH_ORACLE = [make() for make in TASKS.values() if isinstance(make().format, Graphs | Vectors)]
every_task = pytest.mark.parametrize("task", WITH_ORACLE, ids=[t.name for t in WITH_ORACLE])


def declared_shapes(task, size):
    """Shapes of a problem and an answer, for graphs of this size."""
    if isinstance(task.format, Graphs):
        return (size, size), (size, size)
    assert isinstance(task.format, Vectors)
    return task.format.x_shape, task.format.y_shape


def assert_same(a, b):
    """Two PyTrees hold the same numbers to the last bit."""
    jax.tree.map(np.testing.assert_array_equal, a, b)


@every_task
def test_the_name_finds_the_task_and_settings_make_it_again(task):
    assert irem.tasks.get(task.name) == task
    other = type(task)(variant="paper")
    assert irem.tasks.get(other.name, **other.settings()) == other
    assert other != task


@every_task
def test_same_key_same_data_and_another_key_other_data(task):
    first = task.batch(KEY, COUNT)
    assert_same(first, type(task)().batch(KEY, COUNT))
    other = task.batch(jax.random.key(12), COUNT)
    assert not np.array_equal(first.y, other.y)


@every_task
def test_problems_of_one_batch_differ(task):
    answers = np.asarray(task.batch(KEY, COUNT).y).reshape(COUNT, -1)
    # Connected components repeats its simplest answers, so not all need to differ.
    assert len(np.unique(answers, axis=0)) > COUNT // 2


@every_task
def test_batch_has_the_declared_shapes(task):
    sizes = {"same": 10, "train": 10, "harder": 15}
    for difficulty in task.difficulties:
        problem = jax.eval_shape(lambda d=difficulty: task.batch(KEY, 3, d))
        x_shape, y_shape = declared_shapes(task, sizes[difficulty])
        x = problem.x.edges if isinstance(task, AbstractGraphTask) else problem.x
        assert x.shape == (3, *x_shape)
        assert problem.y.shape == (3, *y_shape)
        if difficulty == "train":
            assert problem.mask.shape == problem.y.shape
            assert problem.x.nodes.shape == (3, 10)
        else:
            assert problem.mask is None


@every_task
def test_answers_are_bits_where_the_task_says_so_and_only_there(task):
    answers = np.asarray(task.batch(KEY, COUNT).y)
    assert np.isin(answers, (0, 1)).all() == task.binary


@every_task
def test_training_difficulty_is_one_of_the_difficulties(task):
    assert task.training in task.difficulties


@every_task
def test_batch_is_one_sample_for_each_split_of_the_key(task):
    batch = jax.device_get(task.batch(KEY, COUNT))
    alone = jax.jit(task.sample)(jax.random.split(KEY, COUNT)[5])
    # Without the batch axis sums may run in another order; inverses amplify that by the condition
    # number, below 1e3 here.
    close = functools.partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-4)
    jax.tree.map(lambda one, many: close(one, many[5]), alone, batch)


@every_task
def test_floors_take_leading_axes_and_the_oracle_is_the_lower_one(task):
    problem = jax.device_get(task.batch(KEY, COUNT))
    x, y = jax.tree.map(
        lambda leaf: leaf[:FEW].reshape(2, FEW // 2, *leaf.shape[1:]), (problem.x, problem.y)
    )
    trivial, oracle = jax.jit(lambda x: (task.trivial(x), task.oracle(x)))(x)
    assert trivial.shape == oracle.shape == y.shape
    assert irem.mse(oracle, y) <= irem.mse(trivial, y)
    if task.oracle_problems is None:  # The oracle is exact, and `y` was made one by one.
        np.testing.assert_allclose(oracle, y, rtol=1e-4, atol=1e-4)


@every_task
def test_floors_of_one_problem_have_the_shape_of_its_answer(task):
    problem = jax.eval_shape(lambda: task.sample(KEY))
    assert jax.eval_shape(task.trivial, problem.x).shape == problem.y.shape
    assert jax.eval_shape(task.oracle, problem.x).shape == problem.y.shape


@every_task
def test_unknown_difficulty_is_refused_and_the_nearest_is_named(task):
    for draw in (lambda d: task.batch(KEY, 3, d), lambda d: task.sample(KEY, d)):
        with pytest.raises(ValueError, match=r"Unknown difficulty 'hard'.*Did you mean 'harder'"):
            draw("hard")


@every_task
def test_unknown_variant_is_refused(task):
    with pytest.raises(ValueError, match=r"Unknown variant 'printed'; known are released, paper"):
        type(task)(variant="printed")


@every_task
@pytest.mark.parametrize("count", [0, -3])
def test_a_batch_without_problems_is_refused(task, count):
    with pytest.raises(ValueError, match=rf"`n` must be greater than 0, got {count}"):
        task.batch(KEY, count)


@every_task
def test_a_size_below_one_is_refused(task):
    if isinstance(task, AbstractGraphTask):
        for nodes in (0, -1, True):
            with pytest.raises(ValueError, match=rf"number of nodes.*got {nodes}"):
                task.batch(KEY, 3, nodes)
    else:
        with pytest.raises(ValueError, match=r"has no sizes to choose from, got difficulty 7"):
            task.batch(KEY, 3, 7)
        with pytest.raises(ValueError, match=r"`size` must be greater than 0, got 0"):
            type(task)(size=0)


def test_unknown_task_and_unknown_setting_are_refused():
    with pytest.raises(ValueError, match=r"Unknown task 'adition'.*Did you mean 'addition'"):
        irem.tasks.get("adition")
    with pytest.raises(ValueError, match=r"Unknown setting of the task 'edge-copy' 'size'"):
        irem.tasks.get("edge-copy", size=3)


# Errors of the trivial predictors at `same` and `harder`, measured on the released program's
# problems and rounded as printed there.
FLOORS = {
    "edge-copy": ("0.333", "0.333"),
    "connected-components": ("0.106", "0.260"),
    "shortest-path": ("0.049", "0.036"),
    "addition": ("0.667", "4.17"),
    "matrix-completion": ("0.0175", "0.205"),
    "matrix-inverse": ("0.0142", "0.229"),
}


@every_task
@pytest.mark.parametrize("difficulty", ["same", "harder"])
def test_trivial_floor_is_the_measured_one(task, difficulty):
    printed = FLOORS[task.name][["same", "harder"].index(difficulty)]
    problem = task.batch(FAST_KEY, COUNT, difficulty)
    square = np.square(np.asarray(task.trivial(problem.x), np.float64) - np.asarray(problem.y))
    errors = square.reshape(COUNT, -1).mean(axis=1)
    rounding = 0.5 * 10.0 ** -len(printed.split(".")[1])
    tolerance = rounding + 5 * errors.std() / COUNT**0.5
    assert abs(errors.mean() - float(printed)) <= tolerance


@every_task
def test_more_problems_than_memory_holds_are_refused_before_any_is_made(task):
    with pytest.raises(irem.InputError, match=rf"1,000,000,000,000 .*'{task.name}'.*needs"):
        task.batch(KEY, 10**12)


@pytest.mark.parametrize("name", ["edge-copy", "shortest-path", "connected-components"])
def test_graphs_larger_than_memory_are_refused_before_any_is_made(name):
    with pytest.raises(irem.InputError, match=r"difficulty 1000000, needs about .* is the limit"):
        irem.tasks.get(name).batch(KEY, 1, 1_000_000)
