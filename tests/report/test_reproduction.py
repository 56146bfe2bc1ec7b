import html
import json
import re

import numpy as np
import pytest

import irem
from irem import report
from irem.experiments import FULL, QUICK
from irem.methods import METHODS
from irem.report._tables import Cell, Table, number


def cell(task="addition", method="irem", difficulty="same", **values):
    """A cell of Table 1 with two seeds."""
    seeds = values.pop("seeds_at", [0.0010, 0.0030])
    return {
        "task": task,
        "method": method,
        "difficulty": difficulty,
        "mean": float(np.mean(seeds)),
        "std": float(np.std(seeds, ddof=1)),
        "seeds": len(seeds),
        "mse_by_seed": seeds,
        "paper": 0.0019,
        "trivial": 0.5,
        "best": 0.0,
        "parameters": 1234,
        "steps_mean": 9.0,
        "also": {},
        **values,
    }


def table1(scale=FULL):
    cells = [
        cell(method=method, difficulty=difficulty, seeds_at=[k + 0.5, k + 1.5])
        for k, method in enumerate(METHODS)
        for difficulty in ("same", "harder")
    ]
    origin = {"commit": "c0ffee" * 6, "device": "abacus", "versions": {"jax": "9", "irem": "8"}}
    return {"experiment": "table1", **origin, "scale": scale.as_dict(), "cells": cells}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "table1.json").write_text(json.dumps(table1()))
    return tmp_path


def test_every_number_of_the_page_is_traced_to_its_cell(folder):
    page = report.reproduction_page(folder)
    traced = re.findall(r'title="table1.json: cells\[(\d+)\]; seeds: ([^"]+)">([^<]+)<', page)
    cells = table1()["cells"]
    assert {int(index) for index, _, _ in traced} == set(range(len(cells)))
    for index, seeds, shown in traced:
        source = cells[int(index)]
        assert [float(s) for s in seeds.split(", ")] == source["mse_by_seed"]
        mean, std = (float(part) for part in html.unescape(shown).split(" ± "))
        assert mean == pytest.approx(source["mean"], rel=0.01)
        assert std == pytest.approx(source["std"], rel=0.2)


def test_the_page_says_where_its_numbers_come_from(folder):
    page = report.reproduction_page(folder)
    assert "table1.json: 5 seeds, 1000 test problems; 10000 iterations of 128" in page
    assert "abacus, JAX 9, irem 8, commit c0ffeec0ffee." in page


def test_a_quick_reproduction_says_so_first(tmp_path):
    (tmp_path / "table1.json").write_text(json.dumps(table1(QUICK)))
    for text in (report.reproduction_page(tmp_path), report.reproduction_markdown(tmp_path)):
        assert text.index("quick reproduction") < text.index("Table 1")


def test_a_full_reproduction_is_not_called_quick(folder):
    assert "quick reproduction" not in report.reproduction_page(folder)


def test_the_page_needs_nothing_beside_itself(folder):
    page = report.reproduction_page(folder)
    assert not re.findall(r'(?:src|href)="(?!data:)', page)


def test_markdown_has_the_rows_of_the_table(folder):
    lines = report.reproduction_markdown(folder).splitlines()
    lines = lines[: next(i for i, line in enumerate(lines) if line.startswith("###"))]
    rows = [line.split("|")[1:-1] for line in lines if line.startswith("| addition")]
    assert len(rows) == len(METHODS)
    assert len({len(row) for row in rows}) == 1
    assert rows[0][2].strip() == "**1.00 ± 0.7**"  # the lowest stands out
    assert rows[-1][2].strip() == "5.00 ± 0.7"


def test_irem_is_reached_within_a_tenth_of_the_papers_error():
    cells = [cell(seeds_at=[v, v]) for v in (0.0019, 0.00208, 0.0022)]
    verdicts = [row[6].text for row in report.comparison(cells, "f").rows]
    assert verdicts == ["reached", "reached", "not reached"]


def test_baselines_are_compared_without_favour():
    cells = [cell(method="recurrent", seeds_at=[v, v]) for v in (0.001, 0.0019, 0.0022)]
    verdicts = [row[6].text for row in report.comparison(cells, "f").rows]
    assert verdicts == ["better than printed", "as printed", "worse than printed"]


def test_ranks_are_among_methods_of_the_same_cell():
    cells = [
        cell(method="irem", seeds_at=[2.0, 2.0], paper=0.1),
        cell(method="recurrent", seeds_at=[1.0, 1.0], paper=0.2),
        cell(method="recurrent", task="other", seeds_at=[0.1, 0.1], paper=0.01),
    ]
    assert [row[7].text for row in report.comparison(cells, "f").rows] == ["2/1", "1/2", "1/1"]


