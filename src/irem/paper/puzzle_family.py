"""Queens, Latin squares and colourings: an energy beside local search on the same problems."""

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from irem import tasks as all_tasks
from irem.apps.puzzles import min_conflicts, tabucol, walksat
from irem.evaluation.tables import Entry, Table
from irem.keys import fresh_key
from irem.paper.cells import Cell
from irem.paper.experiment import Experiment, Result
from irem.paper.study import Study
from irem.puzzles import Puzzle, broken_rules
from irem.tasks import AbstractTask, Difficulty
from irem.tasks.colouring import COLOURS
from irem.tasks.exact import clauses
from irem.training import BEST, Recipe, solve_checked

TESTED: Mapping[str, Mapping[str, Difficulty]] = MappingProxyType(
    {
        "queens": {"8 x 8": 8, "16 x 16": 16, "32 x 32": 32},
        "latin": {"6 symbols": 6, "9 symbols": 9},
        "colouring": {"20 to 40 nodes": "same", "80 to 100 nodes": "harder"},
    }
)
"""Sizes that are tested, by task; the first one is that of training."""

WALKSAT = "WalkSAT"
"""The search that takes every puzzle."""

_SMALL = {"energy.width": 16, "energy.layers": 2, "batch_size": 8, "optimiser.warm_up": 20}
_WHOLE_MS = 10  # from here on without digits after the point


