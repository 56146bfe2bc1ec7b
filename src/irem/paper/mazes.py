"""Prefix sums and mazes far larger than those of training, by descent and by recurrence."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

import irem
from irem import tasks as all_tasks
from irem.descent import update
from irem.evaluation.answers import draw_maze
from irem.evaluation.tables import Entry, Table
from irem.keys import fresh_key
from irem.methods import IREM, Recurrent
from irem.paper.cells import Cell
from irem.paper.experiment import Drawing, Experiment, Result
from irem.paper.study import Study, num_parameters
from irem.problem import Problem
from irem.tasks import AbstractTask
from irem.training import BEST, Recipe

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.figure

LINES, MAZES = "prefix-sums", "maze"
"""The tasks."""

ENERGY, RECALL, NO_RECALL = "irem", "recurrent-recall", "recurrent"
"""The methods: the energy, and a recurrent convolution with and without recall."""

PARTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        task if method == ENERGY else f"{task}-{method}": (task, method)
        for task in (LINES, MAZES)
        for method in (ENERGY, RECALL, NO_RECALL)
    }
)
"""Task and method of every part of the experiment, each of which is trained and kept by itself."""

BY_ITSELF, LONGER, OTHER_START = "by itself", "10 times more steps", "begins at another answer"
"""How a descent goes: it stops by itself, goes on much longer, or has another first guess."""

# Published for DT-Recall, a recurrent network with recall and progressive training (Bansal and
# others, 2022, arXiv:2202.05826), on its own test problems.
_PUBLISHED = {(LINES, "fair", 512): "97.1 ± 1.9"} | {
    (MAZES, "trees", size): share for size, share in ((13, "99.9"), (59, "97.3"), (201, "74"))
}
_METHODS = {
    ENERGY: "energy",
    RECALL: "recurrent convolution, recall",
    NO_RECALL: "recurrent convolution, no recall",
}
_VARIANTS = {"fair": "lines of bits", "trees": "mazes, trees", "loops": "mazes with loops"}
_SMALL = {"energy.width": 16, "energy.layers": 2, "batch_size": 16, "optimiser.warm_up": 20}
_OPENED = 0.1


@dataclasses.dataclass(frozen=True, kw_only=True)
class SizeCell(Cell):
    """A measurement on problems of one size.

    Arguments:
        variant: The kind of problems: a variant of the task.
        size: Bits of a line, or rows of a maze.
    """

    variant: str
    size: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainedCell(SizeCell):
    """A measurement of several models.

    Arguments:
        problems: How many problems.
        iterations: Updates of training.
        parameters: How many numbers of a model are trained.
        run: Folder of the models within the study.
    """

    problems: int
    iterations: int
    parameters: int
    run: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class DescentCell(TrainedCell):
    """How many problems descents of an energy solve as a whole.

    Arguments:
        condition: How the descent goes.
        solved: Problems solved, by seed.
        steps_mean: Mean number of steps of a descent, by seed.
        steps_most: The largest number of steps, by seed.
    """

    condition: str
    solved: tuple[int, ...]
    steps_mean: tuple[float, ...]
    steps_most: tuple[int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RecurrentCell(TrainedCell):
    """How many problems a recurrent network solves as a whole.

    Arguments:
        steps: Numbers of steps; the first one is that of training.
        solved: Problems solved after each of them, by seed.
    """

    steps: tuple[int, ...]
    solved: tuple[tuple[int, ...], ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpeedCell(SizeCell):
    """How many entries of one answer are right after numbers of steps.

    Arguments:
        entries: How many entries the answer has.
        ones: How many of them are to be 1: the cells of a path.
        steps: Numbers of steps.
        right: How many entries are right after each of them.
        ones_right: How many of those that are to be 1.
    """

    entries: int
    ones: int
    steps: tuple[int, ...]
    right: tuple[int, ...]
    ones_right: tuple[int, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class WalkCell(SizeCell):
    """The entries of one answer on the way down.

    Arguments:
        symbols: The maze, row by row.
        steps: Numbers of steps.
        entries: The answer after each of them, row by row, in hundredths.
    """

    symbols: tuple[int, ...]
    steps: tuple[int, ...]
    entries: tuple[tuple[int, ...], ...]


# Settings of every measurement beside those of training.
_MEASURED_WITH = ("longer", "moments", "pictures")

_KINDS = (DescentCell, RecurrentCell, SpeedCell, WalkCell)


@dataclasses.dataclass(frozen=True)
class Tested:
    """Problems to be tested on: their variant, their size, and how many."""

    variant: str
    size: int
    problems: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is trained and measured of one task, before the share of the scale.

    Arguments:
        iterations: Updates of training of the energy.
        sizes: Problems to be tested on.
        others: Of those sizes, which are solved from the answers to other problems as well.
        longer: Problems on which descents go on much longer.
        watched: Size of a problem whose entries are counted on the way; the variant is the first.
    """

    iterations: int
    sizes: tuple[Tested, ...]
    others: tuple[Tested, ...]
    longer: Tested
    watched: int


