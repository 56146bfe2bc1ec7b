"""Trees of arrays in a file, and the folder of a run that keeps them."""

import dataclasses
import json
import os

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import irem
from irem.methods import AbstractMethod
from irem.training import Checkpoints, finish, is_finished
from irem.training.algorithm1 import TrainState
from irem.training.checkpoint import ArrayFile, keep_arrays, save_arrays
from irem.training.folder import RunFolder, _check_same, _difference, _same
from irem.training.run import FORMAT, History
from irem.training.scalars import EVENTS

KEYS = jax.random.split(jax.random.key(3), 2)


def tree():
    return {"w": jnp.arange(6.0).reshape(2, 3), "keys": KEYS, "n": jnp.array(4), "name": "mine"}


def shapes(tree):
    """Mere shapes in place of arrays."""
    arrays, rest = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.eval_shape(lambda: arrays), rest)


@pytest.mark.parametrize("like", [lambda t: t, shapes], ids=["arrays", "shapes"])
def test_what_is_saved_is_read_and_the_rest_is_as_before(like, tmp_path):
    save_arrays(tmp_path / "a", {"state": tree()})
    assert not any("name" in name for name in safetensors.numpy.load_file(tmp_path / "a"))
    with ArrayFile.open(tmp_path / "a") as file:
        found = file.read(like(tree()), "['state']")
        assert file.shapes("['state']['w']") == {"['state']['w']": (2, 3)}
    np.testing.assert_array_equal(found["w"], tree()["w"])
    assert (found["keys"] == KEYS).all()
    assert (int(found["n"]), found["name"]) == (4, "mine")


@pytest.mark.parametrize(
    ("kept", "asked", "fits"),
    [
        (np.zeros(3, np.float32), np.float32, True),
        (np.zeros(3, np.float16), np.float32, True),
        (np.zeros(3, np.float16), np.float16, True),
        (np.zeros(3, np.float16), np.int32, False),
        (np.zeros(3, np.float32), np.float16, False),
        (np.zeros(3, np.int32), np.float32, False),
        (np.zeros(4, np.float32), np.float32, False),
        (np.zeros(4, np.float16), np.float32, False),
    ],
)
def test_arrays_have_the_shape_and_the_type_asked_for_or_half_of_it(kept, asked, fits, tmp_path):
    safetensors.numpy.save_file({"['w']": kept}, tmp_path / "a")
    like = {"w": jax.ShapeDtypeStruct((3,), asked)}
    with ArrayFile.open(tmp_path / "a") as file:
        if fits:
            assert file.read(like)["w"].dtype == asked
            return
        with pytest.raises(irem.InputError, match="was not written for this run"):
            file.read(like)


def test_arrays_that_are_not_kept_are_dropped_and_some_are_halved(tmp_path):
    arrays = {
        "model.w": np.array([0.1], np.float32),
        "model.n": np.array([3], np.int32),
        "history": np.array([0.1], np.float32),
        "optimiser": np.array([0.1], np.float32),
    }
    safetensors.numpy.save_file(arrays, tmp_path / "a")
    keep_arrays(tmp_path / "a", ("model", "history"))
    found = safetensors.numpy.load_file(tmp_path / "a")
    assert {name: array.dtype.name for name, array in found.items()} == {
        "model.w": "float32",
        "model.n": "int32",
        "history": "float32",
    }
    keep_arrays(tmp_path / "a", ("model", "history"), half="model")
    found = safetensors.numpy.load_file(tmp_path / "a")
    assert {name: array.dtype.name for name, array in found.items()} == {
        "model.w": "float16",
        "model.n": "int32",
        "history": "float32",
    }


class Weights(AbstractMethod):
    """A method of which only the weights are kept."""

    w: jax.Array

    @property
    def format(self):
        raise NotImplementedError

    def loss(self, problem, y0, *, key):
        raise NotImplementedError

    def predict(self, x, num_steps, *, key):
        raise NotImplementedError


SETTINGS = {
    "format": FORMAT,
    "version": "9",
    "iterations": 300,
    "optimiser": {"name": "adam", "decay": "constant"},
    "average": {"name": "none"},
    "keys": [[0, 1]],
}


