"""Measure zoo:maze and zoo:prefix-sums on problems far larger than those of training.

    python tools/larger.py maze loops 59 --problems 50
    python tools/larger.py prefix-sums fair 4096 --problems 4

Prints how many are solved by one descent, with the restarts of `irem solve`, from starts that are
the answers to other problems, and by ten times as many steps as the slowest descent took. Any
shortest path solves a maze. Problems are drawn with --seed.
"""

import argparse
import time

import jax
import numpy as np

import irem
from irem.descent import Fixed
from irem.keys import fresh_key


class Endless(irem.descent.AbstractHalt):
    """Never stop before the budget is spent."""

    def init(self, point):
        """Remember nothing."""
        del point

    def __call__(self, state, before, after, move):
        """Go on."""
        del before, after, move
        return state, jax.numpy.asarray(irem.descent.RUNNING)


def main():
    """Draw problems, answer them, print shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task")
    parser.add_argument("variant")
    parser.add_argument("size", type=int)
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="one descent and restarts alone")
    arguments = parser.parse_args()
    task = irem.tasks.get(arguments.task, variant=arguments.variant)
    run = irem.load(f"zoo:{arguments.task}")
    key = fresh_key(arguments.seed, "larger")
    batch = jax.jit(lambda: task.batch(key, arguments.problems, arguments.size))()
    x, others = np.asarray(batch.x), np.roll(np.asarray(batch.y), 1, axis=0)

    def tell(name, solve):
        start = time.perf_counter()
        found = solve()
        seconds = (time.perf_counter() - start) / arguments.problems
        solved = int((task.residuals(x, np.asarray(found.y)) == 0).sum())
        steps = np.asarray(found.steps)
        print(
            f"{name}: {solved} of {arguments.problems}, {steps.mean():.0f} steps on average, "
            f"at most {steps.max()}, {seconds:.2g} s a problem",
            flush=True,
        )
        return found

    one = tell("one descent", lambda: irem.solve(run.model, x, key=key))
    tell("with restarts", lambda: run.solve(x, key=key))
    if arguments.quick:
        return
    tell("from other answers", lambda: irem.solve(run.model, x, others, key=key))
    long = {"step": Fixed(1.0), "halt": Endless(), "max_steps": 10 * int(one.steps.max())}
    tell("ten times the steps", lambda: irem.solve(run.model, x, key=key, **long))


if __name__ == "__main__":
    main()
