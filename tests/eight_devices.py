"""What eight virtual devices compute, beside one, for `test_devices.py`, which starts it anew.

The number of devices is chosen before JAX is loaded, so this is a program of its own. It prints
one JSON object.
"""

import contextlib
import json
import sys
import tempfile
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec

import irem
from irem.collectives import messages
from irem.descent.batches import minimise_all
from irem.descent.devices import minimise_apart
from irem.descent.rules import make_descent
from irem.devices import make_mesh, on_each
from irem.training import Adam, Checkpoints, Layout, Recipe, Training, run_chunk
from irem.training.algorithm1 import init_stack, laid_out
from irem.training.averages import ExponentialAverage

TASK = irem.tasks.get("addition", size=4)
BATCH = 16


def methods(seeds):
    keys = jax.random.split(jax.random.key(1), seeds)
    make = lambda key: irem.IREM(irem.energy.MLP.for_task(TASK, width=8, depth=1, key=key))  # noqa: E731
    return eqx.filter_vmap(make)(keys), keys


def train(devices, seeds=1, iterations=20, **options):
    stack, keys = methods(seeds)
    parts = options.pop("parts", None)
    with contextlib.nullcontext() if devices is None else irem.Devices(devices):
        return irem.train(
            TASK,
            stack,
            iterations=iterations,
            batch_size=BATCH,
            replay=irem.Replay(capacity=64, parts=parts),
            average=ExponentialAverage(),
            optimiser=Adam(learning_rate=1e-3),
            key=keys,
            **options,
        )


def numbers(run):
    history = {name: value.ravel() for name, value in vars(run.history).items()}
    history.pop("validation_error")
    weights = jax.tree.leaves(eqx.filter(run.models, eqx.is_array))
    assert all(w.devices() == {jax.devices()[0]} for w in weights)
    flat = np.concatenate([np.ravel(w) for w in weights])
    return {"weights": flat.tolist(), **{n: v.tolist() for n, v in history.items()}}


def trained():
    """One model and several, on eight devices and on one, and on as many as divide neither."""
    return {
        "one model": [numbers(train(8)), numbers(train(None, parts=8))],
        "two models": [numbers(train(8, 2)), numbers(train(None, 2, parts=4))],
        "eight models": [numbers(train(8, 8)), numbers(train(None, 8))],
    }


def resumed(folder):
    """A run that goes on with fewer devices, beside one on one device."""
    train(8, iterations=110, out=folder)
    again = train(2, iterations=120, out=Checkpoints(folder, resume=True))
    once_more = train(None, iterations=120, out=Checkpoints(folder, resume=True))
    found = {"parts": once_more.settings["replay"]["parts"], "iteration": once_more.iteration}
    return {**found, "runs": [numbers(again), numbers(train(None, iterations=120, parts=8))]}


def program(function, *trees):
    """The text of a compiled function of PyTrees."""
    arrays, rest = eqx.partition(trees, eqx.is_array)
    run = lambda arrays: eqx.filter(function(*eqx.combine(arrays, rest)), eqx.is_array)  # noqa: E731
    return jax.jit(run).lower(arrays).compile().as_text()


def sent_in_training(seeds):
    """The messages of an iteration, and the number of weights."""
    stack, keys = methods(seeds)
    with irem.Devices(8):
        layout = Layout.of(seeds, BATCH)
    optimiser = Adam().transformation(100)
    replay = irem.Replay(capacity=64).for_parts(layout.parts)
    training = laid_out(Training(TASK, optimiser, replay, ExponentialAverage(), BATCH), layout)
    states = init_stack(training, stack, keys)
    weights = sum(a.size for a in jax.tree.leaves(eqx.filter(stack, eqx.is_array))) // seeds
    chunk = lambda training, states: run_chunk(training, states, 100)  # noqa: E731
    return {"weights": weights, "messages": messages(program(chunk, training, states))}


ENERGY = irem.energy.from_function(lambda x, y: jnp.sum(x * (y - 1) ** 2))


def problems(count):
    x = np.random.default_rng(0).uniform(0.05, 1, (count, 2)).astype(np.float32)
    return jnp.asarray(x), jnp.zeros((count, 2), jnp.float32)


def solved(count, slots, step):
    """Every field of the solutions on eight devices and on one, and what was reported."""
    x, y0 = problems(count)
    descent, done = make_descent(ENERGY, step=step), []
    alone = minimise_all(descent, x, y0, slots)
    with irem.Devices(8):
        shared = minimise_all(descent, x, y0, slots, done.append)
    assert shared.y.devices() == {jax.devices()[0]}
    fields = ("y", "energy", "steps", "converged", "reason")
    both = [{n: np.asarray(getattr(s, n)).tolist() for n in fields} for s in (shared, alone)]
    return {"done": sum(done), "solutions": both}


def sent_in_solving(count, slots):
    x, y0 = problems(count)
    mesh = make_mesh(tuple(jax.devices()), problems=8)
    descent = make_descent(ENERGY)
    apart = lambda descent, x, y0: minimise_apart(descent, x, y0, mesh, slots)  # noqa: E731
    return messages(program(apart, descent, x, y0))


def checked_answers():
    """Answers of a trained model, of several starts and tried again, one of them alone."""
    recipe = Recipe.named("matrix-inverse")
    model = irem.load("zoo:matrix-inverse").model
    x = recipe.make_task().batch(jax.random.key(3), 11).x
    answer = lambda: irem.training.solve_checked(model, x, key=jax.random.key(0), starts=2)  # noqa: E731
    alone = answer()
    with irem.Devices(8):
        shared = answer()
        single = irem.solve(model, x[0], key=jax.random.key(0))
    verified = [bool(s.verified.all()) for s in (shared, alone, single)]
    return {"verified": verified, "answers": [np.asarray(s.y).tolist() for s in (shared, alone)]}


def means():
    """Weighted means over eight devices, two by two, one part of which counts nothing."""
    values = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32)
    weights = np.array([[1, 2, 0, 4], [3, 3, 1, 2]], np.float32)
    values[0, 2] = np.nan
    layout = Layout(make_mesh(tuple(jax.devices()), models=2, parts=4))
    spec = PartitionSpec("models", "parts")
    own = lambda value, weight: layout.mean(value, weight[0, 0])  # noqa: E731
    found = jax.jit(on_each(own, layout.mesh, (spec, spec), spec))(values, weights)
    return {"values": values.tolist(), "weights": weights.tolist(), "means": found.tolist()}


def refusals():
    """What is said of devices that cannot be had, or cannot share."""
    said = {}
    asked = {
        "too many": lambda: train(9),
        "batch": lambda: train(3),
        "parts": lambda: train(8, parts=4),
        "parts of a batch": lambda: train(None, parts=5),
        "buffer": lambda: train(8, parts=64),
    }
    for name, ask in asked.items():
        try:
            ask()
        except irem.InputError as error:
            said[name] = str(error)
    return said


def main():
    with tempfile.TemporaryDirectory() as folder:
        found = {
            "trained": trained(),
            "resumed": resumed(Path(folder) / "run"),
            "sent": {seeds: sent_in_training(seeds) for seeds in (1, 2, 8)},
            "queues": solved(50, 3, irem.FixedStep(0.3)),
            "batches": solved(9, 64, irem.FixedStep(0.3)),
            "sent in solving": [sent_in_solving(48, slots) for slots in (3, 64)],
            "checked": checked_answers(),
            "means": means(),
            "refusals": refusals(),
        }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
