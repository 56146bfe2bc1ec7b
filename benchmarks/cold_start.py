"""What a person waits for before anything happens: imports and help, as ratios in one run.

    python benchmarks/cold_start.py

CPU time (user and system) of new processes, the smallest of several runs each: `irem --help` beside
the help of a Typer program of two empty commands, and imports beside `import jax, equinox, optax`.
"""

import argparse
import json
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
USED = "import irem; irem.train, irem.solve, irem.evaluate, irem.load, irem.tasks, irem.energy"


def cpu_seconds(arguments, repeats):
    """The smallest CPU time of a new process."""
    times = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(sum(after[:2]) - sum(before[:2]))
    return min(times)


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
    print(
        json.dumps(
            {
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
