"""JSON that is written for any reader, and read from files that may be damaged."""

import json

import pytest

import irem
from irem.json_text import dump, parse, read_json


def test_what_is_written_is_read_again():
    value = {"mean": 0.1, "of": [1, -2.5e-30, None, True, "é"], "empty": {}}
    assert parse(dump(value)) == value
    assert parse(dump({"a": float("nan"), "b": (1, float("inf"))})) == {"a": None, "b": [1, None]}
    assert parse("123456789012345678") == 123456789012345678


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "Expecting value"),
        (b'{"a": ', "Expecting value"),
        (b"1e400", "the number 1e400 is out of range"),
        (b"[-1e999]", "the number -1e999 is out of range"),
        (b"NaN", "the number NaN is out of range"),
        (b"[Infinity]", "the number Infinity is out of range"),
        (b"9" * 5000, r"the number 9{18}\.\.\. is out of range"),
        (b"-1234567890123456789", "is out of range"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" * 60 + b"]" * 60, "nested too deeply"),
        (b'{"a":' * 60 + b"1" + b"}" * 60, "nested too deeply"),
        (b'"\xff"', "can't decode"),
    ],
)
def test_what_is_damaged_is_named_with_the_reason_and_the_advice(tmp_path, text, reason):
    path = tmp_path / "it.json"
    path.write_bytes(text)
    with pytest.raises(
        irem.InputError, match=rf"^'.*it\.json' is damaged \(.*{reason}.*\); do so\.$"
    ):
        read_json(path, "do so")


def test_nesting_is_allowed_as_far_as_files_need_it():
    value = 1
    for _ in range(40):
        value = [value]
    assert parse(json.dumps(value)) == value
