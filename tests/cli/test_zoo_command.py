"""`irem zoo`: what comes along, and the cards."""

import json

import pytest

from irem.training import ZooModel
from irem.training.run import find_run

OTHERS = (
    ZooModel("zoo:one", "addition", "mlp", 1234567, 89, "It adds.", "# zoo:one\n\nIt adds.\n"),
    ZooModel("zoo:two", "edge-copy", None, 12, 3, "It copies.", "# zoo:two\n\nIt copies.\n"),
)


@pytest.fixture
def others(monkeypatch):
    monkeypatch.setattr("irem.cli.zoo.zoo", lambda: OTHERS)


def test_the_list_names_every_model_with_its_size(others, irem_cli):
    result = irem_cli("zoo")
    assert result.code == 0
    assert result.out.splitlines() == [
        "zoo:one  It adds.",
        "    task addition, energy mlp, 1,234,567 parameters, 89 kB",
        "zoo:two  It copies.",
        "    task edge-copy, no energy, 12 parameters, 3 kB",
    ]


def test_the_list_as_json(others, irem_cli):
    first, second = json.loads(irem_cli("zoo", "--json").out)["models"]
    assert first == {
        "name": "zoo:one", "task": "addition", "energy": "mlp", "parameters": 1234567,
        "kilobytes": 89, "summary": "It adds.",
    }  # fmt: skip
    assert second["energy"] is None


@pytest.mark.parametrize("name", ["two", "zoo:two"])
def test_one_model_as_json_has_its_card(name, others, irem_cli):
    told = json.loads(irem_cli("zoo", name, "--json").out)
    assert (told["name"], told["card"]) == ("zoo:two", OTHERS[1].card)


@pytest.mark.parametrize("name", ["denoise", "zoo:denoise"])
def test_the_card_of_a_model_is_printed(name, irem_cli):
    result = irem_cli("zoo", name)
    assert result.code == 0
    assert result.out == (find_run("zoo:denoise") / "README.md").read_text()


def test_what_comes_along_is_listed(irem_cli):
    names = [model["name"] for model in json.loads(irem_cli("zoo", "--json").out)["models"]]
    assert "zoo:denoise" in names
    assert names == sorted(names)


@pytest.mark.parametrize("name", ["three", "zoo:three", "../two", ""])
def test_an_unknown_model_is_refused_and_the_known_ones_listed(name, others, irem_cli):
    result = irem_cli("zoo", name)
    assert (result.code, result.out) == (2, "")
    assert "known are zoo:one, zoo:two." in result.err
    assert result.err.count("\n") == 1
