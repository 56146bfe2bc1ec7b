"""The demonstration: learn to add in about a minute on two cores, and measure what was learned."""

import dataclasses
from pathlib import Path

import jax
import numpy as np

from irem.energy import MLP
from irem.experiments._compose import compose
from irem.experiments._evaluate import Evaluation, evaluate
from irem.experiments._landscape import Descents, Plane, descents, energy_by_distance, plane
from irem.learning import Run, train
from irem.methods import IREM
from irem.tasks import Addition


@dataclasses.dataclass(frozen=True)
class Demo:
    """All that the page shows."""

    run: Run
    evaluations: dict[str, Evaluation]
    composition: list[float]
    walks: dict[str, Descents]
    scatter: dict[str, tuple[np.ndarray, np.ndarray]]
    plane: Plane


def demo(
    out: Path, *, iterations: int = 5000, size: int = 400, seed: int = 0, progress: bool = True
) -> Demo:
    """Train the paper's energy on addition, evaluate it, and look at its landscape."""
    task = Addition(size=size)
    key_energy, key_train, key = jax.random.split(jax.random.key(seed), 3)
    run = train(
        task,
        IREM(MLP.for_task(task, key=key_energy)),
        iterations=iterations,
        batch_size=32,
        learning_rate=1e-3,
        decay="cosine",
        key=key_train,
        out=out,
        resume=True,
        progress=progress,
    )
    model = run.models[0]
    assert isinstance(model, IREM)
    keys = jax.random.split(key, 5)
    levels = ("same", "harder")
    batches = {d: task.batch(keys[0], 200, d) for d in levels}
    return Demo(
        run=run,
        evaluations={d: evaluate(model, task, d, key=keys[1]) for d in levels},
        composition=compose(model, task, 10, problems=200, key=keys[2]),
        walks={d: descents(model, batches[d], 20, key=keys[3]) for d in levels},
        scatter={d: energy_by_distance(model, batches[d], key=keys[4]) for d in levels},
        plane=plane(model, batches["harder"].x[0], key=keys[4]),
    )
