"""The demonstration: learn to invert matrices in a minute or two on two cores, and measure it."""

import dataclasses
from pathlib import Path

import jax
import numpy as np

from irem.experiments._evaluate import Evaluation, evaluate
from irem.experiments._landscape import Descents, Plane, descents, energy_by_distance, plane
from irem.experiments._structure import FORMS
from irem.learning import Replay, Run, train
from irem.methods import IREM, build_method
from irem.tasks import MatrixInverse

PROBLEMS = 200
"""Fresh problems of each difficulty, and half as many of every other size."""

# Matrices of these many times the rows of training are inverted as well.
_OTHER_SIZES = (0.5, 1.5)


@dataclasses.dataclass(frozen=True)
class Demo:
    """All that the page shows."""

    run: Run
    evaluations: dict[str, Evaluation]
    other_sizes: dict[int, Evaluation]
    walks: dict[str, Descents]
    scatter: dict[str, tuple[np.ndarray, np.ndarray]]
    plane: Plane


def demo(
    out: Path, *, iterations: int = 700, size: int = 20, seed: int = 0, progress: bool = True
) -> Demo:
    """Train an energy on pairs to invert matrices, evaluate it, and look at its landscape."""
    task = MatrixInverse(size=size)
    form = FORMS[task.name]
    key_energy, key_train, key = jax.random.split(jax.random.key(seed), 3)
    run = train(
        task,
        build_method(task, form.method(), key=key_energy),
        iterations=iterations,
        batch_size=16,
        learning_rate=2e-3,
        decay="cosine",
        clip_norm=form.budget.clip_norm,
        replay=Replay(clip=form.clip),
        key=key_train,
        out=out,
        resume=True,
        progress=progress,
    )
    model = run.models[0]
    assert isinstance(model, IREM)
    keys = jax.random.split(key, 5)
    levels = ("same", "harder")
    batches = {d: task.batch(keys[0], 100, d) for d in levels}
    others = [max(round(ratio * size), 1) for ratio in _OTHER_SIZES]
    return Demo(
        run=run,
        evaluations={d: evaluate(model, task, d, problems=PROBLEMS, key=keys[1]) for d in levels},
        other_sizes={
            n: evaluate(
                model,
                dataclasses.replace(task, size=n),
                "same",
                problems=PROBLEMS // 2,
                key=keys[2],
            )
            for n in others
        },
        walks={d: descents(model, batches[d], 100, key=keys[3]) for d in levels},
        scatter={d: energy_by_distance(model, batches[d], key=keys[4]) for d in levels},
        plane=plane(model, batches["harder"].x[0], key=keys[4]),
    )
