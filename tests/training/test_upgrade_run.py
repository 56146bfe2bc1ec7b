"""Runs in the format of irem 0.1 are converted without a change of any number."""

import importlib.util
import json
import re
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest
import safetensors.numpy

import irem
from irem.methods import build_method
from irem.training import Adam, Checkpoints, read_settings

SCRIPT = Path(__file__).parents[2] / "tools" / "upgrade_run.py"
KEY = jax.random.key(1)

OPTIMISER = {"learning_rate": 1e-3, "decay": "constant", "clip_norm": None}


def old_settings(task, method, iterations=2, **changes):
    """What irem 0.1 wrote to run.json."""
    name, settings = task
    return {
        "format": 1,
        "version": "0.1.0",
        "task": {"name": name, "settings": settings},
        "method": method,
        "iterations": iterations,
        "batch_size": 4,
        **OPTIMISER,
        "replay": {"name": "Replay", "capacity": 50},
        "precision": "default",
        "keys": [[0, 1]],
        **changes,
    }


PAIR = {
    "settings": {
        "method": {"name": "irem", "step_size": 1.0},
        "energy": {"name": "pair", "width": 4, "paths": {"products": 2, "maxima": 3}},
    },
    "task": ("matrix-inverse", {"variant": "released", "size": 3}),
    "old": {
        "name": "irem",
        "num_steps": 5,
        "step_size": 1.0,
        "gradient": "last-step",
        "energy": {
            "name": "pair",
            "width": 4,
            "look": 1,
            "depth": 1,
            "products": 2,
            "maxima": 3,
            "aggregate": "mean",
            "means": True,
            "activation": "swish",
            "power": -1,
        },
    },
    # By the end of its name now, the name that an array had.
    "names": {
        ".network.embed": ".network.enter",
        ".network.readout": ".network.leave",
        ".network.skip": ".network.straight",
        ".network.encoder[0].own": ".network.look[0].own",
        ".network.encoder[0].transposed": ".network.look[0].mirror",
        ".network.encoder[0].means.row": ".network.look[0].row",
        ".network.encoder[0].means.column": ".network.look[0].column",
        ".network.encoder[0].paths.factors": ".network.look[0].factors",
        ".network.encoder[0].paths.terms": ".network.look[0].terms",
        ".network.encoder[0].mix": ".network.look[0].gather",
        ".network.encoder[0].bias": ".network.look[0].bias",
        ".network.encoder[0].skip": ".network.look[0].straight",
        ".network.encoder[0].project": ".network.look[0].leave",
        ".network.scorer[0].own": ".network.judge[0].own",
        ".network.scorer[0].transposed": ".network.judge[0].mirror",
        ".network.scorer[0].means.row": ".network.judge[0].row",
        ".network.scorer[0].means.column": ".network.judge[0].column",
        ".network.scorer[0].paths.factors": ".network.judge[0].factors",
        ".network.scorer[0].paths.terms": ".network.judge[0].terms",
        ".network.scorer[0].mix": ".network.judge[0].gather",
        ".network.scorer[0].bias": ".network.judge[0].bias",
        ".network.scorer[0].skip": ".network.judge[0].straight",
        ".network.scorer[0].project": ".network.judge[0].leave",
    },
}
FEEDFORWARD = {
    "settings": {"method": {"name": "feedforward"}, "network": {"width": 4, "depth": 1}},
    "task": ("addition", {"variant": "released", "size": 4}),
    "old": {"name": "feedforward", "width": 4, "depth": 1},
    "names": {},
    "changes": {"replay": {"name": "NoReplay"}},
}
CASES = {"pair": PAIR, "feedforward": FEEDFORWARD}


def train(case, out, iterations=2):
    name, settings = case["task"]
    task = irem.tasks.get(name, **settings)
    method = build_method(task, case["settings"], key=jax.random.key(0))
    replay = irem.Replay(capacity=50) if method.replays else None
    options = {"iterations": iterations, "batch_size": 4, "replay": replay, "key": KEY}
    return irem.train(task, method, optimiser=Adam(learning_rate=1e-3), out=out, **options)


def arrays(run):
    return safetensors.numpy.load_file(run / "checkpoint.safetensors")


