"""How much a reproduction costs: the paper's settings, or as much as two cores do in minutes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar

from irem.formats import Graphs, Pictures
from irem.paper.cells import from_plain
from irem.tasks import AbstractTask


@dataclasses.dataclass(frozen=True)
class Budget:
    """The length and the optimiser of one training run."""

    iterations: int
    batch_size: int
    learning_rate: float = 1e-4
    decay: str = "constant"
    clip_norm: float | None = None

    def longer(self, times: int) -> Budget:
        """Return a budget of so many times the iterations."""
        return dataclasses.replace(self, iterations=times * self.iterations)

    def overrides(self) -> dict[str, Any]:
        """Return the budget as `Recipe.override` takes it."""
        optimiser = ("learning_rate", "decay", "clip_norm")
        return {
            "iterations": self.iterations,
            "batch_size": self.batch_size,
            **{f"optimiser.{name}": getattr(self, name) for name in optimiser},
        }


@dataclasses.dataclass(frozen=True)
class Layers:
    """Size of a network of pictures."""

    width: int
    depth: int


@dataclasses.dataclass(frozen=True)
class PictureScale:
    """Settings of the experiment on pictures.

    Arguments:
        budget: Training on patches, one model each; half of IREM's patches are replayed ones.
        unet: Size of the U-Net.
        dncnn: Size of the DnCNN.
        longer: How many times longer the U-Net trains for the rows that start from it; 0 leaves
            those rows out.
        replayed: Capacity of the replay buffer for patches.
        test_pictures: How many pictures are scored; all by default.
        test_side: Most pixels of their height and width; all by default.
    """

    budget: Budget = Budget(20_000, 64, learning_rate=7e-4, decay="cosine", clip_norm=0.05)
    unet: Layers = Layers(48, 3)
    dncnn: Layers = Layers(64, 20)
    longer: int = 3
    replayed: int = 4096
    test_pictures: int | None = None
    test_side: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain values under the names that files of results have."""
        values = dataclasses.asdict(self)
        names = {"budget": "images", "longer": "images_longer", "replayed": "patches_replayed"}
        return {names.get(name, name): value for name, value in values.items()}


@dataclasses.dataclass(frozen=True)
class Scale:
    """Settings that all experiments share.

    Arguments:
        name: What pages call it.
        seeds: Models that train together for every cell.
        problems: Fresh problems of every evaluation.
        vectors: Training on tasks of a fixed size.
        graphs: Training on graphs.
        pace_iterations: Iterations of a timed chunk.
        pictures: Everything about pictures.
        structure: Share of the iterations of the recipes `best` that are trained.
        formulas: Share of the formulas and of the network's training on 3-SAT.
    """

    name: str
    seeds: int
    problems: int
    vectors: Budget
    graphs: Budget
    pace_iterations: int
    pictures: PictureScale = PictureScale()
    structure: float = 1.0
    formulas: float = 1.0

    def budget(self, task: AbstractTask) -> Budget:
        """Return what training on `task` is given."""
        by_format = {Graphs: self.graphs, Pictures: self.pictures.budget}
        return by_format.get(type(task.format), self.vectors)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; those about pictures stand beside the others."""
        values = dataclasses.asdict(self)
        del values["pictures"]
        return {**values, **self.pictures.as_dict()}


@dataclasses.dataclass(frozen=True, kw_only=True)
class NamedScale:
    """Of the settings in a file of results, the name of the scale."""

    name: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainedScale:
    """Of the settings in a file of results, those of the paper's trainings."""

    seeds: int
    problems: int
    vectors: Budget
    graphs: Budget


@dataclasses.dataclass(frozen=True, kw_only=True)
class PatchScale:
    """Of the settings in a file of results, those of training on patches."""

    images: Budget


KeptScale = TypeVar("KeptScale", NamedScale, TrainedScale, PatchScale)


def kept_scale(kind: type[KeptScale], given: Mapping[str, Any], where: str) -> KeptScale:
    """Return some of the settings in a file of results, which may have more.

    Raises:
        InputError: One is missing or of another type; `where` begins the message.
    """
    names = {field.name for field in dataclasses.fields(kind)}
    return from_plain(kind, {n: value for n, value in given.items() if n in names}, where)


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
    pictures=PictureScale(
        budget=Budget(300, 8, learning_rate=2e-3, decay="cosine", clip_norm=0.05),
        unet=Layers(16, 1),
        dncnn=Layers(16, 6),
        longer=0,
        replayed=256,
        test_pictures=2,
        test_side=128,
    ),
    structure=0.02,
    formulas=0.05,
)
"""Minutes on two cores: less training at a higher rate, fewer seeds and problems."""
