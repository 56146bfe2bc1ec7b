"""Problems and answers as JSON."""

import base64
import io

import jax
import numpy as np
import pytest
from PIL import Image

import irem
from irem.errors import InputError
from irem.formats import Cells, Graphs, Pictures, Puzzles, Tables, Vectors
from irem.serve.kinds import kind_of, number, numbers
from irem.serve.limits import Limits, Refusal

LIMITS = Limits(entries=1000)
GRID = "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79"
SOLVED = "534678912672195348198342567859761423426853791713924856961537284287419635345286179"


def kind(task, format_, limits=LIMITS):
    return kind_of(irem.tasks.get(task), format_, limits)


def test_puzzles_are_lines_of_symbols():
    puzzles = kind("sudoku", Puzzles(3, "sudoku"))
    for value in (GRID, {"grid": GRID}, {"grid": GRID.replace(".", "0")}):
        question = puzzles.read(value)
        known = np.asarray(question.parts[0].known).reshape(81, 9)
        assert ((known == 1).sum(axis=1) > 0).tolist() == [c != "." for c in GRID]
    y = np.zeros((81, 9))
    y[np.arange(81), [int(c) - 1 for c in SOLVED]] = 0.9
    assert puzzles.write(question, [y.ravel()]) == {"grid": SOLVED}
    y[0] = 0.9
    y[1] = 0.1
    step = puzzles.write_step(question, [y.ravel()])
    assert step["grid"] == ".." + SOLVED[2:]
    assert np.shape(step["certainty"]) == (9, 9, 9)
    assert step["certainty"][0][1] == [0.1] * 9
    (other,) = puzzles.of_arrays(np.array([int(c.replace(".", "0")) for c in GRID]))
    assert puzzles.problem(jax.tree.map(lambda leaf: leaf[0], other.parts[0])) == {"grid": GRID}


def test_mazes_are_rows():
    mazes = kind("maze", Cells(axes=2, symbols=4, symmetric=True))
    text = "#####\n#S E#\n#####"
    question = mazes.read({"maze": text})
    x = np.asarray(question.parts[0])[0]
    assert x.tolist() == [[0] * 5, [0, 2, 1, 3, 0], [0] * 5]
    assert mazes.problem(x) == {"maze": text}
    assert mazes.write(question, [np.array([[0.5, 1.0]])]) == {"path": [[0.5, 1.0]]}


def test_bits_are_lines():
    bits = kind("prefix-sums", Cells(axes=1, symbols=2))
    question = bits.read({"bits": "0110"})
    assert np.asarray(question.parts[0]).tolist() == [[0, 1, 1, 0]]
    y = np.array([0.1, 0.9, 0.2, 0.4])
    assert bits.write(question, [y]) == {"bits": "0100", "entries": [0.1, 0.9, 0.2, 0.4]}


def test_missing_numbers_are_null():
    graphs = kind("shortest-path", Graphs(missing=True))
    assert graphs.name == "graph"
    edges = graphs.read([[0, 1, None], [1, 0, 2], [None, 2, 0]]).parts[0].edges
    assert np.isinf(np.asarray(edges)[0, 0, 2])
    tables = kind("matrix-completion", Tables(missing=True))
    table = tables.read({"values": [[1, None, 3], [4, 5, 6]]}).parts[0]
    assert np.isnan(np.asarray(table)[0]).tolist() == [[False, True, False], [False] * 3]
    assert numbers(np.array([[np.inf, 1.0], [np.nan, 2.0]])) == [[None, 1.0], [None, 2.0]]
    assert number(None) is None
    assert number(np.float32(0.1)) == 0.1


@pytest.mark.parametrize("colour", [False, True], ids=["grey", "colour"])
def test_pictures_are_files_in_base64(colour):
    pictures = kind("denoise", Pictures())
    shape = (7, 9, 3) if colour else (7, 9)
    pixels = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    text = base64.b64encode(file.getvalue()).decode()
    for value in ({"png": text}, {"png": f"data:image/png;base64,{text}"}):
        question = pictures.read(value)
        assert len(question.parts) == (3 if colour else 1)
    planes = [np.asarray(part)[0] for part in question.parts]
    written = base64.b64decode(pictures.write(question, planes)["png"])
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(written))), pixels)


WRONG = {
    "too short": ("sudoku", Puzzles(3, "sudoku"), {"grid": "12"}, "characters"),
    "no grid": ("sudoku", Puzzles(3, "sudoku"), {"cells": GRID}, "`grid`"),
    "a list for text": ("sudoku", Puzzles(3, "sudoku"), [1, 2], "a list"),
    "two puzzles": ("sudoku", Puzzles(3, "sudoku"), {"grid": ""}, "no puzzles"),
    "letters": ("maze", Cells(axes=2, symbols=4), {"maze": "#?#"}, "expected `#`"),
    "two mazes": ("maze", Cells(axes=2, symbols=4), {"maze": "SE\n\nSE"}, "got 2"),
    "no bits": ("prefix-sums", Cells(axes=1, symbols=2), {"bits": "012"}, "expected 0"),
    "ragged": ("matrix-inverse", Graphs(), [[1, 2], [3]], "rectangular|same length"),
    "a truth": ("matrix-inverse", Graphs(), [[True]], "True"),
    "no hole allowed": ("matrix-inverse", Graphs(), [[None]], "null"),
    "not square": ("matrix-inverse", Graphs(), [[1, 2, 3], [1, 2, 3]], "shape"),
    "a wrong shape": ("addition", Vectors((2, 3), (3,)), [[1, 2], [1, 2]], "shape"),
    "no base64": ("denoise", Pictures(), {"png": "!"}, "base64"),
    "no picture": ("denoise", Pictures(), {"png": "aGVsbG8="}, "not a picture"),
}


@pytest.mark.parametrize(("task", "format_", "value", "says"), WRONG.values(), ids=WRONG)
def test_what_is_no_problem_is_refused(task, format_, value, says):
    with pytest.raises(InputError, match=says):
        kind(task, format_).read(value)


@pytest.mark.parametrize(
    ("task", "format_", "value"),
    [
        ("prefix-sums", Cells(axes=1, symbols=2), "0" * 1001),
        ("maze", Cells(axes=2, symbols=4), "\n".join(["#" * 40] * 40)),
        ("sudoku", Puzzles(3, "sudoku"), "." * 256),
        ("matrix-inverse", Graphs(), np.eye(40).tolist()),
    ],
    ids=["bits", "maze", "puzzle", "matrix"],
)
def test_problems_that_are_too_large_are_refused(task, format_, value):
    with pytest.raises(Refusal, match="at most 1,000"):
        kind(task, format_).read(value)
