"""Exported descents, run by processes that know nothing of irem."""

import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export as jax_export

import irem
from irem.descent import export

ROWS = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)

# What stands in docs/exporting.md, and what a program without irem can say of it.
PROGRAM = """
import json, sys
import numpy
from pathlib import Path
from jax import export

given = numpy.load(sys.argv[2])
solve = export.deserialize(bytearray(Path(sys.argv[1]).read_bytes())).call
answers = [solve(x, numpy.uint32(7)) for x in (given, given[:1])]
assert "irem" not in sys.modules and "equinox" not in sys.modules
numpy.savez(sys.argv[3], **answers[0], first=answers[1]["y"])
print(json.dumps(sorted(answers[0])))
"""


def steep(x, y):
    return jnp.sum(jnp.cosh(2 * (y - x))) + jnp.sum(y * jnp.roll(y, 1))


@pytest.fixture(scope="module")
def energy():
    return irem.energy.from_function(steep, answer_shape=(2,))


@pytest.fixture(scope="module")
def inverse():
    """Matrices, the model of the zoo that inverts them, and what it answers in this process."""
    rng = np.random.default_rng(1)
    roots = rng.normal(size=(4, 3, 3))
    x = (roots @ roots.transpose(0, 2, 1) + np.eye(3)).astype(np.float32)
    model = irem.load("zoo:matrix-inverse").model
    return x, model, irem.solve(model, x, key=jax.random.key(7))


def in_another_process(file, x, folder):
    np.save(folder / "x.npy", x)
    arguments = [sys.executable, "-c", PROGRAM, file, folder / "x.npy", folder / "answer.npz"]
    done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["converged", "energy", "reason", "steps", "y"]
    with np.load(folder / "answer.npz") as arrays:
        return dict(arrays)


def test_another_process_without_irem_answers_as_solve_does(inverse, tmp_path):
    x, model, expected = inverse
    export(model, tmp_path / "inverse.bin", (3, 3), platforms=["cpu"])
    answer = in_another_process(tmp_path / "inverse.bin", x, tmp_path)
    np.testing.assert_allclose(answer["y"], np.linalg.inv(x), atol=1e-3)
    np.testing.assert_allclose(answer["y"], expected.y, atol=1e-6)
    np.testing.assert_allclose(answer["energy"], expected.energy, atol=1e-6)
    np.testing.assert_array_equal(answer["converged"], expected.converged)
    # Any number of problems, of which the first guesses depend on their places alone.
    np.testing.assert_allclose(answer["first"], expected.y[:1], atol=1e-6)


def test_a_fixed_number_of_steps_is_that_budget_for_every_problem(inverse, tmp_path):
    x, model, _ = inverse
    exported = export(model, tmp_path / "f.bin", (3, 3), steps=5, problems=4, platforms=["cpu"])
    answer = exported.call(x, np.uint32(7))
    expected = irem.solve(model, x, key=jax.random.key(7), max_steps=5)
    np.testing.assert_allclose(answer["y"], expected.y, atol=1e-6)
    assert answer["steps"].tolist() == expected.steps.tolist()
    assert set(answer["steps"].tolist()) == {5}
    with pytest.raises(ValueError, match="expected same constant"):
        exported.call(x[:2], np.uint32(7))


def test_problems_that_have_stopped_do_not_change_in_further_steps(energy, tmp_path):
    ends = [
        export(energy, tmp_path / "f.bin", (2,), steps=steps, platforms=["cpu"]).call(
            ROWS, np.uint32(0)
        )
        for steps in (40, 60)
    ]
    assert ends[0]["converged"].all()
    assert (ends[0]["steps"] < 40).all()
    for name, value in ends[0].items():
        np.testing.assert_array_equal(value, ends[1][name])


def test_what_is_descended_in_64_bits_is_so_in_the_file(energy, tmp_path):
    exported = export(energy, tmp_path / "f.bin", (2,))
    assert "f64" in exported.mlir_module()
    assert {str(aval.dtype) for aval in exported.out_avals} == {"bool", "float32", "int32"}
    answer, expected = (
        exported.call(ROWS, np.uint32(3)),
        irem.solve(energy, ROWS, key=jax.random.key(3)),
    )
    np.testing.assert_allclose(answer["y"], expected.y, atol=1e-7)
    assert answer["reason"].tolist() == expected.reason.tolist()
    # Of an accelerator without 64 bits nothing is asked.
    assert "f64" not in export(energy, tmp_path / "t.bin", (2,), platforms=["tpu"]).mlir_module()


