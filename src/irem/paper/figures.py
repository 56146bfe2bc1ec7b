"""The numbers behind every figure of the paper but those of pictures, and their drawings."""

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from irem.descent import solve
from irem.evaluation.curves import element_errors, error_curves, heights, problem_plane, sizes
from irem.evaluation.scores import problem_errors
from irem.keys import fresh_key
from irem.paper.cells import DIFFICULTIES, read_plain
from irem.paper.experiment import Drawing, Experiment, Figures, Result, method_name
from irem.paper.study import PAPER_METHODS, Study
from irem.tasks import AbstractTask, Difficulty
from irem.training import Run

if TYPE_CHECKING:
    import matplotlib.figure


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the figures show.

    Arguments:
        steps: Steps of the curves that compare methods; all were trained with 5.
        steps_by_size: Steps of the curves that compare sizes.
        problems: Problems of every curve.
        tasks: Tasks of the figures that compare tasks of a fixed size.
    """

    steps: int = 40
    steps_by_size: int = 100
    problems: int = 100
    tasks: tuple[str, ...] = ("addition", "matrix-completion", "matrix-inverse")


SETTINGS = Settings()

Row = tuple[float | None, ...]
"""Numbers of a figure; `None` stands for one that is not finite."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Landscape:
    """Energies on a plane, a row for each number of `second`, and paths of points on it."""

    first: tuple[float, ...]
    second: tuple[float, ...]
    energies: tuple[tuple[float, ...], ...]
    paths: tuple[tuple[tuple[float, ...], ...], ...]

    def __post_init__(self) -> None:
        """Refuse energies without a place, and points that are not on a plane."""
        if min(len(self.first), len(self.second)) < 2:
            raise ValueError("a plane has at least two numbers in each direction")
        _check_table(self.energies, len(self.second), len(self.first), "energies")
        if len({energy for row in self.energies for energy in row}) < 2:
            raise ValueError("all energies are equal")
        for path in self.paths:
            _check_table(path, max(len(path), 1), 2, "a path")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Curves:
    """Errors after every step by method and level, and trivial errors by level."""

    problems: int
    mse_by_step: Mapping[str, Mapping[str, Row]]
    trivial: Mapping[str, float | None]

    def __post_init__(self) -> None:
        """Refuse curves that are missing or empty."""
        if not self.trivial or not self.mse_by_step:
            raise ValueError("there are no curves")
        for by_level in self.mse_by_step.values():
            if set(by_level) != set(self.trivial) or not all(by_level.values()):
                raise ValueError("not every level has a curve and a trivial error")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Elements:
    """The squared error of every entry, a row for each, after every step."""

    errors: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        """Refuse what is not a table."""
        if not self.errors or not self.errors[0]:
            raise ValueError("there are no errors")
        _check_table(self.errors, len(self.errors), len(self.errors[0]), "errors")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Heights:
    """Distances from the truth, energies above the minimum, and how both are correlated."""

    distance: Row
    height: Row
    rank_correlation: float | None

    def __post_init__(self) -> None:
        """Refuse a distance without its energy."""
        if len(self.distance) != len(self.height):
            raise ValueError("distances and energies are not in pairs")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Example:
    """The first nine entries of four operands, of their sum as it was found, and of the truth."""

    operands: tuple[Row, ...]
    answer: Row
    truth: Row
    mse: float | None

    def __post_init__(self) -> None:
        """Refuse another number of vectors or entries."""
        _check_table((*self.operands, self.answer, self.truth), 6, 9, "the example")


def _check_table(rows: Sequence[Sequence[Any]], height: int, width: int, what: str) -> None:
    if len(rows) != height or any(len(row) != width for row in rows):
        raise ValueError(f"{what} must be {height} x {width} numbers")


KINDS: Mapping[str, Any] = MappingProxyType(
    {
        "teaser": Landscape,
        "steps-by-size": Curves,
        "steps-by-difficulty": Mapping[str, Curves],
        "element-error": Elements,
        "energy-landscape": Mapping[str, Mapping[str, Heights]],
        "composition-example": Example,
    }
)
"""Types of the numbers behind the figures, by name."""


def run(study: Study, settings: Settings = SETTINGS) -> Figures:
    """Return every figure as plain numbers, by name."""
    made = {
        "teaser": lambda: measure_teaser(study),
        "steps-by-size": lambda: measure_steps_by_size(study, settings),
        "steps-by-difficulty": lambda: measure_steps_by_difficulty(study, settings),
        "element-error": lambda: measure_elements(study, settings),
        "energy-landscape": lambda: measure_energies(study, settings),
        "composition-example": lambda: measure_example(study),
    }
    found = {name: study.values("figures", name, make) for name, make in made.items()}
    for name, values in found.items():
        with study.reading("figures", name) as where:
            read_plain(KINDS[name], values, where)
    return found


