"""Fit the nine weights of the low-rank energy by the errors of whole descents.

    python tools/fit_lowrank.py --out runs/matrix-completion

Plain steps of training would diverge on tables without noise, whose landscapes are steep at their
minima. So weights are drawn around the best ones so far, and kept where the answers at the ends of
whole descents are better: the mean over tables of the logarithm of the root mean square error at
missing entries. Tables are those of the wide variant; none that anything is measured on is used.
The folder is that of a run of one iteration of `irem train` that begins with these weights.
"""

import argparse
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import irem
from irem.energy.lowrank import LowRank
from irem.keys import training_keys
from irem.training import Checkpoints
from irem.training.recipes import Recipe

# Rows, columns and difficulty of the tables of a set.
SETS = ((20, 20, "same"), (15, 30, "same"), (40, 40, "same"), (25, 25, "harder"))
# Errors below this share of the entries count as this: they are a matter of steps.
FLOOR = 1e-2


def draw_sets(tables, seed):
    """Draw the tables of all sets."""
    sets = []
    for i, (rows, columns, difficulty) in enumerate(SETS):
        task = irem.tasks.MatrixCompletion(variant="wide", size=rows, columns=columns)
        sets.append(task.batch(jax.random.key(seed + i), tables, difficulty))
    return sets


def log_errors(energy, sets, max_steps):
    """Return the logarithms of the errors at missing entries, set by set."""
    found = []
    for problem in sets:
        y = irem.solve(energy, problem.x, key=jax.random.key(0), max_steps=max_steps).y
        missing = ~np.isfinite(problem.x)
        squares = np.where(missing, np.square(np.asarray(y - problem.y)), 0.0).sum((1, 2))
        error = np.sqrt(squares / np.maximum(missing.sum((1, 2)), 1))
        found.append(np.log(error + FLOOR))
    return np.stack(found)


def with_weights(energy, log_weights):
    """Return the energy with other weights."""
    return eqx.tree_at(lambda e: e.log_weights, energy, jnp.asarray(log_weights, jnp.float32))


def search(energy, sets, rounds, max_steps, seed):
    """Return the best weights of a random search around the best so far."""
    rng = np.random.default_rng(seed)
    best, least = np.asarray(energy.log_weights), np.inf
    spread, step = np.array([0.15, 0.15, 0.8])[:, None] * np.array([1.0, 0.5, 0.5]), 1.0
    last = np.zeros((3, 3))
    for i in range(rounds):
        change = np.zeros((3, 3)) if i == 0 else step * spread * rng.standard_normal((3, 3))
        change = last if i and last.any() else change
        errors = log_errors(with_weights(energy, best + change), sets, max_steps)
        better = errors.mean() < least
        if better:
            best, least, last, step = best + change, errors.mean(), change, 1.2 * step
        else:
            # What was worse is tried the other way once.
            last, step = (np.zeros((3, 3)), 0.9 * step) if last.any() else (-change, step)
        print(
            f"{i:3d} mean {errors.mean():.4f} sets {errors.mean(1).round(3).tolist()} least "
            f"{least:.4f} best {best.round(3).tolist()}",
            flush=True,
        )
    return best


def write_run(folder, log_weights):
    """Write the run of the recipe, begun with these weights."""

    def begin(untrained):
        stacked = jnp.asarray(log_weights, jnp.float32)[None]
        return eqx.tree_at(lambda method: method.energy.log_weights, untrained, stacked)

    recipe = Recipe.named("matrix-completion", "robust")
    recipe.train(keys=training_keys(0, 1), begin=begin, out=Checkpoints(folder))


def main():
    """Fit the weights and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", help="Folder of the run; without it weights are printed alone.")
    parser.add_argument("--tables", type=int, default=200, help="Tables of each set.")
    parser.add_argument("--rounds", type=int, default=100, help="0 keeps the first weights.")
    parser.add_argument("--max-steps", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weights", help="Nine weights as JSON, to begin from.")
    options = parser.parse_args()
    energy = LowRank(key=jax.random.key(0))
    if options.weights:
        energy = with_weights(energy, json.loads(options.weights))
    sets = draw_sets(options.tables, 1000 * options.seed)
    best = search(energy, sets, options.rounds, options.max_steps, options.seed)
    print(json.dumps(best.tolist()))
    if options.out:
        write_run(options.out, best)


if __name__ == "__main__":
    main()
