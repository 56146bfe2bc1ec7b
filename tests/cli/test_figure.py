"""`irem figure` writes a figure and prints the numbers behind it, or says why not."""

import json

import pytest
from PIL import Image

import irem

MAGIC = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
MANY = {
    "error-by-step": {"mse_by_step", "trivial_mse", "paper_mse"},
    "energy-by-distance": {"distance", "energy_above_minimum", "rank_correlation", "below_minimum"},
    "steps-spent": {"steps_mean", "steps_low", "steps_high", "converged"},
}
ONE = {
    "element-error": {"elements", "mse_by_step", "low_by_step", "high_by_step"},
    "landscape": {"paths", "lowest_energy", "highest_energy"},
    "walk": {"steps", "energies", "verified"},
}
SMALL = ("--max-steps", 3)


def assert_refused(result, *words):
    assert result.code == 2, result
    assert result.out == ""
    (sentence,) = result.err.strip().splitlines()
    for word in words:
        assert word in sentence


@pytest.mark.parametrize("task", ["addition", "shortest-path", "matrix-inverse"])
@pytest.mark.parametrize("name", [*MANY, *ONE])
def test_every_figure_of_every_kind_of_task(name, task, runs, irem_cli, tmp_path):
    out = tmp_path / "figure.png"
    problems = ("--problems", 2) if name in MANY else ()
    result = irem_cli("figure", name, runs[task], "--out", out, *problems, *SMALL, "--json")
    assert result.code == 0, result
    assert out.read_bytes().startswith(MAGIC[".png"])
    assert [path.name for path in tmp_path.iterdir()] == ["figure.png"]
    printed = json.loads(result.out)
    assert (printed["figure"], printed["task"], printed["out"]) == (name, task, str(out))
    assert (printed["problems"], printed["max_steps"]) == (2 if name in MANY else 1, 3)
    assert printed.keys() >= {**MANY, **ONE}[name]


def test_errors_by_size_have_a_curve_and_a_floor_for_each(runs, irem_cli, tmp_path):
    out = tmp_path / "figure.png"
    options = ("--out", out, "--problems", 2, *SMALL, "--json")
    result = irem_cli("figure", "error-by-size", runs["shortest-path"], *options)
    printed = json.loads(result.out)
    sizes = [f"{n} nodes" for n in (10, 15, 20, 25, 30)]
    assert list(printed["mse_by_step"]) == list(printed["trivial_mse"]) == sizes
    # The first guess, and up to three steps.
    (length,) = {len(curve) for curve in printed["mse_by_step"].values()}
    assert 1 < length <= 4
    assert out.exists()


def test_steps_by_size_or_by_difficulty(runs, irem_cli, tmp_path):
    for task, labels in (
        ("shortest-path", [f"{n} nodes" for n in (5, 10, 15, 20, 25, 30)]),
        ("addition", ["same", "harder"]),
    ):
        options = ("--out", tmp_path / "figure.png", "--problems", 2, *SMALL, "--json")
        printed = json.loads(irem_cli("figure", "steps-spent", runs[task], *options).out)
        assert list(printed["steps_mean"]) == labels
        assert all(mean <= 3 for mean in printed["steps_mean"].values())


@pytest.mark.parametrize("suffix", MAGIC)
def test_kinds_of_files(suffix, runs, irem_cli, tmp_path):
    out = tmp_path / f"figure{suffix}"
    result = irem_cli("figure", "element-error", runs["addition"], "--out", out, *SMALL)
    assert (result.code, result.out.count("\n")) == (0, 1)
    assert str(out) in result.out
    assert out.read_bytes().startswith(MAGIC[suffix])


def test_a_walk_is_a_moving_picture_as_well(runs, irem_cli, tmp_path):
    out = tmp_path / "walk.gif"
    options = ("--out", out, "--difficulty", "harder", "--max-steps", 2)
    assert irem_cli("figure", "walk", runs["addition"], *options).code == 0
    with Image.open(out) as picture:
        assert picture.n_frames == 3


def test_the_step_and_the_seed_that_are_asked_for(runs, irem_cli, tmp_path):
    def curve(*options):
        arguments = ("--out", tmp_path / "figure.png", *SMALL, *options, "--json")
        return json.loads(irem_cli("figure", "element-error", runs["addition"], *arguments).out)[
            "mse_by_step"
        ]

    assert curve() == curve("--step", irem.descent.DEFAULT_STEP, "--seed", 0)
    assert curve("--seed", 1)[0] != curve()[0] == curve("--step", "adam")[0]
    assert curve("--step", "adam")[1] != curve()[1]


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("landscap", (), ("Unknown figure 'landscap'", "Did you mean 'landscape'?")),
        ("error-by-size", (), ("need graphs", "'addition'")),
        ("error-by-step", ("--problems", 0), ("`problems` must be greater than 0, got 0",)),
        ("landscape", ("--problems", 5), ("shows one problem", "leave out --problems")),
        ("landscape", ("--difficulty", 4), ("'landscape' chooses its problems", "--difficulty")),
        ("walk", ("--difficulty", "hard"), ("Unknown difficulty 'hard'",)),
        ("steps-spent", ("--max-steps", 0), ("`max_steps` must be greater than 0, got 0",)),
        ("steps-spent", ("--seed", -1), ("`seed` must be",)),
        ("steps-spent", ("--step", "magic"), ("Unknown step rule 'magic'",)),
    ],
)
def test_bad_requests(name, options, words, runs, irem_cli, tmp_path):
    out = tmp_path / "figure.png"
    assert_refused(irem_cli("figure", name, runs["addition"], "--out", out, *options), *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("out", ["figure.gif", "figure", ".", "missing/figure.png", "made.png"])
def test_figures_that_cannot_be_written(out, runs, irem_cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made.png").mkdir()
    # Refused before the run is looked for.
    assert_refused(irem_cli("figure", "landscape", "nowhere", "--out", out), f"'{out}'")
    assert [path.name for path in tmp_path.iterdir()] == ["made.png"]


def test_a_run_that_is_not_there(irem_cli, tmp_path):
    result = irem_cli("figure", "landscape", "nowhere", "--out", tmp_path / "figure.png")
    assert_refused(result, "There is no run at 'nowhere'")
