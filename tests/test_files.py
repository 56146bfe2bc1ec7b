"""Files are whole or not there."""

import os
import subprocess
import sys
import time

import pytest

from irem.files import remove_unfinished, whole_file, write_whole


def test_a_failed_write_leaves_the_old_content_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_whole(path, b"old")

    def full_disk(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


@pytest.fixture
def dead():
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.fixture
def alive():
    """The number of a process that waits until the test has ended."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        yield process.pid


def test_leftovers_of_a_killed_process_are_removed(tmp_path, dead):
    names = (f".file.{dead}.unfinished", f".file.{10**30}.unfinished")
    others = (".mine.unfinished", f".file.txt.{dead}.unfinished", ".file.²3.unfinished")
    for name in (*names, *others, "file"):
        (tmp_path / name).write_bytes(b"half")
    remove_unfinished(tmp_path, ["file"])
    assert {p.name for p in tmp_path.iterdir()} == {*others, "file"}


def test_what_a_living_process_is_writing_stays(tmp_path, alive):
    theirs = tmp_path / f".file.{alive}.unfinished"
    theirs.write_bytes(b"half")
    with whole_file(tmp_path / "file") as mine:
        mine.write(b"whole")
        remove_unfinished(tmp_path, ["file"])
    assert theirs.read_bytes() == b"half"
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_leftovers_are_removed_before_a_file_is_written(tmp_path, dead):
    (tmp_path / f".file.{dead}.unfinished").write_bytes(b"half")
    write_whole(tmp_path / "file", b"whole")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_process_that_began_after_a_leftover_did_not_write_it(tmp_path, alive):
    old = tmp_path / f".file.{alive}.unfinished"
    old.write_bytes(b"half")
    an_hour_ago = time.time() - 3600
    os.utime(old, (an_hour_ago, an_hour_ago))
    mine = tmp_path / f".file.{os.getpid()}.unfinished"  # of a dead process with this number
    mine.write_bytes(b"half")
    remove_unfinished(tmp_path, ["file"])
    assert not list(tmp_path.iterdir())
