"""How long a training iteration of the energies on pairs and tables takes.

    python benchmarks/structure_pace.py --iterations 1000

For every task the recipe `best`, one model, 32 fresh and 32 replayed problems
(matrices of 20 x 20, graphs padded to 10 nodes), beside the paper's energy for the same task on the
same device: milliseconds of an iteration, the best of three chunks.
"""

import argparse
import time

import equinox as eqx
import jax

import irem
from irem.methods import build_methods
from irem.training import Adam, NoAverage, Recipe, Training, init, run_chunk

TASKS = [name for name in irem.tasks.TASKS if name != "denoise"]


def main():
    """Time every task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--task", action="append", help="by default all")
    arguments = parser.parse_args()
    print(f"{jax.devices()[0].device_kind}, {arguments.iterations} iterations, best of three")
    for name in arguments.task or TASKS:
        new, paper = (
            milliseconds(Recipe.named(name, recipe), arguments.iterations)
            for recipe in ("best", "paper")
        )
        print(f"{name:22}{new:8.2f} ms  paper's energy {paper:8.2f} ms  ratio {new / paper:6.2f}")


def milliseconds(recipe, iterations):
    """Of one iteration."""
    keys, task = jax.random.split(jax.random.key(0), 1), recipe.make_task()
    optimiser = Adam(learning_rate=1e-3, clip_norm=0.5).transformation(iterations)
    training = Training(task, optimiser, recipe.component("replay"), NoAverage(), 32)
    methods = build_methods(task, recipe.method_settings(), keys=keys)
    states = eqx.filter_vmap(lambda m, k: init(training, m, k))(methods, keys)
    best = float("inf")
    for attempt in range(4):  # the first compiles
        start = time.perf_counter()
        states, infos = run_chunk(training, states, iterations)
        jax.block_until_ready(infos)
        if attempt:
            best = min(best, time.perf_counter() - start)
    return 1000 * best / iterations


if __name__ == "__main__":
    main()