_PLANS = {
    LINES: Plan(
        5_000,
        (Tested("fair", 32, 1000), Tested("fair", 512, 200), Tested("fair", 4096, 20)),
        (Tested("fair", 512, 200),),
        Tested("fair", 512, 50),
        512,
    ),
    MAZES: Plan(
        12_000,
        (
            Tested("trees", 9, 1000),
            Tested("trees", 13, 500),
            Tested("trees", 59, 100),
            Tested("trees", 201, 4),
            Tested("loops", 9, 1000),
            Tested("loops", 59, 100),
        ),
        (Tested("trees", 59, 50), Tested("loops", 59, 50)),
        Tested("trees", 59, 16),
        59,
    ),
}
_QUICK_PLANS = {
    LINES: Plan(
        5_000,
        (Tested("fair", 32, 1000), Tested("fair", 33, 1000)),
        (Tested("fair", 33, 1000),),
        Tested("fair", 33, 200),
        33,
    ),
    MAZES: Plan(
        6_000,
        (Tested("trees", 9, 1000), Tested("trees", 13, 500), Tested("loops", 9, 1000)),
        (Tested("trees", 13, 500), Tested("loops", 9, 1000)),
        Tested("trees", 13, 100),
        13,
    ),
}


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is trained and measured, before the share of the scale.

    Arguments:
        parts: Names of `PARTS`.
        seeds: Most models of each part.
        plans: Lengths of training and sizes of problems, by task.
        recurrent_iterations: Updates of training of a recurrent network.
        recurrent_steps: Its steps in training.
        longer: How many times the steps that were needed are taken where descents go on.
        moments: After how many numbers of steps right entries are counted.
        drawn: Rows of the maze whose answer is drawn.
        pictures: After how many numbers of steps.
        changes: What differs from the recipes `best`, as `Recipe.override` takes it.
    """

    parts: tuple[str, ...] = tuple(PARTS)
    seeds: int = 3
    plans: Mapping[str, Plan] = dataclasses.field(default_factory=lambda: dict(_PLANS))
    recurrent_iterations: int = 3_000
    recurrent_steps: int = 10
    longer: int = 10
    moments: int = 33
    drawn: int = 21
    pictures: int = 8
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def scaled(self, iterations: float, problems: float) -> "Settings":
        """Return the settings with a share of iterations and one of problems.

        Less than all iterations are those of small models, which are tested on small problems.
        """
        if iterations == problems == 1:
            return self
        share = lambda part, value: max(round(part * value), 1)  # noqa: E731
        fewer = lambda t: dataclasses.replace(t, problems=share(problems, t.problems))  # noqa: E731
        plans = {
            name: Plan(
                share(iterations, plan.iterations),
                tuple(map(fewer, plan.sizes)),
                tuple(map(fewer, plan.others)),
                fewer(plan.longer),
                plan.watched,
            )
            for name, plan in (_QUICK_PLANS if self.plans == _PLANS else self.plans).items()
        }
        return dataclasses.replace(
            self,
            plans=plans,
            recurrent_iterations=share(iterations, self.recurrent_iterations),
            changes={**_SMALL, **self.changes},
        )


SETTINGS = Settings()


def run(study: Study, settings: Settings = SETTINGS) -> list[SizeCell]:
    """Return what energies and recurrent networks solve, by task, size and condition."""
    of = settings.scaled(study.scale.structure, study.scale.formulas)
    return [cell for name in of.parts for cell in Part(study, name, of).cells()]


def recipe_of(part: str, settings: Settings) -> Recipe:
    """Return how the models of a part are trained.

    Recurrent networks have width and layers of the energy, and its optimiser.
    """
    task, method = PARTS[part]
    best = Recipe.named(task, BEST).override(settings.changes)
    if method == ENERGY:
        return best.override({"iterations": settings.plans[task].iterations})
    energy = best.settings["energy"]
    return best.override(
        {
            "method.name": "recurrent",
            "method.num_steps": settings.recurrent_steps,
            "cell.name": "grid",
            "cell.width": energy["width"],
            "cell.layers": energy["layers"],
            "cell.recall": method == RECALL,
            "iterations": settings.recurrent_iterations,
        }
    )


class Part:
    """One task and one method: the training of its models, and what these solve.

    Arguments:
        study: Where models are kept.
        name: One of `PARTS`.
        settings: Lengths and sizes.
    """

    def __init__(self, study: Study, name: str, settings: Settings) -> None:
        self._study, self._name, self._settings = study, name, settings
        self._task, self._method = PARTS[name]
        self._plan = settings.plans[self._task]
        self._recipe = recipe_of(name, settings)
        self._seeds = min(study.scale.seeds, settings.seeds)
        # By variant and size: fewer problems are the first ones of those that were drawn before,
        # and so are first guesses, which saves compiling for every number of problems.
        self._drawn: dict[tuple[str, int], Problem] = {}
        self._steps: dict[tuple[str, int], list[np.ndarray]] = {}

    def cells(self) -> list[SizeCell]:
        """Return what the models solve; each measurement is kept by itself."""
        known = {
            "seeds": self._seeds,
            "recipe": self._recipe.settings,
            **{name: getattr(self._settings, name) for name in _MEASURED_WITH},
        }
        return [
            cell
            for what, tested, measure in self._work()
            for cell in self._study.cells(
                "mazes",
                f"{self._name}-{what}-{tested.variant}-{tested.size}",
                _KINDS,
                lambda m=measure, t=tested: [m(t)],
                settings={**known, "tested": dataclasses.asdict(tested)},
            )
        ]

    def _work(self) -> list[tuple[str, Tested, Callable[[Tested], SizeCell]]]:
        """The name, the problems and the function of every measurement."""
        plan = self._plan
        if self._method != ENERGY:
            return [("solved", tested, self._recurrent) for tested in plan.sizes]
        work: list[tuple[str, Tested, Callable[[Tested], SizeCell]]]
        work = [("solved", tested, self._descents) for tested in plan.sizes]
        work += [("from-others", tested, self._from_others) for tested in plan.others]
        work.append(("longer", plan.longer, self._longer))
        work.append(("speed", Tested(plan.sizes[0].variant, plan.watched, 1), self._speed))
        if self._task == MAZES:
            work.append(("walk", Tested("loops", self._settings.drawn, 1), self._walk))
        return work

    @functools.cached_property
    def _models(self) -> Sequence[Any]:
        """The models of all seeds, trained when they are first needed."""
        label = f"mazes-{self._name}"
        task = self._recipe.make_task()
        return self._study.trained(task, self._recipe, label, seeds=self._seeds)[0].models

    def _descents(self, tested: Tested) -> DescentCell:
        """Problems solved by one descent each, which stops by itself."""
        task, problems, key = self._problems(tested)
        found = [irem.solve(model, problems.x, key=key) for model in self._models]
        solved = [num_solved(task, problems, solution.y) for solution in found]
        steps = [np.asarray(solution.steps) for solution in found]
        self._steps[tested.variant, tested.size] = steps
        return self._descent_cell(tested, BY_ITSELF, solved, steps)

    def _steps_of(self, number: int, model: IREM, tested: Tested) -> np.ndarray:
        """The steps of descents of a model, from an earlier measurement if there is one."""
        kept = self._steps.get((tested.variant, tested.size))
        if kept is not None and len(kept[number]) >= tested.problems:
            return kept[number][: tested.problems]
        _, problems, key = self._problems(tested)
        return np.asarray(irem.solve(model, problems.x, key=key).steps)

    def _from_others(self, tested: Tested) -> DescentCell:
        """Problems solved by descents that begin at the right answers to other problems."""
        task, problems, key = self._problems(tested)
        y0 = jnp.roll(problems.y, 1, axis=0)
        found = [irem.solve(model, problems.x, y0, key=key) for model in self._models]
        solved = [num_solved(task, problems, solution.y) for solution in found]
        steps = [np.asarray(solution.steps) for solution in found]
        return self._descent_cell(tested, OTHER_START, solved, steps)

    def _longer(self, tested: Tested) -> DescentCell:
        """Problems solved after several times as many steps as the slowest descent needs."""
        task, problems, key = self._problems(tested)
        solved, steps = [], []
        for number, model in enumerate(self._models):
            most = int(self._steps_of(number, model, tested).max())
            steps.append(np.full(tested.problems, self._settings.longer * most))
            points = begun(model, problems.x, key)
            _, y = walked(model, problems.x, points, jnp.asarray(steps[-1][0]))
            solved.append(num_solved(task, problems, y))
        return self._descent_cell(tested, LONGER, solved, steps)

    def _recurrent(self, tested: Tested) -> RecurrentCell:
        """Problems solved after a growing number of steps."""
        task, problems, _ = self._problems(tested)
        numbers, solved = step_numbers(self._models[0], problems.x[0]), []
        for model in self._models:
            states, before, counts = jax.vmap(model.cell.init)(problems.x), 0, []
            for number in numbers:
                states, y = continued(model, problems.x, states, jnp.asarray(number - before))
                counts.append(num_solved(task, problems, y))
                before = number
            solved.append(tuple(counts))
        about = self._about_models(tested, self._settings.recurrent_iterations)
        return RecurrentCell(**about, steps=numbers, solved=tuple(solved))

    def _speed(self, tested: Tested) -> SpeedCell:
        """Right entries of the answer to one problem on the way down."""
        _, problems, _ = self._problems(tested)
        numbers, answers = self._on_the_way(tested, self._settings.moments)
        y = np.asarray(problems.y[0]) > 0.5
        right = [(answer > 0.5) == y for answer in answers]
        return SpeedCell(
            **self._about(tested),
            entries=y.size,
            ones=int(y.sum()),
            steps=numbers,
            right=tuple(int(these.sum()) for these in right),
            ones_right=tuple(int(these[y].sum()) for these in right),
        )

    def _walk(self, tested: Tested) -> WalkCell:
        """The answer to one problem on the way down."""
        _, problems, _ = self._problems(tested)
        numbers, answers = self._on_the_way(tested, self._settings.pictures)
        hundredths = [np.rint(100 * np.clip(answer, 0, 1)).astype(int) for answer in answers]
        return WalkCell(
            **self._about(tested),
            symbols=tuple(np.asarray(problems.x[0]).ravel().tolist()),
            steps=numbers,
            entries=tuple(tuple(entries.ravel().tolist()) for entries in hundredths),
        )

    def _on_the_way(self, tested: Tested, count: int) -> tuple[tuple[int, ...], list[np.ndarray]]:
        """Evenly spaced numbers of steps until the first model stops, and the answers."""
        _, problems, key = self._problems(tested)
        model = self._models[0]
        most = int(self._steps_of(0, model, tested)[0])
        numbers = tuple(np.unique(np.linspace(0, most, count).round().astype(int)).tolist())
        points, before, answers = begun(model, problems.x, key), 0, []
        for number in numbers:
            points, y = walked(model, problems.x, points, jnp.asarray(number - before))
            answers.append(np.asarray(y[0]))
            before = number
        return numbers, answers

    def _problems(self, tested: Tested) -> tuple[AbstractTask, Problem, PRNGKeyArray]:
        """The task with its variant, its problems, and a key for first guesses."""
        key_problems, key_guesses = jax.random.split(fresh_key(0, "evaluate"))
        settings = {"opened": _OPENED} if tested.variant == "loops" else {}
        task = all_tasks.get(self._task, variant=tested.variant, **settings)
        drawn = self._drawn.get((tested.variant, tested.size))
        if drawn is None or len(drawn.y) < tested.problems:
            drawn = task.batch(key_problems, tested.problems, tested.size)
            self._drawn[tested.variant, tested.size] = drawn
        return task, jax.tree.map(lambda leaf: leaf[: tested.problems], drawn), key_guesses

    def _descent_cell(
        self,
        tested: Tested,
        condition: str,
        solved: Sequence[int],
        steps: Sequence[np.ndarray],
    ) -> DescentCell:
        return DescentCell(
            **self._about_models(tested, self._plan.iterations),
            condition=condition,
            solved=tuple(solved),
            steps_mean=tuple(float(of_seed.mean()) for of_seed in steps),
            steps_most=tuple(int(of_seed.max()) for of_seed in steps),
        )

    def _about_models(self, tested: Tested, iterations: int) -> dict[str, Any]:
        return {
            **self._about(tested),
            "problems": tested.problems,
            "iterations": iterations,
            "parameters": num_parameters(self._models[0]),
            "run": f"models/mazes-{self._name}",
        }

    def _about(self, tested: Tested) -> dict[str, Any]:
        about = {"task": self._task, "method": self._method, "paper": None}
        return {**about, "variant": tested.variant, "size": tested.size, **self._study.origin()}


def num_solved(task: AbstractTask, problems: Problem, y: Array) -> int:
    """Return how many problems are solved as a whole."""
    return int((np.asarray(task.residuals(problems.x, np.asarray(y))) == 0).sum())


def begun(model: IREM, x: Int[Array, "problems ..."], key: PRNGKeyArray) -> Array:
    """Return the points where `irem.solve` lets descents begin, by the same key."""
    keys = jax.random.split(key, len(x))
    return jax.vmap(lambda x, k: model.start(x, x.shape, key=k))(x, keys)


@eqx.filter_jit
def walked(
    model: IREM,
    x: Int[Array, "problems ..."],
    points: Float[Array, "problems ..."],
    num_steps: Int[Array, ""],
) -> tuple[Array, Array]:
    """Return the points after some steps that do not halt, and their answers, in full precision.

    The number of steps is traced, so that all numbers share one compiled program.
    """

    def one(x: Array, point: Array) -> tuple[Array, Array]:
        slope = jax.grad(model.landscape(x))
        step = lambda _, p: update(p, slope(p), model.step_size)  # noqa: E731
        point = jax.lax.fori_loop(0, num_steps, step, point)
        return point, model.read(x, point)

    with jax.default_matmul_precision("float32"):
        return jax.vmap(one)(x, points)


def step_numbers(model: Recurrent, x: Int[Array, "..."]) -> tuple[int, ...]:
    """Return numbers of steps, each twice the one before, up to those that a problem is given."""
    most, numbers = model.cell.steps_for(x, model.num_steps), [model.num_steps]
    while numbers[-1] < most:
        numbers.append(min(2 * numbers[-1], most))
    return tuple(numbers)


@eqx.filter_jit
def continued(
    model: Recurrent, x: Int[Array, "problems ..."], states: PyTree, num_steps: Int[Array, ""]
) -> tuple[PyTree, Float[Array, "problems ..."]]:
    """Return the states of a recurrent network after some more steps, and its answers."""

    def one(x: Array, state: PyTree) -> tuple[PyTree, Array]:
        step = lambda _, pair: model.cell(x, pair[0])  # noqa: E731
        return jax.lax.fori_loop(0, num_steps, step, (state, jnp.zeros(x.shape)))

    with jax.default_matmul_precision("float32"):
        return jax.vmap(one)(x, states)


def best_number(cell: RecurrentCell) -> int:
    """Return which of the numbers of steps solves most problems of all seeds."""
    return int(np.argmax(np.sum(cell.solved, axis=0)))


def shown_conditions(cell: TrainedCell) -> dict[str, tuple[tuple[int, ...], str]]:
    """Return the rows of a cell: by condition, problems solved by seed, and steps in words."""
    if isinstance(cell, RecurrentCell):
        best, last = best_number(cell), len(cell.steps) - 1
        at = lambda i: (tuple(row[i] for row in cell.solved), f"{cell.steps[i]:,}")  # noqa: E731
        return {"best number of steps": at(best), "most steps": at(last)}
    assert isinstance(cell, DescentCell)
    steps = f"{np.mean(cell.steps_mean):,.0f} (most {max(cell.steps_most):,})"
    return {cell.condition: (cell.solved, steps)}


def table(cells: Sequence[SizeCell], file: str) -> Table:
    """Tasks, sizes and methods down; shares solved, published ones and steps across."""
    rows = []
    for index, cell in enumerate(cells):
        if not isinstance(cell, TrainedCell):
            continue
        place = f"{file}: cells[{index}]"
        for condition, (solved, steps) in shown_conditions(cell).items():
            labels = [_VARIANTS[cell.variant], f"{cell.size:,}", _METHODS[cell.method], condition]
            published = _PUBLISHED.get((cell.task, cell.variant, cell.size), "")
            shares = 100 * np.asarray(solved) / cell.problems
            shown = [f"{cell.problems:,}", _spread(shares), f"{shares.min():.1f}"]
            rows.append(
                (
                    *map(Entry, labels),
                    *(Entry(text, place) for text in shown),
                    Entry(published),
                    Entry(steps, place),
                )
            )
    header = ("problems", "size", "method", "steps are", "how many", "solved, %", "worst seed, %")
    return Table((*header, "published, %", "steps"), tuple(rows), labels=4)


def _spread(shares: np.ndarray) -> str:
    """The mean over seeds, and the standard deviation where there are several."""
    mean = f"{shares.mean():.1f}"
    return mean if len(shares) == 1 else f"{mean} ± {shares.std(ddof=1):.1f}"


_COLOURS = {ENERGY: "#0f766e", RECALL: "#c2410c", NO_RECALL: "#7c3aed"}
_MARKS = {ENERGY: "o-", RECALL: "s--", NO_RECALL: "^:"}


def draw_sizes(result: Result) -> "matplotlib.figure.Figure":
    """Draw the share of problems solved against their size, for every method."""
    from irem.paper import drawing  # noqa: PLC0415  (only drawing loads matplotlib)

    figure, (panels,) = drawing.grid(1, len(_VARIANTS), 3.6, 3.2)
    for axes, (variant, name) in zip(panels, _VARIANTS.items(), strict=True):
        sizes: set[int] = set()
        for method, words in _METHODS.items():
            shares = _shares(result, method, variant)
            sizes |= set(shares)
            if shares:
                axes.plot(
                    list(shares),
                    [of_seeds.mean() for of_seeds in shares.values()],
                    _MARKS[method],
                    color=_COLOURS[method],
                    label=words,
                )
                low, high = zip(*((s.min(), s.max()) for s in shares.values()), strict=True)
                axes.fill_between(list(shares), low, high, color=_COLOURS[method], alpha=0.15)
        axes.set_title(name, fontsize=10)
        _size_axis(axes, sizes, variant)
        axes.set_ylim(-3, 103)
        axes.set_ylabel("solved, %")
    if panels[0].lines:
        panels[0].legend(frameon=False, fontsize=7)
    return figure


def _shares(result: Result, method: str, variant: str) -> dict[int, np.ndarray]:
    """By size, the share that every seed solves: at the best number of steps, or by itself."""
    shares = {}
    for cell in result.cells:
        if isinstance(cell, TrainedCell) and (cell.method, cell.variant) == (method, variant):
            for condition, (solved, _) in shown_conditions(cell).items():
                if condition in (BY_ITSELF, "best number of steps"):
                    shares[cell.size] = 100 * np.asarray(solved) / cell.problems
    return dict(sorted(shares.items()))


def _size_axis(axes: "matplotlib.axes.Axes", sizes: set[int], variant: str) -> None:
    axes.set_xscale("log")
    axes.set_xticks(sorted(sizes), [f"{size:,}" for size in sorted(sizes)])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("bits" if variant == "fair" else "rows of a maze")


def draw_steps(result: Result) -> "matplotlib.figure.Figure":
    """Draw the steps of descents against size, and the entries that are right against steps."""
    from irem.paper import drawing  # noqa: PLC0415  (only drawing loads matplotlib)

    figure, ((by_size, right),) = drawing.grid(1, 2, 4.4, 3.2)
    styles = dict(zip(_VARIANTS, ("o-", "s--", "^:"), strict=True))
    colours = dict(zip(_VARIANTS, ("#0f766e", "#2563eb", "#c2410c"), strict=True))
    for variant, name in _VARIANTS.items():
        found = {
            cell.size: float(np.mean(cell.steps_mean))
            for cell in result.cells
            if isinstance(cell, DescentCell)
            and (cell.variant, cell.condition) == (variant, BY_ITSELF)
        }
        if found:
            x, y = zip(*sorted(found.items()), strict=True)
            by_size.plot(x, y, styles[variant], color=colours[variant], label=name)
    by_size.set_xscale("log")
    by_size.set_yscale("log")
    by_size.set_xlabel("bits, or rows of a maze")
    by_size.set_ylabel("mean steps of a descent")
    for cell in result.cells:
        if isinstance(cell, SpeedCell):
            shares = 100 * np.asarray(cell.ones_right) / cell.ones
            label = f"{_VARIANTS[cell.variant]}, {cell.size:,}"
            right.plot(
                cell.steps, shares, styles[cell.variant], color=colours[cell.variant], label=label
            )
    right.set_xlabel("steps of one descent")
    right.set_ylabel("entries that are 1 and right, %")
    for axes in (by_size, right):
        if axes.lines:
            axes.legend(frameon=False, fontsize=8)
    return figure


def draw_walk(result: Result) -> "matplotlib.figure.Figure":
    """Draw the answer to one maze on the way down: the path as dark as it is certain."""
    from irem.paper import drawing  # noqa: PLC0415  (only drawing loads matplotlib)

    walks = [cell for cell in result.cells if isinstance(cell, WalkCell)]
    count = max((len(cell.steps) for cell in walks), default=1)
    columns = min(count, 4)
    figure, panels = drawing.grid(-(-count // columns), columns, 2.4, 2.6)
    flat = [axes for row in panels for axes in row]
    for axes in flat:
        axes.set_axis_off()
    for cell in walks[:1]:
        shape = (cell.size, cell.size)
        symbols = np.asarray(cell.symbols).reshape(shape)
        for axes, steps, entries in zip(flat, cell.steps, cell.entries, strict=False):
            draw_maze(axes, symbols, np.asarray(entries).reshape(shape) / 100)
            axes.set_title(f"{steps:,} step" + "s" * (steps != 1), fontsize=10)
    return figure


def _describe(result: Result) -> str:
    trained = [cell for cell in result.cells if isinstance(cell, TrainedCell)]
    sizes = {
        (cell.task, cell.method): f"{cell.iterations:,} iterations, {cell.parameters:,} parameters"
        for cell in trained
    }
    words = "; ".join(f"{task}, {_METHODS[m]}: {text}" for (task, m), text in sizes.items())
    seeds = max((len(cell.solved) for cell in trained if isinstance(cell, DescentCell)), default=0)
    return f"{result.file}: {seeds} seeds; {words}; {result.origin}"


_EXPLANATION = (
    "Trained on lines of 32 bits and on mazes of 9 x 9 cells alone, and tested on larger ones. A "
    "problem counts as solved if every bit is right, or if the path is a shortest one from the "
    "start to the end. Descents stop by themselves; they are also continued for ten times the "
    "steps of the slowest one of the batch, and begun at the answer to another problem. The "
    "recurrent convolution has the layers of the energy and about as many parameters. It is shown "
    "after the number of steps, of 10, 20, 40 and so on, that solves most of the tested problems, "
    "which is chosen in its favour, and after the most steps, in which information crosses all "
    "cells. The comparison is not one of equal training: recurrent networks have fewer iterations "
    "and learn from answers alone, while the energy of mazes is taught the steps by which waves "
    "find a path. Shares are means over seeds with standard deviations. Published shares are those "
    "of DT-Recall, a recurrent network with recall and progressive training, on its own test "
    "problems; they were not measured here."
)

_CAPTIONS: Mapping[str, tuple[str, Callable[[Result], Any]]] = {
    "mazes": (
        "Share of problems solved as a whole against their size: means over seeds, and between "
        "the worst and the best seed.",
        draw_sizes,
    ),
    "maze-steps": (
        "Left: mean steps of descents that stop by themselves, against size. Right: how many of "
        "the entries that are 1 are right after so many steps, for one problem each.",
        draw_steps,
    ),
    "maze-walk": (
        "The answer to one maze of 21 x 21 cells with loops on the way down: walls are dark, the "
        "path is as blue as the answer is certain of it, from the circle to the diamond.",
        draw_walk,
    ),
}

EXPERIMENT = Experiment(
    name="mazes",
    title="Prefix sums and mazes, far larger than those of training",
    explanation=_EXPLANATION,
    run=run,
    kinds=_KINDS,
    table=table,
    drawings={name: Drawing(words, draw, wide=True) for name, (words, draw) in _CAPTIONS.items()},
    describe=_describe,
)
