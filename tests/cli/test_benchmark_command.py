"""`irem benchmark`."""

import json


def test_what_was_measured_is_told_and_kept(irem_cli, tmp_path):
    out = tmp_path / "performance.json"
    result = irem_cli("benchmark", "--quick", "--only", "memory", "--out", out)
    assert result.code == 0
    assert "smaller is better" in result.out
    assert "memory: processes that answer" in result.err
    kept = json.loads(out.read_text())
    (row,) = kept["measurements"]["memory"]["ratios"]
    assert row["ratio"] > 1
    assert f"{row['ratio']:.3g}" in result.out


def test_bad_input_ends_in_one_sentence(irem_cli, tmp_path):
    for arguments, words in (
        (("--only", "nothing"), "Unknown measurement 'nothing'; known are cold-start"),
        (("--out", tmp_path / "x.csv"), "ending in .json"),
    ):
        result = irem_cli("benchmark", "--quick", *arguments)
        assert result.code == 2
        assert result.err.count("\n") == 1
        assert words in result.err
    assert list(tmp_path.iterdir()) == []