def downgrade(path, case):
    """Write the run in the format of irem 0.1."""
    renamed = {}
    for name, array in arrays(path).items():
        ends = [end for end in case["names"] if name.endswith(end)]
        assert len(ends) <= 1
        old = name.removesuffix(ends[0]) + case["names"][ends[0]] if ends else name
        assert ends or not re.search(r"\.(mu|nu|method)\.energy\.", name), name
        renamed[old] = array
    assert len(renamed) == len(arrays(path))
    safetensors.numpy.save_file(renamed, path / "checkpoint.safetensors")
    settings = old_settings(case["task"], case["old"], **case.get("changes", {}))
    (path / "run.json").write_text(json.dumps(settings))


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("upgrade_run", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module", params=CASES)
def runs(request, tmp_path_factory):
    """A fresh run, and the same as irem 0.1 would have written it."""
    case, folder = CASES[request.param], tmp_path_factory.mktemp("runs")
    run = train(case, folder / "run")
    shutil.copytree(run.path, folder / "old")
    downgrade(folder / "old", case)
    return case, run, folder / "old"


def test_a_run_of_the_old_format_is_refused_converted_and_answers_as_before(runs, script, tmp_path):
    case, run, old = runs
    path = shutil.copytree(old, tmp_path / "run")
    with pytest.raises(irem.InputError, match=r"convert it with `python tools/upgrade_run\.py .*`"):
        irem.load(path)
    assert script.upgrade(path) == f"{path} is converted"
    assert read_settings(path) == {**run.settings, "version": "0.1.0"}
    before, after = arrays(run.path), arrays(path)
    assert before.keys() == after.keys()
    for name, array in before.items():
        np.testing.assert_array_equal(after[name], array)
    loaded = irem.load(path)
    assert loaded.iteration == 2
    x = run.task.batch(jax.random.key(2), 3).x
    answers = [irem.solve(r.model, x, key=KEY).y for r in (run, loaded)]
    np.testing.assert_array_equal(*answers)
    # Training goes on from the converted state as from the other one.
    shutil.copytree(run.path, tmp_path / "same")
    resumed = [
        train(case, Checkpoints(p, resume=True), iterations=4) for p in (path, tmp_path / "same")
    ]
    for a, b in zip(*(jax.tree.leaves(r.models) for r in resumed), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_converted_run_is_left_as_it_is(runs, script, tmp_path):
    path = shutil.copytree(runs[2], tmp_path / "run")
    script.upgrade(path)
    before = {p.name: p.read_bytes() for p in path.iterdir() if p.is_file()}
    assert script.upgrade(path) == f"{path} has format 2 already"
    assert {p.name: p.read_bytes() for p in path.iterdir() if p.is_file()} == before


def test_a_run_stopped_before_its_first_checkpoint_is_converted(runs, script, tmp_path):
    path = shutil.copytree(runs[2], tmp_path / "run")
    (path / "checkpoint.safetensors").unlink()
    script.upgrade(path)
    with pytest.raises(irem.InputError, match="before its first checkpoint"):
        irem.load(path)


def test_settings_of_every_kind_move_to_their_sections(script):
    method = {
        **PAIR["old"],
        "gradient": "full-unroll",
        "energy": {"name": "mlp", "width": 8, "depth": 2},
    }
    changes = {
        "precision": "float32",
        "replay": {"name": "Replay", "capacity": 50, "clip": 3.0},
        "decay": "cosine",
        "clip_norm": 0.5,
        "finished": True,
    }
    new = script.upgrade_settings(old_settings(FEEDFORWARD["task"], method, **changes))
    assert new["gradient"] == {"name": "full-unroll"}
    assert new["energy"] == {"name": "mlp", "width": 8, "depth": 2, "scratch": 0}
    replay = {"name": "buffer", "capacity": 50, "clip": 3.0, "parts": None}
    assert new["replay"] == replay
    assert new["optimiser"] == {**OPTIMISER, "name": "adam", "decay": "cosine", "clip_norm": 0.5}
    assert (new["precision"], new["finished"]) == ("float32", True)
    assert new["average"] == {"name": "none"}