def state(weight=1.0, iteration=0):
    """The state of one model, with a leading axis of seeds."""
    method = Weights(jnp.array(weight))
    alone = TrainState(method, None, None, None, KEYS[0], jnp.array(iteration))
    return jax.tree.map(lambda leaf: leaf[None], alone)


def history(*ends, loss=1.0):
    made = History.empty(1)
    for end in ends:
        made = made.append(
            iteration=end, loss=[loss], gradient_norm=[1.0], skipped=[0], constant_error=[1.0]
        )
    return made


def begun(path, resume=False, settings=SETTINGS):
    """A folder that is held, with what it begins with."""
    with RunFolder.hold(path, settings, resume=resume) as folder:
        return folder, *folder.start(settings, state(), history())


GOOD, BAD = 1.0, 1e9


def test_a_run_goes_on_from_its_last_checkpoint(tmp_path):
    path = tmp_path / "deep" / "run"
    folder, states, past = begun(path)
    assert (int(states.iteration[0]), len(past.iteration)) == (0, 0)
    assert json.loads((path / "run.json").read_text()) == SETTINGS
    folder.save(state(2.0, 200), history(100, 200))
    _, states, past = begun(path, resume=True)
    assert (float(states.method.w[0]), int(states.iteration[0])) == (2.0, 200)
    assert past.iteration.tolist() == [100, 200]
    # As many iterations as there are is enough; fewer are not.
    begun(path, resume=True, settings={**SETTINGS, "iterations": 200})
    with pytest.raises(
        irem.InputError, match=r"has done 200 iterations already, more than the 199"
    ):
        begun(path, resume=True, settings={**SETTINGS, "iterations": 199})


@pytest.mark.parametrize(
    ("losses", "last", "kept"),
    [
        ([GOOD], False, 100),
        ([BAD], False, 100),
        ([BAD, GOOD], False, 200),
        ([BAD, BAD], False, 200),
        ([GOOD, BAD], False, 100),
        ([GOOD, BAD], True, 200),
        ([GOOD, BAD, GOOD], False, 300),
    ],
)
def test_a_good_state_is_not_replaced_by_a_bad_one_but_at_the_end(losses, last, kept, tmp_path):
    folder, *_ = begun(tmp_path)
    for i, loss in enumerate(losses, 1):
        end = 100 * i
        folder.save(state(1.0, end), history(end, loss=loss), last=last and i == len(losses))
    _, states, _ = begun(tmp_path, resume=True)
    assert int(states.iteration[0]) == kept


@pytest.mark.parametrize(
    ("before", "saved", "sentence", "left"),
    [
        (None, [], "No state before was good, and none is kept", False),
        (None, [BAD], "No state before was good, and none is kept", False),
        (None, [GOOD], "The last good state, of iteration 200, is kept in", True),
        (GOOD, [], "The last good state, of iteration 100, is kept in", True),
        (BAD, [], "The state, of iteration 100, is kept in", True),
        (BAD, [BAD], "No state before was good, and none is kept", False),
    ],
)
def test_what_is_kept_of_a_run_that_diverged(before, saved, sentence, left, tmp_path):
    if before is not None:
        begun(tmp_path)[0].save(state(1.0, 100), history(100, loss=before))
    folder, *_ = begun(tmp_path, resume=True)
    for loss in saved:
        folder.save(state(1.0, 200), history(200, loss=loss))
    assert folder.keep_good().startswith(sentence)
    assert (tmp_path / "checkpoint.safetensors").exists() is left


def test_a_finished_run_keeps_its_models_alone_and_is_not_taken_up(tmp_path):
    path = tmp_path / "run"
    assert not is_finished(path)
    folder, *_ = begun(path)
    assert not is_finished(path)
    folder.save(state(2.0, 100), history(100))
    finish(path)
    assert is_finished(path)
    kept = safetensors.numpy.load_file(path / "checkpoint.safetensors")
    assert not any(".key" in name for name in kept)
    assert kept["['state'].method.w"].dtype == np.float32
    finish(path, half=True)
    kept = safetensors.numpy.load_file(path / "checkpoint.safetensors")
    assert kept["['state'].method.w"].dtype == np.float16
    assert kept["['history']['loss']"].dtype == np.float32
    with pytest.raises(irem.InputError, match="is finished and keeps its models alone"):
        begun(path, resume=True)


