"""How much memory there is, as far as the machine, its container and the process are told."""

import resource

import pytest

import irem
from irem import memory


def test_the_least_of_all_limits_counts(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_LIMITS", (str(limit), str(tmp_path / "none")))
    machine = memory.available()
    limit.write_text("max\n")
    assert memory.available() == pytest.approx(machine, rel=0.2)
    limit.write_text("12345\n")
    assert memory.available() == 12345


def test_the_limit_of_the_process_counts(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (4321, 4321))
    assert memory.available() == 4321


def test_what_just_fits_is_not_refused():
    memory.check_memory("A table", 1000, "ask for less", limit=1000)
    with pytest.raises(
        irem.InputError, match=r"A table needs about 1.0 KB of memory, and 999 bytes"
    ):
        memory.check_memory("A table", 1000, "ask for less", limit=999)


@pytest.mark.parametrize(
    ("size", "text"),
    [(999, "999 bytes"), (1000, "1.0 KB"), (2.5e9, "2.5 GB"), (3e21, "3000.0 EB")],
)
def test_sizes_are_in_units_that_people_read(size, text):
    assert memory.size_text(size) == text
