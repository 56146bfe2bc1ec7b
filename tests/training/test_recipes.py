"""Recipes: those that come along, changes of them, and files of one's own."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import numpy as np
import pytest

import irem
from irem.keys import training_keys
from irem.methods import build_method, build_methods
from irem.training import (
    Adam,
    Checkpoints,
    ExponentialAverage,
    Recipe,
    parse_override,
    read_settings,
    recipe_names,
)
from irem.training.run import find_run

# Of these the paper has none.
PUZZLES = ("sudoku", "queens", "latin", "colouring", "prefix-sums", "maze")
PAPER_TASKS = [name for name in irem.tasks.TASKS if name not in ("denoise", *PUZZLES)]
SHIPPED = [(task, name) for task in irem.tasks.TASKS for name in recipe_names(task)]
ADDITION = Recipe.named("addition")


def written(recipe, path):
    """The recipe after it was written to a file and read again."""
    path.write_text(recipe.as_toml(), encoding="utf-8")
    return Recipe.read(path, recipe.settings["task"]["name"])


@pytest.mark.parametrize("task", irem.tasks.TASKS)
def test_every_task_has_its_recipes(task):
    expected = {"denoise": ["best", "paper"]} | {name: ["best"] for name in PUZZLES}
    assert recipe_names(task) == expected.get(task, ["best", "paper", "robust"])


@pytest.mark.parametrize(("task", "name"), SHIPPED)
def test_a_shipped_recipe_builds_its_method_and_survives_a_file(task, name, tmp_path):
    recipe = Recipe.named(task, name)
    made, key = recipe.make_task(), jax.random.key(0)
    assert made.name == task
    method = eqx.filter_eval_shape(lambda: build_method(made, recipe.method_settings(), key=key))
    assert isinstance(method, irem.IREM)
    complete = recipe.complete()
    assert complete.settings["energy"]["name"] == recipe.settings["energy"]["name"]
    again = written(complete, tmp_path / f"{name}.toml")
    assert again.complete() == complete
    # What the recipe says is what the complete one says.
    for section in ("optimiser", "replay", "average"):
        assert again.component(section) == recipe.component(section)


@pytest.mark.parametrize("task", PAPER_TASKS)
def test_the_best_recipe_has_the_settings_of_the_model_of_the_protocol(task):
    best, zoo = Recipe.named(task).complete(), settings_of_the_zoo(f"{task}-protocol")
    assert best == Recipe.named(task, "best").complete()
    parts = ("task", "method", "energy", "gradient", "optimiser", "replay", "average")
    for name in (*parts, "iterations", "batch_size", "precision"):
        assert best.settings[name] == zoo[name], name
    assert dict(best.settings) == dict(Recipe.of_run(zoo).settings)


def settings_of_the_zoo(name):
    """The settings of a model, with settings that it is older than at their defaults."""
    settings = read_settings(find_run(f"zoo:{name}"))
    if settings["replay"]["name"] == "buffer":
        settings["replay"] = {**settings["replay"], "parts": None}
    return settings


@pytest.mark.parametrize("task", PAPER_TASKS)
def test_the_robust_recipe_has_the_settings_of_the_zoo_model(task):
    robust = Recipe.named(task, "robust").complete()
    assert dict(robust.settings) == dict(Recipe.of_run(settings_of_the_zoo(task)).settings)


@pytest.mark.parametrize("task", PAPER_TASKS)
def test_the_paper_recipe_has_the_settings_of_appendix_c(task):
    paper = Recipe.named(task, "paper").complete().settings
    graphs = isinstance(irem.tasks.get(task), irem.tasks.AbstractGraphTask)
    assert paper["energy"]["name"] == ("gine" if graphs else "mlp")
    assert (paper["iterations"], paper["batch_size"]) == (10_000, 64 if graphs else 128)
    assert paper["method"] == {"name": "irem", "num_steps": 5, "step_size": 100.0}
    assert paper["gradient"]["k"] == 1
    assert paper["optimiser"]["learning_rate"] == 1e-4
    assert paper["replay"] == {
        "name": "buffer",
        "capacity": 10_000,
        "clip": None,
        "parts": None,
    }


def test_overrides_change_single_settings_and_leave_the_recipe_as_it_was():
    before = ADDITION.as_toml()
    changed = ADDITION.override(
        {"iterations": 7, "energy.width": 3, "task.size": 9, "optimiser.clip_norm": None}
    )
    assert ADDITION.as_toml() == before
    old, new = ADDITION.complete().settings, changed.complete().settings
    assert (new["iterations"], new["energy"]["width"], new["task"]["size"]) == (7, 3, 9)
    assert new["optimiser"]["clip_norm"] is None
    for section in ("energy", "task", "optimiser"):
        own = {"width", "size", "clip_norm"}
        kept = [{k: v for k, v in s[section].items() if k not in own} for s in (old, new)]
        assert kept[0] == kept[1]
    for section in ("batch_size", "precision", "method", "gradient", "replay", "average"):
        assert new[section] == old[section]


def test_a_group_of_settings_is_overridden_in_part():
    recipe = Recipe.named("edge-copy").override({"energy.paths.products": 2})
    paths = recipe.complete().settings["energy"]["paths"]
    assert paths == {"products": 2, "maxima": 0, "aggregate": "mean"}
    assert recipe.complete().settings["energy"]["width"] == 16


def test_another_energy_drops_the_settings_of_the_old_one():
    changed = ADDITION.override({"energy.name": "mlp"})
    assert changed.settings["energy"] == {"name": "mlp"}
    defaults = {"name": "mlp", "width": 512, "depth": 3, "scratch": 0}
    assert changed.complete().settings["energy"] == defaults
    assert changed.settings["method"] == ADDITION.settings["method"]
    # The order of changes does not matter, and the same name changes nothing.
    for changes in (
        {"energy.width": 7, "energy.name": "mlp"},
        {"energy.name": "mlp", "energy.width": 7},
    ):
        assert ADDITION.override(changes).settings["energy"] == {"name": "mlp", "width": 7}
    assert ADDITION.override({"energy.name": "table"}) == ADDITION


def test_another_method_drops_the_parts_of_the_old_one_and_its_replay():
    changed = ADDITION.override({"method.name": "feedforward", "network.width": 8})
    assert changed.settings["method"] == {"name": "feedforward"}
    assert not {"energy", "gradient", "replay"} & changed.settings.keys()
    complete = changed.complete().settings
    assert complete["network"] == {"name": "dense", "width": 8, "depth": 3}
    assert complete["replay"] == {"name": "none"}
    assert complete["optimiser"] == ADDITION.complete().settings["optimiser"]
    assert changed.component("replay") == irem.NoReplay()
    back = changed.override({"method.name": "irem"})
    assert back.settings["method"] == {"name": "irem"}
    assert "network" not in back.settings
    assert isinstance(back.component("replay"), irem.Replay)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"iteratoins": 3}, r"^Unknown key of a recipe 'iteratoins'.*Did you mean 'iterations'\?$"),
        ({"enrgy.width": 3}, r"^Unknown key of a recipe 'enrgy'.*Did you mean 'energy'\?$"),
        ({"network.width": 3}, r"^Unknown key of a recipe 'network'; known are"),
        ({"optimiser.lerning_rate": 1.0}, r"Did you mean 'learning_rate'\?$"),
        ({"replay.name": "bufer"}, r"^Unknown replay 'bufer'.*Did you mean 'buffer'\?$"),
        ({"average.name": "exponental"}, r"Did you mean 'exponential'\?$"),
        ({"method.name": "ierm"}, r"^Unknown method 'ierm'.*Did you mean 'irem'\?$"),
        ({"precision": "half"}, r"^Unknown precision 'half'; known are default, float32\.$"),
        ({"optimiser.decay": "cosin"}, r"Did you mean 'cosine'\?$"),
        ({"optimiser.learning_rate": -1.0}, r"^`learning_rate` must be greater than 0, got -1"),
        ({"average.name": "exponential", "average.decay": 2.0}, r"^`decay` must be between 0 and"),
        ({"energy": 3}, r"^`energy` of a recipe is a section, got 3\.$"),
        ({"method": "irem"}, r"^`method` of a recipe is a section, got 'irem'\.$"),
        ({"iterations": {"a": 1}}, r"^`iterations` of a recipe is a value, got"),
        ({"iterations.x": 3}, r"^`iterations\.x` is not a key of a recipe"),
        ({"energy.width.x": 3}, r"^`energy\.width\.x` is not a key of a recipe"),
    ],
    ids=str,
)
def test_a_change_that_makes_no_recipe_is_refused_in_one_sentence(changes, message):
    with pytest.raises(irem.InputError, match=message):
        ADDITION.override(changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"energy.widht": 3}, r"^Unknown setting of the table energy.*Did you mean 'width'\?"),
        ({"energy.name": "tabel"}, r"Did you mean 'table'\?"),
        ({"method.num_step": 3}, r"^Unknown setting of the method irem.*'num_steps'\?"),
        ({"gradient.name": "last-step"}, r"Did you mean 'last-steps'\?"),
        ({"gradient.kk": 3}, r"^Unknown setting of the gradient rule last-steps 'kk'"),
        ({"task.sise": 3}, r"^Unknown setting of the task 'addition' 'sise'.*'size'\?"),
        ({"energy.name": "gine"}, r"^The GINE energy needs graphs, and 'addition' has"),
    ],
    ids=str,
)
def test_settings_of_parts_are_checked_when_the_method_is_built(changes, message):
    with pytest.raises(irem.InputError, match=message):
        ADDITION.override(changes).complete()


@pytest.mark.parametrize(
    ("task", "name", "message"),
    [
        ("adition", "best", r"^Unknown task 'adition'.*Did you mean 'addition'\?$"),
        ("addition", "besst", r"^Unknown recipe of 'addition' 'besst'.*Did you mean 'best'\?$"),
    ],
)
def test_an_unknown_recipe_is_refused_with_a_hint(task, name, message):
    with pytest.raises(irem.InputError, match=message):
        Recipe.named(task, name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("energy.width=64", ("energy.width", 64)),
        ("optimiser.learning_rate = 1e-3", ("optimiser.learning_rate", 1e-3)),
        ("energy.means=false", ("energy.means", False)),
        ("energy.name=pair", ("energy.name", "pair")),
        ('energy.name="pair"', ("energy.name", "pair")),
        ("task.scales=[1.0, 0.5]", ("task.scales", [1.0, 0.5])),
        ("optimiser.clip_norm=none", ("optimiser.clip_norm", "none")),
        ("replay.name=none", ("replay.name", "none")),
        ("energy.activation=none", ("energy.activation", "none")),
        ("task.images=a=b", ("task.images", "a=b")),
    ],
)
def test_overrides_are_read_from_text(text, expected):
    assert parse_override(text) == expected


@pytest.mark.parametrize("text", ["energy.width", "=3", ""])
def test_a_text_that_is_no_override_is_refused(text):
    with pytest.raises(irem.InputError, match=r"^An override is KEY=VALUE"):
        parse_override(text)


OWN = """
iterations = 20
batch_size = 4
precision = "float32"

