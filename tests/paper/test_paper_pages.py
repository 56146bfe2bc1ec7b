import base64
import html
import json
import re

import pytest
from table1_cells import cell

import irem
from irem.paper import (
    EXPERIMENTS,
    FULL,
    PAPER_METHODS,
    QUICK,
    Result,
    as_json,
    as_text,
    committed_results,
    pages,
    read_results,
    reproduction_figures,
    reproduction_markdown,
    reproduction_page,
)
from irem.paper.cells import Origin

CELLS = tuple(
    cell(method=method, difficulty=difficulty, seeds_at=[k + 0.5, k + 1.5])
    for k, method in enumerate(PAPER_METHODS)
    for difficulty in ("same", "harder")
)


def write(folder, scale=FULL):
    result = Result(
        experiment="table1",
        commit="c0ffee" * 6,
        device="abacus",
        platform="beads",
        versions={"jax": "9", "irem": "8"},
        scale=scale.as_dict(),
        cells=CELLS,
    )
    (folder / result.file).write_text(json.dumps(as_json(result)))


@pytest.fixture
def folder(tmp_path):
    write(tmp_path)
    return tmp_path


def test_every_number_of_the_page_is_traced_to_its_cell(folder):
    page = reproduction_page(folder)
    traced = re.findall(r'title="table1.json: cells\[(\d+)\]; seeds: ([^"]+)">([^<]+)<', page)
    assert {int(index) for index, _, _ in traced} == set(range(len(CELLS)))
    for index, seeds, shown in traced:
        source = CELLS[int(index)]
        assert tuple(float(s) for s in seeds.split(", ")) == source.mse_by_seed
        mean, std = (float(part) for part in html.unescape(shown).split(" ± "))
        assert mean == pytest.approx(source.mean, rel=0.01)
        assert std == pytest.approx(source.std, rel=0.2)


def test_the_page_says_where_its_numbers_come_from(folder):
    page = reproduction_page(folder)
    assert "table1.json: 5 seeds, 1000 test problems; 10000 iterations of 128" in page
    assert "abacus, JAX 9, irem 8, commit c0ffeec0ffee." in page


def test_the_page_compares_with_the_paper_and_lists_what_differs(folder):
    for text in (reproduction_page(folder), reproduction_markdown(folder)):
        for title in (
            "Cell by cell against the paper",
            "Where the order is not the paper",
            "What differs from the paper",
            "Graphs take the mean of messages in all methods",
        ):
            assert title in text


def test_a_quick_reproduction_says_so_first(tmp_path):
    write(tmp_path, QUICK)
    for text in (reproduction_page(tmp_path), reproduction_markdown(tmp_path)):
        assert text.index("quick reproduction") < text.index("Table 1")


def test_a_full_reproduction_is_not_called_quick(folder):
    assert "quick reproduction" not in reproduction_page(folder)


def test_the_page_needs_nothing_beside_itself(folder):
    page = reproduction_page(folder)
    assert not re.findall(r'(?:src|href)="(?!data:)', page)


def test_markdown_has_the_rows_of_the_table(folder):
    lines = reproduction_markdown(folder).splitlines()
    lines = lines[: next(i for i, line in enumerate(lines) if line.startswith("###"))]
    rows = [line.split("|")[1:-1] for line in lines if line.startswith("| addition")]
    assert len(rows) == len(PAPER_METHODS)
    assert len({len(row) for row in rows}) == 1
    assert rows[0][2].strip() == "**1.0 ± 0.7**"  # the lowest stands out
    assert rows[-1][2].strip() == "5.0 ± 0.7"


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(irem.InputError, match="holds no results"):
        reproduction_page(tmp_path)
    with pytest.raises(irem.InputError, match="There is no folder"):
        reproduction_page(tmp_path / "none")


def test_committed_figures_are_drawn_and_shown(monkeypatch):
    results = read_results(committed_results())
    drawn = reproduction_figures(results)
    names = {"teaser", "steps-by-size", "steps-by-difficulty", "element-error", "sat"}
    names |= {"puzzles", "puzzle-walk"}
    names |= {"energy-landscape", "composition-example", "composition-curve", "denoising-steps"}
    assert set(drawn) == names
    # Drawing them takes seconds; the page shows these.
    monkeypatch.setattr(pages, "reproduction_figures", lambda _: drawn)
    shown = re.findall(r"data:image/png;base64,(\w{8})", reproduction_page(committed_results()))
    assert [base64.b64decode(begin)[:4] for begin in shown] == [b"\x89PNG"] * len(names)


def test_every_committed_result_has_a_text_that_begins_with_its_title():
    for name, result in read_results(committed_results()).items():
        text = as_text(result)
        assert text.startswith(EXPERIMENTS[name].title)
        listed = result.figures is not None
        assert f"{name}.json: " in text or listed


FIRST, SECOND = "0123456789abcdef", "fedcba9876543210"
ABOUT = {
    "commit": "c0ffee",
    "device": "abacus",
    "platform": "beads",
    "versions": {"jax": "9", "irem": "8"},
    "scale": {},
}


def origin_of(*origins):
    cells = tuple(cell(**origin) for origin in origins)
    return Result(**ABOUT, experiment="table1", cells=cells).origin


def test_a_result_says_of_all_its_cells_where_they_come_from():
    one = {"commit": FIRST, "device": "slide rule"}
    assert origin_of(one, one) == "slide rule, JAX 9, irem 8, commit 0123456789ab."
    # Early results name a device once for all cells.
    assert origin_of({"commit": FIRST}) == "abacus, JAX 9, irem 8, commit 0123456789ab."
    assert origin_of({"commit": None}) == "abacus, JAX 9, irem 8, commit unknown."
    changed = {**one, "clean": False}
    assert origin_of(changed).endswith("commit 0123456789ab with uncommitted changes.")
    mixed = origin_of(one, {"commit": SECOND}, one, {**one, "clean": False, "note": "Odd."})
    assert mixed == (
        "2 of 4 cells: slide rule, commit 0123456789ab; 1 of 4 cells: abacus, commit fedcba987654; "
        "1 of 4 cells: slide rule, commit 0123456789ab with uncommitted changes; JAX 9, irem 8 "
        "when it last ran. 1 of 4 cells: Odd."
    )


def test_figures_say_where_each_comes_from():
    origins = {"a": Origin(commit=FIRST), "b": Origin(commit=SECOND, device="slide rule")}
    result = Result(**ABOUT, experiment="figures", figures={}, origins=origins)
    assert result.origin.startswith("1 of 2 figures: abacus, commit 0123456789ab; 1 of 2 figures: ")


def test_committed_cells_that_no_commit_can_have_made_name_none():
    cells = read_results(committed_results())["structure"].cells
    for found in cells:
        recorded = getattr(found, "walked", None)
        # Of 1,000 problems every committed version of the program records a tenth, or 100.
        assert (found.commit is None) == (recorded == 10)
        assert found.note or recorded is None
