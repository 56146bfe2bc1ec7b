"""Kill a training run at random moments and compare it, bit for bit, with one left alone.

    python tools/kill_resume.py --kills 20

A run is started through the command line and killed with SIGKILL after a random time, again and
again with `--resume`, then left to finish. Exit code 1 if a parameter differs in any bit.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import equinox as eqx
import jax
import numpy as np

import irem

TRAIN = [
    *("addition", "--recipe", "paper", "--batch-size", "16", "--set", "task.size=16"),
    *("--set", "energy.width=32", "--set", "replay.capacity=1000"),
    *("--checkpoint-seconds", "0", "--resume"),
]


def start(out, iterations):
    """The run as a process of its own."""
    settings = [*TRAIN, "--iterations", str(iterations), "--out", str(out)]
    command = [sys.executable, "-m", "irem", "train", *settings]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def iteration(out):
    """How far the run in `out` has got, by its last checkpoint."""
    return irem.load(out).iteration if (out / "checkpoint.safetensors").exists() else 0


def wait_for_progress(out, process):
    """Wait until the run has written another checkpoint, or has ended."""
    checkpoint = out / "checkpoint.safetensors"
    before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
    while process.poll() is None:
        if checkpoint.exists() and checkpoint.stat().st_mtime_ns != before:
            return
        time.sleep(0.01)


def kill_and_finish(out, iterations, kills, seed):
    """Kill the run `kills` times, then let it finish; report where each kill found it.

    Three kills of four come while iterations and checkpoints are under way, one at a random moment
    of the first seconds, when the run is still being set up or taken up again.
    """
    moments = random.Random(seed)
    for number in range(kills):
        process = start(out, iterations)
        if number % 4 < 3:
            wait_for_progress(out, process)
            time.sleep(moments.uniform(0.0, 0.3))
        else:
            time.sleep(moments.uniform(0.0, 6.0))
        finished = process.poll() is not None
        process.send_signal(signal.SIGKILL)
        process.wait()
        print(f"kill {number + 1}: at iteration {iteration(out)}", flush=True)
        assert not finished, "the run ended before it was killed; ask for more iterations"
    assert start(out, iterations).wait() == 0


def parameters(out):
    """Every parameter of a run, as bytes."""
    return [
        np.asarray(a).tobytes()
        for a in jax.tree.leaves(eqx.filter(irem.load(out).model, eqx.is_array))
    ]


def main():
    """Compare a killed run with one left alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--iterations", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0, help="Seed of the waits.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        alone, killed = Path(folder) / "alone", Path(folder) / "killed"
        kill_and_finish(alone, options.iterations, 0, 0)
        kill_and_finish(killed, options.iterations, options.kills, options.seed)
        same = parameters(alone) == parameters(killed)
        leftovers = [path.name for path in killed.glob(".*")]
    print(f"after {options.kills} kills the parameters are {'' if same else 'NOT '}bit-identical")
    sys.exit(0 if same and not leftovers else 1)


if __name__ == "__main__":
    main()
