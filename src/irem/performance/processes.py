"""What new processes cost: CPU time until something happens, and memory."""

import resource
import subprocess
import sys
from collections.abc import Sequence

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


def memory(amount: Amount) -> Sequence[Ratio]:
    """The largest memory of a process that answers one problem."""
    del amount  # memory is not noisy
    pair = (_peak_megabytes(_ANSWER), _peak_megabytes(_IMPORTS))
    return [of_rounds("inverting one matrix by `zoo:matrix-inverse`", _IMPORTS_TOLD, "MB", [pair])]


def _processes(what: str, code: str, peer: str, peer_code: str, amount: Amount) -> Ratio:
    pairs = [(_cpu_seconds(code), _cpu_seconds(peer_code)) for _ in range(amount.rounds)]
    return of_rounds(what, peer, "s of CPU", pairs)


def _cpu_seconds(code: str) -> float:
    """User and system time of a new process that runs some Python."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def _peak_megabytes(code: str) -> float:
    command = [sys.executable, "-c", f"{code}\n{_PEAK}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1]) / 1e6
