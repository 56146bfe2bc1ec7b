"""Completion beside the Bayes estimate on every test problem, not the first 200 alone.

    python tools/bayes.py

The problems are those of `irem reproduce structure --full`; minutes on two cores.
"""

import argparse

import jax
import numpy as np

import irem
from irem.evaluation import draw, problem_errors
from irem.keys import fresh_key

PAGE = 200


def main():
    """Both difficulties."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="zoo:matrix-completion-protocol")
    parser.add_argument("--problems", type=int, default=1000)
    arguments = parser.parse_args()
    model = irem.load(arguments.model).model
    task = irem.tasks.get("matrix-completion")
    oracle = jax.jit(task.oracle)
    for difficulty in ("same", "harder"):
        test_set, key = draw(task, difficulty, arguments.problems, fresh_key(0, "evaluate"))
        batch = test_set.batch
        ours = np.asarray(problem_errors(irem.solve(model, batch.x, key=key).y, batch))
        best = []
        for start in range(0, arguments.problems, PAGE):
            page = jax.tree.map(lambda leaf, at=start: leaf[at : at + PAGE], batch)
            best.append(np.asarray(problem_errors(oracle(page.x), page)))
        best = np.concatenate(best)
        print(
            f"{difficulty}: model {ours.mean():.5f}, Bayes {best.mean():.5f}, ratio "
            f"{ours.mean() / best.mean():.4f}; the first {PAGE}: {ours[:PAGE].mean():.5f}, "
            f"{best[:PAGE].mean():.5f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
