"""Where numbers come from: only commits that exist, and whether anything else was in the tree."""

import importlib
import subprocess

import pytest

import irem
from irem.paper.cells import Cell, Origin
from irem.paper.provenance import provenance

# The package has a function of the same name.
MODULE = importlib.import_module("irem.paper.provenance")


def git(folder, *arguments):
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A repository of two commits that this program seems to run from."""
    git(tmp_path, "init", "--quiet")
    source = tmp_path / "src" / "provenance.py"
    source.parent.mkdir()
    (tmp_path / ".gitignore").write_text("runs\n")
    for content in ("first", "second"):
        source.write_text(content)
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "--quiet", "--message", content)
    monkeypatch.setattr(MODULE, "_HERE", source)
    return tmp_path


def test_git_tells_the_commit_and_whether_it_is_all_there_is(tree):
    head = git(tree, "rev-parse", "HEAD")
    found = provenance()
    assert (found["commit"], found["clean"]) == (head, True)
    (tree / "runs").mkdir()
    (tree / "runs" / "result.json").write_text("{}")  # ignored
    assert provenance()["clean"] is True
    (tree / "new.py").write_text("")
    assert provenance()["clean"] is False
    (tree / "new.py").unlink()
    (tree / "src" / "provenance.py").write_text("changed")
    assert provenance()["clean"] is False
    git(tree, "add", ".")
    assert provenance()["clean"] is False


def test_a_commit_that_is_given_is_one_of_the_tree_and_is_written_in_full(tree):
    first, head = git(tree, "rev-list", "--reverse", "HEAD").splitlines()
    assert provenance(head[:7])["commit"] == head
    assert provenance(head[:7])["clean"] is True
    # The tree is not that of the first commit, whatever is said.
    assert (provenance(first)["commit"], provenance(first)["clean"]) == (first, False)
    unknown = "0123456" if not head.startswith("0123456") else "1234567"
    with pytest.raises(irem.InputError, match=rf"no commit '{unknown}' .* leave --commit out"):
        provenance(unknown)


@pytest.mark.parametrize("given", ["", "HEAD", "main", "abc123", "123456g", "A" * 40, "a" * 41])
def test_what_is_no_commit_is_refused(given):
    with pytest.raises(irem.InputError, match="7 to 40 hexadecimal digits, got "):
        provenance(given)


def test_another_projects_repository_tells_nothing(tree, monkeypatch):
    (tree / ".venv").mkdir()
    (tree / ".venv" / "provenance.py").write_text("")
    monkeypatch.setattr(MODULE, "_HERE", tree / ".venv" / "provenance.py")
    found = provenance()
    assert (found["commit"], found["clean"]) == (None, None)
    given = provenance("0123456")  # nothing to look it up in
    assert (given["commit"], given["clean"]) == ("0123456", None)


def test_without_git_nothing_is_claimed(monkeypatch):
    monkeypatch.setenv("PATH", "")
    found = provenance()
    assert (found["commit"], found["clean"]) == (None, None)


def test_a_cell_has_an_origin_of_its_own(tiny_study):
    origin = tiny_study().origin()
    cell = Cell(task="addition", method="irem", paper=None, **origin)
    assert isinstance(cell, Origin)
    assert set(origin) == {"commit", "device", "clean"}
    assert {n: cell.as_dict()[n] for n in origin if origin[n] is not None}.items() <= origin.items()
