"""Train with the paper's settings and measure accuracy and pace; prints one JSON object a line.

    python benchmarks/paper_settings.py --out results/paper-settings.json

Five seeds of every task train together for 10,000 iterations and answer 1,000 fresh problems with
the paper's fixed step; every row holds each seed's error. On two cores this takes hours; it is
meant for a GPU. `--tasks`, `--iterations` and `--seeds` make it smaller.
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
from irem import training
from irem.files import write_whole
from irem.methods import describe_method
from irem.paper import printed_mse, provenance

# A fixed step of the trained size, until the energy has not changed for some steps.
PAPER = {"step": irem.FixedStep(), "halt": irem.EnergyUnchanged(rtol=1e-4), "max_steps": 80}


def variants(task):
    """The energies to train on `task`, and the paper's batch size for it (Appendix C)."""
    if task.sizes:
        return [{"aggregate": "sum"}, {"aggregate": "mean"}], irem.energy.GINE, 64
    return [{}], irem.energy.MLP, 128


def accuracy(task, settings, iterations, seeds, precision):
    """Train `seeds` models together and evaluate them on both difficulties."""
    _, kind, batch_size = variants(task)
    keys = jax.vmap(jax.random.key)(np.arange(seeds))
    build = lambda key: irem.IREM(kind.for_task(task, key=key, **settings))  # noqa: E731
    options = {"iterations": iterations, "batch_size": batch_size}
    start = time.perf_counter()
    with jax.default_matmul_precision(None if precision == "default" else precision):
        run = irem.train(task, eqx.filter_vmap(build)(keys), key=keys, **options)
    seconds = time.perf_counter() - start
    method = describe_method(build(keys[0]))
    for difficulty in ("same", "harder"):
        result = irem.evaluate(run, task, difficulty, **PAPER, key=jax.random.key(1_000_000))
        yield {
            **result.as_dict(),
            **options,
            "precision": precision,
            "paper_mse": printed_mse("irem", task, difficulty),
            "method": method,
            "seeds": seeds,
            "train_seconds_with_compilation": seconds,
            "last_loss_by_model": run.history.loss[-1].tolist(),
            "skipped_updates": int(run.history.skipped.sum()),
        }


def pace(seeds, iterations=2000, batch_size=128):
    """Milliseconds of one iteration of addition for each model, compilation left out."""
    task = irem.tasks.get("addition")
    keys = jax.vmap(jax.random.key)(np.arange(seeds))
    setup = training.Training(
        task, optax.adam(1e-4), irem.Replay(), training.NoAverage(), batch_size
    )

    def start_state(key):
        return training.init(setup, irem.IREM(irem.energy.MLP.for_task(task, key=key)), key)

    states = eqx.filter_vmap(start_state)(keys)
    times = []
    for _ in range(4):
        start = time.perf_counter()
        states, info = training.run_chunk(setup, states, iterations)
        jax.block_until_ready(info.loss)
        times.append(1e3 * (time.perf_counter() - start) / iterations / seeds)
    return {
        "task": "addition",
        "seeds": seeds,
        "batch_size": batch_size,
        "ms_per_iteration_per_model": times[1:],
    }


def main():
    """Measure pace, then accuracy, and keep what is done after every row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--tasks", nargs="*", default=[name for name in irem.tasks.TASKS if name != "denoise"]
    )
    parser.add_argument("--iterations", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--precision", nargs="*", default=["default"])
    parser.add_argument("--pace", type=int, nargs="*", default=[1, 5])
    parser.add_argument("--commit", help="where git cannot tell it")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    about = provenance(options.commit)
    paces = [pace(seeds) for seeds in options.pace]
    print(json.dumps({**about, "pace": paces}), flush=True)
    rows = []
    for task in map(irem.tasks.get, options.tasks):
        for settings in variants(task)[0]:
            for precision in options.precision:
                trained = (options.iterations, options.seeds, precision)
                for row in accuracy(task, settings, *trained):
                    rows.append(row)
                    print(json.dumps(row), flush=True)
                    if options.out is not None:
                        result = {**about, "pace": paces, "rows": rows}
                        write_whole(options.out, json.dumps(result, indent=1).encode())


if __name__ == "__main__":
    main()
