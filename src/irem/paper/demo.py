"""The demonstration: learn to invert matrices in half a minute of CPU time, and show it."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from irem.descent import Solution, solve
from irem.evaluation import page as html
from irem.evaluation.answers import draw_entries
from irem.evaluation.landscapes import Descents, Plane, perturbed, plane_of, recorded
from irem.evaluation.scores import Evaluation, TestSet, summarise
from irem.evaluation.walks import Walk
from irem.keys import fresh_key, training_keys
from irem.methods import IREM
from irem.paper.cells import DIFFICULTIES
from irem.paper.table1 import printed_mse
from irem.problem import Graph, Problem
from irem.tasks import MatrixInverse
from irem.training import Checkpoints, Recipe, Run
from irem.version import __version__

if TYPE_CHECKING:
    import matplotlib.figure


@dataclasses.dataclass(frozen=True)
class DemoSettings:
    """What the demonstration trains and measures.

    Arguments:
        problems: Fresh problems of every size and difficulty; the last two show a landscape.
        larger: Matrices of so many times the rows of training are inverted as well.
        max_steps: Step budget of every descent.
        changes: What differs from the recipe `best`, as `Recipe.override` takes it.
    """

    problems: int = 50
    larger: int = 2
    max_steps: int = 60
    changes: Mapping[str, Any] = dataclasses.field(
        default_factory=lambda: {
            "batch_size": 16,
            "method.num_steps": 3,
            "optimiser.learning_rate": 2e-3,
        }
    )


DEMO_SETTINGS = DemoSettings()


@dataclasses.dataclass(frozen=True)
class Row:
    """Errors on one kind of matrices, beside the paper's error if it prints one for them."""

    size: int
    difficulty: str
    found: Evaluation
    paper: float | None

    @property
    def label(self) -> str:
        """Size and difficulty, in words."""
        return f"{self.size} x {self.size}, {self.difficulty}"


@dataclasses.dataclass(frozen=True)
class Demo:
    """What the page of the demonstration shows.

    Arguments:
        run: The trained model.
        rows: Errors on matrices of the size of training, and on larger ones.
        recorded: Error and energy after every step on the larger ones, by difficulty.
        scatter: Distances of perturbed answers and their energies, by difficulty.
        plane: A slice of the landscape of one harder problem.
        walk: The inverse of one matrix of the size of training, step by step.
    """

    run: Run
    rows: tuple[Row, ...]
    recorded: dict[str, Descents]
    scatter: dict[str, tuple[np.ndarray, np.ndarray]]
    plane: Plane
    walk: Walk

    def larger(self, difficulty: str) -> Row:
        """Return the errors on the larger matrices of a difficulty."""
        return next(row for row in self.rows[1:] if row.difficulty == difficulty)


def demo(
    out: Path,
    *,
    iterations: int = 300,
    size: int = 10,
    seed: int = 0,
    settings: DemoSettings = DEMO_SETTINGS,
    progress: bool | str = True,
    say: Callable[[str], None] = lambda _: None,
) -> Demo:
    """Train an energy to invert matrices, evaluate it, and measure its landscape.

    Arguments:
        out: Folder of the run; one that was begun goes on.
        iterations: Number of updates.
        size: Rows of a matrix in training.
        seed: Seed of everything.
        settings: What is trained and measured.
        progress: As in `irem.train`.
        say: Called with one line when a stage begins.
    """
    recipe = Recipe.named("matrix-inverse").override(
        {**settings.changes, "iterations": iterations, "task.size": size}
    )
    say(f"training on matrices of {size} x {size}")
    checkpoints = Checkpoints(out, resume=True)
    run = recipe.train(keys=training_keys(seed, 1), out=checkpoints, progress=progress)
    assert isinstance(run.model, IREM)
    larger = settings.larger * size
    kinds = [Kind(size, "same"), *(Kind(larger, d) for d in DIFFICULTIES)]
    drawn = _drawn(kinds, settings.problems, fresh_key(seed, "demo"))
    rows, recordings, scatter, slice_, walk = [], {}, {}, None, None
    for kind, tests in zip(kinds, drawn, strict=True):
        d = kind.difficulty
        shown = kind.size == larger
        say(f"inverting matrices of {kind.size} x {kind.size}" + (f", {d}" if shown else ""))
        key = fresh_key(seed, d)
        solution = solve(
            run.model, tests.batch.x, max_steps=settings.max_steps, trajectory=True, key=key
        )
        found = summarise(tests, [solution], settings.max_steps)
        rows.append(Row(kind.size, d, found, printed_mse("irem", tests.task, d)))
        if not shown:
            walk = _first_walk(run.model, kind.size, tests.batch, solution)
            continue
        recordings[d] = recorded(solution, tests.batch)
        say(f"measuring energies around inverses, {d}")
        scatter[d] = perturbed(run.model, tests.batch, solution, key=fresh_key(seed, "noise"))
        assert solution.trajectory is not None
        last = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[-1]), tests.batch.x)
        slice_ = plane_of(run.model, last, np.asarray(solution.trajectory.ys)[-2:])
    assert slice_ is not None
    assert walk is not None
    return Demo(run, tuple(rows), recordings, scatter, slice_, walk)


