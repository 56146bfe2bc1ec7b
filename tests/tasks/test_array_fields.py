"""A task whose fields hold arrays: a PyTree with these arrays as leaves."""

import dataclasses
import json
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

import irem
from irem.formats import Vectors
from irem.tasks import AbstractTask

KEY = jax.random.key(0)
COUNT = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class LinearMap(AbstractTask):
    """`y = matrix @ x + shift`, with entries of `x` up to a given size."""

    name: ClassVar[str] = "linear-map"
    summary: ClassVar[str] = "apply a linear map"

    matrix: Array
    shift: Array
    largest: float

    @property
    def format(self):
        return Vectors(self.matrix.shape[1:], self.shift.shape)

    def sample(self, key, difficulty="same"):
        self.check_difficulty(difficulty)
        x = jax.random.uniform(key, self.matrix.shape[1:], maxval=self.largest)
        return irem.Problem(x, self.oracle(x))

    def trivial(self, x):
        return jnp.zeros((*x.shape[:-1], *self.shift.shape))

    def oracle(self, x):
        return x @ self.matrix.T + self.shift


def numbers(scale=1.0):
    rng = np.random.default_rng(0)
    return scale * rng.normal(size=(2, 3)).astype(np.float32), np.float32([1.0, -2.0])


def make(asarray=jnp.asarray, scale=1.0, **settings):
    matrix, shift = (asarray(a) for a in numbers(scale))
    return LinearMap(matrix=matrix, shift=shift, **{"largest": 2.0, **settings})


@pytest.fixture(params=[jnp.asarray, np.asarray], ids=["jax", "numpy"])
def task(request):
    return make(request.param)


def assert_answers(problem, scale=1.0):
    matrix, shift = numbers(scale)
    expected = np.asarray(problem.x) @ matrix.T + shift
    np.testing.assert_allclose(problem.y, expected, rtol=1e-5, atol=1e-5)


def test_a_setting_without_a_default_is_required():
    matrix, shift = numbers()
    with pytest.raises(TypeError, match="largest"):
        LinearMap(matrix=matrix, shift=shift)


def test_its_leaves_are_its_arrays(task):
    leaves = jax.tree.leaves(task)
    assert len(leaves) == 2
    for leaf, expected in zip(leaves, numbers(), strict=True):
        np.testing.assert_array_equal(leaf, expected)
    assert list(task.leaves()) == ["matrix", "shift"]


def test_its_settings_are_its_other_fields(task):
    assert task.settings() == {"variant": "released", "largest": 2.0}
    assert json.loads(json.dumps(task.settings())) == task.settings()


def test_a_copy_made_of_leaves_and_structure_is_the_same_task(task):
    leaves, structure = jax.tree.flatten(task)
    again = jax.tree.unflatten(structure, leaves)
    assert isinstance(again, LinearMap)
    assert again.settings() == task.settings()
    assert again.format == task.format
    assert jax.tree.structure(again) == structure


def test_tasks_of_other_settings_have_another_structure(task):
    assert jax.tree.structure(make(largest=2.0)) == jax.tree.structure(task)
    assert jax.tree.structure(make(largest=3.0)) != jax.tree.structure(task)


def test_the_structure_does_not_depend_on_what_stands_in_place_of_the_arrays(task):
    structure = jax.tree.structure(task)
    for other in ("leaf", 1.0, jax.ShapeDtypeStruct((2,), float)):
        filled = jax.tree.map(lambda _, other=other: other, task)
        assert jax.tree.leaves(filled) == [other, other]
        assert jax.tree.structure(filled) == structure


def test_arrays_can_be_taken_out_and_put_back(task):
    arrays, rest = eqx.partition(task, eqx.is_array_like)
    assert jax.tree.leaves(rest) == []
    assert len(jax.tree.leaves(arrays)) == 2
    again = eqx.combine(arrays, rest)
    assert_answers(again.batch(KEY, COUNT))


def test_problems_are_drawn_alone_and_in_a_batch(task):
    problem = task.batch(KEY, COUNT)
    assert (problem.x.shape, problem.y.shape) == ((COUNT, 3), (COUNT, 2))
    assert float(problem.x.max()) <= 2
    assert_answers(problem)
    alone = jax.jit(task.sample)(jax.random.split(KEY, COUNT)[1])
    np.testing.assert_allclose(alone.y, problem.y[1], rtol=1e-5)


def test_a_compiled_function_takes_the_task_as_an_argument_and_other_arrays_need_no_other(task):
    traces = []

    @jax.jit
    def draw(task, key):
        traces.append(None)
        return task.sample(key)

    assert_answers(draw(task, KEY))
    assert_answers(draw(make(scale=3.0), KEY), scale=3.0)
    assert len(traces) == 1
    draw(make(largest=3.0), KEY)  # a setting is part of the program
    assert len(traces) == 2


def test_a_batch_of_another_task_of_the_same_form_is_its_own(task):
    assert_answers(task.batch(KEY, COUNT))
    assert_answers(make(scale=3.0).batch(KEY, COUNT), scale=3.0)


def test_a_stack_of_tasks_is_mapped_over():
    scales = (1.0, 3.0)
    stack = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(make(scale=s) for s in scales))
    drawn = jax.vmap(lambda task: task.batch(KEY, COUNT))(stack)
    for i, scale in enumerate(scales):
        assert_answers(jax.tree.map(lambda leaf, i=i: leaf[i], drawn), scale)


def test_a_gradient_in_its_arrays_is_shaped_like_the_task():
    def total(task):
        return task.sample(KEY).y.sum()

    gradient = jax.grad(total)(make())
    assert isinstance(gradient, LinearMap)
    np.testing.assert_array_equal(gradient.shift, [1.0, 1.0])
    assert np.abs(gradient.matrix).max() > 0


def test_shapes_are_found_without_values(task):
    problem = eqx.filter_eval_shape(lambda task: task.sample(KEY), task)
    assert (problem.x.shape, problem.y.shape) == ((3,), (2,))


def test_it_is_trained_on(task):
    energy = irem.energy.MLP.for_task(task, width=8, depth=1, key=KEY)
    settings = {"iterations": 2, "batch_size": 4, "replay": irem.NoReplay(), "key": KEY}
    run = irem.train(task, irem.IREM(energy, num_steps=2, step_size=1.0), **settings)
    assert run.task is task
    assert np.isfinite(run.history.loss).all()
    assert run.settings["task"] == {"name": "linear-map", **task.settings()}
