import dataclasses
import functools
import json
import shutil

import pytest

import irem
from irem.cli import reproduce as command
from irem.locks import locked
from irem.paper import EXPERIMENTS, Budget, Scale, committed_results, composition

TINY = Scale(
    name="quick",
    seeds=1,
    problems=5,
    vectors=Budget(iterations=5, batch_size=4),
    graphs=Budget(iterations=5, batch_size=4),
    pace_iterations=2,
)
KEYS = {"task", "method", "difficulty", "mean", "std", "seeds", "paper", "trivial", "best"}


def test_show_prints_the_committed_cells(irem_cli):
    result = irem_cli("reproduce", "table1", "--show", "--json")
    assert result.code == 0
    shown = json.loads(result.out)
    assert shown["experiment"] == "table1"
    cells = shown["cells"]
    assert len(cells) == 5 * 6 * 2
    for cell in cells:
        assert set(cell) >= KEYS
        assert cell["seeds"] == 5
        assert cell["paper"] is not None


def test_show_prints_a_table_to_read(irem_cli):
    result = irem_cli("reproduce", "table1", "--show")
    assert result.code == 0
    assert "matrix-inverse" in result.out
    assert "programmatic (PonderNet)" in result.out


def test_show_all_as_one_object(irem_cli):
    shown = json.loads(irem_cli("reproduce", "all", "--show", "--json").out)
    assert {"table1", "ablation", "step-size", "composition", "figures", "sat"} <= set(shown)
    assert shown["sat"]["cells"]
    assert shown["figures"]["figures"]


def test_a_stopped_reproduction_goes_on(irem_cli, tmp_path, monkeypatch):
    three = ("feedforward", "recurrent", "iterative-feedforward")
    run = functools.partial(composition.run, settings=composition.Settings(methods=three))
    smaller = dataclasses.replace(EXPERIMENTS["composition"], run=run)
    out, reproduce = tmp_path / "r", command.reproduce
    arguments = ("reproduce", "composition", "--quick", "--out", out, "--json")

    def stopped(study, _):
        cells = study.cells

        def until_the_second(experiment, name, kinds, make):
            if name == "recurrent":
                raise KeyboardInterrupt
            return cells(experiment, name, kinds, make)

        monkeypatch.setattr(study, "cells", until_the_second)
        return reproduce(study, smaller)

    monkeypatch.setattr(command, "QUICK", TINY)
    monkeypatch.setattr(command, "reproduce", stopped)
    result = irem_cli(*arguments)
    assert result.code == 130
    assert "the same command goes on" in result.err
    assert not (out / "composition.json").exists()

    monkeypatch.setattr(command, "reproduce", lambda study, _: reproduce(study, smaller))
    result = irem_cli(*arguments)
    assert result.code == 0
    made = [line.split(": ")[2].split(",")[0] for line in result.err.splitlines()]
    assert made == ["recurrent", "iterative-feedforward"]
    assert len(json.loads(result.out)["cells"]) == 3 * 20
    assert "quick reproduction" in (out / "index.html").read_text()


def test_report_renders_the_committed_results(irem_cli, tmp_path):
    # Drawing every committed figure takes seconds; `test_paper_pages.py` does it once.
    shutil.copy(committed_results() / "table1.json", tmp_path)
    for name, folders in (("page.html", [tmp_path]), ("page.md", [])):
        result = irem_cli("report", *folders, "--out", tmp_path / name, "--json")
        assert result.code == 0
        assert "table1" in json.loads(result.out)["results"]
        assert "IREM" in (tmp_path / name).read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["reproduce", "tabel1", "--quick"], "Did you mean 'table1'?"),
        (["reproduce", "table1"], "Choose one of --quick"),
        (["reproduce", "table1", "--quick", "--full"], "Choose one of --quick"),
        (["reproduce", "table1", "--show", "--full"], "--show runs nothing"),
        (["reproduce", "table1", "--show", "--out", "nowhere"], "There is no result of table1"),
        (["reproduce", "all", "--show", "--out", "nowhere"], "There is no folder 'nowhere'"),
        (["reproduce", "sums", "--quick", "--commit", "mine"], "7 to 40 hexadecimal digits"),
        (["report", "nowhere", "--out", "r.html"], "There is no folder 'nowhere'"),
        (["report", "--out", "r.txt"], "ending in .html or .md"),
        (["report", "--out", "no/such/r.md"], "cannot be written"),
    ],
)
def test_bad_input_gets_one_sentence(irem_cli, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    result = irem_cli(*arguments)
    assert result.code == 2
    assert sentence in result.err
    assert "Traceback" not in result.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", "[" * 10_000, '{"experiment": "sat", "a": 1e400}']
)
def test_a_damaged_result_is_refused_by_show_and_report(irem_cli, tmp_path, content):
    (tmp_path / "sat.json").write_text(content)
    for arguments in (
        ("reproduce", "sat", "--show", "--out", tmp_path),
        ("reproduce", "all", "--show", "--json", "--out", tmp_path),
        ("report", tmp_path, "--out", tmp_path / "page.html"),
        ("report", tmp_path, "--out", tmp_path / "page.md"),
    ):
        result = irem_cli(*arguments)
        assert result.code == 2
        (line,) = result.err.splitlines()
        assert line.startswith(f"irem: '{tmp_path / 'sat.json'}' is ")
    assert [path.name for path in tmp_path.iterdir()] == ["sat.json"]


def test_a_second_process_is_refused_in_one_sentence(irem_cli, tmp_path):
    arguments = ("reproduce", "sums", "--quick", "--out", tmp_path)
    with locked(tmp_path, ""):
        result = irem_cli(*arguments)
    assert result.code == 2
    (line,) = result.err.splitlines()
    assert line.startswith(f"irem: Another process is reproducing in '{tmp_path}'; wait for it")
    assert list(tmp_path.iterdir()) == []


def test_the_folder_is_held_until_the_page_is_written(irem_cli, tmp_path, monkeypatch):
    out, held = tmp_path / "r", []

    def page(folder):
        with pytest.raises(irem.InputError, match="Wait"), locked(folder, "Wait."):
            pass
        held.append(folder)
        return "page"

    monkeypatch.setattr(command, "QUICK", TINY)
    monkeypatch.setattr(command, "reproduce", lambda *_: None)
    monkeypatch.setattr(command, "reproduction_page", page)
    monkeypatch.setattr(command, "_print", lambda *_, **__: None)
    assert irem_cli("reproduce", "sums", "--quick", "--out", out).code == 0
    assert held == [out]
