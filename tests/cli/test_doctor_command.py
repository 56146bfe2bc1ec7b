"""`irem doctor`: what irem runs on, what it keeps, what is wrong."""

import json
import re

import jax
import pytest

import irem
from irem import compiled, machine


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv(compiled.FOLDER, str(tmp_path / "cache"))
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    return tmp_path / "cache"


def test_a_sound_machine_is_described(irem_cli, folder):
    result = irem_cli("doctor", "--json")
    found = json.loads(result.out)
    assert (result.code, found["wrong"]) == (0, [])
    assert found["versions"]["jax"] == jax.__version__
    assert found["versions"]["irem"] == irem.__version__
    assert found["devices"] == [f"cpu: {jax.devices()[0].device_kind}"]
    assert 1 <= found["threads"] <= 4096
    assert found["cache"]["folder"] == str(folder / "compiled")
    told = irem_cli("doctor").out
    assert "Nothing is wrong." in told
    assert str(folder) in told


def test_what_is_kept_is_counted_and_cleared(irem_cli, folder):
    program = folder / "compiled/jax-1-x/program"
    program.parent.mkdir(parents=True)
    program.write_bytes(bytes(1500))
    assert "1 compiled, 1.5 KB of at most 1.0 GB" in irem_cli("doctor").out
    assert irem_cli("doctor", "--clear").out == "Removed 1 compiled programs, 1.5 KB.\n"
    assert not program.exists()
    assert json.loads(irem_cli("doctor", "--clear", "--json").out)["removed_programs"] == 0


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (compiled.FOLDER, "", "Compiled programs are not kept"),
        ("XLA_FLAGS", "--xla_backend_optimization_level=0", "turns the optimisation .* off"),
    ],
)
def test_settings_that_make_irem_slow_are_told(name, value, sentence, monkeypatch, irem_cli):
    monkeypatch.setenv(name, value)
    result = irem_cli("doctor")
    assert result.code == 1
    assert re.search(sentence, result.out)


def test_little_memory_a_wrong_product_and_an_idle_gpu_are_told(monkeypatch):
    monkeypatch.setattr(machine, "available", lambda: 10**9)
    monkeypatch.setattr(machine, "_LARGEST_ERROR", -1.0)
    monkeypatch.setattr(machine.shutil, "which", lambda _: "/usr/bin/nvidia-smi")
    monkeypatch.setattr(machine.os.path, "exists", lambda _: True)
    found = machine.examine().wrong
    beginnings = ["A compiled product", "There is an NVIDIA GPU", "Only 1.0 GB of memory"]
    assert [sentence.startswith(b) for sentence, b in zip(found, beginnings, strict=True)] == [
        True,
        True,
        True,
    ]
