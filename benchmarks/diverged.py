"""What it does to take the last step of diverged descents from their start.

    python benchmarks/diverged.py --iterations 300

An energy for inverses trains at a rate of 0.01, ten times its own, with and without it: the loss of
every hundred iterations, and how many updates were not finite.
"""

import argparse

import irem
from irem.keys import training_keys
from irem.training import Recipe


def main():
    """Train twice."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--batch-size", type=int, default=16)
    arguments = parser.parse_args()
    recipe = Recipe.named("matrix-inverse").override(
        {
            "iterations": arguments.iterations,
            "batch_size": arguments.batch_size,
            "optimiser.learning_rate": 1e-2,
        }
    )
    for beyond in (irem.LastSteps().diverged_beyond, None):
        print(f"diverged_beyond={beyond}:", end=" ", flush=True)
        try:
            changed = recipe.override({"gradient.diverged_beyond": beyond})
            run = changed.train(keys=training_keys(0, 1))
        except irem.DivergenceError as error:
            print(error)
            continue
        losses = ", ".join(f"{loss:.2g}" for loss in run.history.loss[:, 0])
        print(f"loss {losses}; {run.history.skipped.sum()} updates skipped")


if __name__ == "__main__":
    main()
