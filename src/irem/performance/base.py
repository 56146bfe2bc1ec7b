"""Measurements by name, and what one returns."""

import dataclasses
import importlib
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from irem.settings import Registry


class Amount(NamedTuple):
    """How much is measured: how often each side runs, and how many problems or iterations."""

    rounds: int
    scale: int


FULL, QUICK = Amount(rounds=7, scale=4), Amount(rounds=3, scale=1)
"""What is measured by default, and in a hurry."""


@dataclasses.dataclass(frozen=True)
class Ratio:
    """What something costs over what a peer costs, taken in turns; smaller is better.

    Arguments:
        what: What irem does.
        peer: What it is compared with.
        unit: The unit of both costs.
        cost: The cost of irem: the median over rounds, or the smallest of what only adds noise.
        peer_cost: That of the peer.
        lowest: The smallest ratio of all rounds.
        highest: The largest.
    """

    what: str
    peer: str
    unit: str
    cost: float
    peer_cost: float
    lowest: float
    highest: float

    @property
    def ratio(self) -> float:
        """The cost of irem over that of the peer."""
        return self.cost / self.peer_cost


@dataclasses.dataclass(frozen=True)
class Skipped:
    """Why something could not be measured here."""

    why: str


class Measurement(NamedTuple):
    """Something that `irem benchmark` measures.

    Arguments:
        section: Under which heading it stands: cold start, training, inference, memory, devices.
        help: What is measured, in one line.
        module: The module that has its function.
        function: The name of the function, which takes an `Amount` and returns ratios.
        needs: Packages that it needs beside those of irem.
    """

    section: str
    help: str
    module: str
    function: str
    needs: tuple[str, ...] = ()


_HERE = "irem.performance"

MEASUREMENTS: Registry[Measurement] = Registry(
    "measurement",
    {
        "cold-start": Measurement(
            "cold start", "imports and help in new processes", f"{_HERE}.processes", "cold_start"
        ),
        "first-answer": Measurement(
            "cold start",
            "first answers of a command, and of a new size in a warm process",
            f"{_HERE}.processes",
            "first_answer",
        ),
        "training-limit": Measurement(
            "training",
            "an iteration beside its products at this machine's rate",
            f"{_HERE}.training",
            "limit",
        ),
        "training-structure": Measurement(
            "training",
            "energies of pairs and tables beside the paper's",
            f"{_HERE}.training",
            "structure",
        ),
        "training-torch": Measurement(
            "training",
            "an iteration beside the same step in eager PyTorch",
            f"{_HERE}.torch_peer",
            "eager",
            needs=("torch",),
        ),
        "solve": Measurement(
            "inference",
            "answers beside those of NumPy and SciPy",
            f"{_HERE}.inference",
            "beside_libraries",
        ),
        "export": Measurement(
            "inference",
            "an exported model beside irem.solve",
            f"{_HERE}.inference",
            "exported",
        ),
        "memory": Measurement(
            "memory", "processes that answer or train", f"{_HERE}.processes", "memory"
        ),
    },
)
"""Every measurement by name; one line adds another, which the command and the page then know."""


def measure(name: str, amount: Amount) -> Sequence[Ratio] | Skipped:
    """Run one measurement, unless something that it needs is not installed."""
    measurement = MEASUREMENTS[name]
    missing = [package for package in measurement.needs if not _is_installed(package)]
    if missing:
        return Skipped(f"{' and '.join(missing)} is not installed")
    function: Callable[[Amount], Any] = getattr(
        importlib.import_module(measurement.module), measurement.function
    )
    return function(amount)


def _is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
