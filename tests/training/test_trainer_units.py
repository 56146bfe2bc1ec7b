"""The loop of training with chunks that are scripted, and what is checked before it."""

import signal
import types

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import irem
from irem.methods import model_bytes, num_bytes
from irem.training import (
    Adam,
    Checkpoints,
    ExponentialAverage,
    NoAverage,
    NoReplay,
    Replay,
    Training,
    init,
    trainer,
)
from irem.training.algorithm1 import StepInfo, TrainState, sample
from irem.training.folder import RunFolder
from irem.training.progress import Progress
from irem.training.run import FORMAT, History

KEY = jax.random.key(1)
TASK = irem.tasks.get("addition", size=2)


def method(**settings):
    energy = irem.energy.MLP.for_task(TASK, width=2, depth=1, key=KEY)
    return irem.IREM(energy, **settings)


def tiny():
    return Training(TASK, optax.adam(0.1), Replay(20), NoAverage(), 3)


def infos(applied, loss=1.0):
    """What iterations report: by seed and iteration, whether an update was applied."""
    ones, zero = jnp.ones(np.shape(applied)), jnp.zeros(())
    one = StepInfo(zero, zero, jnp.asarray(True), zero)
    told = lambda info: (info.loss, info.gradient_norm, info.applied, info.constant_error)  # noqa: E731
    return eqx.tree_at(told, one, (loss * ones, 2 * ones, jnp.asarray(applied), 3 * ones))


class Shown(Progress):
    """Remembers the ends that were shown."""

    def __init__(self):
        self.ends = []

    def show(self, history):
        self.ends.append(int(history.iteration[-1]))


class Folder(RunFolder):
    """Remembers what was saved."""

    def __init__(self):
        self.saved = []

    def save(self, states, history, best, *, last):
        assert best is None
        assert int(states.iteration[0]) == history.iteration[-1]
        self.saved.append((int(history.iteration[-1]), last))

    def keep_good(self):
        return "Something is kept."


def state_at(iteration):
    """As much of the state of two models as the loop looks at."""
    alone = TrainState(method(), None, None, None, KEY, jnp.asarray(0))
    return eqx.tree_at(lambda s: s.iteration, alone, np.array([iteration, iteration]))


