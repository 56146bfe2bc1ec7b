"""An average of the weights beside the same average written out as a loop."""

import shutil
import signal
import subprocess
import sys
import time

import equinox as eqx
import jax
import numpy as np
import pytest
import safetensors.numpy

import irem
from irem.training import (
    Adam,
    Checkpoints,
    ExponentialAverage,
    Training,
    finish,
    init,
    iterate,
    iterations_done,
)

TASK = irem.tasks.get("addition", size=4)
KEY = jax.random.key(1)
# So small that the decay has reached it after 8 iterations.
AVERAGE = ExponentialAverage(decay=0.5)
OPTIMISER = Adam(learning_rate=1e-2)
REPLAY = irem.Replay(capacity=50)
AVERAGED, LAST = "['state'].average", "['state'].method"


def method():
    return irem.IREM(irem.energy.MLP.for_task(TASK, width=8, key=jax.random.key(0)))


def train(out=None, iterations=300, average=AVERAGE):
    options = {"optimiser": OPTIMISER, "replay": REPLAY, "batch_size": 4, "key": KEY}
    return irem.train(TASK, method(), iterations=iterations, average=average, out=out, **options)


def leaves(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))]


def bits(run):
    return [leaf.tobytes() for leaf in leaves(run.models)]


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A run that nothing disturbed."""
    return train(tmp_path_factory.mktemp("runs") / "straight")


@pytest.fixture
def copy(straight, tmp_path):
    return shutil.copytree(straight.path, tmp_path / "copy")


def test_the_average_is_that_of_a_loop_over_the_weights_of_every_iteration():
    training = Training(TASK, OPTIMISER.transformation(20), REPLAY, AVERAGE, 4)
    state, step = init(training, method(), KEY), eqx.filter_jit(iterate)
    expected = [leaf.astype(np.float64) for leaf in leaves(method())]
    for t in range(20):
        state, _ = step(training, state)
        decay = min(0.5, (1 + t) / (10 + t))
        pairs = zip(expected, leaves(state.method), strict=True)
        expected = [decay * mean + (1 - decay) * new for mean, new in pairs]
    found = leaves(AVERAGE.read(state.average, state.method))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    # It differs from the last weights by much more than that.
    assert max(np.abs(a - b).max() for a, b in zip(found, leaves(state.method), strict=True)) > 1e-3
    # Training ends with it. A chunk is compiled as a whole, so it rounds differently.
    for a, b in zip(leaves(train(iterations=20).model), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


def test_the_average_does_not_change_the_training(straight, tmp_path):
    last = train(tmp_path / "run", average=None)
    kept = safetensors.numpy.load_file(straight.path / "checkpoint.safetensors")
    plain = safetensors.numpy.load_file(tmp_path / "run" / "checkpoint.safetensors")
    names = [name for name in plain if name.startswith(LAST)]
    assert names
    # Another program, which may round differently.
    for name in names:
        np.testing.assert_allclose(kept[name], plain[name], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(last.history.loss, straight.history.loss, rtol=1e-3)
    assert bits(last) != bits(straight)


def test_the_average_is_what_is_loaded_also_after_the_run_is_finished(straight, copy):
    assert straight.settings["average"] == {"name": "exponential", "decay": 0.5}
    assert bits(irem.load(copy)) == bits(straight)
    finish(copy)
    kept = safetensors.numpy.load_file(copy / "checkpoint.safetensors")
    assert any(name.startswith(AVERAGED) for name in kept)
    assert not any(name.startswith(LAST) for name in kept)
    loaded = irem.load(copy)
    assert bits(loaded) == bits(straight)
    assert loaded.iteration == 300
    finish(copy, half=True)
    for a, b in zip(leaves(irem.load(copy).model), leaves(straight.model), strict=True):
        np.testing.assert_array_equal(a, b.astype(np.float16).astype(np.float32))


def test_an_extended_run_has_the_average_of_one_that_ran_through(straight, tmp_path):
    half = train(tmp_path / "run", iterations=150)
    assert bits(half) != bits(straight)
    resumed = train(Checkpoints(tmp_path / "run", resume=True))
    assert bits(resumed) == bits(straight) == bits(irem.load(tmp_path / "run"))


@pytest.mark.parametrize("average", [None, ExponentialAverage(decay=0.9)])
def test_a_run_is_not_resumed_with_another_average(straight, average):
    with pytest.raises(irem.InputError, match=r"average\.(name|decay) was .*, now "):
        train(Checkpoints(straight.path, resume=True), average=average)


# The training of this file as a program of its own, which is too long to end by itself.
PROGRAM = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import test_averages
out = test_averages.Checkpoints(Path(sys.argv[2]), resume=True, seconds=0)
test_averages.train(out, iterations=10**9)
"""


def test_a_run_that_was_killed_has_the_average_of_one_that_was_not(request, tmp_path):
    path = tmp_path / "run"
    command = [sys.executable, "-c", PROGRAM, str(request.path.parent), str(path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        while not (path / "checkpoint.safetensors").exists():
            assert process.poll() is None, process.stderr.read().decode()
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    done = iterations_done(path)
    assert done > 0
    whole = done + 150
    resumed = train(Checkpoints(path, resume=True), iterations=whole)
    assert resumed.iteration == whole
    assert bits(resumed) == bits(train(iterations=whole))
