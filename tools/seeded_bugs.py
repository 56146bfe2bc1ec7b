"""Put bugs that matter into irem one at a time, and see that a test notices each.

    python tools/seeded_bugs.py --jobs 2

The bugs are of the kind that makes a result wrong or a promise false while everything still runs:
problems that a choice must not see, a wrong split, a decay of another length, a printed number that
is not the paper's. Every bug names the tests that should notice it; exit code 1 if none does.
"""

import argparse
import concurrent.futures
import dataclasses
import queue
import tempfile
from pathlib import Path

from mutate import ROOT, Tree


@dataclasses.dataclass(frozen=True)
class Bug:
    """A bug.

    Arguments:
        what: What is wrong then.
        file: The module, from `src/irem`.
        old: A text that occurs once in it.
        new: What stands there instead.
        tests: Where a test notices, from `tests`.
    """

    what: str
    file: str
    old: str
    new: str
    tests: str

    @property
    def path(self) -> str:
        """The module from the root of the repository."""
        return f"src/irem/{self.file}"


BUGS = (
    Bug(
        "a calibration is tested on the problems that it was fitted to",
        "cli/calibrate.py",
        'fresh_key(seed, "trust")',
        'fresh_key(seed, "calibrate")',
        "cli/test_calibrate_command.py",
    ),
    Bug(
        "problems unlike those of the calibration are answered",
        "training/calibration.py",
        "np.where(familiar, errors, np.inf)",
        "errors",
        "evaluation/test_calibration.py",
    ),
    Bug(
        "the number of steps with a scratchpad is chosen on test problems",
        "paper/scratchpad.py",
        'fresh_key(0, "validate")',
        'fresh_key(0, "evaluate")',
        "paper/test_paper_scratchpad.py",
    ),
    Bug(
        "expected errors are those of problems that the weights were fitted to",
        "training/calibration.py",
        "_regress(design[~part], target[~part])",
        "_regress(design[part], target[part])",
        "evaluation/test_calibration.py",
    ),
    Bug(
        "a learning rate decays over ten times the length",
        "training/optimisers.py",
        "decay_steps = iterations if",
        "decay_steps = 10 * iterations if",
        "training/test_optimisers.py",
    ),
    Bug(
        "updates are clipped, not gradients",
        "training/optimisers.py",
        "optax.chain(optax.clip_by_global_norm(clip_norm), rule)",
        "optax.chain(rule, optax.clip_by_global_norm(clip_norm))",
        "training/test_optimisers.py",
    ),
    Bug(
        "a run goes on with another learning rate",
        "training/folder.py",
        'else {"version", "iterations"}',
        'else {"version", "iterations", "optimiser"}',
        "cli/test_train_command.py",
    ),
    Bug(
        "a printed number of the paper is another",
        "paper/table1.py",
        "(0.0109, 0.2123)",
        "(0.0019, 0.2123)",
        "paper",
    ),
    Bug(
        "the loss counts padded entries",
        "training/algorithm1.py",
        "start.problem.y.size if mask is None else mask.sum()",
        "start.problem.y.size",
        "training/test_iteration.py",
    ),
    Bug(
        "candidates that are not finite enter the replay buffer",
        "training/algorithm1.py",
        "jnp.where(finite, end, start.y)",
        "end",
        "training/test_iteration_units.py training/test_iteration.py",
    ),
    Bug(
        "updates that are not finite are applied",
        "training/algorithm1.py",
        "applied = jnp.isfinite(norm) & jnp.isfinite(loss)",
        "applied = jnp.array(True)",
        "training/test_iteration.py",
    ),
    Bug(
        "the same problems in every iteration",
        "training/algorithm1.py",
        "key = jax.random.fold_in(state.key, state.iteration)",
        "key = state.key",
        "training/test_iteration.py",
    ),
    Bug(
        "one step more than the paper's is differentiated",
        "methods/gradients.py",
        "num_steps - self.k))",
        "num_steps - self.k - 1))",
        "methods/test_gradients.py",
    ),
    Bug(
        "the first steps are differentiated as well",
        "methods/gradients.py",
        "y = jax.lax.stop_gradient(descend(frozen, y0, step_size, num_steps - self.k))",
        "y = descend(energy.landscape(x), y0, step_size, num_steps - self.k)",
        "methods/test_gradients.py",
    ),
    Bug(
        "replayed candidates are always the first ones",
        "training/replay.py",
        "jax.random.randint(key, (count,), 0, jnp.maximum(state.size, 1))",
        "jnp.arange(count) % jnp.maximum(state.size, 1)",
        "training/test_replay.py",
    ),
    Bug(
        "the buffer never writes over old candidates",
        "training/replay.py",
        "(state.next_slot + count) % self.capacity",
        "jnp.minimum(state.next_slot + count, self.capacity - count)",
        "training/test_replay.py",
    ),
    Bug(
        "an average has the last weights",
        "training/averages.py",
        "return eqx.combine(state, method)",
        "return method",
        "training/test_averages.py",
    ),
    Bug(
        "a problem without an answer has an error that looks like one",
        "evaluation/scores.py",
        "np.where(f.answered, problem_errors(f.y, batch), np.nan)",
        "problem_errors(f.y, batch)",
        "evaluation",
    ),
    Bug(
        "errors count padded entries",
        "evaluation/scores.py",
        "square.sum(axes) / mask.sum(axes)",
        "square.mean(axes)",
        "evaluation",
    ),
    Bug(
        "a graph is exact if half of its entries are",
        "evaluation/scores.py",
        '"exact": float((wrong == 0).mean())',
        '"exact": float((wrong < 0.5).mean())',
        "evaluation",
    ),
    Bug(
        "only the first model is measured",
        "evaluation/scores.py",
        "return models.models",
        "return models.models[:1]",
        "evaluation cli/test_commands.py",
    ),
    Bug(
        "the oracle is measured on other problems than the models",
        "evaluation/scores.py",
        "problem_errors(jax.jit(task.oracle)(first.x), first).mean()",
        "problem_errors(jax.jit(task.trivial)(first.x), first).mean()",
        "evaluation cli/test_commands.py",
    ),
    Bug(
        "an answer that fails its check is verified",
        "descent/judging.py",
        "Verdict.FAILED",
        "Verdict.VERIFIED",
        "descent training/test_answering.py",
    ),
    Bug(
        "a descent that ran out of steps is called converged",
        "descent/solution.py",
        "return self in (Reason.ENERGY_UNCHANGED, Reason.GRADIENT_SMALL)",
        "return self in (Reason.ENERGY_UNCHANGED, Reason.GRADIENT_SMALL, Reason.BUDGET)",
        "descent",
    ),
    Bug(
        "the highest energy of several starts wins",
        "descent/starts.py",
        "argmin",
        "argmax",
        "descent/test_restarts.py",
    ),
    Bug(
        "steps that raise the energy are accepted",
        "descent/searches.py",
        "gained >= self.decrease * promised",
        "gained >= -self.decrease * promised",
        "descent",
    ),
    Bug(
        "one step without change is enough to stop",
        "descent/halting.py",
        "stop = unchanged_steps >= self.patience",
        "stop = unchanged_steps >= 1",
        "descent/test_halting.py",
    ),
    Bug(
        "a problem that was refused keeps an answer",
        "descent/judging.py",
        "jnp.where(column, jnp.nan, solution.y)",
        "solution.y",
        "descent cli/test_solve.py training/test_answering.py",
    ),
    Bug(
        "of several tries the last answer is returned, not the best",
        "training/answering.py",
        "improved = (new < old) & np.asarray(again.answered)",
        "improved = np.asarray(again.answered)",
        "training/test_answering_units.py",
    ),
    Bug(
        "steps of further tries are not counted",
        "training/answering.py",
        "steps = solution.steps.at[failed].add(again.steps)",
        "steps = solution.steps",
        "training/test_answering.py",
    ),
    Bug(
        "problems in the queue get each other's answers",
        "descent/queue.py",
        "places = jnp.where(stopped, queue.indices, problems)",
        "places = jnp.where(stopped, queue.indices[::-1], problems)",
        "descent/test_batches_units.py descent/test_queue.py",
    ),
    Bug(
        "all problems begin at the same first guess",
        "descent/starts.py",
        "keys = jax.random.split(key, problems) if key.ndim == 0 else key",
        "keys = jnp.broadcast_to(key, (problems,)) if key.ndim == 0 else key",
        "descent/test_starts_units.py descent/test_first_guesses.py",
    ),
    Bug(
        "every method of a study is tested on other problems",
        "paper/study.py",
        "test_set, key = self.test_set(run.task, difficulty)",
        'test_set, key = self.test_set(run.task, "same")',
        "paper/test_study.py paper/test_table1.py",
    ),
    Bug(
        "the spread over seeds divides by their number",
        "paper/cells.py",
        "np.std(numbers, ddof=1)",
        "np.std(numbers)",
        "paper/test_cells.py paper/test_table1.py",
    ),
    Bug(
        "the best seed stands for the mean",
        "paper/cells.py",
        "mean=float(np.mean(numbers))",
        "mean=float(np.min(numbers))",
        "paper/test_cells.py paper/test_table1.py",
    ),
    Bug(
        "the standard error is a standard deviation",
        "evaluation/scores.py",
        "/ np.sqrt(problems)",
        "/ 1",
        "evaluation/test_scores_units.py evaluation/test_standard_errors.py",
    ),
    Bug(
        "risk is that of the worst answers",
        "evaluation/reliability.py",
        'np.argsort(ranking, kind="stable")[:',
        'np.argsort(-ranking, kind="stable")[:',
        "evaluation/test_reliability_units.py",
    ),
    Bug(
        "training draws from the seeds of another run",
        "keys.py",
        "+ jax.numpy.uint32(seed)",
        "+ jax.numpy.uint32(0)",
        "test_keys.py",
    ),
    Bug(
        "harder inverses are drawn like those of training",
        "tasks/matrix_inverse.py",
        '_RIDGE = {"same": 0.5, "harder": 0.1}',
        '_RIDGE = {"same": 0.5, "harder": 0.5}',
        "tasks/test_matrix_inverse.py",
    ),
    Bug(
        "an inverse is verified by half of its residual",
        "tasks/matrix_inverse.py",
        "np.linalg.norm(product, 2) + rounded",
        "0.5 * np.linalg.norm(product, 2)",
        "tasks/test_inverse_wide.py tasks/test_matrix_inverse.py",
    ),
    Bug(
        "distances that a circle explains are verified",
        "tasks/shortest_path.py",
        "np.where(before == np.arange(nodes)[:, None], total, np.inf)",
        "total",
        "tasks/test_paths_wide.py",
    ),
    Bug(
        "expected errors of unfamiliar problems are those of the nearest",
        "training/calibration.py",
        "((statistics >= self.low) & (statistics <= self.high)).all(1)",
        "((statistics >= self.low) & (statistics <= self.high)).any(1)",
        "evaluation/test_calibration_units.py evaluation/test_calibration.py",
    ),
)


