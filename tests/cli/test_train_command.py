"""`irem train` and `irem recipes`: recipes, overrides, and taking a run up again."""

import json
import shutil
import signal

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import irem
from irem.training import Recipe, trainer

SMALL = {"iterations": 1, "batch_size": 2, "replay__capacity": 8, "energy__width": 4}


def settings_of(out):
    return json.loads((out / "run.json").read_text())


@pytest.mark.parametrize("task", ["matrix-inverse", "matrix-completion", "connected-components"])
def test_the_best_recipe_is_the_default_and_comes_back_on_resume(irem_cli, tmp_path, keys, task):
    out = tmp_path / "run"
    assert irem_cli("train", task, *keys(**SMALL), "--out", out).code == 0
    kept = settings_of(out)
    best = Recipe.named(task).complete().settings
    for section in ("method", "gradient", "optimiser", "average", "precision", "task"):
        assert kept[section] == json.loads(json.dumps(best[section]))
    assert kept["energy"] == {**best["energy"], "width": 4}
    assert kept["replay"] == {**best["replay"], "capacity": 8}
    assert (kept["iterations"], kept["batch_size"]) == (1, 2)
    assert irem_cli("train", task, "--out", out, "--resume").code == 0
    assert settings_of(out) == kept


def test_the_papers_recipe_and_one_of_ones_own(irem_cli, tmp_path, keys):
    small = keys(**SMALL, task__size=3)
    assert (
        irem_cli("train", "addition", "--recipe", "paper", *small, "--out", tmp_path / "a").code
        == 0
    )
    assert settings_of(tmp_path / "a")["energy"]["name"] == "mlp"
    own = tmp_path / "own.toml"
    own.write_text(
        'iterations = 2\n[energy]\nname = "mlp"\ndepth = 1\n[average]\nname = "exponential"\n'
    )
    assert irem_cli("train", "addition", "--recipe", own, *small, "--out", tmp_path / "b").code == 0
    kept = settings_of(tmp_path / "b")
    assert kept["energy"] == {"name": "mlp", "width": 4, "depth": 1, "scratch": 0}
    assert kept["average"] == {"name": "exponential", "decay": 0.999}
    assert kept["iterations"] == 1  # overridden


