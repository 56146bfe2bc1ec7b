"""Problems per second of a batch of mixed difficulty: a queue against waiting for the slowest.

    python benchmarks/mixed_batch.py --out results/mixed-batch.json

10,000 shortest-path problems on graphs of 2 to 15 nodes, padded to 15, are answered three ways in
one run: by the queue of `irem.solve`, where a problem that stops is replaced by the next; in
batches of the same width that run until all are done, by the same compiled program; and as one
batch. Answers of the first two are compared entry by entry. Programs are compiled before the
clock starts.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import irem
from irem.descent.algorithm2 import minimise
from irem.descent.batches import slots_for
from irem.descent.queue import minimise_queued
from irem.descent.rules import make_descent
from irem.files import write_whole
from irem.training.checkpoint import load_arrays, save_arrays


def graphs(task, count, largest, key):
    """Graphs of 2 to `largest` nodes, padded, as the task draws them."""

    def one(key):
        key_edges, key_size = jax.random.split(key)
        nodes = jnp.arange(largest) < jax.random.randint(key_size, (), 2, largest + 1)
        x = irem.Graph(task.edges(key_edges, largest), nodes)
        return irem.Graph(jnp.where(x.pairs, x.edges, 0.0), nodes)

    return jax.jit(jax.vmap(one))(jax.random.split(key, count))


def clock(answer):
    """What `answer` returns, and its seconds once it is compiled."""
    jax.block_until_ready(answer(max_steps=1))
    start = time.perf_counter()
    solution = jax.device_get(answer())
    return solution, time.perf_counter() - start


def main():
    """Train or load a model, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=15)
    parser.add_argument("--iterations", type=int, default=10_000)
    parser.add_argument("--weights", type=Path, help="kept here, and read instead of training")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    task = irem.tasks.get("shortest-path")
    model = irem.IREM(irem.energy.GINE.for_task(task, key=jax.random.key(0)))
    if options.weights is not None and options.weights.exists():
        model = load_arrays(options.weights, model)
    else:
        settings = {"iterations": options.iterations, "batch_size": 64, "key": jax.random.key(1)}
        model = irem.train(task, model, **settings, progress=False).model
        if options.weights is not None:
            save_arrays(options.weights, model)
    x = graphs(task, options.problems, options.nodes, jax.random.key(2))
    y0 = jax.random.uniform(jax.random.key(3), x.edges.shape, minval=-1, maxval=1)
    slots = slots_for(y0)

    def descent(max_steps=irem.descent.MAX_STEPS):
        return make_descent(model, None, None, max_steps)

    def queued(free_share, **limit):
        return minimise_queued(descent(**limit), x, y0, slots, lambda _: None, free_share)

    turns, seconds = clock(lambda **limit: queued(0.25, **limit))
    batches, batch_seconds = clock(lambda **limit: queued(1.0, **limit))
    whole, whole_seconds = clock(lambda **limit: minimise(descent(**limit), x, y0))
    real = np.asarray(x.pairs)
    steps = turns.steps
    result = {
        "device": jax.devices()[0].device_kind,
        "problems": options.problems,
        "largest_nodes": options.nodes,
        "slots": slots,
        "steps_mean": float(steps.mean()),
        "steps_median": float(np.median(steps)),
        "steps_largest": int(steps.max()),
        "problems_per_second": {
            "turns": options.problems / seconds,
            "batches": options.problems / batch_seconds,
            "one_batch": options.problems / whole_seconds,
        },
        "faster_than_batches": batch_seconds / seconds,
        "faster_than_one_batch": whole_seconds / seconds,
        "largest_difference_from_batches": float(np.abs(turns.y - batches.y)[real].max()),
        "same_steps_as_batches": float((turns.steps == batches.steps).mean()),
        "differ_from_one_batch_by_1e-5": float(
            (np.where(real, np.abs(turns.y - whole.y), 0).max((1, 2)) > 1e-5).mean()
        ),
    }
    print(json.dumps(result))
    if options.out is not None:
        write_whole(options.out, json.dumps(result, indent=1).encode())


if __name__ == "__main__":
    main()