def _first_walk(model: IREM, size: int, batch: Problem, solution: Solution) -> Walk:
    """The inverse of the first matrix, step by step, without the padding."""
    assert solution.trajectory is not None
    x, y = (np.asarray(a)[0, :size, :size] for a in (batch.x.edges, batch.y))
    ys, energies = (
        np.asarray(a)[0] for a in (solution.trajectory.ys, solution.trajectory.energies)
    )
    problem = Problem(jnp.asarray(x), jnp.asarray(y))
    return Walk.of(model.format, problem, ys[:, :size, :size], energies)


class Kind(NamedTuple):
    """Matrices of one size and difficulty."""

    size: int
    difficulty: str


def _drawn(kinds: Sequence[Kind], problems: int, key: PRNGKeyArray) -> list[TestSet]:
    """Fresh problems of every kind with their floors, all padded to the largest size.

    Problems of one shape are descended by one program, and one program draws all of them. The last
    problem of every kind is there twice: from two first guesses it spans a plane of the landscape.
    """
    rows = max(kind.size for kind in kinds)

    @jax.jit
    def draw(key: PRNGKeyArray) -> list[tuple[Problem, Array, Array]]:
        keys = jax.random.split(key, len(kinds))
        return [_batch(kind, problems, rows, keys[i]) for i, kind in enumerate(kinds)]

    tests = []
    for kind, (batch, trivial, oracle) in zip(kinds, draw(key), strict=True):
        floors = (float(trivial), float(oracle), problems)
        tests.append(TestSet(MatrixInverse(size=kind.size), kind.difficulty, batch, floors))
    return tests


def _batch(kind: Kind, problems: int, rows: int, key: PRNGKeyArray) -> tuple[Problem, Array, Array]:
    """Padded problems of one kind, and the errors of the trivial and of the best answer."""
    task = MatrixInverse(size=kind.size)
    batch = jax.vmap(lambda k: task.sample(k, kind.difficulty))(jax.random.split(key, problems))
    batch = jax.tree.map(lambda leaf: leaf.at[-2].set(leaf[-1]), batch)
    answers = (task.trivial(batch.x), task.oracle(batch.x))
    trivial, oracle = (jnp.mean(jnp.square(y - batch.y)) for y in answers)
    x, y = (jnp.pad(a, ((0, 0), *2 * ((0, rows - kind.size),))) for a in (batch.x, batch.y))
    nodes = jnp.broadcast_to(jnp.arange(rows) < kind.size, (problems, rows))
    graph = Graph(x, nodes)
    return Problem(graph, y, graph.pairs), trivial, oracle


def demo_figures(
    demo: Demo, say: Callable[[str], None] = lambda _: None
) -> "dict[str, matplotlib.figure.Figure]":
    """Return the five figures of the page, by file name.

    Arguments:
        demo: What was measured.
        say: Called with one line when drawing begins.
    """
    from irem.evaluation import drawing  # noqa: PLC0415  (loads matplotlib)

    say("drawing")
    history, shown = demo.run.history, demo.plane
    return {
        "inverse": draw_inverse(demo.walk),
        "loss": drawing.loss_curve(history.iteration, history.loss),
        "error-by-step": drawing.error_by_step(
            {d: found.errors for d, found in demo.recorded.items()},
            {d: demo.larger(d).paper for d in demo.recorded},
            {d: demo.larger(d).found.trivial_mse for d in demo.recorded},
        ),
        "energy-by-error": drawing.energy_by_error(demo.scatter),
        "landscape": drawing.landscape(shown.first, shown.second, shown.energies, shown.paths),
    }


def draw_inverse(walk: Walk) -> "matplotlib.figure.Figure":
    """Draw a matrix, its inverse after some steps, and below each its product with the matrix.

    Arguments:
        walk: The inverse of one matrix, step by step.
    """
    from matplotlib.figure import Figure  # noqa: PLC0415  (only drawing loads matplotlib)

    shown = walk.thinned(_INVERSES)
    x = np.asarray(walk.x)
    columns = len(shown.steps) + 1
    figure = Figure(figsize=(1.65 * columns, 3.7), layout="constrained")
    panels = figure.subplots(2, columns, squeeze=False)
    draw_entries(panels[0, 0], x, x)
    panels[0, 0].set_title("the matrix", fontsize=10)
    for place, (steps, y) in enumerate(zip(shown.steps, shown.answers, strict=True), 1):
        draw_entries(panels[0, place], y, walk.y)
        draw_entries(panels[1, place], x @ y, np.eye(len(x)))
        words = "first guess" if steps == 0 else f"{steps} step" + "s" * (steps != 1)
        panels[0, place].set_title(words, fontsize=10)
        panels[1, place].set_title("its product", fontsize=9, color="#4b5563")
    for axes in panels.ravel():
        axes.set_axis_off()
    return figure


