"""Models in half precision, those that come with irem, and candidates that stay within bounds."""

import shutil

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import irem
from irem.methods import build_methods
from irem.problem import Problem
from irem.training import Candidates, finish, is_finished
from irem.training.run import find_run
from irem.training.zoo_folder import is_in_zoo

TASK = irem.tasks.get("addition", size=2)
KEYS = jax.random.split(jax.random.key(0), 2)
MODELS = "['state'].method"
SETTINGS = {"method": {"name": "feedforward"}, "network": {"width": 4, "depth": 1}}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two models in a folder that nothing was taken from."""
    path = tmp_path_factory.mktemp("runs") / "run"
    methods = build_methods(TASK, SETTINGS, keys=KEYS)
    return irem.train(TASK, methods, iterations=3, batch_size=2, key=KEYS, out=path)


@pytest.fixture
def copy(run, tmp_path):
    return shutil.copytree(run.path, tmp_path / "run")


def arrays(path):
    return safetensors.numpy.load_file(path / "checkpoint.safetensors")


def leaves(run):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(run.models, eqx.is_array))]


def test_a_run_that_is_finished_in_half_precision_keeps_its_models_alone_and_in_16_bits(run, copy):
    before = arrays(copy)
    finish(copy, half=True)
    after = arrays(copy)
    assert is_finished(copy)
    models = {name for name in before if name.startswith(MODELS)}
    assert models
    assert models <= after.keys()
    for name, array in after.items():
        expected = before[name].astype(np.float16) if name in models else before[name]
        assert array.dtype == expected.dtype
        np.testing.assert_array_equal(array, expected)
    assert not any("optim" in name or "buffer" in name for name in after)


def test_half_the_precision_is_half_the_room(run, tmp_path):
    sizes = []
    for half in (False, True):
        path = shutil.copytree(run.path, tmp_path / f"half-{half}")
        finish(path, half=half)
        kept = arrays(path)
        sizes.append(sum(a.nbytes for name, a in kept.items() if name.startswith(MODELS)))
    assert sizes[1] == sizes[0] / 2


def test_models_of_half_precision_are_loaded_in_full_precision_and_rounded(run, copy):
    finish(copy, half=True)
    loaded = irem.load(copy)
    assert loaded.iteration == run.iteration == 3
    np.testing.assert_array_equal(loaded.history.loss, run.history.loss)
    found, exact = leaves(loaded), leaves(run)
    assert len(found) == len(exact) > 0
    for a, b in zip(found, exact, strict=True):
        assert a.dtype == np.float32
        np.testing.assert_array_equal(a, b.astype(np.float16).astype(np.float32))
    assert any((a != b).any() for a, b in zip(found, exact, strict=True))


def test_a_run_that_is_finished_as_it_is_loses_nothing_and_may_be_halved_later(run, copy):
    finish(copy)
    for a, b in zip(leaves(irem.load(copy)), leaves(run), strict=True):
        np.testing.assert_array_equal(a, b)
    finish(copy, half=True)
    finish(copy, half=True)  # once more changes nothing
    for a, b in zip(leaves(irem.load(copy)), leaves(run), strict=True):
        np.testing.assert_array_equal(a, b.astype(np.float16))


@pytest.fixture(scope="module")
def shipped():
    return irem.load("zoo:denoise")


def test_a_model_for_pictures_comes_with_irem(shipped):
    assert isinstance(shipped.model, irem.IREM)
    assert isinstance(shipped.model.energy, irem.energy.Conv)
    assert shipped.task == irem.tasks.get("denoise")
    found = leaves(shipped)
    assert all(a.dtype == np.float32 for a in found)
    assert all(np.isfinite(a).all() for a in found)
    assert all((a == a.astype(np.float16)).all() for a in found)
    assert sum(a.size for a in found) > 1_000_000


def test_the_model_that_comes_along_takes_little_room():
    weights = find_run("zoo:denoise") / "checkpoint.safetensors"
    assert weights.stat().st_size < 4_000_000


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("denoize", r"^Unknown model 'denoize'; known are .*denoise.*\. Did you mean 'denoise'\?$"),
        ("", r"^Unknown model ''; known are .*denoise.*\.$"),
        ("../zoo/denoise", r"^Unknown model '\.\./zoo/denoise'; known are .*denoise"),
    ],
)
def test_an_unknown_model_is_refused_with_a_hint(name, message):
    with pytest.raises(irem.InputError, match=message):
        irem.load(f"zoo:{name}")


def candidates(y):
    y = jnp.asarray(y, jnp.float32)
    return Candidates(Problem(10 * y, 5 * y), y)


# Two candidates with entries beyond 2 on either side, and two without.
ENDED = np.array([[3.0, -0.5], [-7.0, 2.5], [1.9, -2.0], [0.0, 0.1]], np.float32)


@pytest.mark.parametrize(
    ("clip", "kept"),
    [(2.0, np.clip(ENDED, -2, 2)), (0.1, np.clip(ENDED, -0.1, 0.1)), (None, ENDED)],
)
def test_candidates_are_kept_within_the_bound_and_problems_as_they_are(clip, kept):
    replay = irem.Replay(capacity=6, clip=clip)
    state = replay.init(jax.eval_shape(lambda: candidates(ENDED[:2])))
    push = jax.jit(replay.push)
    state = push(state, candidates(ENDED))
    np.testing.assert_array_equal(state.items.y[:4], kept)
    np.testing.assert_array_equal(state.items.problem.x[:4], 10 * ENDED)
    np.testing.assert_array_equal(state.items.problem.y[:4], 5 * ENDED)
    # Also where the ring begins anew.
    state = push(state, candidates(ENDED))
    np.testing.assert_array_equal(state.items.y, kept[[2, 3, 2, 3, 0, 1]])
    drawn = replay.extend(state, candidates(ENDED[:2]), jax.random.key(0))
    np.testing.assert_array_equal(drawn.y[:2], ENDED[:2])  # fresh ones are not touched
    rows = {tuple(row) for row in kept.tolist()}
    assert {tuple(row) for row in np.asarray(drawn.y[2:]).tolist()} <= rows


@pytest.mark.parametrize("clip", [0.0, -1.0, float("nan")])
def test_a_bound_that_leaves_nothing_is_refused(clip):
    with pytest.raises(irem.InputError, match=rf"^`clip` must be greater than 0, got {clip}\.$"):
        irem.Replay(clip=clip)


def test_a_bound_that_is_none_is_refused():
    with pytest.raises(irem.InputError, match=r"^`clip` must be finite, got inf\.$"):
        irem.Replay(clip=float("inf"))


def test_nothing_is_written_to_a_model_that_comes_along(tmp_path):
    assert is_in_zoo(find_run("zoo:denoise"))
    assert not is_in_zoo(tmp_path)
