"""Every number that is shown as the paper's, against the paper's tables typed a second time.

The rows below stand as in the paper, with its order of columns and its digits.
"""

import dataclasses
import re

import pytest

import irem
from irem.paper import (
    FULL,
    PAPER_COMPOSITIONS,
    PAPER_TABLE1,
    ablation,
    committed_results,
    denoising,
    printed_mse,
    read_results,
    result_table,
    step_size,
)
from irem.training import PAPER, Recipe

METHODS = ("feedforward", "recurrent", "programmatic", "iterative-feedforward", "irem")

# Left and right half: same and larger size of graphs, same and harder difficulty of vectors.
TABLE_1 = {
    ("edge-copy", "addition"): """
        0.3016 0.3124  0.0448 0.7029
        0.3015 0.3113  0.3610 2.6133
        0.3053 0.4409  0.0111 0.3446
        0.6163 0.6498  0.0144 0.1577
        0.0019 0.0019  0.0003 0.0021
    """,
    ("connected-components", "matrix-completion"): """
        0.1796 0.3460  0.0203 0.2720
        0.1794 0.2766  0.0266 0.3285
        0.2338 3.1381  0.0203 0.2637
        0.4908 1.2064  0.0253 0.2102
        0.1424 0.2171  0.0183 0.2074
    """,
    ("shortest-path", "matrix-inverse"): """
        0.1233 1.4089  0.0112 0.2150
        0.1259 0.1083  0.0109 0.2123
        0.1375 0.1290  0.0124 0.2209
        0.4588 0.7688  0.0270 0.5250
        0.0274 0.0464  0.0108 0.2083
    """,
}
# Replay buffer, truncated gradient, test performance, training speed, memory usage.
TABLE_2 = """
    No  No   0.0491  87%  295%
    Yes No   0.0287  83%  295%
    Yes Yes  0.0274 100%  100%
"""
# Step size, same difficulty, harder difficulty.
TABLE_3 = """
    10   0.0003 0.0021
    30   0.0003 0.0020
    100  0.0003 0.0021
    300  0.0004 0.0023
    1000 0.0004 0.0025
"""
# 2, 5 and 10 composed operations, for the methods in their order.
TABLE_4 = """
    0.0445 0.2717 0.8898
    2.1377 3.1861 4.8706
    0.0203 0.1068 0.4587
    0.0826 0.5930 3.6004
    0.0014 0.0078 0.0422
"""
# Appendix A; DnCNN-stop at 45 is 26.48 there, and 26.59 in Chen et al. (2020), where it is from.
NETWORKS = ("UNLNet", "DnCNN", "DnCNN-stop", "IREM")
TABLE_5 = """
    45  26.48 26.56 26.59 26.52
    55  25.64 25.71 25.79 25.85
    65  -     22.19 23.56 23.87
    75  -     17.90 18.62 23.43
"""
# Of Chen et al. (2020), for the same strengths.
CLASSICAL = {"BM3D": "25.97 25.21 24.60 24.08", "WNNM": "26.31 25.50 24.92 24.39"}


def rows(text):
    return [line.split() for line in text.strip().splitlines()]


def table_1():
    """The numbers as they are printed, by task, method and difficulty."""
    found = {}
    for tasks, text in TABLE_1.items():
        for method, numbers in zip(METHODS, rows(text), strict=True):
            for task, pair in zip(tasks, (numbers[:2], numbers[2:]), strict=True):
                found |= {
                    (task, method, d): n for d, n in zip(("same", "harder"), pair, strict=True)
                }
    return found


def denoised():
    found = {name: {} for name in (*NETWORKS, *CLASSICAL)}
    for index, (sigma, *numbers) in enumerate(rows(TABLE_5)):
        numbers = dict(zip(NETWORKS, numbers, strict=True))
        numbers |= {name: text.split()[index] for name, text in CLASSICAL.items()}
        for name, number in numbers.items():
            if number != "-":
                found[name][int(sigma)] = number
    return found


COMPOSED = {
    method: dict(zip((2, 5, 10), numbers, strict=True))
    for method, numbers in zip(METHODS, rows(TABLE_4), strict=True)
}


@pytest.fixture(scope="module")
def results():
    return read_results(committed_results())


def columns(result, start):
    """The columns of a committed table whose names begin so, as printed, row by row."""
    table = result_table(result)
    places = [i for i, name in enumerate(table.header) if name.startswith(start)]
    return [[row[i].text for i in places] for row in table.rows]


