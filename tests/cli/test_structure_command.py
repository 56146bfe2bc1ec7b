"""`irem train` with energies that see structure."""

import json

import pytest

SMALL = ("--width", 4, "--look", 0, "--products", 1, "--batch-size", 2, "--replay", 8)


@pytest.mark.parametrize(
    ("task", "energy", "extra"),
    [
        ("matrix-inverse", "pair", ("--maxima", 0, "--activation", "none", "--no-means")),
        ("matrix-completion", "table", ("--activation", "none")),
    ],
)
def test_a_run_is_trained_and_taken_up_again_with_its_settings(
    irem_cli, tmp_path, task, energy, extra
):
    out = tmp_path / "run"
    options = (task, "--size", 3, "--energy", energy, *SMALL, *extra, "--out", out)
    assert irem_cli("train", *options, "--iterations", 1).code == 0
    kept = json.loads((out / "run.json").read_text())
    form = kept["method"]["energy"]
    assert (form["name"], form["width"], form["look"]) == (energy, 4, 0)
    assert (form["products"], form["activation"]) == (1, "none")
    assert form.get("means") == (False if energy == "pair" else None)
    assert form["power"] == (-1 if energy == "pair" else 1)
    # What keeps these energies stable is on.
    assert (kept["learning_rate"], kept["decay"], kept["clip_norm"]) == (2e-3, "cosine", 0.5)
    assert (kept["method"]["step_size"], kept["replay"]["clip"]) == (1.0, 3.0)
    result = irem_cli("train", task, "--out", out, "--resume")
    assert result.code == 0
    assert json.loads((out / "run.json").read_text())["method"] == kept["method"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("addition", "--energy", "pair"), "needs graphs or square matrices, and 'addition' has"),
        (("shortest-path", "--energy", "table"), "use the Pair energy"),
        (("addition", "--energy", "mlp", "--look", 2), "setting of the mlp energy 'look'"),
        (("addition", "--energy", "table", "--maxima", 2), "setting of the table energy 'maxima'"),
        (("addition", "--energy", "table", "--activation", "relu"), "Unknown activation 'relu'"),
        (("matrix-inverse", "--energy", "pair", "--activation", "none"), "has no maxima, got 16"),
    ],
)
def test_options_that_do_not_fit_are_refused_and_nothing_is_written(
    irem_cli, tmp_path, options, message
):
    result = irem_cli("train", *options, "--out", tmp_path / "run")
    assert result.code == 2
    assert message in result.err
    assert not (tmp_path / "run").exists()
