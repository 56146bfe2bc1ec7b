"""What a person waits for before anything happens: imports, help, first answers, new sizes.

    python benchmarks/cold_start.py

CPU time (user and system) of new processes, the smallest of several runs each: `irem --help` beside
the help of a Typer program of two empty commands, and imports beside `import jax, equinox, optax`.
Then `irem solve zoo:matrix-inverse` of a matrix of 5 x 5, once with an empty folder of compiled
programs and once with those that the first start left; and, in one warm process, the first matrix
and graph of every size beside the first of all.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

EMPTY = """
import typer

app = typer.Typer()


@app.command()
def first():
    pass


@app.command()
def second():
    pass


app()
"""
IREM_HELP = "import sys; sys.argv = ['irem', '--help']; from irem.cli import main; main()"
PEER = "import jax, equinox, optax"
SOLVE = (
    "import sys; sys.argv = ['irem', 'solve', 'zoo:matrix-inverse', '{0}/x.csv', '--out', "
    "'{0}/y.npy']; from irem.cli import main; main()"
)
MATRIX = "\n".join(",".join("3" if i == j else "1" for j in range(5)) for i in range(5))
SIZES = """
import json, sys, time
import numpy as np
import irem

inverse, paths = irem.load("zoo:matrix-inverse"), irem.load("zoo:shortest-path")
rng, seconds = np.random.default_rng(0), {}
for size in (5, *range(6, 65, 7)):
    half = rng.normal(size=(size, size))
    roads = rng.uniform(1, 2, (size, size))
    began = time.process_time()
    assert bool(inverse.solve(half @ half.T / size + np.eye(size)).verified)
    assert bool(paths.solve(np.minimum(roads, roads.T) * (1 - np.eye(size))).verified)
    seconds[size] = time.process_time() - began
print(json.dumps(seconds))
"""
USED = "import irem; irem.train, irem.solve, irem.evaluate, irem.load, irem.tasks, irem.energy"


def cpu_seconds(arguments, repeats, **variables):
    """The smallest CPU time of a new process."""
    times, environment = [], {**os.environ, **variables}
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(sum(after[:2]) - sum(before[:2]))
    return min(times)


def first_answers():
    """CPU time of the first and the second start of `irem solve`."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x.csv").write_text(MATRIX)
        command = ["-c", SOLVE.format(folder)]
        return [cpu_seconds(command, 1, IREM_CACHE_DIR=f"{folder}/cache") for _ in range(2)]


def new_sizes():
    """CPU time of the first problems of every size in one process, by size."""
    done = subprocess.run(
        [sys.executable, "-c", SIZES], check=True, capture_output=True, env=dict(os.environ)
    )
    return {int(size): seconds for size, seconds in json.loads(done.stdout).items()}


def main():
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "empty.py"
        program.write_text(EMPTY)
        help_peer = cpu_seconds([str(program), "--help"], repeats)
    peer = cpu_seconds(["-c", PEER], repeats)
    seconds = {
        "irem --help": cpu_seconds(["-c", IREM_HELP], repeats),
        "import irem": cpu_seconds(["-c", "import irem"], repeats),
        "import irem, names used": cpu_seconds(["-c", USED], repeats),
    }
    first, second = first_answers()
    of_first_size, *of_new_sizes = new_sizes().values()
    print(
        json.dumps(
            {
                "first_solve_seconds": first,
                "second_solve_seconds": second,
                "second_over_first": second / first,
                "first_size_seconds": of_first_size,
                "largest_new_size_seconds": max(of_new_sizes),
                "empty_typer_help_seconds": help_peer,
                "import_jax_equinox_optax_seconds": peer,
                "seconds": seconds,
                "help_ratio": seconds["irem --help"] / help_peer,
                "import_ratio": seconds["import irem"] / peer,
                "import_and_use_ratio": seconds["import irem, names used"] / peer,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
