"""Make Sudoku puzzles with one solution each: minimal ones, hard ones, and lists for tests.

    python tools/make_puzzles.py --out sudoku.npz --minimal 300000 --hard 60000 --seed 1
    python tools/make_puzzles.py --out lists.npz --lists --count 1000 --seed 0

The first file holds `puzzles` and `solutions` (81 cells each, 0 for an empty one) and `guesses`,
the difficulty: how often a plain solver guesses, as a mean over five random orders. Minimal puzzles
come first, then a quarter of the hard ones each of at least 20, 40, 70 and 100 guesses. The second
file holds `easy_puzzles`, `easy_solutions` and so on for the lists `easy` (31 to 42 givens),
`minimal`, `hard` (at least 100 guesses, every puzzle of another family) and `large` (16 x 16 cells,
60 % given).

A family is what one walk from one random puzzle finds. The work is cut into numbered blocks, each
with its own seed, so the puzzles do not depend on the number of processes. Needs a C compiler.
"""

import argparse
import collections
import ctypes
import itertools
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from irem.files import whole_file

SOURCE = Path(__file__).parent / "puzzles/puzzles.c"
LEVELS = (20, 40, 70, 100)
"""Fewest guesses of the hard puzzles; a quarter of them each."""
LISTS = ("easy", "minimal", "hard", "large")

# Puzzles that a block makes, or draws to start families from.
_BLOCK, _LARGE_BLOCK, _START_BLOCK = 1000, 50, 100
# Puzzles that a family keeps of each level, at most; fewer families reach the upper levels.
_MOST = (2, 2, 3, 5)
# Puzzles that a walk looks at in vain before it ends.
_TRIES = 1500
_ALL_BITS = 2**64 - 1

_library: ctypes.CDLL  # of a working process
_reported = 0.0  # when progress was last printed


class Kind(NamedTuple):
    """A kind of random puzzles.

    Arguments:
        name: What is printed, and what seeds depend on.
        box: Rows and columns of a box are this many cells.
        fewest: Givens, at least; 0 for minimal puzzles.
        most: Givens, at most.
    """

    name: str
    box: int
    fewest: int
    most: int

    @property
    def cells(self) -> int:
        """Cells of a puzzle."""
        return self.box**4


EASY = Kind("easy", 3, 31, 42)
MINIMAL = Kind("minimal", 3, 0, 0)
LARGE = Kind("large", 4, 154, 154)  # 60 % of the 256 cells


class Puzzles(NamedTuple):
    """Puzzles, their solutions and difficulties; for hard ones also where they come from.

    Arguments:
        puzzles: Cells, 0 for an empty one.
        solutions: Cells.
        guesses: Mean guesses of the plain solver.
        level: Index in `LEVELS`.
        family: Number of the family within the block.
        rank: Number within the family and level.
    """

    puzzles: np.ndarray
    solutions: np.ndarray
    guesses: np.ndarray
    level: np.ndarray
    family: np.ndarray
    rank: np.ndarray


def block_seed(seed: int, name: str, block: int) -> int:
    """Return the seed of a block, never 0: splitmix64 over the seed, the name and the number."""
    state = 0
    for part in (seed, int.from_bytes(name.encode(), "little"), block):
        state = _splitmix(state ^ (part & _ALL_BITS))
    return state or 1


def _splitmix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & _ALL_BITS
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _ALL_BITS
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _ALL_BITS
    return x ^ (x >> 31)


def compile_library(folder: Path) -> Path:
    """Compile the C file into a folder and return the path of the library."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        _refuse("There is no C compiler: neither cc nor gcc is on the PATH; install gcc.")
    path = folder / "puzzles.so"
    command = [compiler, "-O3", "-shared", "-fPIC", "-o", str(path), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        _refuse(f"{compiler} could not compile {SOURCE.name}: {done.stderr.strip()[:500]}")
    return path


def load_library(path: Path) -> None:
    """Load the compiled functions into this process."""
    global _library
    _library = ctypes.CDLL(str(path))


def draw(kind: Kind, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return so many random puzzles and their solutions."""
    puzzles = np.zeros((count, kind.cells), np.uint8)
    solutions = np.zeros_like(puzzles)
    _library.generate(
        *(kind.box, kind.box, count, kind.fewest, kind.most, ctypes.c_uint64(seed)),
        *(_address(puzzles), _address(solutions)),
    )
    return puzzles, solutions


def measure(puzzles: np.ndarray, box: int, seed: int) -> np.ndarray:
    """Return how often the plain solver guesses, for each puzzle."""
    puzzles = np.ascontiguousarray(puzzles, np.uint8)
    guesses = np.zeros(len(puzzles), np.float32)
    _library.measure(
        *(box, box, _address(puzzles), len(puzzles)),
        *(ctypes.c_uint64(seed), _address(guesses)),
    )
    return guesses


