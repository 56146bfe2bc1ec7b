"""Recipes as text, and what they hand to a training."""

import tomllib

import jax
import pytest

import irem
from irem.training import (
    Adam,
    ExponentialAverage,
    NoReplay,
    Recipe,
    Replay,
    parse_override,
    recipe_comment,
    recipe_names,
    recipes,
)

FOLDER = recipes._FOLDER
TASK = {"name": "addition", "size": 3}


def recipe(**settings):
    return Recipe("mine", {"task": TASK, "method": {"name": "irem"}, **settings})


def test_a_recipe_is_written_as_toml_that_says_the_same():
    settings = {
        "iterations": 7,
        "precision": "float32",
        "energy": {"name": "mlp", "flag": True, "rate": 0.5, "paths": {"a": {"b": 2}}, "c": 1},
        "replay": {"clip": None, "scales": (1.0, [2, False]), "text": 'a "b" \\c'},
    }
    text = recipe(**settings).as_toml()
    assert text.startswith("iterations = 7\n")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert tomllib.loads(text) == {
        "iterations": 7,
        "precision": "float32",
        "task": TASK,
        "method": {"name": "irem"},
        "energy": {"name": "mlp", "flag": True, "rate": 0.5, "c": 1, "paths": {"a": {"b": 2}}},
        "replay": {"clip": "none", "scales": [1.0, [2, False]], "text": 'a "b" \\c'},
    }
    # Without a value at the top there is no empty line there either.
    assert recipe().as_toml().startswith("[task]\n")


def test_lengths_and_parts_have_defaults():
    made = recipe()
    assert [made.length(n) for n in ("iterations", "batch_size", "precision")] == [
        10_000,
        128,
        "default",
    ]
    assert recipe(iterations=3).length("iterations") == 3
    assert made.component("optimiser") == Adam()
    assert made.component("replay") == Replay()
    assert recipe(replay={"name": "none"}).component("replay") == NoReplay()
    average = {"name": "exponential", "decay": 0.5}
    assert recipe(average=average).component("average") == ExponentialAverage(0.5)
    baseline = recipe(method={"name": "feedforward"})
    assert baseline.component("replay") == NoReplay()
    assert baseline.component("optimiser") == Adam()
    assert baseline.component("average") == irem.training.NoAverage()
    assert recipe(replay={"capacity": 50}).component("replay") == Replay(50)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"task": {}}, "The section task of a recipe lacks its `name`"),
        ({"energy": 3}, "`energy` of a recipe is a section, got 3"),
        ({"batch_size": {"a": 1}}, "`batch_size` of a recipe is a value"),
        ({"network": {}}, "Unknown key of a recipe 'network'"),
        ({"precision": "half"}, "Unknown precision 'half'"),
        ({"average": {"name": "mean"}}, "Unknown average 'mean'"),
    ],
    ids=str,
)
def test_what_is_no_recipe_is_refused(settings, message):
    with pytest.raises(irem.InputError, match=message):
        recipe(**settings).checked()


def test_a_recipe_is_of_irem_unless_it_says_otherwise():
    assert recipe(method={"num_steps": 2}).checked().settings["method"] == {
        "name": "irem",
        "num_steps": 2,
    }


def test_changes_are_made_in_a_copy_and_a_new_name_drops_old_settings():
    old = recipe(energy={"name": "mlp", "width": 3, "paths": {"a": 1}}, replay={"capacity": 50})
    new = old.override({"energy.paths.b": 2, "iterations": 5})
    assert new.settings["energy"] == {"name": "mlp", "width": 3, "paths": {"a": 1, "b": 2}}
    assert old.settings["energy"]["paths"] == {"a": 1}
    assert new.settings["iterations"] == 5
    table = old.override({"energy.width": 4, "energy.name": "table"})
    assert table.settings["energy"] == {"name": "table", "width": 4}
    assert table.settings["replay"] == {"capacity": 50}
    # Settings of another section stay where a value happens to be its name.
    assert old.override({"energy.name": "mlp"}).settings == old.settings
    other = old.override({"network.width": 4, "method.name": "feedforward", "replay.name": "none"})
    assert other.settings == {
        "task": TASK,
        "method": {"name": "feedforward"},
        "network": {"width": 4},
        "replay": {"name": "none"},
    }
    for key in ("iterations.x", "energy.width.x"):
        with pytest.raises(irem.InputError, match="what it is in is not a section"):
            recipe(iterations=3, energy={"width": 3}).override({key: 1})


def test_a_task_is_made_with_its_settings_or_refused_in_one_sentence():
    assert recipe().make_task() == irem.tasks.get("addition", size=3)
    with pytest.raises(
        irem.InputError, match="The section task of a recipe cannot be used"
    ) as told:
        recipe(task={"name": "addition", "size": "many"}).make_task()
    assert "\n" not in str(told.value)


def test_a_method_is_made_from_its_own_sections():
    made = recipe(energy={"width": 3}, replay={"capacity": 50}, iterations=3)
    assert made.method_settings() == {"method": {"name": "irem"}, "energy": {"width": 3}}


def test_recipes_that_come_along_are_found_and_have_a_comment(tmp_path):
    assert recipe_names("addition") == sorted(p.stem for p in (FOLDER / "addition").iterdir())
    assert recipe_names("nothing") == []
    text = (FOLDER / "addition" / "paper.toml").read_text()
    comment = recipe_comment("addition", "paper")
    assert comment
    assert not comment.startswith(("#", " "))
    assert comment.split()[:3] == text.split()[1:4]
    assert "\n" not in comment


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b=3", ("a.b", 3)),
        (" a = x y ", ("a", "x y")),
        ("a=", ("a", "")),
        ("a=b=c", ("a", "b=c")),
    ],
)
def test_an_override_is_a_key_and_a_value(text, expected):
    assert parse_override(text) == expected


@pytest.mark.parametrize("text", ["a.b", "=3", ""])
def test_a_text_without_a_key_or_a_sign_is_no_override(text):
    with pytest.raises(irem.InputError, match="An override is KEY=VALUE"):
        parse_override(text)


@pytest.mark.parametrize(("name", "precision"), [("default", None), ("float32", "float32")])
def test_a_recipe_hands_all_it_says_to_a_training(name, precision, monkeypatch):
    given = {}

    def train(task, methods, **options):
        given.update(options, task=task, methods=methods)
        given["precision"] = jax.config.jax_default_matmul_precision
        return irem.training.Run(task, (), 0, irem.training.History.empty(1), {})

    monkeypatch.setattr(recipes, "train", train)
    monkeypatch.setattr(recipes, "build_methods", lambda *given, keys: (*given, len(keys)))
    made = recipe(iterations=5, batch_size=2, replay={"capacity": 50}, precision=name)
    keys = jax.random.split(jax.random.key(0), 2)
    made.train(keys=keys, begin=lambda built: ("begun", built))
    own = irem.tasks.get("addition", size=3)
    assert given["task"] == own
    assert given["methods"] == ("begun", (own, {"method": {"name": "irem"}}, 2))
    assert (given["iterations"], given["batch_size"]) == (5, 2)
    assert (given["optimiser"], given["replay"]) == (Adam(), Replay(50))
    assert given["average"] == irem.training.NoAverage()
    assert given["key"] is keys
    assert (given["out"], given["progress"], given["precision"]) == (None, False, precision)
    other = irem.tasks.get("addition", size=4)
    made.train(keys=keys, task=other)
    assert given["task"] is other
    assert given["methods"][0] is other