def check_bugs() -> list[str]:
    """Return the bugs whose text does not occur exactly once in their module."""
    return [
        f"{bug.file}: {bug.old!r} ({found} times)"
        for bug in BUGS
        if (found := (ROOT / bug.path).read_text().count(bug.old)) != 1
    ]


def notice(trees: "queue.Queue[Tree]", bug: Bug) -> bool:
    """Return whether a test notices a bug."""
    tree = trees.get()
    path = tree.folder / bug.path
    source = path.read_text()
    try:
        path.write_text(source.replace(bug.old, bug.new))
        files = [f"tests/{name}" for name in bug.tests.split()]
        passed, _ = tree.run(files, 1200, "-x")
        return not passed
    finally:
        path.write_text(source)
        trees.put(tree)


def main() -> None:
    """Try every bug and print whether it was noticed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="a part of what is wrong")
    given = parser.parse_args()
    if moved := check_bugs():
        raise SystemExit("Texts that are not found once: " + "; ".join(moved))
    bugs = [bug for bug in BUGS if given.only in bug.what]
    with tempfile.TemporaryDirectory() as folder:
        trees: queue.Queue[Tree] = queue.Queue()
        for i in range(given.jobs):
            trees.put(Tree(Path(folder) / str(i)))
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            noticed = []
            for bug, found in zip(bugs, pool.map(lambda b: notice(trees, b), bugs), strict=True):
                noticed.append(found)
                print(f"{'noticed' if found else 'MISSED':8} {bug.what}", flush=True)
    print(f"{sum(noticed)} of {len(bugs)} noticed")
    raise SystemExit(0 if all(noticed) else 1)


if __name__ == "__main__":
    main()
