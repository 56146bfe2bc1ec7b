"""Counters as Prometheus reads them."""

from __future__ import annotations

import bisect
import collections
import threading
from collections.abc import Callable

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)
_Labels = tuple[tuple[str, str], ...]


class Metrics:
    """What a server did so far, and how it is now.

    Arguments:
        gauges: What is read when it is asked for, by name, with a line of help.
    """

    def __init__(self, gauges: dict[str, tuple[str, Callable[[], float]]]) -> None:
        self._gauges = gauges
        self._lock = threading.Lock()
        self._counters: dict[tuple[str, _Labels], float] = collections.defaultdict(float)
        self._seconds: dict[_Labels, list[float]] = {}
        self._buckets: dict[_Labels, list[int]] = {}

    def count(self, name: str, by: int | float = 1, **labels: str) -> None:
        """Add to a counter."""
        with self._lock:
            self._counters[name, tuple(sorted(labels.items()))] += by

    def time(self, seconds: int | float, **labels: str) -> None:
        """Count how long a request took."""
        key = tuple(sorted(labels.items()))
        with self._lock:
            total = self._seconds.setdefault(key, [0.0, 0.0])
            total[0] += seconds
            total[1] += 1
            buckets = self._buckets.setdefault(key, [0] * (len(_BUCKETS) + 1))
            buckets[bisect.bisect_left(_BUCKETS, seconds)] += 1

    def text(self) -> str:
        """Return all of it in the text format."""
        lines: list[str] = []
        for name, (help_line, value) in self._gauges.items():
            lines += [f"# HELP {name} {help_line}", f"# TYPE {name} gauge", f"{name} {value():g}"]
        with self._lock:
            lines += self._counter_lines() + self._histogram_lines()
        return "\n".join(lines) + "\n"

    def _counter_lines(self) -> list[str]:
        lines: list[str] = []
        for name in sorted({name for name, _ in self._counters}):
            lines.append(f"# TYPE {name} counter")
            found = sorted((key, v) for (n, key), v in self._counters.items() if n == name)
            lines += [f"{name}{_braces(key)} {value:.15g}" for key, value in found]
        return lines

    def _histogram_lines(self) -> list[str]:
        name = "irem_request_seconds"
        lines = [f"# TYPE {name} histogram"] if self._seconds else []
        for key, (total, number) in sorted(self._seconds.items()):
            below = 0
            for bound, inside in zip((*_BUCKETS, "+Inf"), self._buckets[key], strict=True):
                below += inside
                lines.append(f"{name}_bucket{_braces((*key, ('le', str(bound))))} {below}")
            lines.append(f"{name}_sum{_braces(key)} {total:.6f}")
            lines.append(f"{name}_count{_braces(key)} {number:g}")
        return lines


def _braces(labels: _Labels) -> str:
    if not labels:
        return ""
    escaped = ((k, v.replace("\\", r"\\").replace('"', r"\"")) for k, v in labels)
    return "{" + ",".join(f'{k}="{v}"' for k, v in escaped) + "}"
