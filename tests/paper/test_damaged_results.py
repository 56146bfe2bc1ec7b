"""Files of results with a field deleted or of another type: a sentence, or a result that shows."""

import copy
import json
import random
from collections import defaultdict

import pytest

import irem
from irem.json_text import dump
from irem.paper import (
    EXPERIMENTS,
    as_json,
    as_text,
    committed_results,
    read_result,
    read_results,
    reproduction_markdown,
    reproduction_page,
)

DELETED = object()
ODD = (DELETED, None, True, -1, 0, 1.5, 1e300, "x", "", [], {}, [[]], [None], {"a": 1})
NAMES = [name for name in EXPERIMENTS if (committed_results() / f"{name}.json").is_file()]
DRAWN = [name for name in NAMES if EXPERIMENTS[name].drawings]


def places(value, path=()):
    """Every place inside plain values, as the keys and indices that lead to it."""
    children = value.items() if isinstance(value, dict) else ()
    children = enumerate(value) if isinstance(value, list) else children
    for key, child in children:
        yield (*path, key)
        yield from places(child, (*path, key))


def damaged(value, place, odd):
    value = copy.deepcopy(value)
    inner = value
    for key in place[:-1]:
        inner = inner[key]
    if odd is DELETED:
        del inner[place[-1]]
    else:
        inner[place[-1]] = odd
    return value


def committed(name):
    """A committed result as plain values, of long lists of numbers the first few."""
    value = json.loads((committed_results() / f"{name}.json").read_text())
    if name == "figures":
        figures = value["figures"]
        figures["element-error"]["errors"] = figures["element-error"]["errors"][:5]
        for levels in figures["energy-landscape"].values():
            for points in levels.values():
                points |= {n: points[n][:20] for n in ("distance", "height")}
        teaser = figures["teaser"]
        teaser |= {n: teaser[n][::8] for n in ("first", "second")}
        teaser["energies"] = [row[::8] for row in teaser["energies"][::8]]
    return value


def samples(name, count):
    """Some damaged versions of a committed result, with fields of every kind as likely."""
    given, chosen = committed(name), random.Random(0)
    by_kind = defaultdict(list)
    for place in places(given):
        by_kind[tuple(key if isinstance(key, str) else 0 for key in place)].append(place)
    kinds = list(by_kind)
    for _ in range(count):
        place, odd = chosen.choice(by_kind[chosen.choice(kinds)]), chosen.choice(ODD)
        yield damaged(given, place, odd)


def shows(folder, name, render):
    """Whether a result is shown; if not, it must be refused in a sentence that names its file."""
    try:
        result = read_result(folder, name)
        dump(as_json(result))
        as_text(result)
        assert render(folder)
    except irem.InputError as error:
        sentence = str(error)
    else:
        return True
    assert f"{name}.json'" in sentence
    assert "\n" not in sentence
    return False


@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_result_is_shown_or_refused_in_one_sentence(tmp_path, name):
    shown = []
    for value in samples(name, 20):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
        shown.append(shows(tmp_path, name, reproduction_markdown))
    assert 0 < sum(shown) < len(shown)


@pytest.mark.filterwarnings("ignore")  # of logarithms of what is not positive
@pytest.mark.parametrize("name", DRAWN)
def test_what_is_read_is_drawn(tmp_path, name):
    for value in samples(name, 4):
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
        shows(tmp_path, name, reproduction_page)


@pytest.mark.parametrize(
    ("place", "odd", "sentence"),
    [
        (("versions", "jax"), DELETED, "versions lacks the field 'jax'."),
        (("versions",), [], "field 'versions', is []; expected a mapping."),
        (("scale", "name"), DELETED, "scale lacks the field 'name'."),
        (("device",), 3, "field 'device', is 3; expected str."),
        (("clean",), "yes", "field 'clean', is 'yes'; expected bool."),
        (("cells",), [], "is damaged (it has no cells); "),
        (("cells",), DELETED, "is damaged (it has no cells); "),
        (("cells",), {"a": 1}, "is damaged (it has no cells); "),
        (("cells", 2), [1], "cells[2] is [1] and not a cell."),
        (("cells", 2, "mse_by_seed"), 4, "cells[2], field 'mse_by_seed', is 4; expected a list."),
        (("cells", 2, "note"), 4, "cells[2], field 'note', is 4; expected str."),
    ],
)
def test_file_and_field_are_named(tmp_path, place, odd, sentence):
    given = committed("step-size")
    given = {**given, "clean": None}
    given["cells"][2]["note"] = None
    path = tmp_path / "step-size.json"
    path.write_text(json.dumps(damaged(given, place, odd)))
    with pytest.raises(irem.InputError) as raised:
        read_results(tmp_path)
    assert str(raised.value).startswith(f"'{path}'")
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    ("place", "odd", "sentence"),
    [
        (("teaser",), DELETED, "figures lacks the field 'teaser'."),
        (("teaser", "energies"), [[1.0]], "'teaser', is damaged: energies must be "),
        (("teaser", "paths", 0), [[1, 2, 3]], "'teaser', is damaged: a path must be "),
        (("element-error", "errors"), [], "is damaged: there are no errors."),
        (("steps-by-size", "trivial"), {}, "is damaged: there are no curves."),
        (("composition-example", "answer"), [1.0], "the example must be 6 x 9 numbers."),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_named(tmp_path, place, odd, sentence):
    given = committed("figures")
    (tmp_path / "figures.json").write_text(json.dumps(damaged(given, ("figures", *place), odd)))
    with pytest.raises(irem.InputError) as raised:
        read_results(tmp_path)
    assert sentence in str(raised.value)


@pytest.mark.parametrize("name", ["table1", "stability", "composition", "denoising", "sat"])
def test_cells_that_are_missing_or_of_other_methods_leave_gaps(tmp_path, name):
    given = committed(name)
    del given["cells"][1]
    given["cells"][-1]["method"] = "guessing"
    (tmp_path / f"{name}.json").write_text(json.dumps(given))
    text = as_text(read_result(tmp_path, name))
    assert ("guessing" in text) == (name in ("table1", "composition", "denoising"))
    assert shows(tmp_path, name, reproduction_page)
