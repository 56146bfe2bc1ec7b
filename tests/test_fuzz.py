"""Damaged files get a sentence from every reader; `tools/fuzz.py` feeds them many more."""

import importlib.util
import json
import random
from pathlib import Path

import pytest

import irem

spec = importlib.util.spec_from_file_location(
    "fuzz", Path(__file__).parent.parent / "tools/fuzz.py"
)
fuzz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz)

READERS = {reader.name: reader for reader in fuzz.readers()}
INPUTS = 13


@pytest.mark.parametrize("name", READERS)
def test_every_input_gives_a_valid_result_or_a_sentence(name):
    count = fuzz.feed(READERS[name], INPUTS, seed=0)
    assert count.crashed == []
    assert count.valid + count.refused == count.inputs == INPUTS
    assert count.refused > 0
    assert count.memory < fuzz.MEMORY


def test_a_reader_that_lets_an_error_through_is_noticed(tmp_path):
    def read(path):
        try:
            return json.loads(path.read_bytes())["task"]["name"]
        except ValueError as error:
            raise irem.InputError("It is not JSON.") from error

    careless = READERS["run folder: settings"]._replace(read=read)
    count = fuzz.feed(careless, 100, seed=0, keep=tmp_path)
    assert 0 < len(count.crashed) == len(list(tmp_path.iterdir()))
    assert any("KeyError" in crash for crash in count.crashed)


def test_inputs_are_drawn_from_a_seed_and_differ():
    reader = READERS["tables: .csv"]
    (valid,) = reader.valid.values()
    first, again, other = (
        [fuzz.make_input(reader, valid, random.Random(s)) for s in range(start, start + 40)]
        for start in (0, 0, 40)
    )
    assert first == again != other
    assert len(set(first)) > 30
