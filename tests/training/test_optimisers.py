"""Any Optax transformation trains; Adam with settings is Optax's."""

import equinox as eqx
import jax
import numpy as np
import optax
import pytest

import irem
from irem.training import Adam, Checkpoints

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
