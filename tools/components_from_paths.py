"""Make the robust run of connected-components from the weights of one of shortest-path.

    python tools/components_from_paths.py runs/paths runs/components

Answers of 0 or 1 have no slope that training could follow. Two nodes are connected if a path
between them has a length, so the energy of shortest paths, read in another way, tells it.
"""

import argparse

import equinox as eqx
import jax

import irem
from irem.keys import training_keys
from irem.training import Checkpoints, Recipe


def main():
    """Put the learned layer into a run of the recipe."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", help="a run of shortest-path with the recipe robust")
    parser.add_argument("out", help="folder of the new run")
    arguments = parser.parse_args()
    layer = irem.load(arguments.paths).model.energy.layer
    stacked = jax.tree.map(lambda leaf: leaf[None], layer)
    begin = lambda method: eqx.tree_at(lambda m: m.energy.layer, method, stacked)  # noqa: E731
    recipe = Recipe.named("connected-components", "robust")
    recipe.train(keys=training_keys(0, 1), begin=begin, out=Checkpoints(arguments.out))


if __name__ == "__main__":
    main()