def test_another_seed_begins_elsewhere(tmp_path):
    energy = irem.energy.from_function(lambda x, y: jnp.sum((y**2 - 1) ** 2 * x), answer_shape=(8,))
    solve = export(energy, tmp_path / "f.bin", (1,), platforms=["cpu"]).call
    one, other, again = (solve(np.ones((2, 1), np.float32), np.uint32(s))["y"] for s in (0, 1, 0))
    np.testing.assert_allclose(np.abs(one), 1, atol=1e-4)
    assert (np.sign(one) != np.sign(other)).any()
    np.testing.assert_array_equal(one, again)


def test_the_file_is_what_jax_reads(energy, tmp_path):
    exported = export(energy, tmp_path / "f.bin", (2,), step=0.01, max_steps=3)
    read = jax_export.deserialize(bytearray((tmp_path / "f.bin").read_bytes()))
    assert read.platforms == exported.platforms == ("cpu", "cuda")
    assert str(read.in_avals) == "(ShapedArray(float32[problems,2]), ShapedArray(uint32[]))"
    assert read.call(ROWS, np.uint32(0))["steps"].tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    ("task", "energy", "shape", "dtype"),
    [
        (irem.tasks.get("addition", size=4), "mlp", None, "float32[problems,2,4]"),
        (irem.tasks.get("shortest-path"), "gine", (4, 4), "float32[problems,4,4]"),
        (irem.tasks.get("maze"), "grid", (5, 5), "int8[problems,5,5]"),
    ],
)
def test_energies_of_every_format_are_exported(task, energy, shape, dtype, tmp_path):
    settings = {"name": energy, "width": 4}
    model = irem.IREM.for_task(task, energy=settings, key=jax.random.key(0))
    exported = export(model, tmp_path / "f.bin", shape, platforms=["cpu"])
    assert str(exported.in_avals[0]) == dtype


def test_nothing_is_written_over_a_file_if_exporting_fails(energy, tmp_path, monkeypatch):
    file = tmp_path / "f.bin"
    file.write_bytes(b"before")

    def full(self):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(jax_export.Exported, "serialize", full)
    with pytest.raises(OSError, match="No space"):
        export(energy, file, (2,), platforms=["cpu"])
    assert file.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == ["f.bin"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"steps": 0}, "`steps` must be greater than 0, got 0"),
        ({"max_steps": -1}, "`max_steps` must be greater than 0, got -1"),
        ({"steps": 3, "max_steps": 4}, "give one of them"),
        ({"problems": 0}, "`problems` must be greater than 0"),
        ({"platforms": []}, "`platforms` is empty; give some of cpu, cuda"),
        ({"platforms": ["gpu"]}, "Unknown platform 'gpu'; known are cpu, cuda"),
        ({"shape": None}, "give the `shape` of a problem"),
        ({"shape": (2, 0)}, "`shape` must be greater than 0"),
        ({"shape": (2, 3)}, r"`shape` is \(2, 3\); expected that of one graph or square matrix"),
        ({"shape": (3,)}, r"`shape` is \(3,\); expected that of one graph"),
    ],
)
def test_what_makes_no_function_is_refused(options, words, inverse, tmp_path):
    _, model, _ = inverse
    with pytest.raises(irem.InputError, match=words):
        export(model, tmp_path / "f.bin", **{"shape": (3, 3), **options})
    assert list(tmp_path.iterdir()) == []


def test_models_without_a_descent_of_one_shape_are_refused(tmp_path):
    task = irem.tasks.get("addition", size=4)
    network = irem.Feedforward.for_task(task, key=jax.random.key(0))
    with pytest.raises(irem.InputError, match="Baselines have no descent"):
        export(network, tmp_path / "f.bin")
    queens = irem.IREM.for_task(irem.tasks.get("queens"), key=jax.random.key(0))
    with pytest.raises(irem.InputError, match="open variables of its own"):
        export(queens, tmp_path / "f.bin", (4, 4))
    blind = irem.energy.from_function(lambda x, y: jnp.sum(y**2) + jnp.sum(x))
    with pytest.raises(irem.InputError, match="answer_shape"):
        export(blind, tmp_path / "f.bin", (4,))
    assert list(tmp_path.iterdir()) == []
