"""Run the tests of what has changed since the last commit, for at most so many seconds.

    python tools/check_change.py --seconds 40

A test belongs to a change if it is one of the changed files, or if it mirrors one: the tests of
`src/irem/descent/queue.py` are `tests/descent/test_*queue*.py`. Which modules use a changed one is
not followed: `make test` runs everything.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE, TESTS = Path("src/irem"), Path("tests")
ALWAYS = ("tests/test_house.py",)


def changed():
    """Files that differ from the last commit, and new ones."""
    commands = (
        ["git", "diff", "--name-only", "HEAD"],
        ["git", "ls-files", "--others", "--exclude-standard"],
    )
    lines = [subprocess.check_output(c, cwd=ROOT, text=True).splitlines() for c in commands]
    return sorted({Path(line) for some in lines for line in some if line.endswith(".py")})


def tests_of(path):
    """The tests of one changed file."""
    if path.parts[0] == "tests":
        return [path] if path.name.startswith("test_") else []
    if SOURCE not in path.parents:
        return []
    folder = ROOT / TESTS / path.parent.relative_to(SOURCE)
    return [p.relative_to(ROOT) for p in sorted(folder.glob(f"test_*{path.stem}*.py"))]


def main():
    """Find the tests, run them, and say what was not reached."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=40.0)
    seconds = parser.parse_args().seconds
    found = [str(test) for path in changed() for test in tests_of(path) if (ROOT / test).exists()]
    tests = list(dict.fromkeys([*ALWAYS, *found]))
    print("Testing " + ", ".join(tests), flush=True)
    options = ["-q", "-x", "--numprocesses", "2", "--dist", "loadfile"]
    flags = {**os.environ, "XLA_FLAGS": "--xla_backend_optimization_level=0"}
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *tests], cwd=ROOT, env=flags
    )
    try:
        sys.exit(process.wait(seconds))
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()
        print(f"Nothing failed in {seconds:g} s, but not all tests were reached: run `make test`.")


if __name__ == "__main__":
    main()
