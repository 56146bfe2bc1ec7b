"""Measure the models of the paper's protocol in the zoo on many fresh problems.

    python tools/zoo_errors.py                      all of them, into results/zoo.json
    python tools/zoo_errors.py connected-components --kind harder --minutes 10

Of every kind of problem 10,000 are drawn, as a model that fails once in a thousand problems has
most of its error there; fewer if they would take two cores longer than --minutes. They come in
pieces of 1,000, of large graphs in pieces of 200. Kinds that are not asked for are kept.
`zoo_cards.py` writes the errors into the cards, with their standard errors.
"""

import argparse
import functools
import json
import time
from pathlib import Path

import jax
import numpy as np

import irem
from irem.evaluation import draw, nested_errors, problem_errors, standard_error
from irem.keys import fresh_key
from irem.metrics import rounded
from irem.paper import PAPER_TASKS
from irem.paper.composition import error_of_zero
from irem.paper.structure import SETTINGS, cases
from irem.version import __version__

ROOT = Path(__file__).parent.parent
PIECE, PIECE_OF_LARGE = 1000, 200


def main():
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = ", ".join(PAPER_TASKS)
    parser.add_argument("tasks", nargs="*", default=PAPER_TASKS, help=f"of {names}")
    parser.add_argument("--problems", type=int, default=10_000, help="of every kind")
    parser.add_argument("--kind", action="append", help="such as same; by default all")
    parser.add_argument("--minutes", type=float, default=2.0, help="of two cores, for every kind")
    parser.add_argument("--out", type=Path, default=ROOT / "results/zoo.json")
    arguments = parser.parse_args()
    kept = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    for task in arguments.tasks:
        rows = kept.setdefault(task, {})
        for name, one in kinds(irem.load(f"zoo:{task}-protocol")):
            if arguments.kind is None or name in arguments.kind:
                rows[name] = measure(one, arguments)
                arguments.out.write_text(json.dumps(kept, indent=1) + "\n")
                print(task, name, json.dumps(rows[name]), flush=True)


def kinds(run):
    """Kinds of problems of a model as names and functions from a key to what a piece has."""
    for name, task, difficulty in cases(run.task):
        size = PIECE_OF_LARGE if isinstance(difficulty, int) else PIECE
        yield name, functools.partial(piece, run.model, task, difficulty, size)
    if run.task.name == "addition":
        yield f"{SETTINGS.operations} nested", lambda key: nested(run, key)


def measure(one, arguments):
    """Draw pieces until there are enough problems or the time is over."""
    key, parts, start = fresh_key(0, "evaluate"), [], time.process_time()
    while sum(len(part["errors"]) for part in parts) < arguments.problems:
        if parts and time.process_time() - start > 2 * 60 * arguments.minutes:
            break
        parts.append(one(jax.random.fold_in(key, len(parts))))
        start = time.process_time() if len(parts) == 1 else start  # compiled by then
    errors = np.concatenate([part["errors"] for part in parts])
    row = {
        "problems": len(errors),
        "mse": float(errors.mean()),
        "mse_sem": standard_error(errors),
        "largest_error": float(errors.max()),
        "trivial": float(np.mean([part["trivial"] for part in parts])),
        "device": jax.devices()[0].device_kind,
        "versions": {"irem": __version__, "jax": jax.__version__},
    }
    wrong = [part["wrong"] for part in parts if "wrong" in part]
    return row | ({"wrong_problems": int(np.concatenate(wrong).sum())} if wrong else {})


def piece(model, task, difficulty, size, key):
    """Errors of one piece; of a task of 0 and 1, also which answers have a wrong entry."""
    test_set, key_guesses = draw(task, difficulty, size, key)
    solution = irem.solve(model, test_set.batch.x, key=key_guesses)
    answered = np.asarray(solution.answered)
    errors = np.where(answered, problem_errors(solution.y, test_set.batch), np.nan)
    found = {"errors": errors, "trivial": test_set.floors[0]}
    if task.binary:
        right = problem_errors(rounded(solution.y), test_set.batch) == 0
        found["wrong"] = ~(right & answered)
    return found


def nested(run, key):
    """Errors after the last of the nested additions, and that of answering zero."""
    errors = nested_errors(run.model, run.task, SETTINGS.operations, problems=PIECE, key=key)[-1]
    return {"errors": errors, "trivial": error_of_zero(SETTINGS.operations)}


if __name__ == "__main__":
    main()
