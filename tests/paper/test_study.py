import dataclasses
import json
import os
import signal

import numpy as np
import pytest

import irem
from irem.keys import training_keys
from irem.paper import PAPER_METHODS, PAPER_TASKS, Budget, Cell, strip_frames
from irem.training import Checkpoints, is_finished, iterations_done
from irem.training import trainer as _trainer


def recipe(study):
    task = study.tasks["addition"]
    return study.recipe(task, "feedforward").override({"network.width": 8})


def train(study, label="addition-feedforward"):
    return study.trained(study.tasks["addition"], recipe(study), label)


def weights(run):
    return [np.asarray(model.network.readout.weight) for model in run.models]


def test_a_cell_is_computed_once(tiny_study):
    calls = []
    make = lambda: calls.append(1) or {"value": 0.1}  # noqa: E731
    first = tiny_study().values("table1", "name", make)
    again = tiny_study().values("table1", "name", make)
    assert first == again == {"value": 0.1}
    assert calls == [1]


def test_cells_are_kept_and_read_as_what_they_are(tiny_study):
    cell = Cell(task="addition", method="irem", paper=None, commit="abc")
    first = tiny_study().cells("table1", "name", [Cell], lambda: [cell])
    again = tiny_study().cells("table1", "name", [Cell], lambda: 1 / 0)
    assert first == again == [cell]
    path = tiny_study().folder / "cells/table1/name.json"
    path.write_text('[{"task": "addition"}]')
    with pytest.raises(irem.InputError, match=r"name.json': cell 0 lacks the field 'commit'\.$"):
        tiny_study().cells("table1", "name", [Cell], lambda: [cell])


def test_a_cell_that_fails_leaves_nothing(tiny_study):
    study = tiny_study()
    with pytest.raises(ZeroDivisionError):
        study.values("table1", "name", lambda: 1 / 0)
    assert study.values("table1", "name", lambda: 3) == 3


def test_a_damaged_cell_is_named(tiny_study):
    study = tiny_study()
    study.values("table1", "name", lambda: 3)
    (study.folder / "cells/table1/name.json").write_text('{"a": ')
    with pytest.raises(irem.InputError, match=r"name.json' is damaged .* remove it and run again"):
        study.values("table1", "name", lambda: 3)


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


@pytest.mark.parametrize("chunk", [1, 2])
def test_a_stopped_training_goes_on_to_the_same_models(tiny_study, monkeypatch, chunk):
    longer = Budget(iterations=200, batch_size=8, learning_rate=1e-3)  # two chunks
    scale = dataclasses.replace(tiny_study().scale, vectors=longer)
    whole, _ = train(tiny_study("whole", scale))
    run_chunk, calls = _trainer.run_chunk, []

    def stopped(*arguments):
        calls.append(arguments)
        if len(calls) == chunk:
            os.kill(os.getpid(), signal.SIGINT)
        return run_chunk(*arguments)

    monkeypatch.setattr(_trainer, "run_chunk", stopped)
    with pytest.raises(KeyboardInterrupt):
        train(tiny_study("part", scale))
    path = tiny_study("part", scale).folder / "models/addition-feedforward"
    assert not is_finished(path)
    assert iterations_done(path) == 100 * chunk
    resumed, seconds = train(tiny_study("part", scale))
    assert seconds is None  # nobody knows how long the first part took
    assert len(calls) == 2
    for one, other in zip(weights(whole), weights(resumed), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_folder_that_was_killed_at_birth_is_taken_up(tiny_study, tmp_path):
    (tmp_path / "study").mkdir()
    (tmp_path / "study/.study.json.123.unfinished").write_text('{"sc')
    tiny_study()
    assert [p.name for p in (tmp_path / "study").iterdir()] == ["study.json"]


def test_a_training_whose_weights_are_not_finite_is_not_called_finished(tiny_study):
    wild = Budget(iterations=200, batch_size=8, learning_rate=1e30)
    study = tiny_study("wild", dataclasses.replace(tiny_study().scale, vectors=wild))
    with pytest.raises(irem.DivergenceError):
        train(study)


def test_numbers_that_are_not_finite_are_null_in_files(tiny_study):
    value = tiny_study().values("table1", "name", lambda: {"mean": float("nan"), "of": [1.0]})
    text = (tiny_study().folder / "cells/table1/name.json").read_text()
    assert json.loads(text, parse_constant=pytest.fail) == value == {"mean": None, "of": [1.0]}


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
    study.trained(task, study.recipe(task), "addition-irem")
    file = study.folder / "models/addition-irem/checkpoint.safetensors"
    header = file.read_bytes()
    assert b"['state'].method" in header
    assert b".replay" not in header
    assert b".optimiser" not in header


def test_a_finished_run_is_not_trained_on(tiny_study):
    study = tiny_study()
    run, _ = train(study)
    longer = recipe(study).override({"iterations": 30})
    out = Checkpoints(run.path, resume=True)
    with pytest.raises(irem.InputError, match="is finished and keeps its models alone"):
        longer.train(keys=training_keys(0, 2), task=run.task, out=out)
    assert irem.load(run.path).iteration == 20


def test_the_recipe_is_the_papers_with_the_lengths_of_the_scale(tiny_study):
    study = tiny_study()
    for name in PAPER_TASKS:
        task = irem.tasks.get(name)
        for method in PAPER_METHODS:
            settings = study.recipe(task, method).settings
            budget = study.scale.budget(task)
            assert settings["method"]["name"] == method
            assert settings["iterations"] == budget.iterations
            assert settings["batch_size"] == budget.batch_size
            assert settings["optimiser"]["learning_rate"] == budget.learning_rate
        assert study.recipe(task).settings["method"]["step_size"] == 100


def test_settings_are_written_down(tiny_study):
    study = tiny_study(commit="abc")
    assert study.about()["commit"] == "abc"
    assert study.about()["scale"]["vectors"]["iterations"] == 20
    kept = json.loads((study.folder / "study.json").read_text())
    assert kept["tasks"]["addition"]["size"] == 9


def test_there_is_no_strip_before_a_model_is_trained(tiny_study):
    assert strip_frames(tiny_study()) is None


def test_pictures_that_are_not_there_are_refused_before_anything_is_written(tiny_study, tmp_path):
    with pytest.raises(irem.InputError, match="is not a folder"):
        tiny_study("none", images=tmp_path / "nowhere")
    assert not (tmp_path / "none").exists()


def test_a_study_keeps_to_its_pictures_and_has_none_until_they_are_asked_for(tiny_study, tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "one.png").write_bytes(b"not read yet")
    tiny_study()  # a study of something else, in whose folder denoising goes on
    assert tiny_study(images=tmp_path / "pictures").pictures.hold_out == 16
    with pytest.raises(irem.InputError, match="other pictures"):
        _ = tiny_study().pictures