def _run(study: Study, task: AbstractTask, method: str) -> Run:
    """The models of Table 1."""
    return study.trained(task, study.recipe(task, method), f"{task.name}-{method}")[0]


def measure_teaser(study: Study) -> dict[str, Any]:
    """Return a slice of the landscape of one harder addition, and two paths on it."""
    task = study.tasks["addition"]
    model = _run(study, task, "irem").models[0]
    plane = problem_plane(model, task, max_steps=30, key=fresh_key(0, "teaser"))
    return {
        "first": _plain(plane.first[0]),
        "second": _plain(plane.second[:, 0]),
        "energies": _plain(plane.energies),
        "paths": [_plain(path) for path in plane.paths],
    }


def measure_steps_by_size(study: Study, settings: Settings) -> dict[str, Any]:
    """Return the error against steps on shortest paths, by number of nodes."""
    task = study.tasks["shortest-path"]
    steps = settings.steps_by_size
    return measure_curves(study, task, sizes(task), ("irem", "recurrent"), steps, settings.problems)


def measure_steps_by_difficulty(study: Study, settings: Settings) -> dict[str, Any]:
    """Return the error against steps on the tasks of a fixed size, for all methods."""
    tasks = (study.tasks[name] for name in settings.tasks if name in study.tasks)
    lengths = (settings.steps, settings.problems)
    return {t.name: measure_curves(study, t, DIFFICULTIES, PAPER_METHODS, *lengths) for t in tasks}


def measure_curves(
    study: Study,
    task: AbstractTask,
    levels: tuple[Difficulty, ...],
    methods: tuple[str, ...],
    num_steps: int,
    problems: int,
) -> dict[str, Any]:
    """Return the mean error over problems and seeds after every step, by method and level.

    Arguments:
        study: Where the models are.
        task: The task.
        levels: Difficulties.
        methods: Names of methods.
        num_steps: How many steps are taken.
        problems: How many problems of every level are answered.
    """
    key = fresh_key(0, "curves")
    options = {"problems": problems, "max_steps": num_steps, "key": key}
    descended = error_curves(_run(study, task, "irem").models, task, levels, **options)
    labels = list(descended.errors)
    mse: dict[str, dict[str, Any]] = {}
    for method in methods:
        if method == "irem":
            mse[method] = {label: e.mean(0) for label, e in descended.errors.items()}
            continue
        run = _run(study, task, method)
        curves = (_baseline_curve(run, level, num_steps, problems, key) for level in levels)
        mse[method] = dict(zip(labels, curves, strict=True))
    return {
        "problems": problems,
        "mse_by_step": {m: {k: _plain(v) for k, v in by.items()} for m, by in mse.items()},
        "trivial": descended.trivial,
    }


def _baseline_curve(
    run: Run, level: Difficulty, num_steps: int, problems: int, key: jax.Array
) -> np.ndarray:
    key_problems, key_steps = jax.random.split(key)
    batch = run.task.batch(key_problems, problems, level)
    curves = []
    for model in run.models:
        found = solve(model, batch.x, max_steps=num_steps, trajectory=True, key=key_steps)
        assert found.trajectory is not None
        ys = jnp.moveaxis(found.trajectory.ys, 1, 0)
        curves.append([problem_errors(y, batch).mean() for y in ys])
    return np.mean(curves, axis=0)


def measure_elements(study: Study, settings: Settings) -> dict[str, Any]:
    """Return the squared error of every entry of one harder addition after every step."""
    task = study.tasks["addition"]
    model = _run(study, task, "irem").models[0]
    key = fresh_key(0, "elements")
    found = element_errors(model, task, max_steps=settings.steps, key=key)
    return {"errors": _plain(found.errors)}


def measure_energies(study: Study, settings: Settings) -> dict[str, Any]:
    """Return energies of perturbed answers above the minimum, and distances from the truth."""
    shown = {}
    for task in (study.tasks[name] for name in settings.tasks if name in study.tasks):
        models = _run(study, task, "irem").models[:1]
        found = heights(models, task, DIFFICULTIES, problems=50, key=fresh_key(0, "energies"))
        correlation = found.as_dict()["rank_correlation"]
        shown[task.name] = {
            level: {
                "distance": _plain(distance),
                "height": _plain(height),
                "rank_correlation": correlation[level],
            }
            for level, (distance, height) in found.points.items()
        }
    return shown


