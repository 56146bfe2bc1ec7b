"""Compiled programs on the disk: where, how many, and who may forbid it."""

import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from irem import InputError, compiled

NAMES = ("JAX_COMPILATION_CACHE_DIR", compiled.FOLDER, compiled.LIMIT, "XDG_CACHE_HOME")


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    monkeypatch.setattr("warnings.filterwarnings", lambda *_: None)
    for name in (*NAMES, *compiled._SETTINGS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def put(folder, name, size, used):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    os.utime(path, (used, used))
    return path


def test_programs_are_kept_in_the_users_cache_folder_for_one_version_and_processor(tmp_path):
    compiled.keep_programs()
    folder = Path(os.environ["JAX_COMPILATION_CACHE_DIR"])
    assert folder.is_dir()
    assert folder.is_relative_to(tmp_path / ".cache/irem/compiled")
    import jaxlib

    assert jaxlib.__version__ in folder.name


def test_a_folder_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert compiled.folder_of_programs().is_relative_to(tmp_path / "caches/irem")
    monkeypatch.setenv(compiled.FOLDER, str(tmp_path / "mine"))
    assert compiled.folder_of_programs().is_relative_to(tmp_path / "mine/compiled")


@pytest.mark.parametrize(
    ("name", "value", "kept"), [(compiled.FOLDER, "", None), (NAMES[0], "/elsewhere", "/elsewhere")]
)
def test_nothing_is_changed_where_the_user_has_decided(name, value, kept, monkeypatch, tmp_path):
    monkeypatch.setenv(name, value)
    compiled.keep_programs()
    assert os.environ.get("JAX_COMPILATION_CACHE_DIR") == kept
    assert not list(tmp_path.iterdir())


def test_a_home_that_cannot_be_written_to_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv(compiled.FOLDER, str(tmp_path / "file"))
    compiled.keep_programs()
    assert "JAX_COMPILATION_CACHE_DIR" not in os.environ


def test_what_was_not_used_for_longest_is_removed_first(tmp_path):
    folder = tmp_path / "compiled"
    paths = [put(folder, f"{i % 2}/{i}", 100, used=1000 + i) for i in range(6)]
    compiled.trim(folder, 250)
    assert [path.exists() for path in paths] == [False] * 4 + [True] * 2
    compiled.trim(folder, 200)
    assert paths[4].exists()


def test_the_limit_is_kept_at_every_start(monkeypatch):
    monkeypatch.setenv(compiled.LIMIT, "1")
    folder = compiled.folder_of_programs()
    old, new = (put(folder, n, 600_000, used) for n, used in (("old", 1000), ("new", 2000)))
    compiled.keep_programs()
    assert (old.exists(), new.exists()) == (False, True)
    assert compiled.kept()[1:] == (1, 600_000)
    assert compiled.clear()[1:] == (1, 600_000)
    assert compiled.kept()[1:] == (0, 0)


def test_a_program_that_was_not_written_whole_is_removed_at_the_next_start():
    compiled.keep_programs()
    folder = compiled.folder_of_programs()
    whole = zlib.compress(os.urandom(10_000))
    contents = {
        "whole": whole,
        "half": whole[:5000],
        "spoiled": whole[:50] + b"x" * 200,
        "none": b"",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    compiled.remove_damaged(folder)
    assert {path.name for path in folder.iterdir()} == {".checked", "whole"}


def test_programs_are_looked_at_once():
    compiled.keep_programs()
    folder = compiled.folder_of_programs()
    long_ago = (folder / ".checked").stat().st_mtime - 60
    old = put(folder, "old", 0, used=long_ago)
    compiled.remove_damaged(folder)
    assert old.exists()
    assert compiled.kept()[1:] == (1, 0)


def test_a_command_that_a_command_started_looks_after_the_folder_as_well():
    compiled.keep_programs()
    folder = compiled.folder_of_programs()
    (folder / "none").write_bytes(b"")
    compiled.keep_programs()
    assert not (folder / "none").exists()


@pytest.mark.parametrize("given", ["much", "-1", "1.5", ""])
def test_a_limit_that_is_no_number_is_refused(given, monkeypatch):
    monkeypatch.setenv(compiled.LIMIT, given)
    with pytest.raises(InputError, match=f"IREM_CACHE_SIZE is '{given}'; expected how many"):
        compiled.keep_programs()


def test_a_second_process_finds_what_the_first_one_compiled(monkeypatch, tmp_path):
    monkeypatch.setenv(compiled.FOLDER, str(tmp_path / "mine"))
    code = (
        "from irem.compiled import keep_programs; keep_programs()\n"
        "import jax\n"
        "from jax import monitoring\n"
        "events = []\n"
        "monitoring.register_event_listener(lambda name, **_: events.append(name))\n"
        "print(jax.jit(lambda x: x * 3 + 1)(2.0))\n"
        "print(sum(name.endswith('compilation_cache/cache_hits') for name in events))"
    )
    hits = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        answer, found = done.stdout.split()
        assert answer == "7.0"
        hits.append(int(found))
    assert hits[0] == 0
    assert hits[1] > 0
