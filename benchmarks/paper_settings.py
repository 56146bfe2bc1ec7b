"""Train with the paper's settings and measure accuracy and pace; prints one JSON object a line.

    python benchmarks/paper_settings.py --out results/paper-settings.json

Five seeds of every task train together for 10,000 iterations and answer 1,000 fresh problems with
the default halting rule. On two cores this takes hours; it is meant for a GPU. `--tasks`,
`--iterations` and `--seeds` make it smaller.
"""

import argparse
import json
import time
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import optax

import irem
from irem import learning
from irem._files import write_whole


def method_for(task, key):
    """A new model for `task`, and the paper's batch size for it."""
    # Batch sizes of Appendix C.
    if isinstance(task, irem.tasks.AbstractGraphTask):
        return irem.IREM(irem.energy.GINE.for_task(task, key=key)), 64
    return irem.IREM(irem.energy.MLP.for_task(task, key=key)), 128


def accuracy(task, iterations, seeds):
    """Train `seeds` models together and evaluate them on both difficulties."""
    keys = jax.vmap(jax.random.key)(np.arange(seeds))
    methods = eqx.filter_vmap(lambda key: method_for(task, key)[0])(keys)
    batch_size = method_for(task, jax.random.key(0))[1]
    start = time.perf_counter()
    run = irem.train(task, methods, iterations=iterations, batch_size=batch_size, key=keys)
    seconds = time.perf_counter() - start
    for difficulty in ("same", "harder"):
        result = irem.evaluate(run, task, difficulty, key=jax.random.key(1_000_000))
        yield {
            **result.as_dict(),
            "seeds": seeds,
            "iterations": iterations,
            "batch_size": batch_size,
            "train_seconds": seconds,
            "skipped_updates": int(run.history.skipped.sum()),
        }


def pace(seeds, iterations=2000, batch_size=128):
    """Milliseconds of one iteration of addition for each model, compilation left out."""
    task = irem.tasks.get("addition")
    keys = jax.vmap(jax.random.key)(np.arange(seeds))
    recipe = learning.Recipe(task, optax.adam(1e-4), irem.Replay(), batch_size)
    states = eqx.filter_vmap(lambda k: learning.init(recipe, method_for(task, k)[0], k))(keys)
    times = []
    for _ in range(4):
        start = time.perf_counter()
        states, info = learning.run_chunk(recipe, states, iterations)
        jax.block_until_ready(info.loss)
        times.append(time.perf_counter() - start)
    return {
        "pace": "addition",
        "seeds": seeds,
        "batch_size": batch_size,
        "ms_per_iteration_per_model": [1e3 * t / iterations / seeds for t in times[1:]],
    }


def main():
    """Measure pace, then accuracy, and keep what is done after every row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="*", default=list(irem.tasks.TASKS))
    parser.add_argument("--iterations", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--pace", type=int, nargs="*", default=[1, 5])
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    device = jax.devices()[0].device_kind
    rows = [pace(seeds) for seeds in options.pace]
    print(json.dumps(rows), flush=True)
    for name in options.tasks:
        for row in accuracy(irem.tasks.get(name), options.iterations, options.seeds):
            rows.append(row)
            print(json.dumps(row), flush=True)
            if options.out is not None:
                result = {"device": device, "jax": jax.__version__, "rows": rows}
                write_whole(options.out, json.dumps(result, indent=1).encode())


if __name__ == "__main__":
    main()