def measure_example(study: Study) -> dict[str, Any]:
    """Return the sum of four vectors by three nested additions: the first nine entries."""
    task = study.tasks["addition"]
    model = _run(study, task, "irem").models[0]
    key_operands, key = jax.random.split(fresh_key(0, "example"))
    shape = (4, *jax.eval_shape(task.sample, key).y.shape)
    operands = jax.random.uniform(key_operands, shape, minval=-1.0, maxval=1.0)  # pyright: ignore[reportArgumentType]
    answer = operands[0]
    for k, operand in enumerate(operands[1:]):
        answer = solve(model, jnp.stack([answer, operand]), key=jax.random.fold_in(key, k)).y
    truth = operands.sum(0)
    return {
        "operands": [_plain(o[:9]) for o in operands],
        "answer": _plain(answer[:9]),
        "truth": _plain(truth[:9]),
        "mse": float(jnp.mean(jnp.square(answer - truth))),
    }


def _plain(values: Any) -> Any:
    """Nested lists of numbers with six significant digits, which is more than a figure shows."""
    values = np.asarray(values, np.float64)
    if values.ndim:
        return [_plain(v) for v in values]
    return float(f"{values:.6g}")


def _numbers(result: Result, name: str) -> Any:
    assert result.figures is not None
    return read_plain(
        KINDS[name], result.figures[name], f"'{result.file}': figures, field '{name}',"
    )


def _array(values: Any) -> np.ndarray:
    """Numbers of a figure, with NaN for those that are not finite."""
    return np.asarray(values, np.float64)


def draw_teaser(result: Result) -> "matplotlib.figure.Figure":
    """Draw a slice of a landscape with two descents."""
    from irem.evaluation.drawing import landscape  # noqa: PLC0415  (loads matplotlib)

    found = _numbers(result, "teaser")
    first, second = np.meshgrid(_array(found.first), _array(found.second))
    paths = [_array(path) for path in found.paths]
    return landscape(first, second, _array(found.energies), paths)


def draw_steps_by_size(result: Result) -> "matplotlib.figure.Figure":
    """Draw the error against steps by number of nodes."""
    from irem.evaluation.drawing import error_by_size  # noqa: PLC0415

    found = _numbers(result, "steps-by-size")
    errors = {
        method_name(method): {n: _array([curve]) for n, curve in by_size.items()}
        for method, by_size in found.mse_by_step.items()
    }
    return error_by_size(errors, {n: float(_array(value)) for n, value in found.trivial.items()})


def draw_steps_by_difficulty(result: Result) -> "matplotlib.figure.Figure":
    """Draw the error against steps: tasks across, difficulties down, a colour for each method."""
    from irem.evaluation.drawing import legend_entry  # noqa: PLC0415
    from irem.paper import drawing  # noqa: PLC0415

    by_task = _numbers(result, "steps-by-difficulty")
    figure, grid = drawing.grid(2, len(by_task), 3.6, 2.8)
    for column, (task, curves) in zip(zip(*grid, strict=True), by_task.items(), strict=True):
        for axes, level in zip(column, DIFFICULTIES, strict=True):
            by_method = {m: by[level] for m, by in curves.mse_by_step.items() if level in by}
            _draw_methods(axes, by_method, curves.trivial.get(level))
            axes.set_title(f"{task}, {level}", fontsize=10)
    for axes in grid[-1]:
        axes.set_xlabel("steps taken")
    for row in grid:
        row[0].set_ylabel("mean squared error")
    methods = dict.fromkeys(m for curves in by_task.values() for m in curves.mse_by_step)
    entries = drawing.method_entries(methods)
    entries.append(legend_entry("trivial", linestyle=":"))
    entries.append(legend_entry("steps in training", color="#9ca3af", linewidth=0.8))
    figure.legend(handles=entries, frameon=False, loc="outside lower center", ncols=4)
    return figure


