import dataclasses
import json
import os
import shutil
import signal

import numpy as np
import pytest

import irem
from irem.evaluation.tables import Table
from irem.keys import training_keys
from irem.paper import (
    PAPER_METHODS,
    PAPER_TASKS,
    Budget,
    Cell,
    Experiment,
    reproduce,
    strip_frames,
)
from irem.paper.cells import Origin
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
    with pytest.raises(irem.InputError, match=r"cell 0 lacks the field 'commit'; remove it and"):
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
    assert json.loads(text, parse_constant=pytest.fail)["values"] == value
    assert value == {"mean": None, "of": [1.0]}


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
    study = tiny_study()
    assert set(study.origin()) == {"commit", "device", "clean"}
    assert study.origin().items() <= study.about().items()
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


def spoilt(study, name):
    path = study.folder / name
    path.write_text('{"sc')
    return path


def keep(study, value=3):
    return study.values("table1", "name", lambda: value)


def test_a_study_whose_settings_are_damaged_goes_on_as_its_advice_says(tiny_study):
    study = tiny_study()
    keep(study, 3)
    path = spoilt(study, "study.json")
    with pytest.raises(irem.InputError, match=r"study.json' is damaged .*; remove it and run"):
        tiny_study()
    path.unlink()
    assert keep(tiny_study(), 4) == 3  # kept, not computed again
    assert json.loads(path.read_text()) == study.settings


@pytest.mark.parametrize("content", ["[]", "{}", "null", '{"scale": 1}', "1e400", "[" * 100_000])
def test_settings_that_are_none_are_damaged(tiny_study, content):
    keep(tiny_study())
    path = tiny_study().folder / "study.json"
    path.write_text(content)
    with pytest.raises(irem.InputError, match=r"study.json' is damaged .*remove it and run again"):
        tiny_study()
    path.unlink()
    assert keep(tiny_study(), 4) == 3


def test_a_study_without_settings_is_not_taken_up_with_others(tiny_study):
    study = tiny_study()
    keep(study)
    (study.folder / "study.json").unlink()
    with pytest.raises(irem.InputError, match="other settings; choose another folder"):
        tiny_study(scale=dataclasses.replace(study.scale, problems=11))
    assert not (study.folder / "study.json").exists()
    assert keep(tiny_study(), 4) == 3


def test_values_without_their_settings_are_used_only_where_the_study_tells_them(tiny_study):
    study = tiny_study()
    keep(study)
    path = study.folder / "cells/table1/name.json"
    path.write_text("3\n")  # as early studies have it
    assert keep(tiny_study(), 4) == 3
    (study.folder / "study.json").unlink()
    with pytest.raises(
        irem.InputError, match=r"study.json' is missing, .* remove '.*cells' and run"
    ):
        tiny_study()
    shutil.rmtree(study.folder / "cells")
    (study.folder / "models" / "some").mkdir(parents=True)
    (study.folder / "models" / "some" / "run.json").write_text("{}")
    assert keep(tiny_study(), 4) == 4


def test_values_of_another_study_are_not_mixed_in(tiny_study):
    study = tiny_study()
    keep(study)
    other = tiny_study("other", dataclasses.replace(study.scale, problems=11))
    keep(other, 4)
    file = "cells/table1/name.json"
    shutil.copy(other.folder / file, study.folder / file)
    with pytest.raises(
        irem.InputError, match=r"name.json' was made with other settings; remove it"
    ):
        keep(study)
    (study.folder / file).unlink()
    assert keep(study, 5) == 5


def test_values_that_depend_on_more_are_compared_by_that_too(tiny_study):
    study = tiny_study()
    make = lambda: 3  # noqa: E731
    study.values("denoising", "irem", make, settings={"pictures": "a"})
    assert study.values("denoising", "irem", lambda: 4, settings={"pictures": "a"}) == 3
    with pytest.raises(irem.InputError, match="other settings"):
        study.values("denoising", "irem", make, settings={"pictures": "b"})


def test_damaged_names_of_pictures_are_made_again_as_the_advice_says(tiny_study):
    _ = tiny_study().pictures
    path = spoilt(tiny_study(), "pictures.json")
    with pytest.raises(irem.InputError, match=r"pictures.json' is damaged .* remove it and run"):
        _ = tiny_study().pictures
    path.unlink()
    assert tiny_study().pictures.hold_out == 2
    assert path.exists()


@pytest.mark.parametrize("content", ["3", '{"settings": {}, "origin": {}, "values": 3}', "[7]"])
def test_what_is_no_list_of_cells_is_refused_with_advice_that_works(tiny_study, content):
    study = tiny_study()
    path = study.folder / "cells/table1/name.json"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    cell = Cell(task="addition", method="irem", paper=None, commit=None)
    read = lambda: study.cells("table1", "name", [Cell], lambda: [cell])  # noqa: E731
    with pytest.raises(irem.InputError, match=r"name.json'.*; remove it and run again"):
        read()
    path.unlink()
    assert read() == [cell]


def test_models_of_other_settings_are_not_taken_for_those_asked_for(tiny_study):
    study = tiny_study()
    run, _ = train(study)
    longer = dataclasses.replace(study.scale.vectors, iterations=30)
    for scale, what in (
        (dataclasses.replace(study.scale, vectors=longer), "iterations"),
        (dataclasses.replace(study.scale, seeds=3), "seeds"),
    ):
        other = tiny_study(f"other-{what}", scale)
        shutil.copytree(run.path, other.folder / "models/addition-feedforward")
        with pytest.raises(irem.InputError, match=rf"trained with other settings \({what}\)"):
            train(other)


def test_a_damaged_run_is_trained_again_as_the_advice_says(tiny_study):
    study = tiny_study()
    run, _ = train(study)
    for file in ("run.json", "checkpoint.safetensors"):
        (run.path / file).write_bytes(b"{")
        with pytest.raises(
            irem.InputError, match=rf"{file}.* Remove the folder '.*' and run again"
        ):
            train(study)
        shutil.rmtree(run.path)
        again, _ = train(study)
        np.testing.assert_array_equal(weights(run), weights(again))


def test_one_process_at_a_time_writes_to_a_study(tiny_study):
    study = tiny_study()
    refused = pytest.raises(irem.InputError, match=r"Another process is reproducing in .*--out\.$")
    with study.hold(), study.hold(), refused:  # within one process it may be nested
        tiny_study()
    tiny_study()


def test_a_reproduction_holds_its_folder(tiny_study):
    study, refused = tiny_study(), []

    def run(study):
        with pytest.raises(irem.InputError, match="Another process") as raised:
            tiny_study()
        refused.append(raised)
        return [Cell(task="addition", method="irem", paper=None, commit=None)]

    table = lambda *_: Table((), ())  # noqa: E731
    reproduce(study, Experiment(name="own", title="", run=run, kinds=(Cell,), table=table))
    assert len(refused) == 1


def test_a_part_is_kept_with_where_it_comes_from(tiny_study):
    study = tiny_study()
    keep(study)
    assert study.origins("table1", ["name"]) == {"name": Origin(**study.origin())}
    (study.folder / "cells/table1/name.json").write_text("3")
    assert study.origins("table1", ["name"]) == {}
