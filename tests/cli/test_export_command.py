"""`irem export`."""

import json

import jax
import numpy as np
from jax import export as jax_export

import irem


def read(path):
    return jax_export.deserialize(bytearray(path.read_bytes()))


def test_a_trained_run_is_exported_with_what_loads_it(irem_cli, runs, tmp_path):
    out = tmp_path / "inverse.bin"
    arguments = ("export", runs["matrix-inverse"], out, "--max-steps", 4, "--model", 1)
    result = irem_cli(*arguments, "--platforms", "cpu")
    assert result.code == 0
    assert f"Wrote {out}" in result.out
    assert "Any number of problems of shape (3, 3)" in result.out
    assert f'Path("{out}").read_bytes()' in result.out
    assert "`irem check matrix-inverse x.npy y.npy`" in result.out
    x = np.eye(3, dtype=np.float32)[None]
    model = irem.load(runs["matrix-inverse"]).models[1]
    expected = irem.solve(model, x, key=jax.random.key(5), max_steps=4)
    np.testing.assert_allclose(read(out).call(x, np.uint32(5))["y"], expected.y, atol=1e-6)


def test_the_object_says_what_was_written(irem_cli, runs, tmp_path):
    out = tmp_path / "paths.bin"
    options = ("--shape", "4,4", "--steps", 2, "--problems", 3, "--platforms", "cpu, cuda")
    result = irem_cli("export", runs["shortest-path"], out, *options, "--json")
    said = json.loads(result.out)
    assert said["bytes"] == out.stat().st_size
    assert said["shape"] == [4, 4]
    assert (said["problems"], said["steps"], said["dtype"]) == (3, 2, "float32")
    assert said["platforms"] == ["cpu", "cuda"] == list(read(out).platforms)


def test_bad_input_ends_in_one_sentence_and_writes_nothing(irem_cli, runs, tmp_path):
    run, out = runs["shortest-path"], tmp_path / "f.bin"
    for arguments, words in (
        ((run, out), "--shape 5,5"),
        ((run, out, "--shape", "5x5"), "--shape takes whole numbers"),
        ((run, tmp_path / "f.onnx", "--shape", "5,5"), "ending in .bin"),
        ((run, tmp_path / "no" / "f.bin", "--shape", "5,5"), "its folder does not exist"),
        ((run, out, "--shape", "5,5", "--platforms", "cpu,metal"), "Unknown platform 'metal'"),
        ((run, out, "--shape", "5,5", "--model", 7), "`model` must be from 0 to 0"),
        ((run, out, "--shape", "5,5", "--steps", 3, "--max-steps", 3), "give one of them"),
    ):
        result = irem_cli("export", *arguments)
        assert result.code == 2
        assert result.err.count("\n") == 1
        assert words in result.err
    assert list(tmp_path.iterdir()) == []
