"""The comparison with PyTorch, whose program is in the source of irem and not in the package."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from irem.performance.base import Amount, Ratio, Skipped

_PROGRAM = Path(__file__).parents[3] / "benchmarks" / "torch_peer.py"
_PEERS = {
    "torch": "the same step in eager PyTorch, as the authors' program has it",
    "torch-hoisted": "eager PyTorch, the product with the problem taken once",
}


def eager(amount: Amount) -> Sequence[Ratio] | Skipped:
    """An iteration of the paper's addition beside the same loop in eager PyTorch."""
    if not _PROGRAM.is_file():
        return Skipped("benchmarks/torch_peer.py is in the source of irem alone")
    spec = importlib.util.spec_from_file_location("torch_peer", _PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return ratios_of(program.compare(5 * amount.scale, amount.rounds))


def ratios_of(result: dict) -> list[Ratio]:
    """Return what `benchmarks/torch_peer.py` measured, as costs of irem over those of PyTorch."""
    times, medians = result["ms_per_iteration"], result["median_ms_per_iteration"]
    found = []
    for name, told in _PEERS.items():
        rounds = [a / b for a, b in zip(times["irem"], times[name], strict=True)]
        what = "iteration of addition, the paper's settings"
        costs = (medians["irem"], medians[name], min(rounds), max(rounds))
        found.append(Ratio(what, told, "ms", *costs))
    return found
