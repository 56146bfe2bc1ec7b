"""Run folders with anything in them are read, or refused in one sentence."""

import copy
import json

import jax
import numpy as np
import pytest
import safetensors.numpy

import irem
from irem.training import Checkpoints, Recipe, folder, read_keys, read_settings

ODD = (None, True, -1, 0, 1e300, 10**15, "x", "", [], {}, [[]], {"name": "x"}, "none", 0.5)


def train(out):
    """The smallest of trainings."""
    task = irem.tasks.get("addition", size=2)
    energy = irem.energy.MLP.for_task(task, width=2, depth=1, key=jax.random.key(0))
    return irem.train(
        task,
        irem.IREM(energy),
        iterations=2,
        batch_size=2,
        replay=irem.Replay(capacity=4),
        key=jax.random.key(0),
        out=out,
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run whose every setting is written down."""
    return train(tmp_path_factory.mktemp("runs") / "run").path


@pytest.fixture
def copied(run, tmp_path):
    """A copy of the run that may be damaged."""
    for name in ("run.json", "checkpoint.safetensors"):
        (tmp_path / name).write_bytes((run / name).read_bytes())
    return tmp_path


def places(settings, place=()):
    """The place of every setting, also of those inside sections."""
    for name, value in settings.items():
        yield (*place, name)
        if isinstance(value, dict):
            yield from places(value, (*place, name))


def changed(settings, place, value):
    """Settings with another value at one place; without the place for `...`."""
    settings = section = copy.deepcopy(settings)
    for name in place[:-1]:
        section = section[name]
    if value is ...:
        del section[place[-1]]
    else:
        section[place[-1]] = value
    return settings


def resume(path):
    """What `irem train --resume` does before it trains."""
    settings = read_settings(path)
    read_keys(settings)
    return Recipe.of_run(settings).complete()


def outcomes(path):
    """Whether a folder is loaded, and taken up again, or refused."""
    for read in (irem.load, resume):
        try:
            read(path)
        except irem.InputError:
            yield False
        else:
            yield True


def test_every_setting_of_any_value_is_used_or_refused(copied):
    good, random = read_settings(copied), np.random.default_rng(0)
    assert list(outcomes(copied)) == [True, True]
    found = []
    for place in places(good):
        for value in (..., *(ODD[i] for i in random.permutation(len(ODD))[:4])):
            (copied / "run.json").write_text(json.dumps(changed(good, place, value)))
            found += outcomes(copied)
    assert len(found) > 300
    assert 0.05 < np.mean(found) < 0.7


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        "[" * 100_000,
        '{"format":' * 100_000,
        '{"format": 1e400, "version": "0"}',
        '{"format": 2, "version": "0", "iterations": Infinity}',
        '{"format": 2, "version": "0", "iterations": 1e400}',
        f'{{"format": 2, "version": "0", "iterations": {"9" * 5000}}}',
    ],
    ids=lambda text: text[:20],
)
def test_text_that_is_no_settings_is_refused(copied, text):
    (copied / "run.json").write_text(text)
    assert list(outcomes(copied)) == [False, False]


@pytest.mark.parametrize("name", ["run.json", "checkpoint.safetensors"])
def test_random_bytes_and_truncations_are_refused(copied, name):
    random, whole = np.random.default_rng(0), (copied / name).read_bytes()
    for size in random.integers(0, len(whole) - 2, 20):
        for content in (random.bytes(size), whole[:size], whole[:size] + random.bytes(8)):
            (copied / name).write_bytes(content)
            with pytest.raises(irem.InputError):
                irem.load(copied)


def test_flipped_bits_of_a_checkpoint_give_a_run_or_a_sentence(copied):
    random = np.random.default_rng(0)
    whole = (copied / "checkpoint.safetensors").read_bytes()
    found = []
    # The header, of which a few bytes tell the types and shapes, and a little of what follows.
    header = 8 + int.from_bytes(whole[:8], "little")
    for place in random.integers(0, header + 200, 100):
        content = bytearray(whole)
        content[place] ^= 1 << random.integers(8)
        (copied / "checkpoint.safetensors").write_bytes(content)
        found += list(outcomes(copied))[:1]
    assert set(found) == {True, False}


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("['chunks']", lambda a: a - 5),
        ("['chunks']", lambda a: np.full_like(a, 2**31 - 1)),
        ("['state'].iteration", lambda a: -a),
        ("['state'].iteration", lambda a: np.full_like(a, 2**31 - 1)),
        ("['state'].iteration", lambda a: a + 1),
        ("['history']['iteration']", lambda a: a + 1),
        ("['history']['loss']", lambda a: a.astype(np.int32)),
        ("['history']['loss']", lambda a: a[:, 0]),
        ("['state'].method.energy.readout.bias", lambda a: a.astype(np.float64)),
        ("['state'].key", lambda a: a.astype(np.float32)),
        ("['state'].key", lambda a: a[:, :1]),
    ],
)
def test_arrays_of_other_counts_and_types_are_refused(copied, name, change):
    arrays = dict(safetensors.numpy.load_file(copied / "checkpoint.safetensors"))
    arrays[name] = np.ascontiguousarray(change(arrays[name]))
    safetensors.numpy.save_file(arrays, copied / "checkpoint.safetensors")
    settings = read_settings(copied)
    with pytest.raises(irem.InputError):
        train(Checkpoints(copied, resume=True))
    assert read_settings(copied) == settings
    if ".key" not in name:  # which only training needs
        with pytest.raises(irem.InputError):
            irem.load(copied)


def test_a_run_is_not_resumed_with_any_other_setting(run):
    good = read_settings(run)
    free = {("version",), ("iterations",)}
    leaves = [place for place in places(good) if not isinstance(_at(good, place), dict)]
    assert ("optimiser", "learning_rate") in leaves
    for place in set(leaves) - free:
        with pytest.raises(irem.InputError, match=rf"{place[0]}.* was .*, now"):
            folder._check_same(run, good, changed(good, place, _other(_at(good, place))))
    for place in free:
        folder._check_same(run, good, changed(good, place, _other(_at(good, place))))
    # What an older version did not write is unset.
    folder._check_same(run, changed(good, ("replay", "clip"), ...), good)


def _at(settings, place):
    for name in place:
        settings = settings[name]
    return settings


def _other(value):
    """Another value, which a file may hold."""
    if isinstance(value, int | float):
        return value + 1
    return {None: 0.5, "constant": "cosine"}.get(value, "other") if value != [[0, 0]] else [[0, 1]]