@dataclasses.dataclass(frozen=True, kw_only=True)
class LocalSearch:
    """What a local search finds.

    Arguments:
        name: Its name.
        steps: Most changes of a problem.
        solved: How many problems are solved.
        seconds: Of all problems together, on one core.
    """

    name: str
    steps: int
    solved: int
    seconds: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class FamilyCell(Cell):
    """How many problems of one size an energy solves, beside local search.

    Arguments:
        size: Name of the size.
        trained: Whether the energy was trained on problems of it.
        iterations: Updates of training.
        problems: How many problems.
        solved: How many are solved by one descent.
        seconds: Of those descents together, after compilation.
        restarts: Most further descents of a problem.
        solved_again: How many are solved with them.
        seconds_again: Of all descents together, after compilation.
        searches: Local searches on the same problems.
        run: Folder of the model within the study.
    """

    size: str
    trained: bool
    iterations: int
    problems: int
    solved: int
    seconds: float
    restarts: int
    solved_again: int
    seconds_again: float
    searches: tuple[LocalSearch, ...]
    run: str


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is trained and measured, before the share of the scale.

    Arguments:
        tasks: Names of `TESTED`.
        iterations: Updates of training.
        problems: How many problems of every size.
        restarts: Most further descents of a problem.
        moves: Most steps of min-conflicts and of Tabucol.
        flips: Most steps of WalkSAT.
        changes: What differs from the recipes `best`, as `Recipe.override` takes it.
    """

    tasks: tuple[str, ...] = tuple(TESTED)
    iterations: int = 3_000
    problems: int = 100
    restarts: int = 63
    moves: int = 10_000
    flips: int = 20_000
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def scaled(self, iterations: float, problems: float) -> "Settings":
        """Return the settings with a share of iterations and one of problems, and small models."""
        part = lambda share, value: max(round(share * value), 1)  # noqa: E731
        small = {} if iterations == 1 else _SMALL
        return dataclasses.replace(
            self,
            iterations=part(iterations, self.iterations),
            problems=part(problems, self.problems),
            changes={**small, **self.changes},
        )


SETTINGS = Settings()


def run(study: Study, settings: Settings = SETTINGS) -> list[FamilyCell]:
    """Return what energies and local searches solve, by task and size."""
    of = settings.scaled(study.scale.structure, study.scale.formulas)
    return [
        cell
        for name in of.tasks
        for cell in study.cells(
            "puzzle-family",
            name,
            [FamilyCell],
            lambda n=name: measure(study, all_tasks.get(n), of),
            settings=dataclasses.asdict(dataclasses.replace(of, tasks=(name,))),
        )
    ]


def measure(study: Study, task: AbstractTask, settings: Settings) -> list[FamilyCell]:
    """Train an energy on a task, and return what it solves of every size."""
    recipe = Recipe.named(task.name, BEST).override(settings.changes)
    recipe = recipe.override({"iterations": settings.iterations})
    run, _ = study.trained(task, recipe, f"{task.name}-family", seeds=1)
    return [measure_size(study, task, run.models[0], size, settings) for size in TESTED[task.name]]


def measure_size(
    study: Study, task: AbstractTask, model: Any, size: str, settings: Settings
) -> FamilyCell:
    """Return what an energy and local searches solve of one size."""
    key_problems, key_guesses = jax.random.split(fresh_key(0, "evaluate"))
    x = task.batch(key_problems, settings.problems, TESTED[task.name][size]).x
    descents = Descents(model, x, jax.random.split(key_guesses, settings.problems))
    start = time.perf_counter()
    verified = descents.first()
    seconds = time.perf_counter() - start
    verified_again = descents.again(verified, settings.restarts)
    return FamilyCell(
        task=task.name,
        method="irem",
        paper=None,
        size=size,
        trained=size == next(iter(TESTED[task.name])),
        iterations=settings.iterations,
        problems=settings.problems,
        solved=int(verified.sum()),
        seconds=seconds,
        restarts=settings.restarts,
        solved_again=int(verified_again.sum()),
        seconds_again=time.perf_counter() - start,
        searches=tuple(
            measure_search(x, name, settings) for name in (_own_search(task), WALKSAT) if name
        ),
        run=f"models/{task.name}-family",
        **study.origin(),
    )


class Descents:
    """Descents of a batch of problems, all by one compiled program.

    Arguments:
        model: The energy.
        x: The problems.
        keys: Where first guesses are drawn from, one key for each problem.
    """

    def __init__(self, model: Any, x: Puzzle, keys: Key[Array, " problems"]) -> None:
        self._model, self._x, self._keys = model, x, keys
        self.first()  # compiles

    def first(self) -> np.ndarray:
        """Return which problems one descent solves."""
        return self._verified(self._x, self._keys)

    def again(self, verified: np.ndarray, restarts: int) -> np.ndarray:
        """Return which problems are solved where those that are not are restarted.

        The batch is always full: the fewer problems are left, the more of their restarts are taken
        together.
        """
        verified, tried = verified.copy(), np.zeros(len(verified), int)
        while (left := np.flatnonzero(~verified & (tried < restarts))).size:
            rows = np.resize(left, len(verified))
            # Of the restarts of a problem, which one this is.
            number = tried[rows] + 1 + np.arange(len(rows)) // len(left)
            keys = jax.vmap(jax.random.fold_in)(self._keys[rows], number)
            some = jax.tree.map(lambda leaf, r=rows: leaf[r], self._x)
            holds = self._verified(some, keys) & (number <= restarts)
            verified[rows[holds]] = True
            np.add.at(tried, rows, 1)
        return verified

    def _verified(self, x: Puzzle, keys: Key[Array, " problems"]) -> np.ndarray:
        solution = solve_checked(self._model, x, key=keys, retries=0)
        return np.asarray(solution.verified)


def _own_search(task: AbstractTask) -> str | None:
    """The local search for one task alone."""
    return {"queens": "min-conflicts", "colouring": "Tabucol"}.get(task.name)


def measure_search(x: Puzzle, name: str, settings: Settings) -> LocalSearch:
    """Return what a local search solves of a batch of problems.

    Arguments:
        x: The problems; for min-conflicts empty boards.
        name: `"min-conflicts"`, `"Tabucol"` or `"WalkSAT"`.
        settings: How many steps it may take.
    """
    search = _SEARCHES[name]
    steps = settings.flips if name == WALKSAT else settings.moves
    x = jax.tree.map(np.asarray, x)
    solved, start = 0, time.perf_counter()
    for number in range(len(x.known)):
        one = jax.tree.map(lambda leaf, i=number: leaf[i], x)
        answer = search(one, steps, number)
        if answer is not None:
            alone = jax.tree.map(lambda leaf: leaf[None], one)
            solved += not broken_rules(alone, answer[None]).any()
    return LocalSearch(name=name, steps=steps, solved=solved, seconds=time.perf_counter() - start)


def _by_min_conflicts(x: Puzzle, steps: int, seed: int) -> np.ndarray | None:
    found = min_conflicts(round(x.known.size**0.5), steps, seed).answer
    return None if found is None else found.ravel()


def _by_tabucol(x: Puzzle, steps: int, seed: int) -> np.ndarray | None:
    nodes, groups = x.known.size // COLOURS, np.asarray(x.families[1].members)
    # Every edge has a group for each colour; those that only fill up have no variables.
    ends = groups[::COLOURS] // COLOURS
    edges = [(int(a), int(b)) for a, b in ends if a < nodes]
    found = tabucol(nodes, edges, COLOURS, steps, seed).answer
    if found is None:
        return None
    truths = (found[:, None] == np.arange(COLOURS)).ravel()
    return np.where(x.known == 0, truths, x.known > 0)


def _by_walksat(x: Puzzle, steps: int, seed: int) -> np.ndarray | None:
    return walksat(clauses(x), x.known.size, steps, seed=seed).answer


_SEARCHES: Mapping[str, Callable[[Puzzle, int, int], np.ndarray | None]] = MappingProxyType(
    {"min-conflicts": _by_min_conflicts, "Tabucol": _by_tabucol, WALKSAT: _by_walksat}
)


def table(cells: Sequence[FamilyCell], file: str) -> Table:
    """Problems and sizes down; shares solved and times of the energy and local searches across."""
    rows = []
    for index, cell in enumerate(cells):
        place = f"{file}: cells[{index}]"
        own = [found for found in cell.searches if found.name != WALKSAT]
        of_all = [found for found in cell.searches if found.name == WALKSAT]
        shown = [
            f"{cell.problems}",
            _solved(cell.solved, cell.seconds, cell),
            _solved(cell.solved_again, cell.seconds_again, cell),
            "; ".join(f"{s.name} {_solved(s.solved, s.seconds, cell)}" for s in own),
            *(_solved(s.solved, s.seconds, cell) for s in of_all),
        ]
        size = cell.size + (", as in training" if cell.trained else "")
        rows.append((Entry(cell.task), Entry(size), *(Entry(text, place) for text in shown)))
    header = ("puzzle", "size", "how many", "one descent", "with restarts", "own local search")
    return Table((*header, WALKSAT), tuple(rows), labels=2)


def _solved(solved: int, seconds: float, cell: FamilyCell) -> str:
    """The share that is solved, and milliseconds a problem."""
    ms = 1e3 * seconds / cell.problems
    shown = f"{ms:,.0f}" if ms >= _WHOLE_MS else f"{ms:.2g}"
    return f"{100 * solved / cell.problems:.0f} % ({shown} ms)"


def _describe(result: Result) -> str:
    cells = [cell for cell in result.cells if isinstance(cell, FamilyCell)]
    first = cells[0]
    budgets = {found.name: found.steps for cell in cells for found in cell.searches}
    steps = ", ".join(f"{name} {most:,}" for name, most in budgets.items())
    return (
        f"{result.file}: one model each, {first.iterations:,} iterations; at most "
        f"{first.restarts} restarts; at most so many steps of local search: {steps}; "
        f"{result.origin}"
    )


EXPERIMENT = Experiment(
    name="puzzle-family",
    title="Queens, Latin squares and colourings, beside local search",
    explanation=(
        "An energy for each, trained on one size, and local searches on the very same problems: "
        "min-conflicts for queens, Tabucol for colourings, WalkSAT for all. Boards of queens are "
        "empty, so that their problems differ in the first guess alone. Any answer that breaks no "
        "rule counts. Times are means over problems: those of the energy after compilation, all "
        "problems in one batch, check included; local searches are programs in Python on one core, "
        "one problem after another."
    ),
    run=run,
    kinds=(FamilyCell,),
    table=table,
    describe=_describe,
)
