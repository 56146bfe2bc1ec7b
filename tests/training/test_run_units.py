"""What a history says, and what is read of a run."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.descent import Solution
from irem.methods import build_method
from irem.training import History, Run, iterations_done, method_settings, read_keys, read_settings
from irem.training import run as run_module
from irem.training.checkpoint import ArrayFile, save_arrays
from irem.training.run import (
    FORMAT,
    _skeleton,
    find_run,
    models_prefix,
    read_history,
    write_settings,
    zoo_names,
)
from irem.training.zoo_folder import ZOO_FOLDER, is_in_zoo

ADDITION = irem.tasks.get("addition", size=2)
SETTINGS = {"method": {"name": "feedforward"}, "network": {"width": 2, "depth": 1}}


def history(ends, losses, skipped=None, constants=None):
    """A history by its ends; the rest by chunk and seed."""
    losses = np.asarray(losses, np.float32)
    return History(
        iteration=np.asarray(ends, np.int32),
        loss=losses,
        gradient_norm=losses,
        skipped=np.asarray(np.zeros_like(losses) if skipped is None else skipped, np.int32),
        constant_error=np.ones_like(losses) if constants is None else np.float32(constants),
    )


def test_a_history_grows_chunk_by_chunk():
    empty = History.empty(2)
    assert empty.loss.shape == (0, 2)
    assert empty.iteration.shape == (0,)
    assert not empty.good.any()
    assert not empty.far_above_constant.any()
    assert empty.good.shape == empty.far_above_constant.shape == (2,)
    chunk = {"loss": [1, 2], "gradient_norm": [3, 4], "skipped": [5, 6], "constant_error": [7, 8]}
    one = empty.append(iteration=100, **chunk)
    two = one.append(iteration=200, **chunk)
    assert two.iteration.tolist() == [100, 200]
    assert two.gradient_norm.tolist() == [[3, 4], [3, 4]]
    assert (two.skipped.dtype, two.loss.dtype) == (np.int32, np.float32)


@pytest.mark.parametrize(
    ("ends", "skipped", "diverging"),
    [
        ([100], [[50, 51]], [False, True]),
        ([1], [[1, 0]], [True, False]),
        ([100, 140], [[0, 0], [20, 21]], [False, True]),
        ([100, 200, 240, 280], [[99, 0], [99, 0], [99, 0], [20, 21]], [False, True]),
    ],
)
def test_a_model_diverges_where_more_than_half_of_a_chunk_was_skipped(ends, skipped, diverging):
    losses = np.ones((len(ends), 2))
    found = history(ends, losses, skipped)
    assert found.diverging.tolist() == diverging
    assert found.good.tolist() == [not d for d in diverging]


# The last of four chunks, all others are of other models.
def last(loss, constant):
    losses = [[9e9] * len(loss), [0] * len(loss), [9e9] * len(loss), loss]
    constants = [[0.001] * len(loss), [500] * len(loss), [0.001] * len(loss), constant]
    return history([1, 2, 3, 4], losses, constants=constants)


def test_a_model_is_good_up_to_a_hundred_times_the_error_of_a_constant():
    loss = [100.0, 100.5, 400, 405, np.nan, 1e30, np.inf]
    constant = [0.5, 0.5, 4, 4, 4, np.nan, np.nan]
    assert last(loss, constant).good.tolist() == [True, False, True, False, False, True, False]


def test_a_model_ends_far_above_a_constant_beyond_ten_times_its_error():
    loss, constant = [4, 5.2, 20, 20.5, 3, 3], [0.5, 0.5, 2, 2, 0, np.nan]
    expected = [False, True, False, True, False, False]
    assert last(loss, constant).far_above_constant.tolist() == expected


def runs(*weights, skipped=None, ends=(100,)):
    models = tuple({"w": jnp.array([1.0, weight]), "n": jnp.array(3)} for weight in weights)
    skipped = [[0] * len(weights)] if skipped is None else skipped
    losses = np.ones((len(ends), len(weights)))
    made = history(ends, losses, skipped) if ends else History.empty(len(weights))
    return Run(ADDITION, models, 100, made, {})


def test_a_model_diverged_by_its_weights_or_by_its_updates():
    nan, inf = float("nan"), float("inf")
    assert runs(1.0, nan, inf).diverged == (1, 2)
    assert runs(1.0, 2.0, nan, skipped=[[0, 51, 0]]).diverged == (1, 2)
    assert runs(1.0, nan, ends=()).diverged == (1,)


def test_the_model_is_that_of_a_run_with_one():
    assert runs(7.0).model["w"][1] == 7
    with pytest.raises(irem.InputError, match="This run holds 2 models"):
        _ = runs(1.0, 2.0).model


def test_a_run_answers_with_the_same_first_guesses_unless_told_otherwise(monkeypatch):
    calls, answer = [], Solution(y=jnp.zeros(1), energy=None, steps=jnp.ones((), int))

    def replace(function, name):
        record = lambda *a, **o: calls.append((name, a, o)) or answer  # noqa: E731
        monkeypatch.setattr(run_module, function, record)

    replace("solve", "plain")
    replace("solve_checked", "checked")
    energy = irem.energy.from_function(lambda x, y: jnp.sum((y - x) ** 2))
    trained = irem.IREM(energy, step_size=0.1)
    x = np.array([3.0, 4.0, 3.0])
    for model in (trained, "baseline"):
        made = Run(ADDITION, (model,), 1, History.empty(1), {})
        made.solve(x, starts=2)
        made.solve(x[1:], starts=2)
        made.solve(x, key=jax.random.key(5))
    names = [name for name, _, _ in calls]
    assert names == ["checked"] * 3 + ["plain"] * 3
    assert (calls[0][1][1] == x).all()
    assert all(options["starts"] == 2 for i in (0, 1, 3, 4) for options in [calls[i][2]])
    whole, part = calls[0][2]["key"], calls[1][2]["key"]
    # A problem has the same key wherever it stands, and another one than other problems.
    assert (whole == whole[jnp.array([2, 1, 0])]).all()
    assert whole[0] != whole[1]
    assert (whole[1:] == part).all()
    assert (calls[3][2]["key"] == jax.random.key(0)).all()
    assert all((calls[i][2]["key"] == jax.random.key(5)).all() for i in (2, 5))


def test_the_weights_of_a_run_are_its_average_if_it_has_one():
    assert models_prefix({"average": {"name": "none"}}) == "['state'].method"
    assert models_prefix({"average": {"name": "exponential"}}) == "['state'].average"


def test_the_settings_of_a_method_are_its_section_and_those_of_its_parts():
    known = {**SETTINGS, "cell": {}, "task": {}}
    assert method_settings(known) == SETTINGS
    assert method_settings({"method": {"name": "own"}, "network": {}}) == {
        "method": {"name": "own"}
    }


def test_models_that_come_along_are_found_by_name(tmp_path):
    assert find_run("zoo:denoise") == ZOO_FOLDER / "denoise"
    assert find_run(str(tmp_path)) == tmp_path
    assert is_in_zoo(ZOO_FOLDER / "denoise")
    assert not is_in_zoo(tmp_path / "denoise")
    assert "denoise" in zoo_names()
    with pytest.raises(irem.InputError, match="Unknown model 'nothing'"):
        find_run("zoo:nothing")


@pytest.mark.parametrize(
    ("keys", "fine"),
    [
        ([[0, 0]], True),
        ([[0, 2**32 - 1], [5, 6]], True),
        ([[0, 1, 2, 3]], True),
        ([[0]], False),
        ([[]], False),
        ([], False),
        (None, False),
        ([[0, 2**32]], False),
        ([[0, -1]], False),
        ([[0, 1.0]], False),
        ([[0, True]], False),
        ([[0, 1], 5], False),
        ([[0, 1], "ab"], False),
        ({"a": [0, 1]}, False),
    ],
    ids=str,
)
def test_keys_are_lists_of_numbers_of_32_bits(keys, fine):
    if fine:
        assert read_keys({"keys": keys}) == keys
        return
    with pytest.raises(irem.InputError, match="its `keys` are"):
        read_keys({"keys": keys})


def checkpoint(path, done, ends, **changes):
    """A checkpoint of a state after `done` iterations and a history of chunks."""
    chunks = len(ends)
    forms = History.shapes(chunks, 2)
    arrays = {name: np.ones(form.shape, form.dtype) for name, form in forms.items()}
    arrays |= {"iteration": np.asarray(ends, np.int32)} | changes
    arrays = {name: array for name, array in arrays.items() if array is not None}
    state, chunks = State(np.asarray(done, np.int32)), np.asarray(chunks, np.int32)
    save_arrays(path, {"state": state, "chunks": chunks, "history": arrays})


class State(eqx.Module):
    """As much of the state of a training as its history is compared with."""

    iteration: np.ndarray


@pytest.mark.parametrize("ends", [[], [100], [100, 200, 250]])
def test_a_history_is_read_with_the_iterations_done(ends, tmp_path):
    done = ends[-1] if ends else 0
    checkpoint(tmp_path / "a", [done, done], ends)
    with ArrayFile.open(tmp_path / "a") as file:
        found, past = read_history(file, 2)
    assert found == done
    assert past.iteration.tolist() == ends
    assert (past.constant_error == 1).all()
    checkpoint(tmp_path / "old", [done, done], ends, constant_error=None)
    with ArrayFile.open(tmp_path / "old") as file:
        _, past = read_history(file, 2)
    assert past.constant_error.shape == (len(ends), 2)
    assert np.isnan(past.constant_error).all()
    assert (past.loss == 1).all()


@pytest.mark.parametrize(
    ("done", "ends"),
    [
        ([200, 200], [100]),
        ([100, 200], [100, 200]),
        ([200, 200], [200, 200]),
        ([100, 100], [200, 100]),
        ([0, 0], [0]),
        ([100, 100], []),
    ],
)
def test_a_history_that_does_not_lead_to_the_state_is_damaged(done, ends, tmp_path):
    checkpoint(tmp_path / "a", done, ends)
    with ArrayFile.open(tmp_path / "a") as file, pytest.raises(irem.InputError, match="is damaged"):
        read_history(file, 2)


def put(path, **changes):
    settings = {"format": FORMAT, "version": "0", "keys": [[0, 1], [0, 2]], **changes}
    path.mkdir()
    write_settings(path, settings)
    return settings


def test_the_iterations_done_are_those_of_the_checkpoint(tmp_path):
    put(tmp_path / "run")
    assert iterations_done(tmp_path / "run") == 0
    checkpoint(tmp_path / "run" / "checkpoint.safetensors", [300, 300], [100, 300])
    assert iterations_done(tmp_path / "run") == 300


def test_settings_are_written_to_be_read(tmp_path):
    settings = put(tmp_path / "run", task={"name": "addition"})
    text = (tmp_path / "run" / "run.json").read_text()
    assert text.startswith('{\n  "format": ')
    assert text.endswith("}\n")
    assert json.loads(text) == settings == read_settings(tmp_path / "run")


@pytest.mark.parametrize(
    ("number", "told"), [(FORMAT + 1, "install a newer irem"), (FORMAT - 1, "convert it with")]
)
def test_a_folder_of_another_format_is_refused(number, told, tmp_path):
    put(tmp_path / "run", format=number)
    with pytest.raises(irem.InputError, match=told):
        read_settings(tmp_path / "run")


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(irem.InputError, match="There is no run at"):
        read_settings(tmp_path / "nowhere")
    with pytest.raises(irem.InputError, match=r"is not a run \(it has no run.json\)"):
        read_settings(tmp_path)


@pytest.mark.parametrize("own", [False, True], ids=["by settings", "like another"])
def test_the_skeleton_of_a_run_has_the_shapes_of_all_its_models(own):
    one = build_method(ADDITION, SETTINGS, key=jax.random.key(0))
    found = _skeleton(ADDITION, {} if own else SETTINGS, 3, one if own else None)
    for leaf, expected in zip(jax.tree.leaves(found), jax.tree.leaves(one), strict=True):
        assert isinstance(leaf, jax.ShapeDtypeStruct)
        assert leaf.shape == (3, *expected.shape)
