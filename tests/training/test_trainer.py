"""A run as a folder: what it keeps, how it resumes, what it refuses."""

import dataclasses
import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import equinox as eqx
import jax
import numpy as np
import pytest
import safetensors
import safetensors.numpy
from tensorboardX.proto.event_pb2 import Event

import irem
from irem.files import write_whole
from irem.interrupt import exit_code
from irem.training import Adam, Checkpoints, ExponentialAverage, trainer
from irem.training.run import FORMAT

TASK = irem.tasks.get("addition", size=4)
KEY = jax.random.key(1)


def method(key=None, **settings):
    key = jax.random.key(0) if key is None else key
    return irem.IREM(irem.energy.MLP.for_task(TASK, width=8, key=key), **settings)


def train(out=None, iterations=300, model=None, resume=False, **settings):
    model = method() if model is None else model
    options = {"batch_size": 4, "replay": irem.Replay(capacity=50), "key": KEY}
    options |= {"optimiser": Adam(learning_rate=1e-3)} | settings
    out = Checkpoints(out, resume=True) if resume else out
    return irem.train(TASK, model, iterations=iterations, out=out, **options)


def bits(run):
    return [
        np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(eqx.filter(run.models, eqx.is_array))
    ]


def scalars(folder):
    """Every (tag, step, value) of the TensorBoard files of a folder."""
    found = []
    for path in sorted(folder.glob("events.*")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            event = Event.FromString(data[at + 12 : at + 12 + length])
            found += [(v.tag, event.step, v.simple_value) for v in event.summary.value]
            at += 16 + length
    return found


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """A run that nothing disturbed."""
    return train(tmp_path_factory.mktemp("runs") / "straight")


def test_a_run_can_be_loaded_again(straight):
    loaded = irem.load(straight.path)
    assert bits(loaded) == bits(straight)
    assert loaded.iteration == 300
    assert loaded.task == TASK
    np.testing.assert_array_equal(loaded.history.loss, straight.history.loss)
    assert loaded.model.step_size == 100.0
    assert loaded.settings == straight.settings
    assert loaded.settings["precision"] == "default"


def test_training_lowers_the_loss(straight):
    assert straight.history.loss[-1, 0] < 0.5 * straight.history.loss[0, 0]


def test_scalars_are_written_for_tensorboard(straight):
    written = {(tag, step): value for tag, step, value in scalars(straight.path)}
    for row, step in enumerate((100, 200, 300)):
        assert written["loss", step] == pytest.approx(straight.history.loss[row, 0], rel=1e-6)
        assert written["skipped_updates", step] == 0
        assert written["iterations_per_second", step] > 0


def test_an_extended_run_is_bit_identical_to_one_that_ran_through(straight, tmp_path):
    train(tmp_path / "run", iterations=150)
    run = train(tmp_path / "run", resume=True)
    assert bits(run) == bits(straight)


def after_chunk(monkeypatch, number, change):
    """Change state and report of the chunks from `number` on."""
    run_chunk, calls = trainer.run_chunk, []

    def changed(*arguments):
        calls.append(None)
        ended = run_chunk(*arguments)
        return change(*ended) if len(calls) >= number else ended

    monkeypatch.setattr(trainer, "run_chunk", changed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_the_chunk_and_the_resumed_run_is_bit_identical(
    straight, tmp_path, monkeypatch, number
):
    def signalled(*ended):
        signal.raise_signal(number)
        return ended

    after_chunk(monkeypatch, 2, signalled)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "run")
    monkeypatch.undo()
    assert exit_code() == 128 + number
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert irem.load(tmp_path / "run").iteration == 200
    assert bits(train(tmp_path / "run", resume=True)) == bits(straight)


@pytest.fixture
def dead():
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_run_killed_before_its_first_checkpoint_starts_again(straight, tmp_path, dead):
    train(tmp_path / "run", iterations=100)
    (tmp_path / "run" / "checkpoint.safetensors").unlink()
    (tmp_path / "run" / f".checkpoint.safetensors.{dead}.unfinished").write_bytes(b"half")
    with pytest.raises(ValueError, match="before its first checkpoint"):
        irem.load(tmp_path / "run")
    assert bits(train(tmp_path / "run", resume=True)) == bits(straight)
    assert not list((tmp_path / "run").glob(".*"))


@pytest.mark.parametrize(
    "error", [MemoryError(), jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory")]
)
def test_a_run_that_ran_out_of_memory_leaves_a_folder_that_can_be_used(
    straight, tmp_path, monkeypatch, error
):
    def exhausted(*_):
        raise error

    for resume in (True, False):
        monkeypatch.setattr(trainer, "run_chunk", exhausted)
        with pytest.raises(irem.InputError) as told:
            train(tmp_path / f"{resume}", batch_size=5)
        monkeypatch.undo()
        assert "needs more memory than there is; choose a smaller batch size" in str(told.value)
        # With the other settings that were asked for.
        assert bits(train(tmp_path / f"{resume}", resume=resume)) == bits(straight)


def test_other_errors_are_not_taken_for_a_lack_of_memory(monkeypatch):
    def broken(*_):
        raise RuntimeError("a bug")

    monkeypatch.setattr(trainer, "run_chunk", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        train()


def test_a_folder_with_something_beside_a_run_without_checkpoint_is_not_used(tmp_path):
    train(tmp_path / "run", iterations=100)
    (tmp_path / "run" / "checkpoint.safetensors").unlink()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    with pytest.raises(irem.InputError, match="already holds a run"):
        train(tmp_path / "run")


def test_several_seeds_are_kept_together(tmp_path, straight):
    keys = jax.random.split(jax.random.key(3), 2)
    models = eqx.filter_vmap(method)(keys)
    run = train(tmp_path / "run", iterations=100, model=models, key=keys)
    loaded = irem.load(tmp_path / "run")
    assert bits(loaded) == bits(run)
    assert len(set(bits(run))) == len(bits(run))
    with pytest.raises(ValueError, match="choose one with"):
        _ = loaded.model


def test_an_energy_of_ones_own_is_loaded_with_like(tmp_path):
    class Own(irem.energy.AbstractEnergy):
        inner: irem.energy.MLP

        def landscape(self, x):
            return self.inner.landscape(x)

        @property
        def format(self):
            return self.inner.format

    own = irem.IREM(Own(method().energy))
    run = train(tmp_path / "run", iterations=100, model=own)
    with pytest.raises(ValueError, match="Unknown energy"):
        irem.load(tmp_path / "run")
    assert bits(irem.load(tmp_path / "run", like=own)) == bits(run)


def test_a_run_on_a_task_of_ones_own_is_loaded_with_task(tmp_path):
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Own(type(TASK)):
        name: ClassVar[str] = "own"

    run = irem.train(
        Own(size=4), method(), iterations=1, batch_size=4, key=KEY, out=tmp_path / "run"
    )
    with pytest.raises(ValueError, match="Unknown task 'own'"):
        irem.load(tmp_path / "run")
    assert bits(irem.load(tmp_path / "run", task=Own(size=4))) == bits(run)


def skip(states, infos):
    """As if no update had been finite."""
    return states, eqx.tree_at(lambda i: i.applied, infos, replace_fn=np.zeros_like)


def enlarge(states, infos):
    """As if the loss had been far above that of any model."""
    return states, eqx.tree_at(lambda i: i.loss, infos, replace_fn=lambda loss: 1e6 + 0 * loss)


def diverge_at(monkeypatch, large, skipped):
    """The loss is large from a chunk on, and updates are not finite from a later one on."""
    after_chunk(monkeypatch, large, enlarge)
    after_chunk(monkeypatch, skipped, skip)


def train_at_once(path, **settings):
    return train(Checkpoints(path, seconds=0.0), **settings)


def test_the_state_that_is_kept_was_good_by_its_loss(tmp_path, monkeypatch):
    diverge_at(monkeypatch, large=2, skipped=4)
    with pytest.raises(irem.DivergenceError, match="between iterations 300 and 400") as told:
        train_at_once(tmp_path / "run", iterations=500)
    assert "The last good state, of iteration 100, is kept in" in str(told.value)
    kept = irem.load(tmp_path / "run")
    assert kept.iteration == 100
    assert kept.history.good.all()


def test_no_state_is_called_good_if_none_was(straight, tmp_path, monkeypatch):
    diverge_at(monkeypatch, large=1, skipped=3)
    with pytest.raises(irem.DivergenceError, match="No state before was good, and none is kept"):
        train_at_once(tmp_path / "run", iterations=500)
    with pytest.raises(irem.InputError, match="has no checkpoint"):
        irem.load(tmp_path / "run")
    monkeypatch.undo()
    assert bits(train(tmp_path / "run")) == bits(straight)


def test_a_run_that_was_never_good_is_kept_while_it_goes_on(straight, tmp_path, monkeypatch):
    def signalled(states, infos):
        signal.raise_signal(signal.SIGTERM)
        return enlarge(states, infos)

    after_chunk(monkeypatch, 1, signalled)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "run")
    monkeypatch.undo()
    assert irem.load(tmp_path / "run").iteration == 100
    after_chunk(monkeypatch, 1, skip)
    with pytest.raises(irem.DivergenceError, match="The state, of iteration 100, is kept in"):
        train(tmp_path / "run", resume=True)
    monkeypatch.undo()
    assert bits(train(tmp_path / "run", resume=True)) == bits(straight)


def test_a_loss_far_above_that_of_a_constant_answer_is_told(straight, tmp_path, monkeypatch):
    assert not straight.history.far_above_constant.any()
    # Entries of the answers are sums of two uniform numbers, of variance 2 / 3.
    np.testing.assert_allclose(straight.history.constant_error, 2 / 3, rtol=0.1)
    after_chunk(monkeypatch, 3, enlarge)
    run = train(tmp_path / "run")
    assert run.history.far_above_constant.tolist() == [True]
    assert run.diverged == ()
    # Training was not stopped, so that its end is what is kept.
    assert bits(irem.load(tmp_path / "run")) == bits(run) == bits(straight)


def test_a_run_whose_every_update_is_not_finite_is_stopped(tmp_path):
    with pytest.raises(irem.DivergenceError, match=r"Training diverged.*smaller learning rate"):
        train(tmp_path / "run", model=method(step_size=1e38))
    with pytest.raises(irem.InputError, match="has no checkpoint"):
        irem.load(tmp_path / "run")
    with pytest.raises(irem.DivergenceError, match="between iterations 0 and 30"):
        train(tmp_path / "run", iterations=30, model=method(step_size=1e38))


def test_a_good_checkpoint_is_not_replaced_by_a_diverged_one(tmp_path, monkeypatch):
    train(tmp_path / "run", iterations=100)
    good = (tmp_path / "run" / "checkpoint.safetensors").read_bytes()
    run_chunk = trainer.run_chunk

    def diverge(training, states, length):
        first_bias = lambda s: s.method.energy.layers[0].bias  # noqa: E731
        states = eqx.tree_at(first_bias, states, replace_fn=lambda b: b * np.nan)
        return run_chunk(training, states, length)

    monkeypatch.setattr(trainer, "run_chunk", diverge)
    with pytest.raises(irem.DivergenceError, match="last good state, of iteration 100, is kept"):
        train(tmp_path / "run", iterations=300, resume=True)
    assert (tmp_path / "run" / "checkpoint.safetensors").read_bytes() == good


def test_parameters_that_are_not_finite_are_never_kept(tmp_path):
    with pytest.raises(irem.DivergenceError, match=r"were not finite\. No state"):
        train(tmp_path / "run", iterations=200, optimiser=Adam(learning_rate=3e38))
    assert not (tmp_path / "run" / "checkpoint.safetensors").exists()


def poison(path, model):
    """Put a number that is not finite into the weights of one model of a run."""
    arrays = dict(safetensors.numpy.load_file(path / "checkpoint.safetensors"))
    name = "['state'].method.energy.layers[0].bias"
    arrays[name] = arrays[name].copy()
    arrays[name][model, 0] = np.inf
    safetensors.numpy.save_file(arrays, path / "checkpoint.safetensors")


def test_the_models_beside_one_that_diverged_are_kept(tmp_path):
    keys = jax.random.split(jax.random.key(3), 2)
    pair = {"model": eqx.filter_vmap(method)(keys), "key": keys}
    train(tmp_path / "run", iterations=100, **pair)
    poison(tmp_path / "run", model=1)
    broken = irem.load(tmp_path / "run")
    whole = train(iterations=200, **pair)
    run = train(tmp_path / "run", iterations=200, resume=True, **pair)
    kept = irem.load(tmp_path / "run")
    assert (broken.diverged, run.diverged, kept.diverged, whole.diverged) == ((1,), (1,), (1,), ())
    assert kept.iteration == 200
    for found in (run, kept):
        model = lambda r, i: bits(dataclasses.replace(r, models=(r.models[i],)))  # noqa: E731
        assert model(found, 0) == model(whole, 0)
        assert model(found, 1) == model(broken, 1)
    assert kept.history.skipped[-1].tolist() == [0, 100]


def test_a_run_that_is_loaded_while_its_checkpoint_is_replaced_is_one_of_the_two(
    tmp_path, monkeypatch
):
    run = tmp_path / "run"
    train(run, iterations=100)
    states = [(run / "checkpoint.safetensors").read_bytes()]
    runs = [irem.load(run)]
    train(run, iterations=200, resume=True)
    states.insert(0, (run / "checkpoint.safetensors").read_bytes())
    runs.append(irem.load(run))
    safe_open = safetensors.safe_open

    def replaced_once_open(path, **options):
        file = safe_open(path, **options)
        states.reverse()
        write_whole(path, states[0])
        return file

    monkeypatch.setattr(safetensors, "safe_open", replaced_once_open)
    for expected in (runs[1], runs[0]):
        loaded = irem.load(run)
        assert bits(loaded) == bits(expected)
        assert loaded.iteration == expected.iteration == loaded.history.iteration[-1]
        np.testing.assert_array_equal(loaded.history.loss, expected.history.loss)


def test_one_process_at_a_time_trains_in_a_folder(tmp_path, straight):
    folder = os.open(straight.path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        with pytest.raises(ValueError, match="Another process is training"):
            train(straight.path, resume=True)
    finally:
        os.close(folder)
    assert bits(train(straight.path, resume=True)) == bits(straight)


def test_a_refused_run_touches_nothing_in_the_folder(straight, tmp_path, dead):
    leftover = straight.path / f".checkpoint.safetensors.{dead}.unfinished"
    leftover.write_bytes(b"another process is writing this")
    with pytest.raises(ValueError, match="already holds a run"):
        train(straight.path)
    assert leftover.exists()
    leftover.unlink()
    (tmp_path / ".mine.unfinished").write_bytes(b"mine")
    with pytest.raises(ValueError, match="is not a run"):
        train(tmp_path, resume=True)
    assert (tmp_path / ".mine.unfinished").exists()


def test_a_run_killed_at_birth_leaves_a_folder_that_can_be_used(tmp_path, dead):
    (tmp_path / f".run.json.{dead}.unfinished").write_bytes(b"{")
    train(tmp_path, iterations=1)
    assert irem.load(tmp_path).iteration == 1
    assert not list(tmp_path.glob(".*"))


def test_a_method_that_does_not_fit_the_task_is_refused_before_anything_is_written(tmp_path):
    other = irem.tasks.get("addition", size=5)
    energy = irem.energy.MLP.for_task(other, width=8, key=jax.random.key(0))
    with pytest.raises(ValueError, match="does not fit the problems of 'addition'"):
        train(tmp_path / "run", model=irem.IREM(energy))
    assert not (tmp_path / "run").exists()


def test_cosine_decay_and_clipping_change_the_updates(straight):
    for changed in ({"decay": "cosine"}, {"clip_norm": 1e-3}):
        optimiser = Adam(learning_rate=1e-3, **changed)
        assert bits(train(optimiser=optimiser)) != bits(straight)
    assert bits(train(replay=irem.NoReplay())) != bits(straight)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"iterations": 0}, "`iterations` must be greater than 0, got 0"),
        ({"batch_size": -3}, "`batch_size` must be greater than 0"),
        ({"replay": irem.Replay(capacity=7)}, "raise its capacity"),
        ({"key": jax.random.PRNGKey(0)}, "must be a key of `jax.random.key"),
        ({"key": jax.random.split(KEY, 3)}, "asks for 3 models"),
    ],
)
def test_bad_settings_are_refused_before_anything_is_written(settings, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        train(tmp_path / "run", **settings)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Adam(learning_rate=float("nan")), "`learning_rate` must be greater than 0"),
        (lambda: Adam(learning_rate=float("inf")), "`learning_rate` must be finite"),
        (lambda: Adam(decay="cosin"), "Did you mean 'cosine'"),
        (lambda: Adam(clip_norm=0.0), "`clip_norm` must be greater than 0"),
        (lambda: ExponentialAverage(decay=0.0), "`decay` must be between 0 and 1, got 0.0"),
        (lambda: ExponentialAverage(decay=1.0), "`decay` must be between 0 and 1, got 1.0"),
        (lambda: ExponentialAverage(decay=float("nan")), "`decay` must be between 0 and 1"),
        (lambda: Checkpoints(Path("run"), seconds=-1.0), "must be 0 or more, got -1.0"),
        (lambda: Checkpoints(Path("run"), seconds=float("nan")), "must be 0 or more, got nan"),
    ],
)
def test_bad_settings_of_parts_are_refused(make, message):
    with pytest.raises(irem.InputError, match=message):
        make()


