"""Answer 100,000 problems of addition from a memory map: memory stays flat, Ctrl-C leaves nothing.

    python benchmarks/stream.py --out results/stream.json

`irem solve` runs as a program of its own, on a tenth of the problems and on all of them, while its
anonymous memory (without the pages of mapped files) is watched. A third one is interrupted
half-way, as by Ctrl-C, over answers that were there before. The model is trained for a few
iterations: what is measured does not depend on how good it is.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from irem.files import write_whole


def solve(run, x, out):
    """Start `irem solve`."""
    command = [sys.executable, "-m", "irem", "solve", run, x, "--out", out, "--json"]
    return subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def watch(process):
    """Seconds until the process ends, and its anonymous memory in MB every fifth of a second."""
    start, memory = time.perf_counter(), []
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except FileNotFoundError:
            break
        found = re.search(r"RssAnon:\s+(\d+) kB", status)
        if found:
            memory.append(int(found[1]) / 1024)
        time.sleep(0.2)
    return time.perf_counter() - start, memory


def measure(run, folder, problems):
    """Answer `problems` problems and watch."""
    x, out = folder / f"x{problems}.npy", folder / f"y{problems}.npy"
    rng = np.random.default_rng(0)
    array = np.lib.format.open_memmap(x, "w+", np.float32, (problems, 2, 400))
    for first in range(0, problems, 10_000):
        part = array[first : first + 10_000]
        part[:] = rng.uniform(-1, 1, part.shape)
    array.flush()
    del array
    process = solve(run, x, out)
    seconds, memory = watch(process)
    assert process.returncode == 0, process.stderr.read().decode()
    answers = np.load(out, mmap_mode="r")
    assert answers.shape == (problems, 400)
    assert all(np.isfinite(answers[i : i + 10_000]).all() for i in range(0, problems, 10_000))
    row = {
        "problems": problems,
        "seconds": seconds,
        "peak_anonymous_mb": max(memory),
        "input_mb": os.path.getsize(x) / 2**20,
        "converged": json.loads(process.stdout.read())["converged"],
    }
    print(json.dumps(row), flush=True)
    return row, x


def interrupt(run, folder, x, after):
    """Interrupt a run over answers that were there before; say what is left."""
    out = folder / "kept" / "y.npy"
    out.parent.mkdir()
    np.save(out, np.arange(3))
    process = solve(run, x, out)
    unfinished = False
    end = time.perf_counter() + after
    while time.perf_counter() < end:
        unfinished |= any(p.stat().st_size > 2**20 for p in out.parent.glob(".*"))
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    code = process.wait(60)
    row = {
        "answers_under_way_when_interrupted": unfinished,
        "exit_code": code,
        "said": process.stderr.read().decode().strip().replace(str(folder), "FOLDER"),
        "files_left": sorted(p.name for p in out.parent.iterdir()),
        "old_answers_kept": np.array_equal(np.load(out), np.arange(3)),
    }
    print(json.dumps(row), flush=True)
    return row


def main():
    """Train a little, measure, interrupt."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=100_000)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = folder / "run"
        train = [sys.executable, "-m", "irem", "train", "addition", "--out", str(run)]
        settings = ["--iterations", str(options.iterations), "--batch-size", "32"]
        settings += ["--recipe", "paper", "--set", "optimiser.learning_rate=0.001"]
        subprocess.run([*train, *settings], check=True)
        few, _ = measure(run, folder, options.problems // 10)
        many, x = measure(run, folder, options.problems)
        interrupted = interrupt(run, folder, x, after=few["seconds"] + 0.4 * many["seconds"] / 2)
    result = {"few": few, "many": many, "interrupted": interrupted}
    if options.out is not None:
        write_whole(options.out, json.dumps(result, indent=1).encode())


if __name__ == "__main__":
    main()