@pytest.fixture
def loop(monkeypatch):
    """Runs the loop to an end; chunks take a second each, and diverge where told."""
    clock = types.SimpleNamespace(now=100.0)
    monkeypatch.setattr(trainer, "time", types.SimpleNamespace(monotonic=lambda: clock.now))

    def run(iterations, done=0, seconds=1e9, diverging=(), folder=None, at_chunk=None):
        lengths, shown = [], Shown()

        def chunk(training, states, length):
            assert training is given
            clock.now += 1
            lengths.append(length)
            end = int(states.iteration[0]) + length
            if at_chunk is not None:
                at_chunk(end)
            applied = np.full((2, length), end not in diverging)
            applied[1, : length // 2] = True  # of the second model, half at least
            if end in diverging:
                applied[1] = diverging[end]
            return state_at(end), infos(applied)

        monkeypatch.setattr(trainer, "run_chunk", chunk)
        given, past = tiny(), History.empty(2)
        if done:
            past = trainer._record(past, done, infos(np.ones((2, done), bool)))
        steps = trainer._Steps(given, given.task, iterations, None)
        states, history, best = trainer._loop(
            steps, state_at(done), past, None, folder, seconds, shown
        )
        assert best is None
        assert int(states.iteration[0]) == iterations
        return lengths, shown.ends, history

    return run


@pytest.mark.parametrize(
    ("iterations", "done", "lengths"),
    [
        (250, 0, [100, 100, 50]),
        (100, 0, [100]),
        (99, 0, [99]),
        (300, 150, [50, 100]),
        (120, 110, [10]),
        (100, 100, []),
    ],
)
def test_chunks_end_at_multiples_of_their_length_also_after_a_resume(
    loop, iterations, done, lengths
):
    found, ends, history = loop(iterations, done)
    assert found == lengths
    assert ends == (done + np.cumsum(lengths)).tolist()
    assert history.iteration.tolist() == [*([done] if done else []), *ends]


@pytest.mark.parametrize(
    ("seconds", "saved"),
    [(0.0, [100, 200, 300, 350]), (2.0, [200, 350]), (3.0, [300, 350]), (1e9, [350])],
)
def test_a_run_is_saved_when_due_and_at_its_end(loop, seconds, saved):
    folder = Folder()
    loop(350, seconds=seconds, folder=folder)
    assert folder.saved == [(end, end == 350) for end in saved]


def test_a_signal_saves_the_chunk_and_ends_the_training(loop):
    folder = Folder()

    def interrupted(end):
        if end == 200:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        loop(350, folder=folder, at_chunk=interrupted)
    assert folder.saved == [(200, False)]


@pytest.mark.parametrize(
    ("done", "diverging", "message"),
    [
        (0, {}, None),
        (0, {200: True}, None),  # of the second model all updates were finite
        (0, {200: False}, "between iterations 100 and 200 were not finite"),
        (0, {350: False}, "between iterations 300 and 350 were not finite"),
        (50, {100: False}, None),  # too short to tell, and not the last
        (50, {200: False}, "between iterations 100 and 200 were not finite"),
    ],
)
def test_training_stops_where_every_model_diverged_in_a_whole_chunk(loop, done, diverging, message):
    if message is None:
        loop(350, done, diverging=diverging)
        return
    with pytest.raises(irem.DivergenceError, match=message) as told:
        loop(350, done, diverging=diverging)
    assert "kept" not in str(told.value)
    with pytest.raises(irem.DivergenceError, match="Something is kept"):
        loop(350, done, diverging=diverging, folder=Folder())


def test_a_record_is_the_mean_over_the_updates_that_were_applied():
    applied = np.array([[True, True, False, True], [False] * 4, [True] * 4])
    loss = jnp.array([[1, 2, np.nan, 6], [np.nan] * 4, [1, 1, 1, 3]])
    history = trainer._record(History.empty(3), 70, infos(applied, loss))
    assert history.iteration.tolist() == [70]
    np.testing.assert_allclose(history.loss, [[3, np.nan, 1.5]])
    np.testing.assert_allclose(history.gradient_norm, [[2, np.nan, 2]])
    assert history.skipped.tolist() == [[1, 4, 0]]
    assert history.constant_error.tolist() == [[3, 3, 3]]


def test_a_key_alone_is_a_stack_of_one():
    keys, methods = trainer._stack(KEY, method())
    assert keys.shape == (1,)
    for leaf, one in zip(jax.tree.leaves(methods), jax.tree.leaves(method()), strict=True):
        assert leaf.shape == (1, *one.shape)
    pair = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), method())
    keys = jax.random.split(KEY, 2)
    assert trainer._stack(keys, pair) == (keys, pair)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (jnp.zeros(2), "must be a key of `jax.random.key"),
        (jax.random.split(KEY, 3), "asks for 3 models"),
        (jax.random.split(KEY, (2, 2)), "asks for 4 models"),
        (jax.random.split(KEY, 2)[:0], "asks for 0 models"),
    ],
    ids=["numbers", "three", "two axes", "none"],
)
def test_keys_that_do_not_fit_the_stack_are_refused(key, message):
    count = key.shape[0] if key.ndim == 1 else 2
    leading = 2 if count == 3 else count
    stack = jax.tree.map(lambda leaf: jnp.zeros((leading, *leaf.shape)), method())
    with pytest.raises(irem.InputError, match=message):
        trainer._stack(key, stack)


def stopped(monkeypatch):
    """What `train` hands to the loop, which is not run."""
    given = []

    class StopError(Exception):
        pass

    def run(*arguments):
        given.extend(arguments)
        raise StopError("reached")

    monkeypatch.setattr(trainer, "_run", run)
    monkeypatch.setattr(trainer, "_check_fit", lambda *_: None)

    def train(model, **options):
        given.clear()
        with pytest.raises(StopError):
            irem.train(TASK, model, key=KEY, **options)
        steps, *rest = given
        assert (steps.task, steps.validation) == (TASK, None)
        return [steps.training, *rest]

    return train


def test_the_defaults_of_a_training_are_the_papers(monkeypatch):
    train = stopped(monkeypatch)
    training, states, settings, checkpoints, progress = train(method())
    assert training.replay == Replay(10_000)
    assert training.average == NoAverage()
    assert training.batch_size == 128
    assert training.optimiser is Adam().transformation(10_000)
    assert (settings["iterations"], settings["batch_size"]) == (10_000, 128)
    assert settings["optimiser"] == {
        "name": "adam",
        "learning_rate": 1e-4,
        "decay": "constant",
        "clip_norm": None,
    }
    assert settings["precision"] == "default"
    assert settings["format"] == FORMAT
    assert states.iteration.shape == (1,)
    assert (checkpoints, progress) == (None, False)
    baseline = irem.methods.Feedforward.for_task(TASK, network={"width": 2, "depth": 1}, key=KEY)
    assert train(baseline)[0].replay == NoReplay()