def _draw_methods(axes: Any, curves: Mapping[str, Row], trivial: float | None) -> None:
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    from irem.paper import drawing  # noqa: PLC0415

    length = max(map(len, curves.values()), default=1)
    for method, curve in curves.items():
        # A descent that has converged stays where it is.
        error = np.pad(_array(curve), (0, length - len(curve)), mode="edge")
        width = drawing.line_width(method)
        axes.semilogy(error, color=drawing.colour(method), linewidth=width)
    if trivial is not None:
        axes.axhline(trivial, color="#111827", linestyle=":", linewidth=1.1)
    axes.axvline(5, color="#9ca3af", linewidth=0.8)
    axes.set_xlim(0, max(length - 1, 1))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def draw_elements(result: Result) -> "matplotlib.figure.Figure":
    """Draw the squared error of every entry after every step."""
    from irem.evaluation.drawing import element_error  # noqa: PLC0415

    return element_error(_array(_numbers(result, "element-error").errors))


def draw_energies(result: Result) -> "matplotlib.figure.Figure":
    """Draw the energy of candidates above the minimum against their distance from the truth."""
    from irem.evaluation.drawing import COLOURS  # noqa: PLC0415
    from irem.paper import drawing  # noqa: PLC0415

    by_task = _numbers(result, "energy-landscape")
    figure, grid = drawing.grid(1, len(by_task), 3.6, 3.2)
    for axes, (task, levels) in zip(grid[0], by_task.items(), strict=True):
        for level, points in levels.items():
            height, distance = _array(points.height), _array(points.distance)
            above = height > 0
            label = f"{level}: rank correlation {float(_array(points.rank_correlation)):.2f}"
            style = {"color": COLOURS.get(level), "markersize": 3, "alpha": 0.5}
            axes.loglog(distance[above], height[above], ".", **style, label=label)
        axes.set_title(task, fontsize=10)
        axes.set_xlabel("squared distance from the truth")
        axes.legend(frameon=False, markerscale=3, fontsize=8, loc="upper left")
    grid[0][0].set_ylabel("energy above the minimum")
    return figure


def draw_example(result: Result) -> "matplotlib.figure.Figure":
    """Draw four operands, their sum as IREM finds it, and the true one, each as 3 x 3."""
    from irem.paper import drawing  # noqa: PLC0415

    example = _numbers(result, "composition-example")
    matrices = [_array(row) for row in (*example.operands, example.answer, example.truth)]
    titles = ["", "", "", "", "IREM", "exact"]
    signs = ["+", "+", "+", "=", "", ""]
    figure, grid = drawing.grid(1, len(matrices), 1.75, 1.9)
    for axes, values, title, sign in zip(grid[0], matrices, titles, signs, strict=True):
        colour = drawing.COLOURS["irem"] if title == "IREM" else "#111827"
        axes.set_axis_off()
        axes.set_title(title, fontsize=10, color=colour)
        for (i, j), value in np.ndenumerate(np.reshape(values, (3, 3))):
            place = (0.15 + 0.33 * j, 0.8 - 0.3 * i)
            axes.text(*place, f"{value:.3f}", ha="center", va="center", fontsize=8.5, color=colour)
        for edge, way in ((-0.02, 1), (0.98, -1)):
            bracket = ([edge + 0.05 * way, edge, edge, edge + 0.05 * way], [0.97, 0.97, 0.03, 0.03])
            axes.plot(*bracket, color=colour, linewidth=1.1, clip_on=False)
        axes.text(1.09, 0.5, sign, ha="center", va="center", fontsize=13, clip_on=False)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
    return figure


EXPERIMENT = Experiment(
    name="figures",
    title="Figures",
    run=run,
    figure_kinds=KINDS,
    drawings={
        "teaser": Drawing(
            "A slice of the learned landscape of one harder addition, and the paths from two first "
            "guesses; each star is one step.",
            draw_teaser,
        ),
        "steps-by-size": Drawing(
            "Shortest paths: error against steps by number of nodes, IREM and the recurrent "
            "network. Both were trained with 5 steps on 2 to 10 nodes. Dotted: the trivial "
            "predictor.",
            draw_steps_by_size,
        ),
        "steps-by-difficulty": Drawing(
            "Error against steps for all methods; all were trained with 5. Feedforward has one "
            "step; PonderNet is shown as if it never halted.",
            draw_steps_by_difficulty,
            wide=True,
        ),
        "element-error": Drawing(
            "Squared error of each of the entries of one harder addition after every step of IREM.",
            draw_elements,
        ),
        "energy-landscape": Drawing(
            "Energy of perturbed answers above the minimum that descents find, against their "
            "distance from the truth. Candidates below the minimum are not shown.",
            draw_energies,
            wide=True,
        ),
        "composition-example": Drawing(
            "Four vectors added by three nested descents; the first nine entries of each as 3 x 3.",
            draw_example,
            wide=True,
        ),
    },
)