def test_irem_stands_out_only_below_every_baseline():
    cells = [cell(seeds_at=[2.0, 2.0]), cell(method="feedforward", seeds_at=[3.0, 3.0])]
    (row,) = report.irem_table(cells, "f").rows
    assert row[2].strong
    assert row[4].text == "3.00 ± 0 (feedforward)"
    cells.append(cell(method="recurrent", seeds_at=[1.0, 1.0]))
    assert not report.irem_table(cells, "f").rows[0][2].strong


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.00042678, "0.000427"),
        (12.3456, "12.3"),
        (85023.4, "85,023"),
        (None, ""),
        (0.0, "0"),
        (0.31045, "0.310"),
        (0.17983, "0.180"),
        (123.4, "123"),
    ],
)
def test_numbers_are_short_and_without_exponents(value, shown):
    assert number(value) == shown


def test_what_is_not_finite_is_not_hidden_and_never_best():
    lost = cell(method="recurrent", mean=None, std=None, mse_by_seed=[None, 1.0])
    cells = [lost, cell(seeds_at=[2.0, 2.0])]
    rows = report.comparison(cells, "f").rows
    assert rows[0][3].text == "not finite"
    assert rows[0][6].text == "worse than printed"
    assert [row[7].text[0] for row in rows] == ["2", "1"]


def test_pairs_in_another_order_than_the_papers_are_listed_with_their_seeds():
    cells = [
        cell(method="irem", seeds_at=[2.0, 3.0], paper=0.1),
        cell(method="recurrent", seeds_at=[1.0, 1.5], paper=0.2),
        cell(method="feedforward", seeds_at=[5.0, 6.0], paper=0.3),
    ]
    (row,) = report.contradictions(cells, "f").rows
    better, worse = [c.text for c in row[2:5]], [c.text for c in row[5:]]
    assert better == ["IREM", "0.1000", "2.000 to 3.000"]
    assert worse == ["recurrent (LSTM)", "0.2000", "1.000 to 1.500"]


def test_words_of_a_table_are_escaped():
    table = Table(("a<b",), ((Cell("<i>", 'say "x"'),),), labels=0)
    assert '<td title="say &quot;x&quot;">&lt;i&gt;</td>' in table.as_html()


def test_text_columns_line_up():
    table = Table(("name", "error"), ((Cell("a"), Cell("0.25")), (Cell("long"), Cell("1"))), 1)
    assert table.as_text() == "name  error\na      0.25\nlong      1"


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(irem.InputError, match="holds no results"):
        report.reproduction_page(tmp_path)
    with pytest.raises(irem.InputError, match="There is no folder"):
        report.reproduction_page(tmp_path / "none")


def test_committed_figures_are_drawn():
    results = report.read_results(irem.experiments.committed_results())
    drawn = report.reproduction_figures(results)
    names = {"teaser", "steps-by-size", "steps-by-difficulty", "element-error"}
    names |= {"energy-landscape", "composition-example", "composition-curve", "denoising-steps"}
    assert set(drawn) == names
    for figure in drawn.values():
        assert report.png(figure).startswith(b"\x89PNG")


def test_the_table_of_structure_shows_what_more_steps_do():
    cells = [
        {
            "task": "connected-components",
            "difficulty": "30 nodes",
            **{"mean": 0.02, "std": 0.001, "seeds": 3, "mse_by_seed": [0.019, 0.02, 0.021]},
            **{"problems": 200, "paper": None, "trivial": 0.7, "best": 0.0, "steps_mean": 16.2},
            **{"entries_right": 0.9876, "exact": 0.5},
            "error_by_step": {"5": 0.3, "500": 0.025},
        },
        {
            "task": "addition",
            "difficulty": "10 nested",
            **{"mean": 1e-4, "std": None, "seeds": 1, "mse_by_seed": [1e-4]},
            **{"problems": 1000, "paper": 0.0422, "trivial": 3.67, "best": 0.0},
        },
    ]
    scale = FULL.as_dict()
    table = report.result_table({"experiment": "structure", "scale": scale, "cells": cells})
    text = table.as_markdown()
    assert "| after 5 | after 500 |" in text
    first, second = text.splitlines()[2:4]
    assert first.endswith("| 16 | 98.76 % | 50.00 % | 0.300 | 0.0250 |")
    assert "| 0.0422 |" in second
    assert second.endswith("|  |  |  |  |  |")
