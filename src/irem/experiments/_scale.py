"""How much a reproduction costs: the paper's settings, or as much as two cores do in minutes."""

import dataclasses
from typing import Any

from irem.tasks import AbstractGraphTask, AbstractTask


@dataclasses.dataclass(frozen=True)
class Budget:
    """What one training run is given."""

    iterations: int
    batch_size: int
    learning_rate: float = 1e-4
    decay: str = "constant"


@dataclasses.dataclass(frozen=True)
class Scale:
    """Settings of all experiments.

    Arguments:
        name: How pages call it.
        seeds: Models that train together for every cell.
        problems: Fresh problems of every evaluation.
        vectors: Training on tasks of a fixed size.
        graphs: Training on graphs.
        pace_iterations: Iterations of a timed chunk.
    """

    name: str
    seeds: int
    problems: int
    vectors: Budget
    graphs: Budget
    pace_iterations: int

    def budget(self, task: AbstractTask) -> Budget:
        """What training on `task` is given."""
        return self.graphs if isinstance(task, AbstractGraphTask) else self.vectors

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return dataclasses.asdict(self)


FULL = Scale(
    name="full",
    seeds=5,
    problems=1000,
    vectors=Budget(iterations=10_000, batch_size=128),
    graphs=Budget(iterations=10_000, batch_size=64),
    pace_iterations=1000,
)
"""The paper's settings (Appendix C), with five seeds."""

QUICK = Scale(
    name="quick",
    seeds=2,
    problems=100,
    vectors=Budget(iterations=600, batch_size=32, learning_rate=1e-3, decay="cosine"),
    graphs=Budget(iterations=400, batch_size=16, learning_rate=1e-3, decay="cosine"),
    pace_iterations=10,
)
"""Minutes on two cores: less training at a higher rate, fewer seeds and problems."""
