"""Files are whole or not there."""

import os

import pytest

from irem.files import remove_unfinished, write_whole


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


def test_leftovers_of_a_killed_process_are_removed(tmp_path):
    (tmp_path / ".file.123.unfinished").write_bytes(b"half")
    (tmp_path / "file").write_bytes(b"whole")
    (tmp_path / ".mine.unfinished").write_bytes(b"not ours")
    remove_unfinished(tmp_path, ["file"])
    assert {p.name for p in tmp_path.iterdir()} == {"file", ".mine.unfinished"}
