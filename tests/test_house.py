"""The shape of the code: what is loaded when, and how large a function or a class may be."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src/irem"
SOURCES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES, MOST_NAMES = 60, 10
# Classes that only hold what was measured.
RESULT_TYPES = {"Evaluation", "Report", "Solution", "Trust", "_Tally"}


def loaded_by(code):
    """Modules that are loaded in a new process after `code`."""
    program = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_importing_irem_loads_no_other_package():
    loaded = loaded_by("import irem")
    assert loaded.isdisjoint({"jax", "numpy", "equinox", "irem.paper", "matplotlib", "PIL"})


def test_training_and_solving_load_neither_the_paper_nor_figures_nor_the_command_line():
    loaded = loaded_by("import irem; irem.train, irem.solve, irem.evaluate, irem.load, irem.tasks")
    heavy = {"irem.paper", "irem.cli", "matplotlib", "PIL", "scipy.stats", "rich", "typer"}
    assert loaded.isdisjoint(heavy)
    assert "jax" in loaded


def test_the_help_of_the_program_does_not_load_jax():
    code = "sys.argv = ['irem', '--help']\nfrom irem.cli import main\n"
    code += "import contextlib, io\n"
    code += "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
    code += "    main()"
    assert loaded_by(code).isdisjoint({"jax", "numpy", "rich", "matplotlib"})


def parameters(function):
    given = function.args
    names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def lines_of_code(function):
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        lines -= function.body[0].end_lineno - function.body[0].lineno + 1
    return lines


def fields(kind):
    annotated = [s for s in kind.body if isinstance(s, ast.AnnAssign)]
    return [s.target.id for s in annotated if "ClassVar" not in ast.unparse(s.annotation)]


def is_result(kind):
    cells = any("Cell" in ast.unparse(base) for base in kind.bases) or kind.name.endswith("Cell")
    return cells or kind.name in RESULT_TYPES


def is_initialiser_of_estimator(function, tree):
    """Whether scikit-learn asks for all parameters of an estimator in this `__init__`."""
    kinds = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and function in n.body]
    bases = [ast.unparse(base) for kind in kinds for base in kind.bases]
    return function.name == "__init__" and "BaseEstimator" in bases


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_functions_and_classes_are_small(path):
    tree = ast.parse(path.read_text())
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and not is_result(n)]
    assert [f.name for f in functions if lines_of_code(f) > MOST_LINES] == []
    own = [f for f in functions if not is_initialiser_of_estimator(f, tree)]
    assert [f.name for f in own if len(parameters(f)) > MOST_NAMES] == []
    assert [c.name for c in classes if len(fields(c)) > MOST_NAMES] == []
