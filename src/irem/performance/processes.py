"""What new processes cost: CPU time until something happens, and memory."""

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from irem.performance.base import Amount, Ratio
from irem.performance.timing import of_rounds

_IMPORTS = "import jax, equinox, optax"
_IMPORTS_TOLD = "importing jax, equinox and optax"
_HELP = "import sys; sys.argv = ['irem', '--help']; from irem.cli import main; main()"
_USED = "import irem; irem.train, irem.solve, irem.evaluate, irem.load, irem.tasks, irem.energy"
_EMPTY_HELP_TOLD = "help of a Typer program of two empty commands"
_EMPTY_HELP = """
import sys, typer
sys.argv = ["empty", "--help"]
app = typer.Typer()
@app.command()
def first(): pass
@app.command()
def second(): pass
app()
"""
_ANSWER = (
    "import numpy, irem; irem.load('zoo:matrix-inverse').solve(numpy.diag([1.0, 2.0, 3.0, 4.0]))"
)
_MATRIX = "\n".join(",".join("3" if i == j else "1" for j in range(5)) for i in range(5))
_SOLVE = (
    "import sys; sys.argv = ['irem', 'solve', 'zoo:matrix-inverse', '{0}/x.csv', '--out', "
    "'{0}/y.npy']; from irem.cli import main; main()"
)
# A diagonally dominant matrix is a matrix to be inverted, and without its diagonal a graph.
_SIZES = """
import json, time
import numpy as np, irem
run, rng, seconds = irem.load("zoo:{0}"), np.random.default_rng(0), []
for size in (5, *range(8, 65, 8)):
    x = rng.uniform(1, 2, (size, size))
    x = np.minimum(x, x.T)
    np.fill_diagonal(x, 2 * size if "{0}" == "matrix-inverse" else 0)
    began = time.process_time()
    assert bool(run.solve(x).verified)
    seconds.append(time.process_time() - began)
print(json.dumps(seconds))
"""
# The peak since the program began: `ru_maxrss` also knows what the process was before.
_PEAK = """
import pathlib, re, resource, sys
status = pathlib.Path("/proc/self/status")
if status.exists():
    print("\\n", int(re.search(r"VmHWM:\\s+(\\d+)", status.read_text())[1]) * 1024)
else:  # bytes on macOS
    print("\\n", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def cold_start(amount: Amount) -> Sequence[Ratio]:
    """CPU time of new processes: help and imports."""
    return [
        _processes(
            "`irem --help`",
            _HELP,
            "help of a Typer program of two empty commands",
            _EMPTY_HELP,
            amount,
        ),
        _processes("`import irem`", "import irem", _IMPORTS_TOLD, _IMPORTS, amount),
        _processes("importing irem and using its names", _USED, _IMPORTS_TOLD, _IMPORTS, amount),
    ]


def first_answer(amount: Amount) -> Sequence[Ratio]:
    """CPU time of first answers: of a second start, and of new sizes in a warm process."""
    pairs = [_two_starts() for _ in range(max(1, amount.rounds // 3))]
    starts = of_rounds(
        "second `irem solve` of a 5 x 5 inverse", "the first, which compiles", "s of CPU", pairs
    )
    sizes = [_sizes(name) for name in ("matrix-inverse", "shortest-path")]
    return [starts, *sizes]


def _two_starts() -> tuple[float, float]:
    """CPU time of the second start of a command, and of the first, which leaves its programs."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "x.csv").write_text(_MATRIX)
        code = _SOLVE.format(folder)
        first, second = (_cpu_seconds(code, IREM_CACHE_DIR=folder) for _ in range(2))
    return second, first


def _sizes(name: str) -> Ratio:
    """CPU time of problems of new sizes up to 64, beside the first problem of a process."""
    code = _SIZES.format(name)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    first, *others = json.loads(done.stdout)
    what = f"a new size of `zoo:{name}` in a warm process"
    return of_rounds(what, "the first problem", "s of CPU", [(other, first) for other in others])


def memory(amount: Amount) -> Sequence[Ratio]:
    """The largest memory of a process that answers one problem."""
    del amount  # memory is not noisy
    pair = (_peak_megabytes(_ANSWER), _peak_megabytes(_IMPORTS))
    return [of_rounds("inverting one matrix by `zoo:matrix-inverse`", _IMPORTS_TOLD, "MB", [pair])]


def _processes(what: str, code: str, peer: str, peer_code: str, amount: Amount) -> Ratio:
    pairs = [(_cpu_seconds(code), _cpu_seconds(peer_code)) for _ in range(amount.rounds)]
    return of_rounds(what, peer, "s of CPU", pairs)


def _cpu_seconds(code: str, **variables: str) -> float:
    """User and system time of a new process that runs some Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, **variables}
    command = [sys.executable, "-c", code]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def _peak_megabytes(code: str) -> float:
    command = [sys.executable, "-c", f"{code}\n{_PEAK}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1]) / 1e6