[task]
size = 5

[method]
num_steps = 3

[energy]
name = "mlp"
width = 8

[optimiser]
learning_rate = 1e-3

[replay]
capacity = 50

[average]
name = "exponential"
decay = 0.9
"""


@pytest.fixture
def own(tmp_path):
    (tmp_path / "own.toml").write_text(OWN)
    return Recipe.read(tmp_path / "own.toml", "addition")


def test_a_file_of_ones_own_is_a_recipe_and_leaves_out_what_is_at_its_default(own, tmp_path):
    assert own.name == "own"
    complete = own.complete().settings
    assert complete["task"] == {"name": "addition", "variant": "released", "size": 5}
    assert complete["method"] == {"name": "irem", "num_steps": 3, "step_size": 100.0}
    assert complete["energy"] == {"name": "mlp", "width": 8, "depth": 3, "scratch": 0}
    assert complete["gradient"] == {"name": "last-steps", "k": 1, "diverged_beyond": 1e6}
    replay = {"name": "buffer", "capacity": 50, "clip": None, "parts": None}
    assert complete["replay"] == replay
    assert own.component("optimiser") == Adam(learning_rate=1e-3)
    assert own.component("average") == ExponentialAverage(decay=0.9)
    assert written(own.complete(), tmp_path / "own.toml").complete() == own.complete()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = [", r"own\.toml' is not a recipe in TOML \("),
        ('[task]\nname = "edge-copy"', r"is a recipe for 'edge-copy', not for 'addition'\.$"),
        ('task = "addition"', r"^`task` of a recipe is a section, got 'addition'\.$"),
        ('method = "irem"', r"^`method` of a recipe is a section, got 'irem'\.$"),
        ("[enrgy]\nwidth = 3", r"Did you mean 'energy'\?$"),
        ("[replay]\ncapcity = 3", r"Did you mean 'capacity'\?$"),
        ('precision = "half"', r"known are default, float32"),
    ],
)
def test_a_file_that_is_no_recipe_is_refused_in_one_sentence(text, message, tmp_path):
    (tmp_path / "own.toml").write_text(text)
    with pytest.raises(irem.InputError, match=message):
        Recipe.read(tmp_path / "own.toml", "addition")


def test_a_file_that_is_missing_is_refused(tmp_path):
    with pytest.raises(irem.InputError, match=r"^There is no recipe '.*nowhere\.toml'"):
        Recipe.read(tmp_path / "nowhere.toml", "addition")


def bits(run):
    leaves = jax.tree.leaves(eqx.filter(run.models, eqx.is_array))
    return [np.asarray(leaf).tobytes() for leaf in leaves]


def test_a_recipe_trains_what_its_settings_say_and_a_run_tells_its_recipe(own, tmp_path):
    keys = training_keys(3, 2)
    run = own.train(keys=keys, out=Checkpoints(tmp_path / "run"))
    task = irem.tasks.get("addition", size=5)
    methods = build_methods(task, own.method_settings(), keys=keys)
    with jax.default_matmul_precision("float32"):
        same = irem.train(
            task,
            methods,
            iterations=20,
            batch_size=4,
            optimiser=Adam(learning_rate=1e-3),
            replay=irem.Replay(capacity=50),
            average=ExponentialAverage(decay=0.9),
            key=keys,
        )
    assert bits(run) == bits(same)
    assert run.settings == same.settings == irem.load(tmp_path / "run").settings
    assert run.settings["precision"] == "float32"
    assert jax.config.jax_default_matmul_precision is None
    assert len(run.models) == 2
    assert dict(Recipe.of_run(run.settings).settings) == dict(own.complete().settings)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Own(irem.tasks.Addition):
    name: ClassVar[str] = "own"


def test_a_task_that_was_registered_has_a_recipe_of_all_defaults(monkeypatch):
    monkeypatch.setattr(irem.tasks.TASKS, "_entries", {**irem.tasks.TASKS})
    irem.tasks.TASKS.register("own", Own)
    recipe = Recipe.named("own").override({"task.size": 3})
    complete = recipe.complete().settings
    assert complete["energy"]["name"] == "mlp"
    assert complete["iterations"] == 10_000
    assert recipe.make_task() == Own(size=3)
    with pytest.raises(irem.InputError, match=r"^Unknown recipe of 'own' 'paper'"):
        Recipe.named("own", "paper")


def test_none_unsets_what_may_be_unset_also_after_a_file(tmp_path):
    recipe = Recipe.named("matrix-inverse").override(
        {"optimiser.clip_norm": "none", "gradient.diverged_beyond": None, "energy.power": "none"}
    )
    assert recipe.component("optimiser").clip_norm is None
    complete = recipe.complete()
    assert complete.settings["gradient"]["diverged_beyond"] is None
    assert complete.settings["energy"]["power"] is None
    assert complete.settings["energy"]["activation"] == "none"
    (tmp_path / "own.toml").write_text(complete.as_toml())
    read = Recipe.read(tmp_path / "own.toml", "matrix-inverse")
    assert read.complete().settings == complete.settings


def test_a_part_of_another_method_is_refused_whatever_the_order():
    for keys in (("energy.name", "method.name"), ("method.name", "energy.name")):
        values = {"energy.name": "mlp", "method.name": "feedforward"}
        with pytest.raises(ValueError, match="Unknown key of a recipe 'energy'"):
            Recipe.named("addition").override({key: values[key] for key in keys})
