"""How long a training iteration of the energies that see structure takes.

    python benchmarks/structure_pace.py --iterations 1000

For every task the form of `irem reproduce structure`, one model, 32 fresh and 32 replayed problems
(matrices of 20 x 20, graphs padded to 10 nodes), beside the paper's energy for the same task on the
same device: milliseconds of an iteration, the best of three chunks.
"""

import argparse
import time

import equinox as eqx
import jax

import irem
from irem.experiments import FORMS
from irem.experiments._study import method_settings
from irem.learning import Replay, adam
from irem.learning._step import Recipe, init, run_chunk
from irem.methods import build_methods


def main():
    """Time every task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--task", action="append", help="by default all")
    arguments = parser.parse_args()
    print(f"{jax.devices()[0].device_kind}, {arguments.iterations} iterations, best of three")
    for name in arguments.task or FORMS:
        task, form = irem.tasks.get(name), FORMS[name]
        new = milliseconds(task, form.method(), form.clip, arguments.iterations)
        paper = milliseconds(task, method_settings(task, "irem"), None, arguments.iterations)
        print(f"{name:22}{new:8.2f} ms  paper's energy {paper:8.2f} ms  ratio {new / paper:6.2f}")


def milliseconds(task, settings, clip, iterations):
    """Of one iteration."""
    keys = jax.random.split(jax.random.key(0), 1)
    recipe = Recipe(task, adam(1e-3, "constant", iterations, 0.5), Replay(clip=clip), 32)
    methods = build_methods(task, settings, keys=keys)
    states = eqx.filter_vmap(lambda m, k: init(recipe, m, k))(methods, keys)
    best = float("inf")
    for attempt in range(4):  # the first compiles
        start = time.perf_counter()
        states, infos = run_chunk(recipe, states, iterations)
        jax.block_until_ready(infos)
        if attempt:
            best = min(best, time.perf_counter() - start)
    return 1000 * best / iterations


if __name__ == "__main__":
    main()