def test_a_folder_that_holds_something_else_is_refused(tmp_path, straight):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="exists and is not a run"):
        train(tmp_path, resume=True)
    with pytest.raises(ValueError, match="is a file"):
        train(tmp_path / "notes.txt")
    with pytest.raises(ValueError, match="already holds a run"):
        train(straight.path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_run_is_not_resumed_with_other_settings(straight):
    before = (straight.path / "run.json").read_text()
    with pytest.raises(ValueError, match="batch_size was 4, now 5"):
        train(straight.path, resume=True, batch_size=5)
    with pytest.raises(ValueError, match="has done 300 iterations already"):
        train(straight.path, resume=True, iterations=200)
    assert (straight.path / "run.json").read_text() == before


def damaged(path, straight, change):
    path.mkdir()
    for name in ("run.json", "checkpoint.safetensors"):
        (path / name).write_bytes((straight.path / name).read_bytes())
    change(path)
    return path


def truncate(path):
    whole = (path / "checkpoint.safetensors").read_bytes()
    (path / "checkpoint.safetensors").write_bytes(whole[: len(whole) // 2])


def edit(**changes):
    def change(path):
        settings = json.loads((path / "run.json").read_text())
        (path / "run.json").write_text(json.dumps({**settings, **changes}))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (truncate, "is truncated or damaged"),
        (
            lambda path: (path / "checkpoint.safetensors").write_bytes(b""),
            "is truncated or damaged",
        ),
        (lambda path: (path / "run.json").write_text('{"format": 1'), "is truncated or damaged"),
        (lambda path: (path / "run.json").write_text("[]"), "is truncated or damaged"),
        (lambda path: (path / "run.json").unlink(), "is not a run"),
        (edit(format=FORMAT + 1), "install a newer irem"),
        (edit(format=1), r"convert it with `python tools/upgrade_run\.py .*run`"),
        (edit(format=None), "is truncated or damaged"),
        (edit(method="x"), "is damaged"),
        (edit(energy="mlp"), "is damaged"),
        (edit(average=None), "is damaged"),
        (edit(task={"name": "subtraction"}), "Unknown task 'subtraction'"),
        (edit(method={}), "is damaged"),
        (edit(task={"name": "addition", "size": 5}), "was not written for this run"),
    ],
)
def test_a_damaged_run_is_refused_with_one_sentence(change, message, straight, tmp_path):
    path = damaged(tmp_path / "run", straight, change)
    with pytest.raises(ValueError, match=message):
        irem.load(path)


def test_a_folder_that_is_empty_or_missing_is_no_run(tmp_path):
    with pytest.raises(ValueError, match="is not a run"):
        irem.load(tmp_path)
    with pytest.raises(ValueError, match="There is no run at"):
        irem.load(tmp_path / "nowhere")
