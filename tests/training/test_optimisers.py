"""Any Optax transformation trains; Adam with settings is Optax's."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import irem
from irem.training import Adam, AdamW, Checkpoints

TASK = irem.tasks.get("addition", size=4)
KEY = jax.random.key(1)


def train(optimiser, out=None, iterations=200):
    energy = irem.energy.MLP.for_task(TASK, width=8, key=jax.random.key(0))
    return irem.train(
        TASK,
        irem.IREM(energy),
        iterations=iterations,
        batch_size=4,
        optimiser=optimiser,
        replay=irem.Replay(capacity=50),
        key=KEY,
        out=out,
    )


def bits(run):
    leaves = jax.tree.leaves(eqx.filter(run.models, eqx.is_array))
    return [np.asarray(leaf).tobytes() for leaf in leaves]


OTHERS = {
    "sgd": optax.sgd(1e-3, momentum=0.9),
    "chain": optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.scale_by_adam(),
        optax.add_decayed_weights(1e-3),  # needs the weights beside the gradient
        optax.scale_by_learning_rate(optax.linear_schedule(1e-3, 1e-2, 200)),
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_any_transformation_trains_and_resumes_bit_identically(name, tmp_path):
    straight = train(OTHERS[name], tmp_path / "straight")
    assert straight.history.loss[-1, 0] < 0.9 * straight.history.loss[0, 0]
    assert straight.history.skipped.sum() == 0
    assert straight.settings["optimiser"] == {"name": "optax"}
    train(OTHERS[name], tmp_path / "run", iterations=100)
    resumed = train(OTHERS[name], Checkpoints(tmp_path / "run", resume=True))
    assert bits(resumed) == bits(straight) == bits(irem.load(tmp_path / "run"))
    with pytest.raises(irem.InputError, match=r"optimiser\.name was optax, now adam"):
        train(Adam(), Checkpoints(tmp_path / "run", resume=True), iterations=300)


@pytest.mark.parametrize(
    ("settings", "equal"),
    [
        ({}, optax.adam(1e-4)),
        (
            {"learning_rate": 1e-3, "decay": "cosine", "clip_norm": 0.1},
            optax.chain(
                optax.clip_by_global_norm(0.1), optax.adam(optax.cosine_decay_schedule(1e-3, 200))
            ),
        ),
    ],
    ids=["defaults", "decay and clipping"],
)
def test_adam_with_settings_is_that_of_optax(settings, equal):
    assert bits(train(Adam(**settings))) == bits(train(equal))


def updates(optimiser, iterations, gradients):
    """The updates of one number for gradients in a row."""
    rule = optimiser.transformation(iterations)
    state, found = rule.init(jnp.zeros(2)), []
    for gradient in gradients:
        update, state = rule.update(jnp.asarray(gradient), state, jnp.zeros(2))
        found.append(np.asarray(update))
    return np.array(found)


@pytest.mark.parametrize("iterations", [10, 40])
def test_the_learning_rate_falls_to_zero_at_the_end_of_training(iterations):
    ones = np.ones((iterations + 1, 2), np.float32)
    found = updates(Adam(0.1, decay="cosine"), iterations, ones)
    # The updates of Adam for a gradient that stays the same are the learning rate.
    rates = 0.05 * (1 + np.cos(np.pi * np.arange(iterations + 1) / iterations))
    np.testing.assert_allclose(-found[:, 0], rates, rtol=1e-4, atol=1e-6)
    assert abs(found[-1, 0]) < 1e-6
    constant = updates(Adam(0.1), iterations, ones)
    np.testing.assert_allclose(-constant, 0.1, rtol=1e-4)


def test_the_learning_rate_of_adamw_rises_at_first_and_falls_to_zero():
    ones = np.ones((9, 2), np.float32)
    found = updates(AdamW(0.1, weight_decay=0.0, warm_up=4, clip_norm=None), 8, ones)
    rates = 0.05 * (1 + np.cos(np.pi * np.arange(9) / 8)) * np.minimum(1, np.arange(1, 10) / 4)
    np.testing.assert_allclose(-found[:, 0], rates, rtol=1e-4, atol=1e-6)


def test_weights_decay_by_the_learning_rate_and_not_by_the_size_of_gradients():
    rule = AdamW(0.1, weight_decay=0.5, warm_up=0).transformation(10)
    weights = jnp.array([2.0, -4.0])
    update, _ = rule.update(jnp.zeros(2), rule.init(weights), weights)
    np.testing.assert_allclose(update, -0.1 * 0.5 * weights, rtol=1e-6)


def test_adamw_clips_gradients():
    gradients = np.array([[300.0, 400.0], [0.5, 0.0]], np.float32)
    clipped = updates(AdamW(warm_up=0), 10, gradients)
    by_hand = updates(AdamW(warm_up=0, clip_norm=None), 10, [[0.6, 0.8], [0.5, 0.0]])
    np.testing.assert_allclose(clipped, by_hand, rtol=1e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"weight_decay": -0.1},
        {"weight_decay": float("nan")},
        {"warm_up": -1},
        {"clip_norm": 0.0},
        {"learning_rate": 0.0},
    ],
)
def test_negative_settings_are_refused(wrong):
    with pytest.raises(irem.InputError):
        AdamW(**wrong)


def test_a_training_decays_over_its_own_length(monkeypatch):
    lengths, transformation = [], Adam.transformation

    def recorded(self, iterations):
        lengths.append(iterations)
        return transformation(self, iterations)

    monkeypatch.setattr(Adam, "transformation", recorded)
    train(Adam(decay="cosine"))
    assert lengths == [200]


def test_gradients_are_clipped_before_adam_and_not_after():
    gradients = np.array([[3.0, 4.0], [0.003, 0.0], [0.0, 0.5], [30.0, 0.0]], np.float32)
    found = updates(Adam(0.1, clip_norm=1.0), 10, gradients)
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    clipped = gradients / np.maximum(norms, 1)
    mean = square = np.zeros(2)
    for t, (gradient, update) in enumerate(zip(clipped, found, strict=True), 1):
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        adam = mean / (1 - 0.9**t) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
        np.testing.assert_allclose(update, -0.1 * adam, rtol=1e-4)
    # Without clipping, the first gradient would outweigh the others.
    assert not np.allclose(found[1:], updates(Adam(0.1), 10, gradients)[1:], rtol=0.1)


def test_adam_is_the_default():
    assert bits(train(None, iterations=100)) == bits(train(Adam(), iterations=100))


def test_the_same_settings_are_the_same_transformation():
    # Another object would be compiled anew.
    for settings in ({}, {"decay": "cosine"}, {"clip_norm": 0.5}):
        one, other = (Adam(**settings).transformation(100) for _ in range(2))
        assert one is other
    assert Adam(decay="cosine").transformation(100) is not Adam(decay="cosine").transformation(200)
    assert Adam().transformation(100) is Adam().transformation(200)


def test_a_run_of_fixed_length_is_not_extended(tmp_path):
    optimiser = Adam(decay="cosine")
    train(optimiser, tmp_path / "run", iterations=100)
    with pytest.raises(irem.InputError, match=r"iterations was 100, now 200"):
        train(optimiser, Checkpoints(tmp_path / "run", resume=True), iterations=200)
