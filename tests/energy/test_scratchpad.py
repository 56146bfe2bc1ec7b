"""Numbers beside the answer: Algorithm 3 by hand, and a scratchpad of size zero."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import irem
from irem import Graph
from irem.energy import GINE, MLP, SAT, Scratchpad, from_function
from irem.methods import build_method, describe_method
from irem.training import Checkpoints, NoAverage, Training, init, iterate

KEY = jax.random.key(0)
ADDITION = irem.tasks.get("addition", size=4)
PATHS = irem.tasks.get("shortest-path")
SIZE, BATCH = 3, 4


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def curved(x, y, z):
    return jnp.sum(jnp.cosh(y - jnp.sin(z[:2])[:, None])) + jnp.sum(z**2) * jnp.sum(x * y)


@functools.cache
@jax.enable_x64(False)
def build(name, scratch=SIZE):
    """An energy in 32 bits, and shapes of a problem, an answer and a scratchpad for it."""
    if name == "mlp":
        energy = MLP((2, 3), (2, 2), width=6, depth=2, scratch=scratch, key=KEY)
        return energy, (2, 3), (2, 2), (scratch,)
    if name == "gine":
        energy = GINE(width=6, depth=1, scratch=scratch, key=KEY)
        return energy, (5, 5), (5, 5), (5, scratch)
    function = curved if scratch else lambda x, y: jnp.sum(jnp.cosh(x - y))
    energy = from_function(function, answer_shape=(2, 2), scratch=scratch)
    return energy, (2, 2), (2, 2), (scratch,)


def training_of(task):
    return Training(task, optax.adam(1e-3), irem.Replay(capacity=50), NoAverage(), BATCH)


NAMES = ("mlp", "gine", "function")


def draw(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [jnp.asarray(rng.normal(size=shape)) for shape in shapes]


def central_differences(function, point, eps=1e-6):
    """Error of second order in `eps`, about 1e-10 here; rounding adds 1e-16 / 1e-6."""
    units = eps * jnp.eye(point.size).reshape(-1, *point.shape)
    slopes = jax.lax.map(lambda u: function(point + u) - function(point - u), units)
    return slopes.reshape(point.shape) / (2 * eps)


def doubled(energy):
    """In 64 bits."""
    return jax.tree.map(
        lambda leaf: jnp.asarray(np.asarray(leaf, float)) if eqx.is_array(leaf) else leaf, energy
    )


@pytest.mark.parametrize("name", NAMES)
def test_gradients_in_answer_and_scratchpad_match_finite_differences(name, x64):
    energy, *shapes = build(name)
    pad, (x, y, z) = Scratchpad(doubled(energy)), draw(*shapes)

    @jax.jit
    def gradients(y, z):
        joint = pad.energy.joint_landscape(x)
        differences = (
            central_differences(lambda y: joint(y, z), y),
            central_differences(lambda z: joint(y, z), z),
        )
        # One array of both has the same two gradients.
        point = jnp.concatenate([y, z] if name == "gine" else [y.ravel(), z], axis=-1)
        together = pad.split(jax.grad(pad.landscape(x))(point))
        return jax.grad(joint, argnums=(0, 1))(y, z), differences, together

    exact, differences, together = gradients(y, z)
    for k in range(2):
        np.testing.assert_allclose(exact[k], differences[k], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(together[k], exact[k], rtol=1e-12, atol=1e-13)
        assert np.abs(exact[k]).max() > 1e-4


def test_the_scratchpad_is_a_further_input_of_the_first_layer():
    energy, *shapes = build("mlp")
    x, y, z = draw(*shapes)
    wider = MLP((2, 3), (4 + SIZE,), width=6, depth=2, key=KEY)
    joined = jnp.concatenate([y.ravel(), z])
    value = jax.jit(lambda y, z: energy.joint_landscape(x)(y, z))(y, z)
    assert float(value) == pytest.approx(float(eqx.filter_jit(wider)(x, joined)), rel=1e-6)


def test_nodes_begin_from_their_scratchpad():
    energy, *shapes = build("gine")
    x, y, z = draw(*shapes)
    joint = jax.jit(energy.joint_landscape(x))
    plain = float(eqx.filter_jit(build("gine", 0)[0])(x, y))
    # Zeros are the first state of a node without a scratchpad, and all other weights are the same.
    assert float(joint(y, 0 * z)) == pytest.approx(plain, rel=1e-6)
    assert abs(float(joint(y, z)) - plain) > 1e-3


def test_relabelled_nodes_take_their_scratchpads_along():
    energy, *shapes = build("gine")
    x, y, z = draw(*shapes)
    pad, order = Scratchpad(energy), np.array([3, 0, 4, 1, 2])
    value_and_gradient = jax.jit(lambda x, point: jax.value_and_grad(pad.landscape(x))(point))
    value, gradient = value_and_gradient(x, jnp.concatenate([y, z], -1))
    pairs = np.ix_(order, order)
    moved, moved_gradient = value_and_gradient(x[pairs], jnp.concatenate([y[pairs], z[order]], -1))
    np.testing.assert_allclose(moved, value, rtol=1e-5)
    by_y, by_z = pad.split(gradient)
    expected = np.concatenate([by_y[pairs], by_z[order]], -1)
    np.testing.assert_allclose(moved_gradient, expected, rtol=1e-4, atol=1e-6)
    unmoved = value_and_gradient(x[pairs], jnp.concatenate([y[pairs], z], -1))[0]
    assert abs(float(unmoved - value)) > 1e-5


def test_scratchpads_of_padded_nodes_do_not_matter():
    energy, *shapes = build("gine")
    x, y, z = draw(*shapes)
    graph = Graph(x, jnp.arange(5) < 3)
    joint = jax.jit(jax.value_and_grad(energy.joint_landscape(graph), argnums=1))
    junk = jnp.where(graph.nodes[:, None], z, 1000.0)
    (value, gradient), (other, _) = joint(y, z), joint(y, junk)
    assert float(other) == float(value)
    assert np.asarray(gradient).any(axis=1).tolist() == [True] * 3 + [False] * 2
    small = jax.jit(lambda x, y, z: energy.joint_landscape(x)(y, z))
    small = small(*(np.asarray(a)[:3, :3] for a in (x, y, z)))
    assert float(small) == pytest.approx(float(value), rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_size_zero_is_the_plain_energy_to_the_bit(name):
    energy, x_shape, y_shape, _ = build(name, 0)
    x, y = draw(x_shape, y_shape)
    pad = Scratchpad(energy)
    value_and_gradient = eqx.filter_jit(lambda energy: jax.value_and_grad(energy.landscape(x))(y))
    for plain, empty in zip(value_and_gradient(energy), value_and_gradient(pad), strict=True):
        np.testing.assert_array_equal(plain, empty)
    np.testing.assert_array_equal(pad.begin(None, y, key=None), y)
    np.testing.assert_array_equal(pad.read(None, y), y)


def test_training_with_size_zero_is_training_without():
    task = irem.tasks.get("matrix-inverse", size=2)
    plain = MLP.for_task(task, width=8, depth=1, key=KEY)
    training = training_of(task)
    step = eqx.filter_jit(iterate)
    ends = []
    method = irem.IREM(Scratchpad(plain), num_steps=2)
    assert method.energy is plain  # the constructor leaves an empty scratchpad out
    for energy in (plain, Scratchpad(plain)):
        state = init(training, eqx.tree_at(lambda m: m.energy, method, energy), KEY)
        for _ in range(2):  # the second one replays
            state, info = step(training, state)
        ends.append(jax.tree.leaves((state.method, state.replay, info)))
    for one, other in zip(*ends, strict=True):
        np.testing.assert_array_equal(one, other)


def test_both_follow_their_gradients_from_the_same_point_and_the_loss_is_on_the_answer(x64):
    energy, *shapes = build("mlp")
    energy, (x, y0, z0) = doubled(energy), draw(*shapes)
    problem, size = irem.Problem(x, jnp.ones((2, 2))), 0.7
    method = irem.IREM(Scratchpad(energy), num_steps=2, step_size=size)
    point = jnp.concatenate([y0.ravel(), z0])
    loss = lambda method: method.loss(problem, point, key=KEY)  # noqa: E731
    (value, end), gradient = eqx.filter_jit(eqx.filter_value_and_grad(loss, has_aux=True))(method)

    def by_hand(energy):
        def step(y, z):
            """Algorithm 3: both new values are made of both old ones."""
            by_y, by_z = jax.grad(energy.joint_landscape(x), argnums=(0, 1))(y, z)
            return y - size * by_y, z - size * by_z

        y, z = step(*map(jax.lax.stop_gradient, step(y0, z0)))
        # The first step is not differentiated: its result is a constant of the second.
        return jnp.sum((y - problem.y) ** 2), jnp.concatenate([y.ravel(), z])

    by_hand = eqx.filter_jit(eqx.filter_value_and_grad(by_hand, has_aux=True))
    (expected, last), exact = by_hand(energy)
    assert float(value) == pytest.approx(float(expected), rel=1e-12)
    np.testing.assert_allclose(end, last, rtol=1e-12)
    for found, reference in zip(jax.tree.leaves(gradient), jax.tree.leaves(exact), strict=True):
        np.testing.assert_allclose(found, reference, rtol=1e-9, atol=1e-12)


def test_the_replay_buffer_keeps_the_scratchpad_where_its_descent_ended():
    pad = Scratchpad(MLP.for_task(ADDITION, width=8, depth=1, scratch=SIZE, key=KEY))
    training = training_of(ADDITION)
    state = init(training, irem.IREM(pad, num_steps=2), KEY)
    after, _ = eqx.filter_jit(iterate)(training, state)
    kept = jax.tree.map(lambda leaf: leaf[:BATCH], after.replay.items)
    # The first iteration has fresh starts alone.
    key_fresh = jax.random.split(jax.random.fold_in(KEY, 0), 3)[0]
    keys = jax.random.split(jax.random.split(key_fresh)[1], BATCH)
    shape = kept.problem.y.shape[1:]
    starts = [state.method.start(None, shape, key=key) for key in keys]
    for start, key in zip(starts, keys, strict=True):
        y, z = pad.split(start)
        np.testing.assert_array_equal(y, jax.random.uniform(key, shape, minval=-1.0, maxval=1.0))
        assert z.shape == pad.energy.scratch_shape(shape)
        assert np.abs(z).max() < 1
    rule = state.method.gradient
    descend = lambda x, point: rule.descend(pad, x, point, 100.0, 2)  # noqa: E731
    ends = jax.jit(jax.vmap(descend))(kept.problem.x, jnp.stack(starts))
    np.testing.assert_allclose(kept.y, ends, rtol=1e-3, atol=1e-4)
    assert np.abs(np.asarray(ends - jnp.stack(starts))[..., -SIZE:]).max() > 1e-3


def test_the_replay_buffer_has_room_for_the_scratchpad_of_every_node():
    pad = Scratchpad(GINE(width=8, depth=1, scratch=SIZE, key=KEY))
    training = training_of(PATHS)
    state = eqx.filter_eval_shape(init, training, irem.IREM(pad), KEY)
    assert state.replay.items.y.shape == (50, 10, 10 + SIZE)
    after, _ = eqx.filter_eval_shape(iterate, training, state)
    assert after.replay.items.y.shape == (50, 10, 10 + SIZE)


WELL = Scratchpad(
    from_function(
        lambda x, y, z: jnp.sum((z - x) ** 2) + jnp.sum((y - 2 * z[:, None]) ** 2),
        answer_shape=(2, 3),
        scratch=2,
    )
)
XS = np.array([[1.0, -2.0], [0.5, 3.0], [0.0, 1.0]], np.float32)


def test_solve_returns_answers_alone():
    solution = irem.solve(WELL, XS, key=KEY, starts=3)
    assert solution.y.shape == (3, 2, 3)
    # The scratchpad has found `x`, and the answer twice that.
    np.testing.assert_allclose(solution.y, np.tile(2 * XS[..., None], (1, 1, 3)), atol=0.2)


def test_a_given_guess_is_kept_and_its_scratchpad_is_drawn():
    y0 = np.ones((3, 2, 3), np.float32)
    path = irem.solve(WELL, XS, y0, key=KEY, max_steps=2, trajectory=True).trajectory
    assert path.ys.shape == (3, 3, 2, 3)
    np.testing.assert_array_equal(path.ys[:, 0], y0)
    with pytest.raises(irem.InputError, match=r"drawn at random, .* pass `key=jax.random.key"):
        irem.solve(WELL, XS, y0)


def test_predictions_are_answers_alone():
    predict = lambda x: irem.IREM(WELL, step_size=0.1).predict(x, 5, key=KEY).ys  # noqa: E731
    assert jax.eval_shape(predict, XS[0]).shape == (6, 2, 3)


def test_matrices_without_a_shape_have_numbers_for_each_row():
    pad = Scratchpad(from_function(lambda x, y, z: jnp.sum(x * y) + jnp.sum(z), scratch=2))
    y, z = pad.split(pad.begin(None, jnp.ones((4, 3)), key=KEY))
    assert (y.shape, z.shape) == ((4, 3), (4, 2))


@pytest.mark.parametrize("task", [ADDITION, PATHS])
@pytest.mark.parametrize("size", [0, SIZE])
def test_a_description_builds_the_same_form(task, size):
    kind = GINE if task is PATHS else MLP
    pad = Scratchpad(kind.for_task(task, width=8, scratch=size, key=KEY))
    method = irem.IREM(pad)
    settings = describe_method(method)
    assert settings["energy"]["scratch"] == size
    again = build_method(task, settings, key=KEY)
    assert isinstance(again.energy, Scratchpad) == (size > 0)
    assert jax.tree.structure(again) == jax.tree.structure(method)
    for one, other in zip(jax.tree.leaves(again.energy), jax.tree.leaves(pad), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_description_without_a_scratchpad_has_one_of_size_zero():
    energy = MLP.for_task(ADDITION, width=8, key=KEY)
    expected = {"name": "mlp", "width": 8, "depth": 3, "scratch": 0}
    assert describe_method(irem.IREM(energy))["energy"] == expected


def test_a_run_is_kept_loaded_and_resumed(tmp_path):
    pad = Scratchpad(MLP.for_task(ADDITION, width=8, depth=1, scratch=SIZE, key=KEY))

    def train(folder, iterations, *, resume=False):
        options = {"batch_size": BATCH, "replay": irem.Replay(capacity=20), "key": KEY}
        out = Checkpoints(tmp_path / folder, resume=resume)
        method = irem.IREM(pad, num_steps=2)
        return irem.train(ADDITION, method, iterations=iterations, out=out, **options)

    straight = train("straight", 200)
    train("resumed", 100)
    train("resumed", 200, resume=True)
    loaded = irem.load(tmp_path / "resumed")
    assert isinstance(loaded.model.energy, Scratchpad)
    for one, other in zip(
        jax.tree.leaves(straight.models), jax.tree.leaves(loaded.models), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", NAMES)
def test_sizes_below_zero_are_refused(name):
    with pytest.raises(irem.InputError, match=r"`scratch` must be 0 or more, got -1"):
        build(name, -1)


def test_what_has_no_room_for_a_scratchpad_is_refused():
    with pytest.raises(irem.InputError, match=r"room for one, .*; got a SAT"):
        Scratchpad(SAT(3))


def test_an_energy_with_room_asks_for_its_scratchpad():
    energy, x_shape, *_ = build("mlp")
    with pytest.raises(irem.InputError, match=r"\(3 numbers\) .* wrap it as `irem.energy.Scratch"):
        energy.landscape(jnp.ones(x_shape))