@pytest.mark.parametrize(
    ("task", "overrides", "message"),
    [
        ("addition", {"energy__name": "pair"}, "needs graphs or square matrices, and 'addition'"),
        ("shortest-path", {"energy__name": "table"}, "use the GINE or the Pair energy"),
        ("addition", {"energy__maxima": 2}, "setting of the table energy 'maxima'"),
        ("addition", {"energy__activation": "relu"}, "Unknown activation 'relu'"),
        ("matrix-inverse", {"energy__paths__maxima": 16}, "has no maxima, got 16"),
        ("matrix-inverse", {"energy__paths__maximum": 0}, "Did you mean 'maxima'"),
        ("addition", {"gradient__k": 9}, "differentiates more steps"),
        ("addition", {"optimiser__decay": "linear"}, "Unknown decay 'linear'"),
        ("addition", {"precision": "half"}, "Unknown precision 'half'"),
        ("addition", {"replay": 3}, "`replay` of a recipe is a section"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_written(
    irem_cli, tmp_path, keys, task, overrides, message
):
    result = irem_cli("train", task, *keys(**overrides), "--out", tmp_path / "run")
    assert result.code == 2
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_a_recipe_is_printed_as_a_file_that_can_be_used(irem_cli, tmp_path):
    shown = irem_cli("recipes", "matrix-inverse", "--show", "best")
    assert shown.code == 0
    (tmp_path / "own.toml").write_text(shown.out)
    own = Recipe.read(tmp_path / "own.toml", "matrix-inverse")
    assert own.complete().settings == Recipe.named("matrix-inverse").complete().settings
    printed = json.loads(irem_cli("recipes", "matrix-inverse", "--show", "best", "--json").out)
    assert printed["settings"]["energy"]["encoder_depth"] == 3


def test_every_task_has_its_recipes_listed(irem_cli):
    rows = json.loads(irem_cli("recipes", "--json").out)["recipes"]
    assert {(row["task"], row["recipe"]) for row in rows} >= {
        ("addition", "best"),
        ("addition", "paper"),
        ("denoise", "best"),
    }
    assert all(row["summary"] for row in rows)


def test_the_help_fits_on_one_screen(irem_cli):
    assert len(irem_cli("train", "--help").out.splitlines()) <= 40


TINY = {"task__size": 2, "energy__width": 2, "replay__capacity": 8}


def train(irem_cli, keys, out, *options, **settings):
    """The smallest of trainings."""
    tiny = ["addition", "--recipe", "paper", "--batch-size", 2, *keys(**(TINY | settings))]
    return irem_cli("train", *tiny, "--out", out, *options)


@pytest.mark.parametrize(
    ("settings", "options", "message"),
    [
        ({"energy__width": 10**9}, (), "Building 1 model needs about 8.0 EB of memory, and "),
        ({"replay__capacity": 10**10}, (), "with batches of 2 problems needs about "),
        ({"replay__capacity": 10**11}, ("--batch-size", 10**9), "batches of 1,000,000,000 prob"),
        ({}, ("--seeds", 10**7), "Building 10,000,000 models needs about "),
        ({}, ("--seeds", 4 * 10**9), "Drawing keys for 4,000,000,000 models needs about 256.0 GB"),
        ({"energy__depth": 1000}, (), "`depth` must be at most 100, got 1000"),
        ({"energy__depth": 10**12}, (), "`depth` must be at most 100, got 1000000000000"),
        ({}, ("--iterations", 10**12), "`iterations` must be at most 2,147,483,647"),
        ({"task__variant": 3}, (), "The section task of a recipe cannot be used"),
        ({"energy__name": 3}, (), "The name of an energy is a word, got 3"),
        ({"method__step_size": 10**400}, (), "`step_size` of the method irem is too large"),
    ],
)
def test_sizes_and_values_without_bounds_are_refused_before_anything_is_made(
    irem_cli, tmp_path, keys, settings, options, message
):
    result = train(irem_cli, keys, tmp_path / "run", *options, **settings)
    assert result.code == 2
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def two_models(tmp_path_factory, train_quickly):
    """A run of two models."""
    small = ["--set", "task.size=2", "--set", "energy.width=2", "--set", "replay.capacity=8"]
    small += ["--batch-size", "2", "--seeds", "2", "--iterations", "1"]
    return train_quickly(tmp_path_factory.mktemp("two"), "addition", small=small)


def damaged(run, path, model):
    """A copy of a run of which one model is not finite."""
    shutil.copytree(run, path)
    arrays = dict(load_file(path / "checkpoint.safetensors"))
    name = "['state'].method.energy.readout.bias"
    arrays[name] = arrays[name].copy()
    arrays[name][model] = np.nan
    save_file(arrays, path / "checkpoint.safetensors")
    return path


def test_a_model_that_diverged_is_named_and_the_others_are_kept(irem_cli, tmp_path, two_models):
    run = damaged(two_models, tmp_path / "run", model=1)
    options = ["train", "addition", "--out", run, "--resume", "--iterations", 2]
    result = irem_cli(*options, "--json")
    assert result.code == 1
    assert "1 of 2 models diverged (model 1)" in result.err
    told = json.loads(result.out)
    assert (told["iterations"], told["diverged"], told["loss"][1]) == (2, [1], None)
    kept = irem.load(run)
    assert kept.iteration == 2
    assert kept.history.loss[-1, 0] == np.float32(told["loss"][0])
    again = irem_cli(*options)
    assert (again.code, again.out.splitlines()[0][:20]) == (1, "Trained 2 iterations")


def test_another_learning_rate_is_refused_on_resume(irem_cli, two_models, keys):
    before = (two_models / "checkpoint.safetensors").read_bytes()
    options = ["train", "addition", "--out", two_models, "--resume", "--iterations", 2]
    for change, message in (
        ({"optimiser__learning_rate": 2e-4}, "optimiser.learning_rate was 0.0001, now 0.0002"),
        ({"optimiser__clip_norm": 1.0}, "optimiser.clip_norm was None, now 1.0"),
        ({"method__step_size": 50.0}, "method.step_size was 100.0, now 50.0"),
    ):
        result = irem_cli(*options, *keys(**change))
        assert result.code == 2
        assert message in result.err
    assert irem_cli(*options, "--seed", 3).code == 2
    assert (two_models / "checkpoint.safetensors").read_bytes() == before


def test_a_loss_far_above_that_of_a_constant_answer_is_said_aloud(irem_cli, tmp_path, keys):
    wild = {"optimiser__learning_rate": 10.0}
    result = train(irem_cli, keys, tmp_path / "run", "--iterations", 100, "--json", **wild)
    assert result.code == 0
    assert "model 0" in result.err
    assert "is far above the error of the best constant answer, 0." in result.err
    told = json.loads(result.out)
    assert told["far_above_constant"] == [0]
    assert told["loss"][0] > 10 * told["constant_error"][0] > 0
    assert told["diverged"] == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_training_with_its_own_code_and_work_is_kept(
    irem_cli, tmp_path, keys, monkeypatch, number, code
):
    run_chunk = trainer.run_chunk

    def signalled(*arguments):
        # As a signal comes to a training that runs as a program of its own.
        monkeypatch.setattr(trainer, "run_chunk", run_chunk)
        signal.raise_signal(number)
        return run_chunk(*arguments)

    monkeypatch.setattr(trainer, "run_chunk", signalled)
    result = train(irem_cli, keys, tmp_path / "run", "--iterations", 300)
    assert result.code == code
    assert "iteration 100 is kept" in result.err
    assert irem.load(tmp_path / "run").iteration == 100
    assert not list((tmp_path / "run").glob(".*"))


def test_no_good_state_means_that_none_is_kept(irem_cli, tmp_path, keys):
    wild = {"method__step_size": 1e30}
    out = tmp_path / "run"
    result = train(irem_cli, keys, out, "--iterations", 1, "--checkpoint-seconds", 0, **wild)
    assert result.code == 1
    assert "No state before was good, and none is kept" in result.err
    assert not (out / "checkpoint.safetensors").exists()
    assert train(irem_cli, keys, out, "--iterations", 1).code == 0  # the folder is used again
