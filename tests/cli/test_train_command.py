"""`irem train` and `irem recipes`: recipes, overrides, and taking a run up again."""

import json

import pytest

from irem.training import Recipe

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
