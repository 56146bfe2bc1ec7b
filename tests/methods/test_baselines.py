"""What every baseline promises, whatever network is inside, and how methods are named and built."""

import inspect
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.energy import ENERGIES
from irem.methods import BASELINES, METHODS, build_method, describe_method

KEY = jax.random.key(0)
COUNT = 3
KEYS = jax.random.split(jax.random.key(1), COUNT)
ADDITION = irem.tasks.get("addition", size=6)
TASKS = {"vectors": ADDITION, "graphs": irem.tasks.get("shortest-path")}
# No setting at its default, so that none can be lost unseen. Each method takes those it knows.
SIZES = {"width": 8, "depth": 2, "num_steps": 3}
SETTINGS = {**SIZES, "prior": 0.6, "weight": 0.02, "halting": "expected"}
SETTINGS |= {"step_size": 50.0, "gradient": "full-unroll"}


def names(build):
    """The settings of a method, as its constructor for a task has them."""
    return inspect.signature(build).parameters.keys() - {"task", "key"}


def some(build):
    """As many of the settings above as `build` takes."""
    return {name: SETTINGS[name] for name in names(build) & SETTINGS.keys()}


def small(name, kind, **settings):
    """A small method of this name, with the given settings beside those above."""
    graphs = {"aggregate": "sum"} if kind == "graphs" else {}
    if name != "irem":
        options = {**some(BASELINES[name].for_task), **graphs, **settings}
    else:
        energy = "gine" if graphs else "mlp"
        inner = {"name": energy, **some(ENERGIES[energy].for_task), **graphs}
        options = {**some(METHODS[name]), "energy": inner}
    return build(TASKS[kind], name, **options)


def build(task, name, **options):
    """A method with the shapes of its weights but no values, which takes no time."""
    return eqx.filter_eval_shape(lambda: build_method(task, {"name": name, **options}, key=KEY))


def filled(method):
    """The method with random weights, those of NumPy because they need no compilation."""
    rng = np.random.default_rng(0)

    def fill(leaf):
        scale = leaf.shape[-1] ** -0.5
        return jnp.asarray(scale * rng.normal(size=leaf.shape), leaf.dtype)

    return jax.tree.map(fill, method)


@pytest.fixture(scope="module", params=[(n, k) for n in BASELINES for k in TASKS], ids="-".join)
def case(request):
    """A baseline, a batch of problems as in training, and the same problems one by one."""
    name, kind = request.param
    halting = {"halting": "sample"} if name == "programmatic" else {}
    batch = TASKS[kind].batch(KEY, COUNT, TASKS[kind].training)
    on_host = jax.device_get(batch)  # because an index into an array of JAX compiles
    each = [jax.tree.map(lambda leaf, i=i: jnp.asarray(leaf[i]), on_host) for i in range(COUNT)]
    return filled(small(name, kind, **halting)), batch, each


def loss(method, problem, key):
    return method.loss(problem, jnp.zeros_like(problem.y), key=key)


compiled = eqx.filter_jit(loss)


@eqx.filter_jit
def mapped(method, problems, keys):
    """Losses with their answers, and gradients, of a batch."""
    gradient = eqx.filter_value_and_grad(loss, has_aux=True)
    return jax.vmap(lambda problem, key: gradient(method, problem, key))(problems, keys)


def assert_close(a, b):
    """Equal up to the rounding of sums of a hundred terms, beside the largest number."""

    def close(a, b):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 * max(1, np.abs(b).max()))

    jax.tree.map(close, a, b)


def test_loss_is_one_finite_number_beside_an_answer(case):
    method, _, each = case
    value, answer = compiled(method, each[0], KEYS[0])
    assert 0 < value < np.inf
    assert (value.shape, answer.shape) == ((), each[0].y.shape)


def test_gradient_is_finite_and_reaches_every_array_of_weights(case):
    method, batch, _ = case
    _, gradient = mapped(method, batch, KEYS)
    assert jax.tree.structure(gradient) == jax.tree.structure(method)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
    assert all(np.abs(leaf).max() > 0 for leaf in jax.tree.leaves(gradient))


def test_compiled_equals_eager(case):
    method, _, each = case
    assert_close(compiled(method, each[0], KEYS[0]), loss(method, each[0], KEYS[0]))


def test_mapped_equals_a_loop(case):
    method, batch, each = case
    loop = [compiled(method, *pair) for pair in zip(each, KEYS, strict=True)]
    together, _ = mapped(method, batch, KEYS)
    assert_close(together, jax.tree.map(lambda *parts: np.stack(parts), *loop))


@pytest.mark.parametrize("case", [(n, "graphs") for n in BASELINES], ids="-".join, indirect=True)
def test_what_stands_in_padded_entries_of_the_true_answer_is_no_error(case):
    method, _, each = case
    problem = next(p for p in each if not p.mask.all())
    other = eqx.tree_at(lambda p: p.y, problem, jnp.where(problem.mask, problem.y, 1000.0))
    # Also where the network is shown the answer under noise, its padding among it.
    assert_close(compiled(method, other, KEYS[0])[0], compiled(method, problem, KEYS[0])[0])


@eqx.filter_jit
def predict_and_answer(method, x, key):
    return method.predict(x, 5, key=key).ys, *method.answer(x, key=key)