def make_random(kind: Kind, count: int, seed: int, block: int) -> Puzzles:
    """Return the random puzzles of a block."""
    puzzles, solutions = draw(kind, count, block_seed(seed, kind.name, block))
    # A large puzzle can take very many guesses, and its difficulty is not asked for.
    measured = kind.box == 3
    guesses = (
        measure(puzzles, 3, block_seed(seed, "measure", block)) if measured else np.zeros(count)
    )
    nothing = np.zeros(count, np.int32)
    return Puzzles(puzzles, solutions, guesses, nothing, nothing, nothing)


def make_hard(most: tuple[int, ...], seed: int, block: int) -> Puzzles:
    """Return the hard puzzles of a block: a family from each random puzzle of the lowest level."""
    starts, _ = draw(MINIMAL, _START_BLOCK, block_seed(seed, "start", block))
    difficulty = measure(starts, 3, block_seed(seed, "measure start", block))
    families = [
        _climb(start, most, number, block_seed(seed, f"climb {number}", block))
        for number, start in enumerate(starts[difficulty >= LEVELS[0]])
    ]
    return _join(families)


def _climb(start: np.ndarray, most: tuple[int, ...], number: int, seed: int) -> Puzzles:
    """Return the family of a puzzle."""
    shape = (sum(most), start.size)
    puzzles, solutions = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
    guesses, kept = np.zeros(sum(most), np.float32), np.zeros(len(most), np.int32)
    levels, limits = np.array(LEVELS, np.int32), np.array(most, np.int32)
    start = np.ascontiguousarray(start)
    _library.climb(
        *(3, 3, _address(start), _address(levels), _address(limits), len(most)),
        *(ctypes.c_long(_TRIES), ctypes.c_uint64(seed)),
        *(_address(puzzles), _address(solutions), _address(guesses), _address(kept)),
    )
    level = np.repeat(np.arange(len(most)), most)
    rank = np.concatenate([np.arange(m) for m in most])
    family = np.full(sum(most), number)
    whole = Puzzles(puzzles, solutions, guesses, level, family, rank)
    return Puzzles(*(part[rank < kept[level]] for part in whole))


