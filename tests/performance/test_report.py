"""The object and the table of what was measured."""

import math

import pytest

from irem.performance import (
    MEASUREMENTS,
    Amount,
    Measurement,
    Ratio,
    Skipped,
    as_text,
    base,
    report,
)


def quick(amount):
    return [Ratio("this", "that", "ms", 3.0, float(amount.rounds), 1.0, 2.0)]


def absent(amount):
    return Skipped("its program is elsewhere")


@pytest.fixture
def registered(monkeypatch):
    entries = {
        "quick": Measurement("inference", "a quick one", __name__, "quick"),
        "absent": Measurement("training", "an absent one", __name__, "absent"),
    }
    monkeypatch.setattr(MEASUREMENTS, "_entries", entries)


def made(monkeypatch, load):
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    said = []
    return report(["quick", "absent"], Amount(rounds=2, scale=1), said.append), said


@pytest.mark.usefixtures("registered")
def test_the_object_has_every_ratio_and_why_others_are_missing(monkeypatch):
    result, said = made(monkeypatch, load=0.0)
    assert said == ["quick: a quick one", "absent: an absent one"]
    quick_one, absent_one = result["measurements"].values()
    assert quick_one["section"] == "inference"
    assert quick_one["ratios"][0]["ratio"] == 1.5
    assert quick_one["ratios"][0]["cost"] == 3.0
    assert absent_one == {
        "section": "training",
        "skipped": "its program is elsewhere",
        "ratios": [],
    }
    assert {"commit", "device", "versions", "cores", "rounds"} <= set(result)


@pytest.mark.usefixtures("registered")
def test_a_busy_machine_keeps_ratios_alone(monkeypatch):
    idle, busy = (made(monkeypatch, load)[0] for load in (0.0, math.inf))
    assert (idle["busy"], busy["busy"]) == (False, True)
    row = busy["measurements"]["quick"]["ratios"][0]
    assert (row["ratio"], row["cost"], row["peer_cost"]) == (1.5, None, None)
    assert "3 ms" in as_text(idle)
    assert "3 ms" not in as_text(busy)
    assert "busy with other work" in as_text(busy)
    assert "absent: skipped, because its program is elsewhere." in as_text(busy)


def test_every_measurement_has_its_function():
    import importlib

    for measurement in MEASUREMENTS.values():
        assert callable(getattr(importlib.import_module(measurement.module), measurement.function))
    assert base.QUICK.rounds < base.FULL.rounds