def test_table_1(results):
    printed = table_1()
    assert len(printed) == 60
    assert {place: f"{value:.4f}" for place, value in PAPER_TABLE1.items()} == printed
    for (task, method, difficulty), number in printed.items():
        assert printed_mse(method, irem.tasks.get(task), difficulty) == float(number)
    for name in ("table1", "longer", "protocol", "scratchpad", "stability"):
        for found in results[name].cells:
            place = (found.task, found.method, found.difficulty)
            assert f"{found.paper:.4f}" == printed[place], (name, place)
    for found in results["structure"].cells:
        place = (found.task, found.method, found.difficulty)
        if found.difficulty in ("same", "harder"):
            assert f"{found.paper:.4f}" == printed[place]
        else:
            nested = found.difficulty == "10 nested"
            assert found.paper == (float(COMPOSED["irem"][10]) if nested else None)


def test_table_1_as_it_is_shown(results):
    printed, shown = table_1(), columns(results["table1"], "paper")
    places = list(dict.fromkeys((c.task, c.method) for c in results["table1"].cells))
    assert shown == [[printed[*place, d] for d in ("same", "harder")] for place in places]


def test_table_2(results):
    printed = {
        (replay == "Yes", truncated == "Yes"): (error, speed, memory)
        for replay, truncated, error, speed, memory in rows(TABLE_2)
    }
    found = {
        variant: (f"{error:.4f}", f"{speed}%", f"{memory}%")
        for variant, (error, speed, memory) in ablation.PAPER_ABLATION.items()
    }
    assert found == printed
    cells = results["ablation"].cells
    shown = columns(results["ablation"], "paper")
    for measured, numbers in zip(cells, shown, strict=True):
        error, *costs = printed.get((measured.replay, measured.truncate), ("", "", ""))
        error = error if measured.difficulty == "same" else ""
        assert [text.replace(" ", "") for text in numbers] == [error, *costs]


def test_table_3(results):
    printed = {int(size): tuple(numbers) for size, *numbers in rows(TABLE_3)}
    found = {k: tuple(f"{v:.4f}" for v in pair) for k, pair in step_size.PAPER_STEP_SIZE.items()}
    assert found == printed
    expected = [[n] for size in printed for n in printed[size]]
    assert columns(results["step-size"], "paper") == expected
    sizes = [(c.step_size, c.difficulty) for c in results["step-size"].cells]
    assert sizes == [(size, d) for size in printed for d in ("same", "harder")]


def test_table_4(results):
    found = {
        method: {k: f"{v:.4f}" for k, v in numbers.items()}
        for method, numbers in PAPER_COMPOSITIONS.items()
    }
    assert found == COMPOSED
    shown = columns(results["composition"], "paper")
    assert shown == [*(list(numbers.values()) for numbers in COMPOSED.values()), [""] * 3, [""] * 3]
    for measured in results["composition"].cells:
        expected = COMPOSED[measured.method].get(measured.operations)
        assert measured.paper == (None if expected is None else float(expected))


def test_appendix_a(results):
    found = {
        name: {sigma: f"{value:.2f}" for sigma, value in numbers.items()}
        for name, numbers in denoising.PRINTED_DENOISING.items()
    }
    assert found == denoised()
    table = result_table(results["denoising"])
    shown = {row[0].text: [entry.text for entry in row] for row in table.rows}
    sigmas = [int(re.match(r"\d+", name)[0]) for name in table.header[1:-2]]
    for name, numbers in denoised().items():
        assert shown[f"{name}, printed"][1:-2] == [numbers.get(s, "") for s in sigmas]
    printed_as = {"dncnn-bias": "DnCNN", "irem": "IREM"}
    for measured in results["denoising"].cells:
        expected = denoised().get(printed_as.get(measured.method), {}).get(measured.sigma)
        assert measured.paper == (None if expected is None else float(expected))


def test_full_scale_is_appendix_c():
    assert dataclasses.astuple(FULL.vectors) == (10_000, 128, 1e-4, "constant", None)
    assert dataclasses.astuple(FULL.graphs) == (10_000, 64, 1e-4, "constant", None)
    assert FULL.problems == 1000
    for task in (task for pair in TABLE_1 for task in pair):
        method = Recipe.named(task, PAPER).complete().settings["method"]
        assert (method["num_steps"], method["step_size"]) == (5, 100.0)