def test_a_training_has_the_settings_it_is_given(monkeypatch, tmp_path):
    train, rule = stopped(monkeypatch), optax.sgd(0.1)
    options = {"replay": Replay(20), "average": ExponentialAverage(0.5), "optimiser": rule}
    with jax.default_matmul_precision("float32"):
        training, _, settings, checkpoints, progress = train(
            method(), iterations=7, batch_size=3, out=tmp_path, progress="lines", **options
        )
    assert (training.replay, training.average) == (Replay(20), ExponentialAverage(0.5))
    assert training.optimiser is rule
    assert settings["optimiser"] == {"name": "optax"}
    assert settings["precision"] == "float32"
    assert (settings["iterations"], settings["batch_size"]) == (7, 3)
    assert (checkpoints, progress) == (Checkpoints(tmp_path), "lines")
    kept = Checkpoints(tmp_path, resume=True)
    assert train(method(), batch_size=3, out=kept)[3] is kept


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"iterations": 0}, "`iterations` must be greater than 0"),
        ({"iterations": 2**31}, r"`iterations` must be at most 2,147,483,647, got 2,147,483,648"),
        ({"batch_size": 0}, "`batch_size` must be greater than 0"),
    ],
)
def test_lengths_out_of_bounds_are_refused(settings, message):
    with pytest.raises(irem.InputError, match=message):
        irem.train(TASK, method(), key=KEY, **settings)


def test_the_longest_training_is_not_refused(monkeypatch):
    assert stopped(monkeypatch)(method(), iterations=2**31 - 1)[2]["iterations"] == 2**31 - 1


@pytest.mark.parametrize("seeds", [1, 2])
def test_the_memory_of_a_training_is_asked_for_before_it_begins(seeds, monkeypatch):
    asked = []
    monkeypatch.setattr(trainer, "check_memory", lambda *a, **o: asked.append((a, o)))
    monkeypatch.setattr(trainer, "device_memory", lambda: 123)
    training = tiny()
    trainer._check_fit(training, method(), jax.random.split(KEY, seeds))
    (((what, needed, _), options),) = asked
    models = "1 model" if seeds == 1 else "2 models"
    assert what == f"Training {models} with batches of 3 problems"
    assert options == {"limit": 123}
    state = eqx.filter_eval_shape(init, training, method(), KEY)
    batch = num_bytes(eqx.filter_eval_shape(sample, training, method(), KEY))
    # The state twice, four batches, and every model alone.
    assert needed == seeds * (2 * num_bytes(state) + 4 * batch + model_bytes(method()))
    # Adam keeps two numbers for each weight; the buffer holds 20 candidates.
    assert num_bytes(state) > 3 * num_bytes(method()) + 20 * batch // 3


def test_one_model_of_a_stack_is_what_has_to_fit(monkeypatch):
    fitted = []
    stopped(monkeypatch)
    monkeypatch.setattr(trainer, "_check_fit", lambda _, one, k, __: fitted.append((one, k.size)))
    pair = jax.tree.map(lambda leaf: jnp.stack([leaf, 1 + leaf]), method())
    for model, key, seeds in ((method(), KEY, 1), (pair, jax.random.split(KEY, 2), 2)):
        with pytest.raises(Exception, match="reached"):
            irem.train(TASK, model, batch_size=3, key=key)
        one, keys = fitted.pop()
        assert keys == seeds
        assert eqx.tree_equal(one, method())


def test_a_method_for_other_problems_is_refused_in_one_sentence():
    other = irem.energy.MLP.for_task(irem.tasks.get("addition", size=3), width=2, depth=1, key=KEY)
    with pytest.raises(irem.InputError, match="does not fit the problems of 'addition'") as told:
        trainer._check_fit(tiny(), irem.IREM(other), KEY[None])
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (MemoryError("a lot"), True),
        (RuntimeError("RESOURCE_EXHAUSTED: a lot"), True),
        (RuntimeError("a bug"), False),
    ],
    ids=str,
)
def test_a_lack_of_memory_is_told_from_a_bug(error, told):
    expected = irem.InputError if told else RuntimeError
    message = "needs more memory than there is" if told else "a bug"
    with pytest.raises(expected, match=message), trainer._told_if_out_of_memory():
        raise error