def demo_page(demo: Demo, drawn: "dict[str, matplotlib.figure.Figure]") -> str:
    """Return the page: numbers beside the paper's, the figures, and what to try next.

    Arguments:
        demo: What was measured.
        drawn: What `demo_figures` returned.
    """
    small, large = demo.rows[0].size, demo.rows[-1].size
    problems = demo.rows[0].found.problems
    figures = {"landscape": _LANDSCAPE, "error-by-step": _ERROR}
    figures |= {"energy-by-error": _ENERGY, "loss": _LOSS}
    return html.page(
        "A network that inverts matrices by descending an energy",
        [
            html.paragraph(
                "A small network has learned an energy E(x, y) for matrices x of "
                f"{small} x {small} and candidates y for their inverse. It is never told how to "
                "invert a matrix: an answer is found by starting anywhere and following the energy "
                "downhill until it stops changing."
            ),
            html.heading("How well it inverts"),
            html.paragraph(
                f"Elementwise mean squared error on {problems} fresh symmetric matrices. Training "
                f"has matrices of {small} x {small} alone; the energy is the same for every pair "
                f"of a row and a column, so it takes those of {large} x {large} as well. Harder "
                "ones have eigenvalues down to 0.1, those of training are 0.5 or more; they take "
                "more steps. The trivial answer is the mean inverse of many matrices of 20 x 20."
            ),
            _score_table(demo),
            html.heading("An inverse forms"),
            html.figure(drawn["inverse"], _INVERSE, wide=True),
            html.heading("What happens"),
            html.grid([html.figure(drawn[name], caption) for name, caption in figures.items()]),
            html.heading("What differs from the paper's settings"),
            html.bullets(_deviations(demo)),
            html.heading("Next"),
            html.commands(
                [
                    f"irem evaluate {demo.run.path} --difficulty harder",
                    f"irem solve {demo.run.path} matrices.npy --out inverses.npy",
                    "irem zoo",
                    "irem evaluate zoo:connected-components-protocol --difficulty 30",
                ]
            ),
        ],
        f"irem {__version__}, JAX {jax.__version__}, {jax.devices()[0].device_kind}; all settings "
        "are in run.json beside this page.",
    )


def _deviations(demo: Demo) -> list[str]:
    """Where the run departs from the paper's settings."""
    settings = demo.run.settings
    batch, optimiser = settings["batch_size"], settings["optimiser"]
    return [
        "An energy on pairs of a row and a column; the paper's is a fully connected network.",
        f"{settings['method']['num_steps']} steps of size 1 in training; the paper has 5 of 100.",
        f"{settings['iterations']:,} iterations of {batch} fresh and {batch} replayed problems; "
        "the paper has 10,000 of 128 and 128.",
        f"A learning rate that starts at {optimiser['learning_rate']} and falls to 0 along a "
        f"cosine, gradients clipped at {optimiser['clip_norm']}, replayed entries at "
        f"{settings['replay']['clip']:g}; the paper has 0.0001 throughout and clips nothing.",
    ]


def _decimal(value: float) -> str:
    """Two significant digits, without an exponent."""
    return np.format_float_positional(value, precision=2, fractional=False, trim="-")


def _score_table(demo: Demo) -> str:
    rows = [
        [
            row.label,
            _decimal(row.found.mse),
            "" if row.paper is None else f"{row.paper:.4f}",
            f"{row.found.trivial_mse:.3g}",
            f"{row.found.oracle_mse:.3g}",
            f"{row.found.steps_mean:.1f}",
        ]
        for row in demo.rows
    ]
    header = ["matrices", "this run", "IREM in the paper", "trivial", "best possible", "steps"]
    return html.table(header, rows, best=1)


# How many answers of a descent are drawn side by side.
_INVERSES = 6

_INVERSE = (
    "A matrix, and its inverse as the descent goes on, from a random first guess. Blue entries are "
    "positive, red ones negative. The product with the matrix becomes the identity."
)
_LANDSCAPE = (
    "A slice of the learned landscape of one larger and harder problem: the plane through two "
    "first guesses and the answer of the first. Each star is one step."
)
_ERROR = (
    "Error against steps on the larger matrices, mean and 5 to 95 %; training has 3. Dashed: "
    "IREM in the paper. Dotted: the trivial answer."
)
_ENERGY = (
    "Energy of perturbed answers against their distance from the truth. The lower the energy, the "
    "closer the answer: the landscape itself says how good an answer is, on harder problems down "
    "to the error that is left."
)
_LOSS = "Training loss, the mean over every 100 iterations."
