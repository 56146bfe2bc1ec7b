"""What it does to take descents that ran away from their start again.

    python benchmarks/runaway.py --iterations 300

An energy for inverses trains at a rate of 0.01, ten times its own, with and without it: the loss of
every hundred iterations, and how many updates were not finite.
"""

import argparse

import jax

import irem
from irem.experiments import FORMS
from irem.learning import Replay
from irem.methods import build_method


def main():
    """Train twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--batch-size", type=int, default=16)
    arguments = parser.parse_args()
    task = irem.tasks.get("matrix-inverse")
    form = FORMS[task.name]
    built = build_method(task, form.method(), key=jax.random.key(0))
    for away in (irem.LastStep().away, None):
        method = irem.IREM(built.energy, step_size=1.0, gradient=irem.LastStep(away=away))
        print(f"away={away}:", end=" ", flush=True)
        try:
            run = irem.train(
                task,
                method,
                iterations=arguments.iterations,
                batch_size=arguments.batch_size,
                learning_rate=1e-2,
                decay="cosine",
                clip_norm=form.budget.clip_norm,
                replay=Replay(clip=form.clip),
                key=jax.random.key(1),
            )
        except irem.DivergenceError as error:
            print(error)
            continue
        losses = ", ".join(f"{loss:.2g}" for loss in run.history.loss[:, 0])
        print(f"loss {losses}; {run.history.skipped.sum()} updates skipped")


if __name__ == "__main__":
    main()
