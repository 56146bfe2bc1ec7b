"""Settings as fields: read from mappings, written to mappings, and entries found by name."""

import json

import equinox as eqx
import jax
import pytest

import irem
from irem.energy import ENERGIES, MLP, Pair, Paths
from irem.methods import GRADIENTS
from irem.nn import CELLS, NETWORKS, Dense
from irem.settings import Registry, first_fitting, parsed, setting_fields

KEY = jax.random.key(0)
# The first of these that a component fits is the one it is built for.
TASKS = (
    irem.tasks.MatrixInverse(size=4),
    irem.tasks.ShortestPath(),
    irem.tasks.Denoise(),
    irem.tasks.Sudoku(),
    irem.tasks.Maze(),
    irem.tasks.ShortestPath(variant="wide"),
    irem.tasks.MatrixCompletion(variant="wide", size=4),
)
# A value other than the default for every setting of every component.
OTHER_VALUES = {
    "width": 6,
    "depth": 2,
    "scratch": 6,
    "aggregate": "sum",
    "encoder_depth": 2,
    "paths": {"products": 2, "maxima": 0, "aggregate": "sum"},
    "products": 2,
    "means": False,
    "activation": "none",
    "power": 1,
    "head": 1,
    "k": 4,
    "diverged_beyond": None,
    "coupling": 0.3,
    "answer": "reached",
    "rank": 3,
    "equations": 5,
    "residuals": 7,
    "proposals": 2,
    "largest": 3,
    "layers": 2,
    "noise": 0.1,
    "fixed_point": 0.2,
    "learns": "rules",
    "lesson": "waves",
    "speed": 2,
    "recall": False,
}
FITTED = {
    f"{names.what}-{name}": kind
    for names in (ENERGIES, NETWORKS, CELLS)
    for name, kind in names.items()
}


def other_values(kind):
    """Settings of `kind` of which none is at its default."""
    values = {}
    for field in setting_fields(kind):
        default = field.default
        other = OTHER_VALUES[field.name] if field.name != "bias" else not default
        assert other != (default.settings() if field.name == "paths" else default)
        values[field.name] = other
    return values


def build(kind, settings):
    """The component for the first task that it fits; its weights are shapes alone."""
    task = next(task for task in TASKS if fits(kind, task))
    return eqx.filter_eval_shape(lambda: kind.for_task(task, **settings, key=KEY))


def fits(kind, task):
    try:
        kind.fit(task)
    except irem.InputError:
        return False
    return True


@pytest.mark.parametrize("kind", FITTED.values(), ids=FITTED.keys())
def test_settings_of_a_fitted_component_build_it_again(kind):
    for settings in ({}, other_values(kind)):
        first = build(kind, settings)
        written = json.loads(json.dumps(first.settings()))  # as it comes out of a file
        assert settings.items() <= written.items()
        assert list(written) == [field.name for field in setting_fields(kind)]
        again = build(kind, written)
        assert again.settings() == first.settings()
        assert jax.tree.structure(again) == jax.tree.structure(first)
        assert jax.tree.leaves(again) == jax.tree.leaves(first)


@pytest.mark.parametrize("kind", [*GRADIENTS.values(), Paths], ids=lambda kind: kind.__name__)
def test_settings_of_a_component_without_weights_build_it_again(kind):
    settings = OTHER_VALUES["paths"] if kind is Paths else other_values(kind)
    for given in ({}, settings):
        first = kind(**parsed(kind, given))
        written = json.loads(json.dumps(first.settings()))
        assert given.items() <= written.items()
        assert kind(**parsed(kind, written)) == first


def test_a_misspelt_setting_is_refused_and_the_nearest_is_named():
    with pytest.raises(
        irem.InputError,
        match=r"^Unknown setting of MLP 'widht'; known are width, depth, scratch\. "
        r"Did you mean 'width'\?$",
    ):
        parsed(MLP, {"widht": 3})
    with pytest.raises(irem.InputError, match=r"^Unknown setting of the mlp energy 'widht';"):
        parsed(MLP, {"widht": 3}, "the mlp energy")
    with pytest.raises(irem.InputError, match=r"Did you mean 'width'"):
        MLP.for_task(TASKS[0], widht=3, key=KEY)


def test_fields_that_are_no_settings_are_refused():
    with pytest.raises(irem.InputError, match=r"Unknown setting of MLP 'x_shape'"):
        parsed(MLP, {"x_shape": (3,)})


def test_a_group_that_is_given_in_part_keeps_its_other_defaults():
    assert parsed(Pair, {"paths": {"products": 0}}) == {"paths": Paths(products=0)}
    assert parsed(Pair, {"paths": {}}) == {"paths": Paths()}
    assert parsed(Pair, {"paths": Paths(maxima=1)}) == {"paths": Paths(maxima=1)}
    energy = build(Pair, {"paths": {"products": 0}})
    assert energy.settings()["paths"] == {"products": 0, "maxima": 16, "aggregate": "mean"}


def test_a_misspelt_setting_in_a_group_is_refused_with_the_name_of_the_group():
    message = r"^Unknown setting of Pair\.paths 'product'; .* Did you mean 'products'\?$"
    with pytest.raises(irem.InputError, match=message):
        parsed(Pair, {"paths": {"product": 0}})


