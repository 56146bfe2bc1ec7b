"""Measure the constants and floors that stand in the tasks; prints one line for each.

    python tools/floors.py --problems 20000

The oracle of matrix completion is a sampler, that of mazes goes step by step through large ones;
they are measured on at most 2,000 and 200 problems.
"""

import argparse

import jax
import numpy as np

import irem
from irem.evaluation import problem_errors


def floors(task, difficulty, problems):
    """Mean error of the trivial and of the best answer."""
    batch = task.batch(jax.random.key(2_000_000), problems, difficulty)
    count = 2000 if task.oracle_problems else 200 if task.name == "maze" else problems
    first = jax.tree.map(lambda leaf: leaf[:count], batch)
    trivial = problem_errors(jax.jit(task.trivial)(batch.x), batch).mean()
    return trivial, problem_errors(jax.jit(task.oracle)(first.x), first).mean()


def main():
    """Print floors, then the two constants that trivial predictors use."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=20_000)
    problems = parser.parse_args().problems
    for name in irem.tasks.TASKS:
        # Floors depend on pictures and lists of puzzles; other puzzles have many right answers.
        if name in ("denoise", "sudoku", "queens", "latin", "colouring"):
            continue
        for difficulty in ("same", "harder"):
            trivial, best = floors(irem.tasks.get(name), difficulty, problems)
            print(f"{name:<21}{difficulty:<7} trivial {trivial:.4f}  best {best:.4f}", flush=True)
    inverse = irem.tasks.get("matrix-inverse").batch(jax.random.key(1), problems)
    print(f"mean diagonal of an inverse {np.trace(inverse.y, axis1=1, axis2=2).mean() / 20:.4f}")
    for variant in ("released", "paper"):
        paths = irem.tasks.get("shortest-path", variant=variant).batch(jax.random.key(1), problems)
        off_diagonal = ~np.eye(10, dtype=bool)
        print(f"mean distance, {variant}: {np.asarray(paths.y)[:, off_diagonal].mean():.3f}")


if __name__ == "__main__":
    main()
