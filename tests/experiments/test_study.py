import dataclasses
import json

import numpy as np
import pytest

import irem
from irem.experiments import _study
from irem.experiments._study import method_settings
from irem.learning import is_finished

FEEDFORWARD = {"name": "feedforward", "width": 8}


def train(study, label="addition-feedforward"):
    return study.trained(study.tasks["addition"], FEEDFORWARD, label)


def weights(run):
    return [np.asarray(model.network.readout.weight) for model in run.models]


def test_a_cell_is_computed_once(tiny_study):
    calls = []
    make = lambda: calls.append(1) or {"value": 0.1}  # noqa: E731
    first = tiny_study().cell("table1", "name", make)
    again = tiny_study().cell("table1", "name", make)
    assert first == again == {"value": 0.1}
    assert calls == [1]


def test_a_cell_that_fails_leaves_nothing(tiny_study):
    study = tiny_study()
    with pytest.raises(ZeroDivisionError):
        study.cell("table1", "name", lambda: 1 / 0)
    assert study.cell("table1", "name", lambda: 3) == 3


def test_a_damaged_cell_is_named(tiny_study):
    study = tiny_study()
    study.cell("table1", "name", lambda: 3)
    (study.folder / "cells/table1/name.json").write_text('{"a": ')
    with pytest.raises(irem.InputError, match=r"name.json' is damaged .* remove it and run again"):
        study.cell("table1", "name", lambda: 3)


def test_other_settings_in_the_same_folder_are_refused(tiny_study):
    study = tiny_study()
    with pytest.raises(irem.InputError, match="other settings; choose another folder"):
        tiny_study(scale=dataclasses.replace(study.scale, seeds=3))


def test_a_folder_with_other_things_is_not_touched(tiny_study, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/notes.txt").write_text("mine")
    with pytest.raises(irem.InputError, match="exists and is not a reproduction"):
        tiny_study("other")
    assert [p.name for p in (tmp_path / "other").iterdir()] == ["notes.txt"]


def test_a_killed_training_goes_on_to_the_same_models(tiny_study, monkeypatch):
    whole, _ = train(tiny_study("whole"))

    def killed(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(_study, "finish", killed)
    with pytest.raises(KeyboardInterrupt):
        train(tiny_study())
    assert not is_finished(tiny_study().folder / "models/addition-feedforward")
    monkeypatch.undo()
    resumed, _ = train(tiny_study())
    for one, other in zip(weights(whole), weights(resumed), strict=True):
        np.testing.assert_array_equal(one, other)


def test_models_are_trained_once_and_read_again(tiny_study):
    first, seconds = train(tiny_study())
    again, none = train(tiny_study())
    assert seconds > 0
    assert none is None
    np.testing.assert_array_equal(weights(first), weights(again))
    np.testing.assert_array_equal(first.history.loss, again.history.loss)
    assert again.iteration == 20


def test_seeds_differ_and_are_those_of_the_train_command(tiny_study):
    run, _ = train(tiny_study())
    first, second = weights(run)
    assert not np.array_equal(first, second)
    assert [key[-1] for key in run.settings["keys"]] == [0, 1]


def test_a_finished_run_keeps_its_models_alone(tiny_study):
    study = tiny_study()
    task = study.tasks["addition"]
    study.trained(task, method_settings(task, "irem"), "addition-irem")
    file = study.folder / "models/addition-irem/checkpoint.safetensors"
    header = file.read_bytes()
    assert b"['state'].method" in header
    assert b".replay" not in header
    assert b".optimiser" not in header


def test_a_finished_run_is_not_trained_on(tiny_study):
    study = tiny_study()
    run, _ = train(study)
    keys = _study.training_keys(0, 2)
    methods = _study.build_methods(run.task, FEEDFORWARD, keys=keys)
    options = {"batch_size": 8, "learning_rate": 1e-3, "key": keys, "out": run.path}
    with pytest.raises(irem.InputError, match="is finished and keeps its models alone"):
        irem.train(run.task, methods, iterations=30, resume=True, **options)
    assert irem.load(run.path).iteration == 20


def test_settings_are_written_down(tiny_study):
    study = tiny_study(commit="abc")
    assert study.about()["commit"] == "abc"
    assert study.about()["scale"]["vectors"]["iterations"] == 20
    kept = json.loads((study.folder / "study.json").read_text())
    assert kept["tasks"]["addition"]["size"] == 9