def test_a_single_value_in_place_of_a_group_is_refused():
    message = r"^Pair\.paths is a group of settings \(products, maxima, aggregate\), got 3\.$"
    with pytest.raises(irem.InputError, match=message):
        parsed(Pair, {"paths": 3})


def test_settings_that_are_not_given_are_left_out():
    assert parsed(MLP, {}) == {}
    assert parsed(MLP, {"depth": 1}) == {"depth": 1}


def test_lists_from_a_file_become_tuples():
    class Shape(irem.settings.AbstractComponent):
        sides: tuple[int, ...] = irem.settings.setting((1, 2))

    read = parsed(Shape, {"sides": [3, 4]})
    assert read == {"sides": (3, 4)}
    assert Shape(**read).settings() == {"sides": [3, 4]}


def test_settings_are_given_by_name_and_are_static():
    with pytest.raises(TypeError):
        Paths(3)
    assert jax.tree.leaves(Paths()) == []
    assert hash(Paths(products=3)) == hash(Paths(products=3))


class Circle:
    pass


class Square:
    pass


def shapes():
    return Registry("shape", {"circle": Circle, "square": Square})


def test_a_registry_is_a_mapping_in_the_order_of_its_entries():
    registry = shapes()
    assert dict(registry) == {"circle": Circle, "square": Square}
    assert list(registry) == ["circle", "square"]
    assert len(registry) == 2
    assert "circle" in registry
    assert "triangle" not in registry
    assert registry.get("circle") is Circle


def test_an_unknown_name_is_refused_and_the_nearest_is_named():
    message = r"^Unknown shape 'sqare'; known are circle, square\. Did you mean 'square'\?$"
    with pytest.raises(irem.InputError, match=message):
        shapes()["sqare"]


def test_an_entry_of_ones_own_comes_after_the_others():
    registry, others = shapes(), shapes()
    registry.register("triangle", str)
    assert registry["triangle"] is str
    assert list(registry) == ["circle", "square", "triangle"]
    assert "triangle" not in others


def test_a_name_that_is_taken_is_refused_but_by_the_same_entry():
    registry = shapes()
    registry.register("circle", Circle)
    with pytest.raises(irem.InputError, match=r"^There is a shape called 'circle' already;"):
        registry.register("circle", Square)
    assert registry["circle"] is Circle


def test_the_name_of_a_value_is_that_of_its_own_class():
    class Ellipse(Circle):
        pass

    registry = shapes()
    assert registry.name_of(Circle()) == "circle"
    assert registry.name_of(Ellipse()).endswith("Ellipse")  # a subclass is another class


def test_a_description_is_the_name_and_the_settings():
    rule = irem.LastSteps(k=3)
    expected = {"name": "last-steps", "k": 3, "diverged_beyond": 1e6}
    assert GRADIENTS.describe(rule) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (ENERGIES, ("mlp", "gine", "conv")),
        (NETWORKS, ("dense", "graph", "unet")),
        (CELLS, ("dense", "graph", None)),
    ],
)
def test_the_first_entry_that_fits_a_task_is_its_default(names, expected):
    for task, name in zip(TASKS[:3], expected, strict=True):
        if name is None:
            message = "^No cell takes pictures, as 'denoise' has them.$"
            with pytest.raises(irem.InputError, match=message):
                first_fitting(names, task)
        else:
            assert first_fitting(names, task) == name


def test_a_registered_network_can_be_named_and_is_described_by_its_name(monkeypatch):
    class Wide(Dense):
        width: int = irem.settings.setting(7)

    registry = Registry("network", NETWORKS)
    monkeypatch.setattr("irem.methods.networks.NETWORKS", registry)
    registry.register("wide", Wide)
    made = eqx.filter_eval_shape(
        lambda: irem.Feedforward.for_task(TASKS[0], network={"name": "wide"}, key=KEY)
    )
    assert made.network.width == 7
    assert registry.describe(made.network) == {"name": "wide", "depth": 3, "width": 7}


@pytest.mark.parametrize(
    ("energy", "settings", "message"),
    [
        (irem.energy.Pair, {"width": "wide"}, "`width` of Pair is int, got 'wide'"),
        (irem.energy.Pair, {"width": True}, "`width` of Pair is int, got True"),
        (irem.energy.Pair, {"width": 2.5}, "`width` of Pair is int, got 2.5"),
        (irem.energy.Pair, {"activation": 3}, "`activation` of Pair is str, got 3"),
        (irem.energy.Pair, {"means": 1}, "`means` of Pair is bool, got 1"),
        (irem.energy.Pair, {"power": "one"}, "`power` of Pair is int or none, got 'one'"),
        (irem.energy.Pair, {"paths": {"maxima": "all"}}, "`maxima` of Pair.paths is int"),
    ],
)
def test_a_value_of_another_type_is_refused(energy, settings, message):
    with pytest.raises(irem.InputError, match=message):
        parsed(energy, settings)


def test_none_and_whole_numbers_are_taken_where_they_fit():
    assert parsed(irem.energy.Pair, {"power": "none", "activation": "none"}) == {
        "power": None,
        "activation": "none",
    }
    assert parsed(irem.IREM, {"step_size": 1}) == {"step_size": 1}
