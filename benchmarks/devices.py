"""Several devices: what they send each other, and what sharing costs.

    python benchmarks/devices.py --out results/devices.json

The program of a chunk of training is compiled for 8 and for 1,000 devices, of which each has eight
problems of every batch, and the messages of one iteration are read from it; compiling needs no
such devices. Then, on eight virtual devices of this machine, the same work is done by one device
and by all, in turns. As they share the processor, no speed can be won: a ratio of 1 means that
sharing costs nothing.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import equinox as eqx
import jax

import irem
from irem.collectives import messages
from irem.methods import build_methods
from irem.training import Layout, Recipe, Training, run_chunk
from irem.training.algorithm1 import init_stack, laid_out
from irem.training.layout import ALONE

FORCED = "--xla_force_host_platform_device_count="
RECIPES = (("addition", "paper"), ("matrix-inverse", "best"), ("sudoku", "best"))
EACH = 8  # problems of a batch on every device


def laid_out_training(task_name, recipe_name, seeds, batch_size):
    """What a recipe trains with, on the devices that are entered, and its first states."""
    recipe, layout = Recipe.named(task_name, recipe_name), Layout.of(seeds, batch_size)
    capacity = 8 * batch_size
    recipe = recipe.override({"replay.name": "buffer", "replay.capacity": capacity})
    training = Training(
        recipe.make_task(),
        recipe.component("optimiser").transformation(1000),
        recipe.component("replay").for_parts(layout.parts),
        recipe.component("average"),
        batch_size,
    )
    keys = jax.random.split(jax.random.key(0), seeds)
    methods = build_methods(training.task, recipe.method_settings(), keys=keys)
    return laid_out(training, layout), training, methods, keys


def communication(task_name, recipe_name, devices):
    """The messages of one iteration of training one model on so many devices."""
    with irem.Devices(devices):
        shared, training, methods, keys = laid_out_training(
            task_name, recipe_name, 1, devices * EACH
        )
    whole = laid_out(training, ALONE)
    states = eqx.filter_eval_shape(lambda m, k: init_stack(whole, m, k), methods, keys)
    is_array = lambda leaf: eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)  # noqa: E731
    arrays, rest = eqx.partition((shared, states), is_array)
    arrays = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), arrays)
    chunk = lambda arrays: eqx.filter(run_chunk(*eqx.combine(arrays, rest), 100), eqx.is_array)  # noqa: E731
    sent = messages(jax.jit(chunk).lower(arrays).compile().as_text())
    weights = sum(a.size for a in jax.tree.leaves(eqx.filter(methods, eqx.is_inexact_array)))
    each = [message for message in sent if message.again]
    return {
        "task": task_name,
        "devices": devices,
        "weights": weights,
        "messages": len(each),
        "kinds": sorted({message.kind for message in each}),
        "bytes": sum(message.size for message in each),
        "sent_by_a_device_in_a_ring": 2 * sum(m.size for m in each) * (devices - 1) // devices,
    }


def in_turns(one, other, rounds):
    """The times of two functions, and the median of their ratios, after a first call of each."""
    one(), other()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        one()
        middle = time.perf_counter()
        other()
        times.append((middle - start, time.perf_counter() - middle))
    ratios = [first / second for first, second in times]
    return {
        "one_device_seconds": statistics.median(first for first, _ in times),
        "eight_devices_seconds": statistics.median(second for _, second in times),
        "ratio": statistics.median(ratios),
        "ratios": [round(ratio, 3) for ratio in ratios],
    }


def training_chunks(devices, seeds, batch_size, iterations):
    """A function that trains so many iterations more."""
    with irem.Devices(devices) if devices > 1 else contextlib.nullcontext():
        training, _, methods, keys = laid_out_training("addition", "paper", seeds, batch_size)
    held = [init_stack(training, methods, keys)]

    def train():
        held[0], infos = run_chunk(training, held[0], iterations)
        jax.block_until_ready(infos)

    return train


def answers(devices, problems):
    """A function that answers matrices."""
    run = irem.load("zoo:matrix-inverse")
    x = run.task.batch(jax.random.key(3), problems).x

    def solve():
        with irem.Devices(devices) if devices > 1 else contextlib.nullcontext():
            jax.block_until_ready(irem.solve(run.model, x, key=jax.random.key(0)))

    return solve


def efficiency(rounds):
    """The same work on one device and on eight virtual ones."""
    cases = {
        "train eight models": lambda d: training_chunks(d, 8, 128, 20),
        "train one model, batch 1,024": lambda d: training_chunks(d, 1, 1024, 20),
        "solve 4,096 matrices": lambda d: answers(d, 4096),
    }
    return {name: in_turns(make(1), make(8), rounds) for name, make in cases.items()}


def elsewhere(devices, *arguments):
    """What this program prints in a process with so many virtual devices."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} {FORCED}{devices}"
    command = [sys.executable, __file__, *map(str, arguments)]
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def main():
    """Measure everything, each part in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        kind, *rest = options.part
        measure = efficiency if kind == "efficiency" else communication
        print(json.dumps(measure(*(int(a) if a.isdecimal() else a for a in rest))))
        return
    found = {
        "communication": [
            elsewhere(devices, "--part", "communication", task, recipe, devices)
            for task, recipe in RECIPES
            for devices in (8, 1000)
        ],
        "efficiency": elsewhere(8, "--part", "efficiency", options.rounds),
        "cores": os.cpu_count(),
    }
    text = json.dumps(found, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
