"""How many small bugs the tests notice: a mutation run over some rooms of irem.

Every mutant is the program with one operator, comparison, condition, constant or call changed. The
tests of its room that run the changed line are run against it, fastest file first, until one fails.
A module that is not tested at all counts as not noticed.
What no test notices is printed with its line, and the share that was noticed is the score.

    python tools/mutate.py --sample 200 --seed 1 --jobs 2 --out mutation.json

Mutants are a random sample of all that there are, drawn with a seed, as many from each room. Tests
that fail without any change are left out. `--again mutation.json` runs the mutants of a file that
survived once more, after tests were added.
"""

import argparse
import ast
import concurrent.futures
import dataclasses
import json
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The tests that answer for a room: its own, and those of the commands that show it.
ROOMS = {
    "descent": ("descent", "energy", "cli/test_solve.py"),
    "training": ("training", "test_files.py", "cli/test_train_command.py"),
    "methods": ("methods", "training", "descent/test_solve_baselines.py"),
    "evaluation": ("evaluation", "cli/test_commands.py", "cli/test_figure.py"),
}
# Whole programs are started by these, which takes longer than it tells.
SLOW = ("test_kill.py",)
# How a figure or a page looks is for eyes.
LOOKS = ("drawing.py", "page.py")
_COMPARISONS = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.MatMult: ast.Add,
}


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change of one place.

    Arguments:
        file: The module, from the root of the repository.
        line: Where the change is.
        index: Which of the places of the module that can be changed.
        text: The changed expression, before and after.
    """

    file: str
    line: int
    index: int
    text: str

    @property
    def room(self) -> str:
        """The room of the module."""
        return Path(self.file).parts[2]


class _Places(ast.NodeVisitor):
    """All places of a module that can be changed, in order."""

    def __init__(self) -> None:
        self.places: list[tuple[ast.AST, ast.AST]] = []

    def visit_annotation(self, node: ast.AST) -> None:
        """Types are not changed."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Words of messages are not changed."""

    visit_Assert = visit_JoinedStr = visit_Raise  # noqa: N815

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Only the value, not the type."""
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Not the type of a parameter."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Defaults and body, neither decorators nor types."""
        for part in (*node.args.defaults, *node.args.kw_defaults, *node.body):
            if part is not None:
                self.visit(part)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """The body alone."""
        for part in node.body:
            self.visit(part)

    def generic_visit(self, node: ast.AST) -> None:
        """Note the place, and go on inside."""
        for other in _changes(node):
            self.places.append((node, other))
        super().generic_visit(node)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in place of a node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield ast.Compare(node.left, [_COMPARISONS[type(node.ops[0])]()], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS and not _is_type(node):
        yield ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield ast.BoolOp(other, node.values)
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        yield ast.Constant(node.value * 2 if node.value else 1.0)
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            negated = ast.UnaryOp(ast.Not(), node.test)
            yield type(node)(**{**dict(ast.iter_fields(node)), "test": negated})
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield ast.Pass()


def _is_type(node: ast.BinOp) -> bool:
    """Whether `a | b` joins types."""
    names = ("int", "float", "str", "None", "Path", "Array", "Tracer", "ndarray")
    return isinstance(node.op, ast.BitOr) and ast.unparse(node).split(" | ")[-1].endswith(names)


def places(source: str) -> list[tuple[ast.AST, ast.AST]]:
    """Return every place of a module that can be changed, and what it is changed to."""
    visitor = _Places()
    visitor.visit(ast.parse(source))
    return visitor.places


def mutants(rooms: list[str]) -> list[Mutant]:
    """Return all mutants of some rooms."""
    found = []
    for room in rooms:
        for path in sorted((ROOT / "src/irem" / room).glob("*.py")):
            name = str(path.relative_to(ROOT))
            if path.name in LOOKS:
                continue
            for i, (old, new) in enumerate(places(path.read_text())):
                before, after = (ast.unparse(n).partition("\n")[0][:70] for n in (old, new))
                found.append(Mutant(name, old.lineno, i, f"{before}  ->  {after}"))  # pyright: ignore
    return found


def changed(source: str, index: int) -> str:
    """Return the source of a module with one of its places changed."""
    tree = ast.parse(source)
    visitor = _Places()
    visitor.visit(tree)
    target, other = visitor.places[index]

    class Change(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            if node is target:
                return ast.copy_location(other, node)
            return super().visit(node)

    return ast.unparse(ast.fix_missing_locations(Change().visit(tree)))


class Tree:
    """A copy of the repository in which one mutant at a time lives."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in ("src", "tests", "results", "docs", "tools", "benchmarks"):
            shutil.copytree(ROOT / part, folder / part)
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, folder / name)

    def run(self, files: list[str], seconds: float, *options: str) -> tuple[bool, str]:
        """Run tests; return whether all passed, and the end of what was printed."""
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                [*(str(self.folder / part) for part in ("src", "tools")), *_python_path()]
            ),
            "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_cpu_multi_thread_eigen=false",
            "JAX_PLATFORMS": "cpu",
            "JAX_COMPILATION_CACHE_DIR": str(self.folder.parent / "compiled"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider"]
        process = subprocess.Popen(
            [*command, *options, *files],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return False, "too slow"
        return process.returncode in (0, 5), out[-3000:]


def _python_path() -> list[str]:
    """The entries of PYTHONPATH, which must hold from every folder."""
    given = os.environ.get("PYTHONPATH", "")
    return [str(Path(part).resolve()) for part in given.split(os.pathsep) if part]


@dataclasses.dataclass
class Map:
    """Which tests run which lines, how long they take, and which fail anyway.

    Arguments:
        lines: By test file and module, the lines that are run.
        seconds: By test file.
        broken: Tests that fail without any change.
    """

    lines: dict[str, dict[str, list[int]]]
    seconds: dict[str, float]
    broken: list[str]

    def tests(self, mutant: Mutant) -> list[str]:
        """The test files of the room that run the line, the fastest first."""
        own = test_files(mutant.room)
        found = [f for f in own if mutant.line in self.lines[f].get(mutant.file, ())]
        return sorted(found, key=self.seconds.__getitem__)


def test_files(room: str) -> list[str]:
    """Return the test files that answer for a room."""
    found: list[Path] = []
    for part in ROOMS[room]:
        path = ROOT / "tests" / part
        found += sorted(path.glob("test_*.py")) if path.is_dir() else [path]
    return [str(p.relative_to(ROOT)) for p in found if p.name not in SLOW]


def make_map(trees: "queue.Queue[Tree]", files: list[str], jobs: int) -> Map:
    """Run every test file once, and note which lines of irem it runs."""

    def one(file: str) -> tuple[dict[str, list[int]], float, list[str]]:
        tree = trees.get()
        try:
            data = tree.folder / f"{Path(file).stem}.json"
            begin = time.monotonic()
            _, out = tree.run([file], 600, "-p", "line_coverage", f"--lines-to={data}", "-rfE")
            seconds = time.monotonic() - begin
            failed = [
                line.split()[1]
                for line in out.splitlines()
                if line.startswith(("FAILED ", "ERROR "))
            ]
            return json.loads(data.read_text()) if data.exists() else {}, seconds, failed
        finally:
            trees.put(tree)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = dict(zip(files, pool.map(one, files), strict=True))
    lines = {file: result[0] for file, result in results.items()}
    seconds = {file: result[1] for file, result in results.items()}
    return Map(lines, seconds, [name for result in results.values() for name in result[2]])


def judge(tree: Tree, mutant: Mutant, known: Map) -> bool:
    """Return whether a test notices a mutant."""
    path = tree.folder / mutant.file
    source = path.read_text()
    path.write_text(changed(source, mutant.index))
    try:
        files = known.tests(mutant)
        skipped = [f"--deselect={name}" for name in known.broken if name.startswith(tuple(files))]
        seconds = 60 + 4 * sum(known.seconds[file] for file in files)
        return bool(files) and not tree.run(files, seconds, "-x", *skipped)[0]
    finally:
        path.write_text(source)


def chosen(rooms: list[str], sample: int, seed: int, again: Path | None) -> list[Mutant]:
    """Return a sample of the mutants, as many of each room, or those of a file that survived."""
    if again is not None:
        old = [m for m in json.loads(again.read_text())["mutants"] if not m["noticed"]]
        texts = {(m["file"], m["text"]) for m in old}
        return [m for m in mutants(rooms) if (m.file, m.text) in texts]
    draw = random.Random(seed)
    found: list[Mutant] = []
    for room in rooms:
        everything = mutants([room])
        found += draw.sample(everything, min(len(everything), sample // len(rooms)))
    draw.shuffle(found)
    return found


def report(results: list[tuple[Mutant, bool]], known: Map, drawn: int) -> dict:
    """Return scores by room, and for every mutant whether a test noticed it."""
    scores = {}
    for room in sorted({m.room for m, _ in results}):
        of_room = [noticed for m, noticed in results if m.room == room]
        scores[room] = {"mutants": len(of_room), "noticed": sum(of_room)}
    return {
        "drawn": drawn,
        "mutants_run": len(results),
        "score": sum(noticed for _, noticed in results) / max(1, len(results)),
        "rooms": scores,
        "broken_before": known.broken,
        "mutants": [{**dataclasses.asdict(m), "noticed": n} for m, n in results],
    }


def main() -> None:
    """Make the mutants, run the tests against each, and write down what was noticed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS), choices=list(ROOMS))
    parser.add_argument("--sample", type=int, default=200, help="mutants in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--map", type=Path, help="keep here which tests run which lines")
    parser.add_argument("--again", type=Path, help="the survivors of an earlier run")
    parser.add_argument("--out", type=Path, default=Path("mutation.json"))
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    drawn = chosen(given.rooms, given.sample, given.seed, given.again)
    with tempfile.TemporaryDirectory() as folder:
        trees: queue.Queue[Tree] = queue.Queue()
        for i in range(given.jobs):
            trees.put(Tree(Path(folder) / str(i)))
        files = sorted({file for room in given.rooms for file in test_files(room)})
        if given.map is not None and given.map.exists():
            known = Map(**json.loads(given.map.read_text()))
        else:
            known = make_map(trees, files, given.jobs)
        if given.map is not None:
            given.map.write_text(json.dumps(dataclasses.asdict(known)))
        print(f"{len(files)} test files, {len(known.broken)} tests fail anyway", flush=True)
        results = run_all(drawn, known, trees, given, end)
    for mutant, noticed in sorted(results, key=lambda r: (r[0].file, r[0].line)):
        if not noticed:
            print(f"survived: {mutant.file}:{mutant.line}: {mutant.text}")
    print(json.dumps(report(results, known, len(drawn))["rooms"]))
    print(f"noticed: {sum(noticed for _, noticed in results)} of {len(results)}")


def run_all(
    drawn: list[Mutant],
    known: Map,
    trees: "queue.Queue[Tree]",
    given: argparse.Namespace,
    end: float,
) -> list[tuple[Mutant, bool]]:
    """Judge mutants until there are no more or the time is over; write results as they come."""
    results: list[tuple[Mutant, bool]] = []

    def one(mutant: Mutant) -> tuple[Mutant, bool] | None:
        if time.monotonic() > end:
            return None
        tree = trees.get()
        try:
            return mutant, judge(tree, mutant, known)
        finally:
            trees.put(tree)

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for future in concurrent.futures.as_completed([pool.submit(one, m) for m in drawn]):
            result = future.result()
            if result is not None:
                results.append(result)
                kept = report(results, known, len(drawn))
                given.out.write_text(json.dumps(kept, indent=1) + "\n")
    return results


if __name__ == "__main__":
    main()
