"""One object, and one table, of everything that was measured."""

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from irem.evaluation.tables import Entry, Table
from irem.paper import provenance
from irem.performance.base import MEASUREMENTS, Amount, Ratio, Skipped, measure

# Half of the cores or more are at work on something else.
_BUSY = 0.5


def report(
    names: Iterable[str], amount: Amount, say: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Measure, and return one object: where, and the ratios of every measurement.

    On a machine that is busy with other work costs mean little, and only ratios of sides that ran
    in turns are kept.

    Arguments:
        names: Which measurements, by name.
        amount: How much is measured.
        say: Called with one line before every measurement.
    """
    load = is_busy()
    measurements = {}
    for name in names:
        say(f"{name}: {MEASUREMENTS[name].help}")
        measurements[name] = _described(name, measure(name, amount), busy=load)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    where = {**provenance(), "cores": cores, "busy": load, "rounds": amount.rounds}
    return {**where, "measurements": measurements}


def is_busy() -> bool:
    """Return whether other processes keep half of the cores or more at work."""
    if not hasattr(os, "getloadavg"):  # not on Windows
        return False
    return os.getloadavg()[0] > _BUSY * (os.cpu_count() or 1)


def as_text(result: Mapping[str, Any]) -> str:
    """Return the table that is printed."""
    rows, skipped = [], []
    for name, found in result["measurements"].items():
        if found["skipped"] is not None:
            skipped.append(f"{name}: skipped, because {found['skipped']}.")
        for row in found["ratios"]:
            cost = "" if row["cost"] is None else f"{row['cost']:.3g} {row['unit']}"
            spread = f"{row['lowest']:.3g} to {row['highest']:.3g}"
            texts = (row["what"], row["peer"], f"{row['ratio']:.3g}", spread, cost)
            rows.append(tuple(map(Entry, texts)))
    header = ("irem", "beside", "ratio", "of rounds", "cost")
    lines = [Table(header, tuple(rows), labels=2).as_text()] if rows else []
    lines.append("A ratio is the cost of irem over that of its peer: smaller is better.")
    if result["busy"]:
        lines.append("This machine is busy with other work, so costs are left out.")
    return "\n".join([*lines, *skipped])


def _described(name: str, found: Sequence[Ratio] | Skipped, *, busy: bool) -> dict[str, Any]:
    """One measurement as plain values."""
    section, ratios = MEASUREMENTS[name].section, []
    if isinstance(found, Skipped):
        return {"section": section, "skipped": found.why, "ratios": ratios}
    for ratio in found:
        row = {**dataclasses.asdict(ratio), "ratio": ratio.ratio}
        ratios.append(row | (dict.fromkeys(("cost", "peer_cost")) if busy else {}))
    return {"section": section, "skipped": None, "ratios": ratios}
