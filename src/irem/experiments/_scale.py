"""How much a reproduction costs: the paper's settings, or as much as two cores do in minutes."""

from __future__ import annotations

import dataclasses
from typing import Any

from irem.tasks import AbstractTask


@dataclasses.dataclass(frozen=True)
class Budget:
    """What one training run is given."""

    iterations: int
    batch_size: int
    learning_rate: float = 1e-4
    decay: str = "constant"
    clip_norm: float | None = None

    def longer(self, times: int) -> Budget:
        """So many times the iterations."""
        return dataclasses.replace(self, iterations=times * self.iterations)


@dataclasses.dataclass(frozen=True)
class Layers:
    """Size of a network of pictures."""

    width: int
    depth: int


_IMAGES = Budget(20_000, 64, learning_rate=7e-4, decay="cosine", clip_norm=0.05)


@dataclasses.dataclass(frozen=True)
class Scale:
    """Settings of all experiments.

    Arguments:
        name: How pages call it.
        seeds: Models that train together for every cell.
        problems: Fresh problems of every evaluation.
        vectors: Training on tasks of a fixed size.
        graphs: Training on graphs.
        images: Training on patches of pictures, one model each; IREM replays half of a batch.
        unet: Size of the network of pictures.
        dncnn: Size of the other one.
        images_longer: How many times longer the U-Net trains for the rows that go on from it; 0
            leaves those rows out.
        patches_replayed: Capacity of the replay buffer for patches.
        test_pictures: How many pictures are scored; all by default.
        test_side: Most pixels of their height and width; all by default.
        structure: Share of the iterations that energies which see structure are given.
        pace_iterations: Iterations of a timed chunk.
    """

    name: str
    seeds: int
    problems: int
    vectors: Budget
    graphs: Budget
    pace_iterations: int
    images: Budget = _IMAGES
    unet: Layers = Layers(48, 3)
    dncnn: Layers = Layers(64, 20)
    structure: float = 1.0
    images_longer: int = 3
    patches_replayed: int = 4096
    test_pictures: int | None = None
    test_side: int | None = None

    def budget(self, task: AbstractTask) -> Budget:
        """What training on `task` is given."""
        return {"graphs": self.graphs, "images": self.images}.get(task.kind, self.vectors)

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
    images=Budget(300, 8, learning_rate=2e-3, decay="cosine", clip_norm=0.05),
    unet=Layers(16, 1),
    dncnn=Layers(16, 6),
    structure=0.02,
    images_longer=0,
    patches_replayed=256,
    test_pictures=2,
    test_side=128,
    pace_iterations=10,
)
"""Minutes on two cores: less training at a higher rate, fewer seeds and problems."""
