"""Send Ctrl-C and SIGTERM to every command at random moments, and look at what is left.

    python tools/interrupt_commands.py --moments 50 --seed 0

A command that a signal ends must have exit code 130 or 143 (as a shell counts them), print no
traceback, leave no half-written file, and keep what it had before; a training that is stopped must
have kept the iterations that it names, and go on from there. One line is printed for each moment;
exit code 1 if anything is amiss.
"""

import argparse
import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image

SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143}
# What a crash or an exception that nobody caught prints.
CRASHES = ("Traceback", "Fatal Python error", "Segmentation fault", "terminate called")
# Before this the interpreter itself is starting, and dies of the signal as any program does.
EARLIEST = 0.3


@dataclasses.dataclass(frozen=True)
class Command:
    """A command, and about how long it runs.

    Arguments:
        arguments: What follows `irem`; `{out}` is a new place for what it writes.
        seconds: Moments are drawn up to here.
    """

    arguments: str
    seconds: float


TRAIN = (
    "train addition --recipe paper --iterations 100000 --batch-size 16 --set energy.width=32 "
    "--checkpoint-seconds 1 --out {out}"
)
COMMANDS = {
    "train": Command(TRAIN, 15),
    "evaluate": Command("evaluate zoo:shortest-path-protocol --problems 2000", 12),
    "solve": Command("solve zoo:matrix-inverse {folder}/x.npy --out {out}.npz", 12),
    "solve --max-error": Command(
        "solve {folder}/run {folder}/a.npy --max-error 1 --out {out}.csv", 10
    ),
    "check": Command("check matrix-inverse {folder}/x.npy {folder}/x.npy", 3),
    "calibrate": Command("calibrate {folder}/run", 10),
    "compose": Command("compose {folder}/run", 8),
    "figure": Command("figure landscape {folder}/run --out {out}.png", 10),
    "reproduce": Command("reproduce table1 --quick --out {out}", 15),
    "report": Command("report results --out {out}.html", 6),
    "denoise": Command("denoise {folder}/noisy.png --out {out}.png", 10),
    "sat": Command("sat {folder}/formula.cnf --rounds 200", 8),
    "demo": Command("demo --out {out}", 20),
    "zoo": Command("zoo matrix-inverse", 1.5),
    "tasks": Command("tasks", 2),
    "recipes": Command("recipes addition", 1.5),
}


def irem(arguments: str) -> list[str]:
    """A command line that runs irem."""
    return [sys.executable, "-m", "irem", *arguments.split()]


def prepare(folder: Path) -> None:
    """Make problems of every kind, and a small run."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(4000, 9, 9)).astype(np.float32)
    np.save(folder / "x.npy", a @ a.swapaxes(1, 2) + np.eye(9, dtype=np.float32))
    np.save(folder / "a.npy", rng.uniform(-1, 1, (64, 2, 400)).astype(np.float32))
    noisy = np.clip(rng.normal(128, 40, (400, 400)), 0, 255).astype(np.uint8)
    Image.fromarray(noisy).save(folder / "noisy.png")
    clauses = [
        " ".join(str(v * s) for v, s in zip(vs, ss, strict=True)) + " 0"
        for vs, ss in (
            (rng.choice(200, 3, replace=False) + 1, rng.choice([-1, 1], 3)) for _ in range(860)
        )
    ]
    (folder / "formula.cnf").write_text("\n".join(["p cnf 200 860", *clauses]) + "\n")
    small = "--recipe paper --iterations 100 --batch-size 8 --set energy.width=16"
    subprocess.run(irem(f"train addition {small} --out {folder / 'run'}"), check=True)


def interrupt(name: str, number: signal.Signals, moment: float, folder: Path) -> list[str]:
    """Start a command, send the signal at the moment, and return what is amiss."""
    out = folder / f"out-{time.monotonic_ns()}"
    arguments = COMMANDS[name].arguments.format(out=out, folder=folder)
    process = subprocess.Popen(
        irem(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        process.wait(moment)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
    try:
        _, err = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return ["did not end in two minutes"]
    code = process.returncode if process.returncode >= 0 else 128 - process.returncode
    amiss = [] if code in (SIGNALS[number], 0) else [f"exit code {code}"]
    amiss += [f"printed '{word}'" for word in CRASHES if word in err]
    left = [p for p in folder.rglob("*") if p.name.endswith(".unfinished")]
    amiss += [f"left {path.name}" for path in left]
    for path in left:
        path.unlink()
    if name == "train" and code:
        amiss += after_training(out, err)
    return amiss


def after_training(out: Path, err: str) -> list[str]:
    """What is amiss with a training that was stopped: work lost, or no way to go on."""
    import irem as library  # noqa: PLC0415  (slow, and only needed here)

    if not (out / "checkpoint.safetensors").exists():
        return [] if "Stopped; iteration" not in err else ["nothing kept of what was announced"]
    done = library.load(out).iteration
    if "Stopped; iteration" in err and f"iteration {done} " not in err:
        return [f"iteration {done} is kept, another was announced"]
    arguments = TRAIN.replace("100000", str(done + 50)).format(out=out)
    resumed = subprocess.run(irem(f"{arguments} --resume"), capture_output=True, text=True)
    if resumed.returncode or library.load(out).iteration != done + 50:
        return [f"cannot go on: {resumed.stderr.strip().splitlines()[-1:]}"]
    return []


def main() -> None:
    """Interrupt commands in turn, and count what is amiss."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the outcome here")
    given = parser.parse_args()
    draw = random.Random(given.seed)
    outcomes = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        names = list(COMMANDS)
        for i in range(given.moments):
            name = names[i % len(names)]
            number = draw.choice(list(SIGNALS))
            moment = draw.uniform(EARLIEST, COMMANDS[name].seconds)
            amiss = interrupt(name, number, moment, folder)
            outcomes.append(
                {"command": name, "signal": number.name, "moment": moment, "amiss": amiss}
            )
            print(
                f"{name:18} {number.name} at {moment:5.2f} s: {', '.join(amiss) or 'ok'}",
                flush=True,
            )
    wrong = sum(bool(o["amiss"]) for o in outcomes)
    print(f"{len(outcomes)} moments, {wrong} with something amiss")
    if given.json:
        given.json.write_text(json.dumps(outcomes, indent=1) + "\n")
    os._exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
