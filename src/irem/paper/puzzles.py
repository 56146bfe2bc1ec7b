"""Sudoku by descent: shares of whole puzzles solved, and what steps and restarts are worth."""

import dataclasses
import functools
import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from irem.apps.puzzles import read_lines
from irem.descent import descend
from irem.errors import InputError
from irem.evaluation.answers import draw_puzzle
from irem.evaluation.tables import Entry, Table
from irem.methods import IREM
from irem.paper.cells import Cell
from irem.paper.experiment import Drawing, Experiment, Result
from irem.paper.study import Study
from irem.puzzles import Puzzle, box_shape, grid_of_truths, known_of_grid
from irem.tasks.exact import solve_exactly
from irem.tasks.sudoku import LISTS
from irem.training import load, solve_checked

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

_MODEL = "zoo:sudoku"
_TIMED = 64  # puzzles of a batch whose time is taken
_GIVENS_17, _MOST_MORE_GIVENS = 17, 17
# Published: IRED (Du and others, 2024), recurrent relational networks (Palm and others, 2018).
_PUBLISHED = {"easy": "99.4 (IRED)", "17 to 34 givens": "62.1 (IRED)", "17 givens": "96.6 (RRN)"}
_NAMES = {
    "easy": "31 to 42 givens",
    "minimal": "minimal, about 24 givens",
    "hard": "over 100 guesses",
    "large": "16 x 16, 60 % given",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class PuzzleCell(Cell):
    """A measurement on a set of puzzles.

    Arguments:
        part: Which part of the experiment: `sets`, `steps`, `starts` or `walk`.
        name: Name of the set.
        puzzles: How many of it.
    """

    part: str
    name: str
    puzzles: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class SetCell(PuzzleCell):
    """How many puzzles are solved, with the default settings of `irem solve`.

    Arguments:
        solved_by: How many have a verified answer after no restart, one, two and so on.
        wrong: Answers that count as verified and break a rule, as written down once more.
        seconds: Of the first descents of a batch of 64, after compilation, over their number.
    """

    solved_by: tuple[int, ...]
    wrong: int
    seconds: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class StepsCell(PuzzleCell):
    """How many puzzles one descent has solved after so many steps.

    Arguments:
        steps: Numbers of steps.
        solved: How many are solved at each.
    """

    steps: tuple[int, ...]
    solved: tuple[int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class StartsCell(PuzzleCell):
    """Whether the lowest energy of several descents tells the right answer.

    Arguments:
        starts: Descents of every puzzle.
        right: How many descents are right, of all.
        any_right: Puzzles of which some descent is right.
        lowest_right: Puzzles of which the descent of lowest energy is.
    """

    starts: int
    right: int
    any_right: int
    lowest_right: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class WalkCell(PuzzleCell):
    """The entries of one answer on the way down.

    Arguments:
        givens: The puzzle, row by row, 0 where a cell is empty.
        steps: Numbers of steps.
        entries: At each of them, how true it is that a cell holds a symbol, in hundredths.
        energies: The energy at each.
    """

    givens: tuple[int, ...]
    steps: tuple[int, ...]
    entries: tuple[tuple[int, ...], ...]
    energies: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is measured, before the share of the scale.

    Arguments:
        puzzles: How many of every set.
        restarts: Most restarts of a puzzle whose answer fails its check.
        steps: Numbers of steps at which puzzles are counted.
        long: How many puzzles take so many steps, and several starts.
        starts: Descents of every puzzle where energies are compared.
        walk: Steps of the walk that is drawn.
    """

    puzzles: int = 1000
    restarts: int = 63
    steps: tuple[int, ...] = (5, 10, 20, 50, 100, 200, 500)
    long: int = 250
    starts: int = 8
    walk: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 6, 8)

    def scaled(self, share: float) -> "Settings":
        """Return the settings with a share of the puzzles."""
        part = lambda value: max(round(share * value), 1)  # noqa: E731
        return dataclasses.replace(self, puzzles=part(self.puzzles), long=part(self.long))


SETTINGS = Settings()

_Measure = Callable[[Study, IREM, str, np.ndarray, Settings], PuzzleCell]

_KINDS = (SetCell, StepsCell, StartsCell, WalkCell)


def run(study: Study, settings: Settings = SETTINGS) -> list[PuzzleCell]:
    """Return puzzles solved by set, by steps and by starts, and one walk."""
    of = settings.scaled(study.scale.formulas)
    model = load(_MODEL).model
    assert isinstance(model, IREM)
    sets = {name: listed(name, of.puzzles) for name in _NAMES}
    if study.puzzles is not None:
        of_17 = seventeen_givens(study.puzzles)
        sets["17 to 34 givens"] = more_givens(of_17, of.puzzles)
        sets["17 givens"] = of_17[: of.puzzles]
    work: list[tuple[str, str, _Measure, np.ndarray]]
    work = [("sets", name, measure_set, grids) for name, grids in sets.items()]
    for name in ("minimal", "hard"):
        grids = listed(name, of.long)
        work += [("steps", name, measure_steps, grids), ("starts", name, measure_starts, grids)]
    work.append(("walk", "hard", measure_walk, listed("hard", 1)))
    return [
        cell
        for part, name, measure, grids in work
        for cell in study.cells(
            "puzzles",
            f"{part}-{name.replace(' ', '-')}",
            _KINDS,
            lambda m=measure, n=name, g=grids: [m(study, model, n, g, of)],
            settings={"puzzles": hashlib.sha256(grids.tobytes()).hexdigest()},
        )
    ]


def listed(name: str, count: int) -> np.ndarray:
    """Return the first puzzles of a list that comes with irem, as grids."""
    with np.load(LISTS) as lists:
        return _as_grids(lists[f"{name}_puzzles"][:count])


def _as_grids(rows: np.ndarray) -> np.ndarray:
    side = round(rows.shape[1] ** 0.5)
    return rows.reshape(-1, side, side).astype(np.int64)


def seventeen_givens(path: Path) -> np.ndarray:
    """Return the puzzles of a file of lines, all of 9 x 9 cells and 17 givens.

    Raises:
        InputError: It has others.
    """
    grids = [line.grid for line in read_lines(path)[1]]
    for grid in grids:
        if grid.shape != (9, 9) or (grid > 0).sum() != _GIVENS_17:
            raise InputError(
                f"'{path}' has a puzzle of {len(grid)} x {len(grid)} cells with "
                f"{int((grid > 0).sum())} givens; expected 9 x 9 with 17 each."
            )
    return np.stack(grids)


def more_givens(grids: np.ndarray, count: int) -> np.ndarray:
    """Return puzzles with 0 to 17 more cells of their solutions and other symbols.

    That is how recurrent relational networks are tested: each number of givens is as likely.
    """
    rng = np.random.default_rng(0)
    found = []
    for grid in grids[rng.choice(len(grids), count, replace=count > len(grids))]:
        empty = np.flatnonzero(grid == 0)
        more = rng.choice(empty, rng.integers(_MOST_MORE_GIVENS + 1), replace=False)
        full = grid.copy()
        full.flat[more] = _solution(grid).flat[more]
        found.append(np.concatenate([[0], rng.permutation(9) + 1])[full])
    return np.stack(found)


def _solution(grid: np.ndarray) -> np.ndarray:
    """The solution by a SAT solver."""
    x, _ = load(_MODEL).model.format.as_batch(grid)
    return grid_of_truths(solve_exactly(x)[0] > 0.5)


def measure_set(
    study: Study, model: IREM, name: str, grids: np.ndarray, settings: Settings
) -> SetCell:
    """Return how many puzzles have a verified answer after every number of restarts."""
    x, _ = model.format.as_batch(grids)
    keys = jax.random.split(jax.random.key(0), len(grids))
    tries = lambda x, keys: solve_checked(model, x, key=keys, retries=0)  # noqa: E731
    first = tries(x, keys)
    few = jax.tree.map(lambda leaf: leaf[:_TIMED], x)
    tries(few, keys[:_TIMED])
    start = time.perf_counter()
    jax.block_until_ready(tries(few, keys[:_TIMED]))
    seconds = (time.perf_counter() - start) / len(few.known)
    verified, answers = np.array(first.verified), np.array(first.y)
    solved_by = [int(verified.sum())]
    for attempt in range(1, settings.restarts + 1):
        left = np.flatnonzero(~verified)
        if left.size:
            # Repeated up to a power of two: few sizes need few programs.
            padded = np.resize(left, 1 << (left.size - 1).bit_length())
            some = jax.tree.map(lambda leaf, p=padded: leaf[p], x)
            again = tries(
                some, jax.vmap(lambda k, a=attempt: jax.random.fold_in(k, a))(keys[padded])
            )
            answers[padded] = np.asarray(again.y)
            verified[padded] = np.asarray(again.verified)
        solved_by.append(int(verified.sum()))
    wrong = [
        not is_solution(grid, grid_of_truths(y > 0.5))
        for grid, y in zip(grids[verified], answers[verified], strict=True)
    ]
    return SetCell(
        **_about(study, "sets", name, len(grids)),
        solved_by=tuple(solved_by),
        wrong=int(np.sum(wrong)),
        seconds=seconds,
    )


def is_solution(grid: np.ndarray, answer: np.ndarray) -> bool:
    """Return whether a full grid keeps the givens and has every symbol once in all lines, boxes."""
    size = len(grid)
    rows, columns = box_shape(size)
    boxes = answer.reshape(size // rows, rows, size // columns, columns).swapaxes(1, 2)
    lines = np.concatenate([answer, answer.T, boxes.reshape(size, size)])
    complete = (np.sort(lines, axis=1) == np.arange(1, size + 1)).all()
    return bool(complete and (answer[grid > 0] == grid[grid > 0]).all())


@functools.partial(jax.jit, static_argnames="num_steps")
def walked(
    model: IREM, x: Puzzle, points: Float[Array, "puzzles ..."], num_steps: int
) -> tuple[Array, Array, Array]:
    """Return the points after some steps, their energies and answers, in full precision."""

    def one(x: Puzzle, point: Array) -> tuple[Array, Array, Array]:
        landscape = model.landscape(x)
        point = descend(landscape, point, model.step_size, num_steps)
        return point, landscape(point), model.read(x, point)

    with jax.default_matmul_precision("float32"):
        return jax.lax.map(lambda pair: one(*pair), (x, points), batch_size=64)


def begun(model: IREM, x: Puzzle, key: PRNGKeyArray) -> Float[Array, "puzzles ..."]:
    """Return a point for every puzzle where a descent begins."""
    shape = x.known.shape[1:]
    keys = jax.random.split(key, x.known.shape[0])
    return jax.vmap(lambda x, k: model.start(x, shape, key=k))(x, keys)


def right_answers(grids: np.ndarray, answers: Array) -> np.ndarray:
    """Return which answers are solutions."""
    found = grid_of_truths(np.asarray(answers) > 0.5)
    return np.array([is_solution(*pair) for pair in zip(grids, found, strict=True)])


def measure_steps(
    study: Study, model: IREM, name: str, grids: np.ndarray, settings: Settings
) -> StepsCell:
    """Return how many puzzles one descent has solved after some numbers of steps."""
    x, _ = model.format.as_batch(grids)
    points, solved, before = begun(model, x, jax.random.key(0)), [], 0
    for steps in settings.steps:
        points, _, answers = walked(model, x, points, steps - before)
        solved.append(int(right_answers(grids, answers).sum()))
        before = steps
    return StepsCell(
        **_about(study, "steps", name, len(grids)), steps=settings.steps, solved=tuple(solved)
    )


def measure_starts(
    study: Study, model: IREM, name: str, grids: np.ndarray, settings: Settings
) -> StartsCell:
    """Return for how many puzzles the lowest energy of several descents is that of a solution."""
    x, _ = model.format.as_batch(grids)
    num_steps = model.default_max_steps
    energies, right = [], []
    for number in range(settings.starts):
        points = begun(model, x, jax.random.key(number))
        _, energy, answers = walked(model, x, points, num_steps)
        energies.append(np.asarray(energy))
        right.append(right_answers(grids, answers))
    lowest = np.argmin(energies, axis=0)
    return StartsCell(
        **_about(study, "starts", name, len(grids)),
        starts=settings.starts,
        right=int(np.sum(right)),
        any_right=int(np.any(right, axis=0).sum()),
        lowest_right=int(np.array(right)[lowest, np.arange(len(grids))].sum()),
    )


def measure_walk(
    study: Study, model: IREM, name: str, grids: np.ndarray, settings: Settings
) -> WalkCell:
    """Return the entries of the answer to the first puzzle on the way down."""
    x, _ = model.format.as_batch(grids[:1])
    point, before, entries, energies = begun(model, x, jax.random.key(0)), 0, [], []
    for steps in settings.walk:
        point, energy, y = walked(model, x, point, steps - before)
        before = steps
        hundredths = np.rint(100 * np.clip(np.asarray(y[0]), 0, 1)).astype(int)
        entries.append(tuple(hundredths.tolist()))
        energies.append(float(energy[0]))
    return WalkCell(
        **_about(study, "walk", name, 1),
        givens=tuple(grids[0].ravel().tolist()),
        steps=settings.walk,
        entries=tuple(entries),
        energies=tuple(energies),
    )


def _about(study: Study, part: str, name: str, puzzles: int) -> dict[str, Any]:
    about = {"task": "sudoku", "method": "irem", "paper": None}
    return {**about, "part": part, "name": name, "puzzles": puzzles, **study.origin()}


def _percent(solved: int, puzzles: int) -> str:
    return f"{100 * solved / max(puzzles, 1):.1f}"


def table(cells: Sequence[PuzzleCell], file: str) -> Table:
    """Sets of puzzles down; shares solved by one descent and with restarts across."""
    header = ("puzzles", "how many", "published, %", "one descent, %", "with restarts, %")
    rows = []
    for index, cell in enumerate(cells):
        if not isinstance(cell, SetCell):
            continue
        shares = [_percent(n, cell.puzzles) for n in (cell.solved_by[0], cell.solved_by[-1])]
        shown = [*shares, str(cell.wrong), f"{1000 * cell.seconds:.3g}"]
        place = f"{file}: cells[{index}]"
        rows.append(
            (
                Entry(_NAMES.get(cell.name, cell.name)),
                Entry(f"{cell.puzzles:,}", place),
                Entry(_PUBLISHED.get(cell.name, "")),
                *(Entry(text, place) for text in shown),
            )
        )
    return Table((*header, "wrong answers", "milliseconds"), tuple(rows), labels=1)


def draw_curves(result: Result) -> "matplotlib.figure.Figure":
    """Draw the share that is not solved against restarts, and against steps."""
    from irem.paper import drawing  # noqa: PLC0415  (only drawing loads matplotlib)

    figure, ((restarts, steps),) = drawing.grid(1, 2, 4.4, 3.2)
    colours = dict(zip(_NAMES, ("#0f766e", "#2563eb", "#c2410c", "#7c3aed"), strict=True))
    for cell in result.cells:
        if isinstance(cell, SetCell):
            left = 100 - 100 * np.asarray(cell.solved_by) / cell.puzzles
            label = _NAMES.get(cell.name, cell.name)
            colour = colours.get(cell.name)
            restarts.plot(1 + np.arange(len(left)), left, label=label, color=colour)
        if isinstance(cell, StepsCell):
            left = 100 - 100 * np.asarray(cell.solved) / cell.puzzles
            label = _NAMES.get(cell.name, cell.name)
            steps.plot(cell.steps, left, "o-", label=label, color=colours.get(cell.name))
    for axes, label in ((restarts, "descents of a puzzle, at most"), (steps, "steps, one descent")):
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=0.1)
        axes.set_ylim(0, 100)
        axes.set_xlabel(label)
        axes.set_ylabel("puzzles not solved, %")
        if axes.lines:
            axes.legend(frameon=False, fontsize=8)
    return figure


def draw_walk(result: Result) -> "matplotlib.figure.Figure":
    """Draw the entries of one answer on the way down, as shades of certainty."""
    from irem.paper import drawing  # noqa: PLC0415  (only drawing loads matplotlib)

    walks = [cell for cell in result.cells if isinstance(cell, WalkCell)]
    count = max((len(cell.steps) for cell in walks), default=1)
    columns = min(count, 4)
    figure, panels = drawing.grid(-(-count // columns), columns, 2.9, 3.1)
    flat = [axes for row in panels for axes in row]
    for axes in flat:
        axes.set_axis_off()
    for cell in walks[:1]:
        for axes, steps, entries in zip(flat, cell.steps, cell.entries, strict=False):
            known = known_of_grid(np.asarray(cell.givens).reshape(9, 9))
            draw_puzzle(axes, known, np.asarray(entries) / 100)
            axes.set_title(f"{steps} step" + "s" * (steps != 1), fontsize=10)
    return figure


def _describe(result: Result) -> str:
    return (
        f"{result.file}: whole puzzles with an answer that is verified, default settings of "
        f"`irem solve zoo:sudoku`; {result.origin}"
    )


EXPERIMENT = Experiment(
    name="puzzles",
    title="Sudoku by descent",
    explanation=(
        "One model, trained on minimal and harder puzzles of 9 x 9 cells, and sets of puzzles that "
        "it has not seen; larger ones it has never seen at all. An answer counts if it is verified "
        "by all rules and givens. Restarts, up to 63, are for puzzles whose answer fails. Wrong "
        "answers are those that were called verified and break a rule. The time is that of one "
        "descent, check included, in a batch of 64, over their number."
    ),
    run=run,
    kinds=_KINDS,
    table=table,
    drawings={
        "puzzles": Drawing(
            "Sudoku: the share of puzzles that is not solved, against the number of descents and "
            "against the steps of one descent.",
            draw_curves,
            wide=True,
        ),
        "puzzle-walk": Drawing(
            "The walk of one hard Sudoku down its landscape: givens are bold, other symbols are as "
            "dark as the answer is certain of them.",
            draw_walk,
            wide=True,
        ),
    },
    describe=_describe,
)
