"""Descriptions of the models that come with irem, read without building them."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

import irem
from irem.training import zoo
from irem.training.run import FORMAT

SHIPPED = zoo()


@pytest.mark.parametrize("model", SHIPPED, ids=[model.name for model in SHIPPED])
def test_every_model_has_a_card_that_begins_with_its_name_and_one_sentence(model):
    heading, *_ = model.card.splitlines()
    assert heading == f"# {model.name}"
    assert model.summary in model.card
    assert model.summary[0].isupper()
    assert model.summary.endswith(".")
    assert model.task in irem.tasks.TASKS
    assert model.parameters > 0
    assert 0 < model.kilobytes <= 4_000


def test_the_denoiser_is_as_large_as_its_card_says():
    (model,) = (m for m in SHIPPED if m.name == "zoo:denoise")
    assert (model.task, model.energy) == ("denoise", "conv")
    assert f"{model.parameters:,} parameters" in model.card


def put(folder, method, arrays, card, average="none"):
    """A model that nothing could build, as its method and its task do not exist."""
    folder.mkdir()
    settings = {"format": FORMAT, "version": "0", "task": {"name": "unknown"}, **method}
    settings |= {"average": {"name": average}}
    (folder / "run.json").write_text(json.dumps(settings))
    save_file(arrays, folder / "checkpoint.safetensors")
    (folder / "README.md").write_text(card)


@pytest.fixture
def other_zoo(tmp_path):
    # Two models in one run, so that arrays have two rows.
    arrays = {
        "['state'].method.weight": np.zeros((2, 3, 5), np.float16),
        "['state'].method.bias": np.zeros((2, 5), np.float16),
        "['state'].method.scale": np.zeros(2, np.float16),
        "['state'].iteration": np.zeros(2, np.int32),
        "['history']['loss']": np.zeros((1000, 2), np.float32),
    }
    cards = "# One\n\n## Two\n\n  A first line\ngoes on.\n", "# A heading alone\n"
    young = {"method": {"name": "irem"}, "energy": {"name": "odd"}}
    put(tmp_path / "young", young, arrays, cards[0])
    old = {"method": {"name": "other"}}
    put(tmp_path / "old", old, {"['state'].method.w": np.zeros((1, 7))}, cards[1])
    (tmp_path / "notes").mkdir()
    return tmp_path


def test_models_are_listed_by_name_and_counted_from_headers(other_zoo):
    old, young = zoo(other_zoo)
    assert (old.name, old.task, old.energy, old.parameters) == ("zoo:old", "unknown", None, 7)
    assert (young.name, young.energy, young.parameters) == ("zoo:young", "odd", 3 * 5 + 5 + 1)
    assert (young.summary, old.summary) == ("A first line", "")
    size = (other_zoo / "young" / "checkpoint.safetensors").stat().st_size
    assert 8_000 < size < 9_000
    assert young.kilobytes == round(size / 1000)


def test_weights_that_are_damaged_are_named(other_zoo):
    weights = other_zoo / "old" / "checkpoint.safetensors"
    weights.write_bytes(weights.read_bytes()[:20])
    with pytest.raises(irem.InputError, match=r"old/checkpoint\.safetensors' is truncated"):
        zoo(other_zoo)


def test_of_averaged_weights_and_the_last_ones_only_one_set_is_counted(tmp_path):
    arrays = {f"['state'].{part}.w": np.zeros((2, 7)) for part in ("method", "average")}
    method = {"method": {"name": "other"}}
    put(tmp_path / "mean", method, arrays, "# Mean\n", average="exponential")
    (model,) = zoo(tmp_path)
    assert model.parameters == 7
