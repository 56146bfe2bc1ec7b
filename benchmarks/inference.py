"""Inference: every step rule on every task, sizes, and trust in the answers.

    python benchmarks/inference.py --out results/inference.json

For each task models are trained with the paper's settings. Then, with the default halting rule and
budget and on the same fresh problems: every step rule, and fixed steps from 1/32 of the trained
size to twice that; whether energies ever rose along a path; graphs of 5 to 30 nodes; and how well
expected errors tell good answers from bad ones. Meant for a GPU; `--tasks`, `--iterations`,
`--seeds` and `--problems` make it smaller.
"""

import argparse
import json
import time
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

import irem
from irem.descent import DEFAULT_STEP, MAX_STEPS, STEPS
from irem.evaluation import problem_errors
from irem.files import write_whole
from irem.paper import provenance

FACTORS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0)
SIZES = (5, 10, 15, 20, 25, 30)


def energies(tasks):
    """Tasks with the energies that are trained on them."""
    for task in map(irem.tasks.get, tasks):
        if not task.sizes:
            yield task, irem.energy.MLP, {}, 128
            continue
        yield task, irem.energy.GINE, {"aggregate": "mean"}, 64
        if task.name == "shortest-path":
            yield task, irem.energy.GINE, {"aggregate": "sum"}, 64


def train(task, kind, settings, batch_size, iterations, seeds):
    """Models of several seeds, trained together."""
    keys = jax.vmap(jax.random.key)(np.arange(seeds))
    stack = eqx.filter_vmap(lambda key: irem.IREM(kind.for_task(task, key=key, **settings)))(keys)
    options = {"iterations": iterations, "batch_size": batch_size, "progress": False}
    return irem.train(task, stack, key=keys, **options).models


def walk(models, batch, key, **options):
    """Errors, steps and ends of the descents of all models on one batch."""
    start = time.perf_counter()
    solutions = [jax.device_get(irem.solve(m, batch.x, key=key, **options)) for m in models]
    errors = np.stack([problem_errors(s.y, batch) for s in solutions])
    return {
        "mse": float(errors.mean()),
        "mse_by_model": errors.mean(1).tolist(),
        "worst_problem": float(errors.max()),
        "steps_mean": float(np.mean([s.steps for s in solutions])),
        "steps_95": float(np.percentile([s.steps for s in solutions], 95)),
        "converged": float(np.mean([s.converged for s in solutions])),
        "energy_mean": float(np.mean([s.energy for s in solutions])),
        "not_finite": int(sum((s.reason == irem.Reason.NOT_FINITE).sum() for s in solutions)),
        "seconds_with_compilation": time.perf_counter() - start,
    }


def rises(models, batch, key):
    """How many descents of the default rule have an energy that ever rose, and the largest rise."""
    count, largest, total = 0, 0.0, 0
    for model in models:
        solution = irem.solve(model, batch.x, key=key, max_steps=200, trajectory=True)
        changes = np.diff(np.asarray(solution.trajectory.energies), axis=1)
        count += int((changes > 0).any(1).sum())
        largest, total = max(largest, float(changes.max())), total + len(changes)
    return {"descents": total, "that_rose": count, "largest_change": largest}


def rows_of(task, kind, settings, models, problems):
    """Everything that is measured on one task."""
    name = {"task": task.name, "energy": kind.__name__.lower(), **settings}
    key_problems, key_guesses = jax.random.split(jax.random.key(2_000_000))
    for difficulty in ("same", "harder"):
        batch = task.batch(key_problems, problems, difficulty)
        about = {**name, "difficulty": difficulty, "problems": problems, "models": len(models)}
        for factor in FACTORS:
            step = irem.FixedStep(factor * models[0].step_size)
            yield (
                "fixed",
                {**about, "factor": factor, **walk(models, batch, key_guesses, step=step)},
            )
        for rule in STEPS:
            if rule != "fixed":
                step = STEPS[rule]()
                yield (
                    "rules",
                    {**about, "rule": rule, **walk(models, batch, key_guesses, step=step)},
                )
        yield "rises", {**about, **rises(models, batch, key_guesses)}
    if task.sizes:
        for nodes in SIZES:
            few = max(100, problems // 4)
            batch = task.batch(key_problems, few, nodes)
            about = {**name, "nodes": nodes, "problems": few, "models": len(models)}
            for rule in ("fixed", DEFAULT_STEP):
                walked = walk(models, batch, key_guesses, step=STEPS[rule]())
                yield "sizes", {**about, "rule": rule, **walked}
    key_calibrate, key_trust = jax.random.split(jax.random.key(3_000_000))
    calibration = irem.calibrate(models[0], task, problems=problems, key=key_calibrate)
    for part in irem.trust(models[0], task, calibration, problems=problems, key=key_trust):
        yield "trust", {**name, **part.as_dict()}


def main():
    """Measure task after task, and keep what is done after every row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--tasks", nargs="*", default=[name for name in irem.tasks.TASKS if name != "denoise"]
    )
    parser.add_argument("--iterations", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--commit", help="where git cannot tell it")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    result = {
        **provenance(options.commit),
        "iterations": options.iterations,
        "default": DEFAULT_STEP,
        "max_steps": MAX_STEPS,
        **{kind: [] for kind in ("fixed", "rules", "rises", "sizes", "trust")},
    }
    for task, kind, settings, batch_size in energies(options.tasks):
        models = train(task, kind, settings, batch_size, options.iterations, options.seeds)
        for what, row in rows_of(task, kind, settings, models, options.problems):
            result[what].append(row)
            print(what, json.dumps(row), flush=True)
            if options.out is not None:
                write_whole(options.out, json.dumps(result, indent=1).encode())


if __name__ == "__main__":
    main()