def unfinished(name, writer=None):
    return f".{name}.{os.getpid() if writer is None else writer}.unfinished"


@pytest.mark.parametrize(
    ("files", "resume", "refusal"),
    [
        ([], False, None),
        ([unfinished("run.json")], False, None),
        ([unfinished("checkpoint.safetensors")], False, "is not a run"),
        (["notes.txt"], False, "is not a run"),
        (["notes.txt"], True, "is not a run"),
        (["run.json"], False, None),
        (["run.json", f"{EVENTS}1"], False, None),
        (["run.json", unfinished("run.json"), unfinished("checkpoint.safetensors")], False, None),
        (["run.json", "notes.txt"], False, "already holds a run"),
        (["run.json", "notes.txt"], True, None),
    ],
)
def test_a_folder_is_used_if_nothing_of_anybody_is_in_it(files, resume, refusal, tmp_path):
    for name in files:
        (tmp_path / name).write_text(json.dumps(SETTINGS))
    if refusal is not None:
        with pytest.raises(irem.InputError, match=refusal):
            begun(tmp_path, resume=resume)
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted(files)
        return
    begun(tmp_path, resume=resume)
    left = sorted(p.name for p in tmp_path.iterdir())
    assert left == sorted({"run.json", *(f for f in files if not f.startswith("."))})


def test_a_run_with_a_checkpoint_is_not_begun_anew(tmp_path):
    begun(tmp_path)[0].save(state(1.0, 100), history(100))
    with pytest.raises(irem.InputError, match="already holds a run"):
        begun(tmp_path)
    with pytest.raises(irem.InputError, match="was started with other settings"):
        begun(tmp_path, resume=True, settings={**SETTINGS, "keys": [[0, 2]]})


def test_a_file_is_no_folder_and_damaged_settings_are_no_run(tmp_path):
    (tmp_path / "notes").write_text("")
    with pytest.raises(irem.InputError, match="is a file"):
        begun(tmp_path / "notes")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{")
    with pytest.raises(irem.InputError, match="truncated or damaged"):
        begun(tmp_path / "run")


def test_checkpoints_are_made_every_thirty_seconds_or_as_told():
    made = Checkpoints("folder")
    assert dataclasses.astuple(made) == ("folder", False, 30.0, None)
    assert made.path.name == "folder"
    assert Checkpoints("folder", seconds=0.0).seconds == 0
    with pytest.raises(irem.InputError, match="must be 0 or more, got -1"):
        Checkpoints("folder", seconds=-1.0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"version": "10"}, None),
        ({"iterations": 400}, None),
        ({"average": {"name": "none", "decay": None}}, None),
        ({"keys": [[0, 2]]}, r"keys was \[\[0, 1\]\], now \[\[0, 2\]\]"),
        (
            {"optimiser": {"name": "adam", "decay": "cosine"}},
            r"optimiser.decay was constant, now c",
        ),
        ({"average": "none"}, r"average was {'name': 'none'}, now none"),
        ({"new": 3}, r"\(new was None, now 3\)"),
    ],
    ids=str,
)
def test_a_run_goes_on_with_its_own_settings_alone(change, told, tmp_path):
    if told is None:
        _check_same(tmp_path, SETTINGS, {**SETTINGS, **change})
        return
    with pytest.raises(irem.InputError, match=told):
        _check_same(tmp_path, SETTINGS, {**SETTINGS, **change})


def test_a_decaying_rate_fixes_the_number_of_iterations(tmp_path):
    cosine = {**SETTINGS, "optimiser": {"name": "adam", "decay": "cosine"}}
    _check_same(tmp_path, cosine, {**cosine, "version": "10"})
    with pytest.raises(irem.InputError, match=r"\(iterations was 300, now 400\)"):
        _check_same(tmp_path, cosine, {**cosine, "iterations": 400})


def test_settings_are_the_same_where_one_is_unset_and_the_other_is_not_there():
    assert _same({"a": None, "b": {"c": 1}}, {"b": {"c": 1, "d": None}})
    assert not _same({"b": {"c": 1}}, {"b": {"c": 2}})
    assert not _same({}, 3)
    assert not _same(3, {})
    assert (
        _difference("a", {"b": {"c": 1}, "z": 0}, {"b": {"c": 2}, "z": 0}) == "a.b.c was 1, now 2"
    )