@pytest.mark.parametrize("num_steps", [1, 5])
def test_predict_gives_the_first_guess_and_an_answer_for_every_step(case, num_steps):
    method, _, each = case
    path = eqx.filter_eval_shape(method.predict, each[0].x, num_steps, key=KEY)
    assert path.ys.shape == (num_steps + 1, *each[0].y.shape)


def test_the_answer_is_that_of_the_step_it_names(case):
    method, _, each = case
    for problem, key in zip(each, KEYS, strict=True):
        path, answer, steps = predict_and_answer(method, problem.x, key)
        assert np.isfinite(path).all()
        assert 1 <= steps <= SETTINGS["num_steps"]
        assert_close(answer, path[int(steps)])


# What walks over a batch does not know what is in it, so graphs are shown once.
one_of_graphs = [*((n, "vectors") for n in BASELINES), ("feedforward", "graphs")]


@pytest.mark.parametrize("case", one_of_graphs, ids="-".join, indirect=True)
def test_a_batch_is_answered_as_its_problems_are_one_by_one(case):
    method, batch, each = case
    together = irem.methods.answer(method, batch.x, key=jax.random.key(1))
    by_step = irem.methods.answers_by_step(method, batch.x, 5, jax.random.key(1))
    for i in range(COUNT):
        path, answer, steps = predict_and_answer(method, each[i].x, KEYS[i])
        assert_close(together.y[i], answer)
        assert together.steps[i] == steps
        assert_close(by_step[i], path)


def test_more_problems_than_fit_at_once_are_all_answered():
    method = filled(small("feedforward", "vectors"))
    x = np.random.default_rng(0).normal(size=(300, 2, 6)).astype(np.float32)
    together = irem.methods.answer(method, x, key=KEY)
    assert_close(together.y, jax.vmap(lambda x: method.network(x)[0])(x))


def test_problems_of_another_shape_are_refused(case):
    method, _, _ = case
    with pytest.raises(irem.InputError, match=r"`x` has shape \(2, 3, 5\); expected one"):
        irem.methods.answer(method, np.ones((2, 3, 5)), key=KEY)


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize("name", METHODS)
def test_a_described_method_is_built_again_in_the_same_form(name, kind):
    method = small(name, kind)
    described = json.loads(json.dumps(describe_method(method)))  # as it comes out of a file
    again = build(TASKS[kind], **described)
    # The structure holds every setting that is not an array.
    assert jax.tree.structure(again) == jax.tree.structure(method)
    assert jax.tree.leaves(again) == jax.tree.leaves(method)


@pytest.mark.parametrize("name", irem.tasks.TASKS)
def test_all_methods_have_about_as_many_parameters(name):
    task = irem.tasks.get(name)
    energy = {"name": "gine" if None in task.shapes[0] else "mlp"}
    methods = {baseline: build(task, baseline) for baseline in BASELINES}
    methods["irem"] = build(task, "irem", energy=energy, gradient="last-step")
    assert methods.keys() == METHODS.keys()
    counts = {n: sum(leaf.size for leaf in jax.tree.leaves(m)) for n, m in methods.items()}
    assert max(counts.values()) < 1.2 * min(counts.values()), counts


@pytest.mark.parametrize("name", BASELINES)
def test_unknown_settings_are_refused_and_the_known_ones_listed(name):
    known = ", ".join(sorted(names(BASELINES[name].for_task)))
    message = rf"Unknown setting of the {name} method 'size'; known are {known}\."
    with pytest.raises(irem.InputError, match=message):
        build(ADDITION, name, size=3)


def test_unknown_methods_are_refused_and_the_known_ones_listed():
    known = "feedforward, recurrent, programmatic, iterative-feedforward, irem"
    with pytest.raises(irem.InputError, match=rf"Unknown method 'transformer'; known are {known}"):
        build(ADDITION, "transformer")


@pytest.mark.parametrize("name", BASELINES)
def test_aggregates_are_for_graphs_and_among_the_known(name):
    with pytest.raises(irem.InputError, match=r"`aggregate` .*'addition' has no graphs; leave it"):
        build(ADDITION, name, aggregate="mean")
    with pytest.raises(irem.InputError, match=r"Unknown aggregate 'max'; known are sum, mean"):
        build(TASKS["graphs"], name, aggregate="max")


@pytest.mark.parametrize(
    ("name", "setting"),
    [(n, size) for n in BASELINES for size in SIZES if size in names(BASELINES[n].for_task)],
)
def test_a_size_of_zero_is_refused(name, setting):
    with pytest.raises(irem.InputError, match=rf"`{setting}` must be greater than 0, got 0"):
        build(ADDITION, name, **{setting: 0})


@pytest.mark.parametrize("name", BASELINES)
def test_training_brings_the_error_far_below_that_of_zero_and_of_the_untrained(name):
    task = irem.tasks.get("addition", size=2)
    untrained = filled(build(task, name, width=32))
    settings = {"iterations": 200, "batch_size": 32, "learning_rate": 3e-3}
    trained = irem.train(task, untrained, **settings, key=jax.random.key(1)).model
    problem = task.batch(jax.random.key(2), 250)
    before, after = (
        irem.mse(irem.methods.answer(m, problem.x, key=KEY).y, problem.y)
        for m in (untrained, trained)
    )
    assert after < 0.02 * min(before, irem.mse(jnp.zeros_like(problem.y), problem.y))