def _address(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def _join(parts: list[Puzzles]) -> Puzzles:
    if not parts:
        nothing = np.zeros(0, np.int32)
        cells = np.zeros((0, MINIMAL.cells), np.uint8)
        return Puzzles(cells, cells, np.zeros(0, np.float32), nothing, nothing, nothing)
    return Puzzles(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


class Workers:
    """Processes that make blocks.

    Arguments:
        pool: The processes.
        jobs: How many there are.
        seed: Seed of all blocks.
    """

    def __init__(self, pool: Any, jobs: int, seed: int) -> None:
        self._pool = pool
        self._jobs = jobs
        self._seed = seed

    def blocks(self, make: Callable[..., Puzzles], *arguments: object) -> Iterator[Puzzles]:
        """Yield block 0, 1, ... in order, without end; a few are made ahead."""
        ahead: collections.deque[Any] = collections.deque()
        for block in itertools.count():
            ahead.append(self._pool.apply_async(make, (*arguments, self._seed, block)))
            if len(ahead) > 2 * self._jobs:
                yield ahead.popleft().get()

    def random(self, kind: Kind, count: int) -> Puzzles:
        """Return so many random puzzles."""
        size = _LARGE_BLOCK if kind is LARGE else _BLOCK
        parts: list[Puzzles] = []
        for part in self.blocks(make_random, kind, size) if count else ():
            parts.append(part)
            done = min(size * len(parts), count)
            _report(f"{kind.name}: {done} of {count}")
            if done == count:
                break
        return Puzzles(*(array[:count] for array in _join(parts)))

    def hard(self, counts: tuple[int, ...], most: tuple[int, ...]) -> Puzzles:
        """Return so many puzzles of each level, of as many families as were found on the way."""
        parts: list[Puzzles] = []
        found = np.zeros(len(counts), int)
        families = 0
        for part in self.blocks(make_hard, most) if any(counts) else ():
            # Numbers within the block become numbers over all blocks.
            parts.append(part._replace(family=part.family + families))
            families += int(part.family.max(initial=-1)) + 1
            found += np.bincount(part.level, minlength=len(counts))
            done = ", ".join(
                f"{min(f, c)} of {c} ({level} guesses)"
                for f, c, level in zip(found, counts, LEVELS, strict=True)
                if c
            )
            _report(f"hard: {done}")
            if np.all(found >= counts):
                break
        return _spread(_join(parts), counts)


def _spread(every: Puzzles, counts: tuple[int, ...]) -> Puzzles:
    """Return so many puzzles of each level: the first of each family, then the second, ..."""
    chosen = []
    for level, count in enumerate(counts):
        here = np.flatnonzero(every.level == level)
        order = np.lexsort((every.family[here], every.rank[here]))
        chosen.append(np.sort(here[order[:count]]))
    return Puzzles(*(array[np.concatenate(chosen)] for array in every))


def make_training(workers: Workers, minimal: int, hard: int) -> dict[str, np.ndarray]:
    """Return the arrays of the first kind of file."""
    counts = tuple(hard // 4 + (i < hard % 4) for i in range(len(LEVELS)))
    both = _join([workers.random(MINIMAL, minimal), workers.hard(counts, _MOST)])
    return {
        "puzzles": both.puzzles,
        "solutions": both.solutions,
        "guesses": both.guesses.astype(np.float32),
    }


def make_lists(workers: Workers, count: int) -> dict[str, np.ndarray]:
    """Return the arrays of the second kind of file."""
    one_each = (1,) * len(LEVELS)
    lists = (
        workers.random(EASY, count),
        workers.random(MINIMAL, count),
        workers.hard((0, 0, 0, count), one_each),
        workers.random(LARGE, count),
    )
    arrays = {}
    for name, puzzles in zip(LISTS, lists, strict=True):
        arrays[f"{name}_puzzles"] = puzzles.puzzles
        arrays[f"{name}_solutions"] = puzzles.solutions
    return arrays


def prepare_folder(path: Path) -> None:
    """Make the folder of a file and check that it can be written to, before the long work."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        _refuse(f"The folder {path.parent} cannot be written to: {error.strerror or error}.")


def write(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays to a file, whole or not at all."""
    with whole_file(path) as file:
        np.savez_compressed(file, **arrays)  # pyright: ignore[reportArgumentType]


def _report(text: str) -> None:
    """Show how far it is: in one line of a terminal, or at most once a second line by line."""
    global _reported
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
    elif time.monotonic() > _reported + 1:
        _reported = time.monotonic()
        print(text, file=sys.stderr, flush=True)


def _refuse(sentence: str) -> NoReturn:
    print(f"make_puzzles: {sentence}", file=sys.stderr)
    sys.exit(2)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, without the usage."""

    def error(self, message: str) -> NoReturn:
        _refuse(f"{message[:1].upper()}{message[1:]}.")


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the options, of which every combination that is let through makes sense."""
    parser = _Parser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the file to write, ending in .npz")
    parser.add_argument("--minimal", type=int, help="how many minimal puzzles")
    parser.add_argument("--hard", type=int, help="how many hard puzzles")
    parser.add_argument("--lists", action="store_true", help="make lists for tests instead")
    parser.add_argument("--count", type=int, help="length of each list")
    parser.add_argument("--seed", type=int, default=0, help="what the puzzles are drawn from")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many processes")
    given = parser.parse_args(arguments)
    if given.lists and (given.minimal is not None or given.hard is not None):
        _refuse("--lists takes --count, not --minimal or --hard.")
    if not given.lists and given.count is not None:
        _refuse("--count is the length of the lists; add --lists.")
    if given.lists and given.count is None:
        _refuse("--lists needs --count, the length of each list.")
    given.minimal, given.hard = given.minimal or 0, given.hard or 0
    for name, least in (("minimal", 0), ("hard", 0), ("count", 1), ("seed", 0), ("jobs", 1)):
        value = getattr(given, name)
        if value is not None and value < least:
            _refuse(f"--{name} must be at least {least}, got {value}.")
    if not given.lists and not given.minimal + given.hard:
        _refuse("There is nothing to make; give --minimal, --hard, or --lists with --count.")
    if given.seed > _ALL_BITS:
        _refuse(f"--seed must be less than 2**64, got {given.seed}.")
    if given.out.suffix != ".npz":
        _refuse(f"--out must end in .npz, got {given.out}.")
    if given.out.is_dir():
        _refuse(f"--out must be a file, but {given.out} is a folder.")
    return given


def make(given: argparse.Namespace) -> dict[str, np.ndarray]:
    """Return the arrays that the options ask for."""
    with tempfile.TemporaryDirectory() as folder:
        library = compile_library(Path(folder))
        # New processes, since a copy of this one would have its threads and handlers.
        context = multiprocessing.get_context("spawn")
        # Processes that are still starting would end at Ctrl-C by themselves, perhaps with a lock
        # that the end of the pool waits for.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            started = context.Pool(given.jobs, load_library, (library,))
        finally:
            signal.signal(signal.SIGINT, before)
        with started as pool:
            if given.lists:
                return make_lists(Workers(pool, given.jobs, given.seed), given.count)
            # Another seed, or the lists of a seed would be among its other puzzles.
            seed = block_seed(given.seed, "training", 0)
            return make_training(Workers(pool, given.jobs, seed), given.minimal, given.hard)


def main() -> None:
    """Make the puzzles and write the file."""
    given = read_options()
    prepare_folder(given.out)
    start = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: the processes end too
    try:
        write(given.out, make(given))
    except KeyboardInterrupt:
        print("\nmake_puzzles: interrupted; nothing was written.", file=sys.stderr)
        sys.exit(130)
    seconds = time.monotonic() - start
    print(f"\n{given.out}: {given.out.stat().st_size:,} bytes in {seconds:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
