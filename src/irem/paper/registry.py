"""Every experiment by name."""

from irem.paper import (
    ablation,
    composition,
    denoising,
    figures,
    longer,
    mazes,
    protocol,
    puzzle_family,
    puzzle_training,
    puzzles,
    sat,
    scratchpad,
    stability,
    step_size,
    structure,
    sums,
    table1,
)
from irem.paper.experiment import Experiment
from irem.settings import Registry

EXPERIMENTS: Registry[Experiment] = Registry(
    "experiment",
    {
        module.EXPERIMENT.name: module.EXPERIMENT
        for module in (
            table1,
            ablation,
            step_size,
            composition,
            denoising,
            figures,
            sums,
            longer,
            protocol,
            scratchpad,
            structure,
            stability,
            sat,
            puzzles,
            puzzle_training,
            puzzle_family,
            mazes,
        )
    },
)
"""Every experiment by name, in the order of `irem reproduce all`."""
