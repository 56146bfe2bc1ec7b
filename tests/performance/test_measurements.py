"""What `irem benchmark` measures: real ratios, at sizes that take seconds."""

import time

import pytest

from irem.performance import MEASUREMENTS, Amount, Measurement, Ratio, Skipped, measure, processes
from irem.performance.timing import in_turns, of_rounds
from irem.performance.torch_peer import ratios_of

LITTLE = Amount(rounds=1, scale=1)


def test_a_ratio_is_the_cost_of_irem_over_that_of_the_peer():
    ratio = of_rounds("this", "that", "ms", [(2.0, 1.0), (6.0, 2.0), (4.0, 8.0)])
    assert (ratio.cost, ratio.peer_cost, ratio.ratio) == (4.0, 2.0, 2.0)
    assert (ratio.lowest, ratio.highest) == (0.5, 3.0)


def test_both_sides_run_once_untimed_and_then_in_turns():
    ran = []

    def side():
        ran.append("irem")
        time.sleep(0.02)

    def peer():
        ran.append("peer")
        time.sleep(0.01)

    ratio = in_turns("this", side, "that", peer, rounds=2, per=4)
    assert ran == ["irem", "peer"] * 3
    assert ratio.cost >= 5  # a quarter of 20 ms
    assert ratio.peer_cost >= 2.5
    assert ratio.unit == "ms"


def test_a_process_that_does_more_costs_more():
    more = "sum(range(10_000_000))"
    ratio = processes._processes("adding", more, "nothing", "pass", LITTLE)
    assert ratio.ratio > 1.5
    assert processes._peak_megabytes("x = bytearray(200_000_000)") > 200


@pytest.mark.parametrize("name", ["solve", "export"])
def test_answers_are_measured_beside_named_peers(name):
    found = measure(name, LITTLE)
    assert all(isinstance(ratio, Ratio) for ratio in found)
    assert all(ratio.lowest <= ratio.ratio <= ratio.highest for ratio in found)
    assert all(ratio.cost > 0 and ratio.what and ratio.peer for ratio in found)


def test_what_needs_a_package_that_is_missing_says_so(monkeypatch):
    entries = {"mine": Measurement("training", "...", "nowhere", "run", needs=("no_such_package",))}
    monkeypatch.setattr(MEASUREMENTS, "_entries", entries)
    assert measure("mine", LITTLE) == Skipped("no_such_package is not installed")


def test_times_of_pytorch_become_ratios():
    times = {"irem": [2.0, 4.0], "torch": [4.0, 4.0], "torch-hoisted": [2.0, 2.0]}
    medians = {"irem": 3.0, "torch": 4.0, "torch-hoisted": 2.0}
    plain, hoisted = ratios_of({"ms_per_iteration": times, "median_ms_per_iteration": medians})
    assert (plain.ratio, plain.lowest, plain.highest) == (0.75, 0.5, 1.0)
    assert (hoisted.ratio, hoisted.lowest, hoisted.highest) == (1.5, 1.0, 2.0)
