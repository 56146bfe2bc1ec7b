"""What every baseline promises, whatever network is inside, and how methods are named and built."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.formats import Graphs, Vectors
from irem.methods import METHODS, build_method, describe_method
from irem.settings import setting_fields
from irem.training import Adam

KEY = jax.random.key(0)
COUNT = 3
KEYS = jax.random.split(jax.random.key(1), COUNT)
ADDITION = irem.tasks.get("addition", size=6)
TASKS = {"vectors": ADDITION, "graphs": irem.tasks.get("shortest-path")}
BASELINES = [name for name in METHODS if name not in ("irem", "scaled")]
# No setting at its default, so that none can be lost unnoticed. Each method takes those it has.
SIZES = {"width": 8, "depth": 2, "num_steps": 3}
SETTINGS = {**SIZES, "prior": 0.6, "weight": 0.02, "halting": "expected", "step_size": 50.0}
SETTINGS |= {"aggregate": "sum", "scratch": 3}
# What the first part of a method is called for each kind of problem; its others by one name.
PARTS = {
    "network": {"vectors": "dense", "graphs": "graph"},
    "cell": {"vectors": "dense", "graphs": "graph"},
    "energy": {"vectors": "mlp", "graphs": "gine"},
    "gradient": {"vectors": "full-unroll", "graphs": "full-unroll"},
}


def names(kind):
    """The settings of a method or a part, in their order."""
    return [field.name for field in setting_fields(kind)]


def some(kind):
    """The settings above that `kind` has; it has no others."""
    return {name: SETTINGS[name] for name in names(kind)}


def small(name, kind, **settings):
    """A small method of this name, with the given settings in place of those above."""
    sections = {"method": {"name": name, **some(METHODS[name]), **settings}}
    for part, registry in METHODS[name].parts.items():
        part_name = PARTS[part][kind]
        sections[part] = {"name": part_name, **some(registry[part_name])}
    return build(TASKS[kind], sections)


def build(task, sections):
    """A method with the shapes of its weights but no values, which takes no time."""
    return eqx.filter_eval_shape(lambda: build_method(task, sections, key=KEY))


def sections_of(method, /, **settings):
    """Sections of a method with settings of its first part."""
    part = next(iter(METHODS[method].parts))
    return {"method": {"name": method}, part: settings}


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
def test_padded_entries_of_the_true_answer_do_not_count(case):
    method, _, each = case
    problem = next(p for p in each if not p.mask.all())
    other = eqx.tree_at(lambda p: p.y, problem, jnp.where(problem.mask, problem.y, 1000.0))
    # Also where the network is given the answer under noise, its padding among it.
    assert_close(compiled(method, other, KEYS[0])[0], compiled(method, problem, KEYS[0])[0])


@eqx.filter_jit
def predict_and_answer(method, x, key):
    return method.predict(x, 5, key=key).ys, *method.answer(x, key=key)


@pytest.mark.parametrize("num_steps", [1, 5])
def test_predict_gives_the_first_guess_and_an_answer_for_every_step(case, num_steps):
    method, _, each = case
    path = eqx.filter_eval_shape(method.predict, each[0].x, num_steps, key=KEY)
    assert path.ys.shape == (num_steps + 1, *each[0].y.shape)


def test_the_answer_is_that_of_the_step_it_returns(case):
    method, _, each = case
    for problem, key in zip(each, KEYS, strict=True):
        path, answer, steps = predict_and_answer(method, problem.x, key)
        assert np.isfinite(path).all()
        assert 1 <= steps <= SETTINGS["num_steps"]
        assert_close(answer, path[int(steps)])


# How a batch is mapped over does not depend on what is in it, so graphs are tested once.
one_of_graphs = [*((n, "vectors") for n in BASELINES), ("feedforward", "graphs")]


@pytest.mark.parametrize("case", one_of_graphs, ids="-".join, indirect=True)
def test_a_batch_is_answered_as_its_problems_are_one_by_one(case):
    method, batch, each = case
    options = {"key": jax.random.key(1), "trajectory": True, "max_steps": 5}
    together = irem.solve(method, batch.x, **options)
    assert (together.energy, together.converged, together.reason) == (None, None, None)
    for i in range(COUNT):
        path, answer, steps = predict_and_answer(method, each[i].x, KEYS[i])
        assert_close(together.y[i], answer)
        assert together.steps[i] == steps
        assert_close(together.trajectory.ys[i], path)


def test_more_problems_than_fit_at_once_are_all_answered():
    method = filled(small("feedforward", "vectors"))
    x = np.random.default_rng(0).normal(size=(300, 2, 6)).astype(np.float32)
    together = irem.solve(method, x, key=KEY)
    assert_close(together.y, jax.vmap(lambda x: method.network(x)[0])(x))


def test_problems_of_another_shape_are_refused(case):
    method, _, _ = case
    with pytest.raises(irem.InputError, match=r"`x` has shape \(2, 3, 5\); expected one"):
        irem.solve(method, np.ones((2, 3, 5)), key=KEY)


@pytest.mark.parametrize("kind", TASKS)
@pytest.mark.parametrize("name", [*BASELINES, "irem"])
def test_a_described_method_is_built_again_in_the_same_form(name, kind):
    method = small(name, kind)
    described = json.loads(json.dumps(describe_method(method)))  # as it comes out of a file
    again = build(TASKS[kind], described)
    # The structure holds every setting that is not an array.
    assert jax.tree.structure(again) == jax.tree.structure(method)
    assert jax.tree.leaves(again) == jax.tree.leaves(method)


@pytest.mark.parametrize(
    "name", [n for n, t in irem.tasks.TASKS.items() if isinstance(t().format, Graphs | Vectors)]
)
def test_all_methods_have_about_as_many_parameters(name):
    task = irem.tasks.get(name)
    energy = "gine" if isinstance(task.format, Graphs) else "mlp"
    methods = {baseline: build(task, {"method": {"name": baseline}}) for baseline in BASELINES}
    methods["irem"] = build(task, {"method": {"name": "irem"}, "energy": {"name": energy}})
    assert methods.keys() == METHODS.keys() - {"scaled"}
    counts = {n: sum(leaf.size for leaf in jax.tree.leaves(m)) for n, m in methods.items()}
    assert max(counts.values()) < 1.2 * min(counts.values()), counts


@pytest.mark.parametrize("name", BASELINES)
def test_of_the_baselines_pictures_have_the_feedforward_network_alone(name):
    sections, task = {"method": {"name": name}}, irem.tasks.get("denoise")
    if name == "feedforward":
        assert irem.nn.NETWORKS.name_of(build(task, sections).network) == "unet"
        return
    with pytest.raises(irem.InputError, match=r"feedforward network alone|No cell takes pictures"):
        build(task, sections)


@pytest.mark.parametrize("name", [*BASELINES, "irem"])
def test_unknown_settings_are_refused_and_the_known_ones_listed(name):
    known = ", ".join(names(METHODS[name]))
    listed = f"known are {known}" if known else "there are none"
    message = rf"^Unknown setting of the method {name} 'size'; {listed}\."
    with pytest.raises(irem.InputError, match=message):
        build(ADDITION, {"method": {"name": name, "size": 3}})


@pytest.mark.parametrize("name", [*BASELINES, "irem"])
def test_unknown_settings_of_a_part_are_refused_and_the_known_ones_listed(name):
    part, registry = next(iter(METHODS[name].parts.items()))
    dense = PARTS[part]["vectors"]
    known = ", ".join(names(registry[dense]))
    message = rf"^Unknown setting of the {dense} {part} 'size'; known are {known}\."
    with pytest.raises(irem.InputError, match=message):
        build(ADDITION, sections_of(name, size=3))


def test_unknown_methods_and_parts_are_refused_and_the_known_ones_listed():
    known = "feedforward, recurrent, programmatic, iterative-feedforward, irem, scaled"
    with pytest.raises(irem.InputError, match=rf"Unknown method 'transformer'; known are {known}"):
        build(ADDITION, {"method": {"name": "transformer"}})
    message = "Unknown section of the method recurrent 'network'; known are cell"
    with pytest.raises(irem.InputError, match=message):
        build(ADDITION, {"method": {"name": "recurrent"}, "network": {"width": 3}})
    with pytest.raises(irem.InputError, match=r"Unknown network 'dens'; .* Did you mean 'dense'"):
        build(ADDITION, sections_of("feedforward", name="dens"))


@pytest.mark.parametrize("name", BASELINES)
def test_a_network_of_another_format_is_refused(name):
    message = r"needs graphs, and 'addition' has problems of a fixed size; leave its name out"
    with pytest.raises(irem.InputError, match=message):
        build(ADDITION, sections_of(name, name="graph"))


@pytest.mark.parametrize("name", BASELINES)
def test_aggregates_are_for_graphs_and_among_the_known(name):
    with pytest.raises(irem.InputError, match=r"Unknown setting of the dense .* 'aggregate'"):
        build(ADDITION, sections_of(name, aggregate="mean"))
    with pytest.raises(irem.InputError, match=r"Unknown aggregate 'max'; known are sum, mean"):
        build(TASKS["graphs"], sections_of(name, aggregate="max"))


def refused_sizes():
    """Every size of every baseline and of the part inside it, with a section it stands in."""
    for name in BASELINES:
        part, registry = next(iter(METHODS[name].parts.items()))
        for section, kind in (("method", METHODS[name]), (part, registry["dense"])):
            yield from ((name, section, n) for n in names(kind) if n in SIZES)


@pytest.mark.parametrize(("name", "section", "setting"), list(refused_sizes()))
def test_a_size_of_zero_is_refused(name, section, setting):
    sections = {"method": {"name": name}}
    sections.setdefault(section, {})[setting] = 0
    with pytest.raises(irem.InputError, match=rf"`{setting}` must be greater than 0, got 0"):
        build(ADDITION, sections)


@pytest.mark.parametrize("name", BASELINES)
def test_training_brings_the_error_far_below_that_of_zero_and_of_the_untrained(name):
    task = irem.tasks.get("addition", size=2)
    untrained = filled(build(task, sections_of(name, width=32)))
    settings = {"iterations": 200, "batch_size": 32, "optimiser": Adam(learning_rate=3e-3)}
    trained = irem.train(task, untrained, **settings, key=jax.random.key(1)).model
    problem = task.batch(jax.random.key(2), 250)
    before, after = (
        irem.mse(irem.solve(m, problem.x, key=KEY).y, problem.y) for m in (untrained, trained)
    )
    assert after < 0.02 * min(before, irem.mse(jnp.zeros_like(problem.y), problem.y))
