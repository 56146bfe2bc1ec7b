"""Two sides timed in turns."""

import statistics
import time
from collections.abc import Callable, Sequence

from irem.performance.base import Ratio

Side = Callable[[], object]
"""What is timed: it returns when its work is done."""


def in_turns(
    what: str, side: Side, peer: str, peer_side: Side, rounds: int, *, per: int = 1
) -> Ratio:
    """Return the ratio of the times of two sides, after a run of each that is not timed.

    Arguments:
        what: What irem does.
        side: That.
        peer: What the peer does.
        peer_side: That.
        rounds: How often each side runs.
        per: How many of what the unit is about one run of `side` does.
    """
    side()
    peer_side()
    pairs = [(_seconds(side) / per, _seconds(peer_side) / per) for _ in range(rounds)]
    return of_rounds(what, peer, "ms", [(1e3 * a, 1e3 * b) for a, b in pairs])


def of_rounds(what: str, peer: str, unit: str, pairs: Sequence[tuple[float, float]]) -> Ratio:
    """Return the ratio of the medians of the costs of irem and of a peer, round by round."""
    cost, peer_cost = (statistics.median(side) for side in zip(*pairs, strict=True))
    ratios = [a / b for a, b in pairs]
    return Ratio(what, peer, unit, cost, peer_cost, min(ratios), max(ratios))


def _seconds(side: Side) -> float:
    start = time.perf_counter()
    side()
    return time.perf_counter() - start
