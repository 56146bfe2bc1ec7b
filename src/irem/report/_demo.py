"""The page of the demonstration."""

import jax
import numpy as np
from matplotlib.figure import Figure

from irem._version import __version__
from irem.experiments import PAPER_COMPOSITION, Demo
from irem.report import _figures as figures
from irem.report import _page as html


def demo_figures(demo: Demo) -> dict[str, Figure]:
    """The four figures of the page, by file name."""
    history = demo.run.history
    levels = demo.evaluations
    slice_ = demo.plane
    return {
        "loss": figures.loss_curve(history.iteration, history.loss),
        "error-by-step": figures.error_by_step(
            {d: walks.errors for d, walks in demo.walks.items()},
            {d: e.paper_mse for d, e in levels.items()},
            {d: e.trivial_mse for d, e in levels.items()},
        ),
        "energy-by-error": figures.energy_by_error(demo.scatter),
        "landscape": figures.landscape(slice_.first, slice_.second, slice_.energies, slice_.paths),
    }


def demo_page(demo: Demo, drawn: dict[str, Figure]) -> str:
    """Numbers beside the paper's, the four figures, and what to try next."""
    task = demo.run.task
    entries = task.shapes[1][0]
    out = demo.run.path
    return html.page(
        "A network that adds by walking downhill",
        [
            html.paragraph(
                "A small network has learned an energy E(x, y) for pairs of vectors x of "
                f"{entries} entries and candidate sums y. It is never told how to add: an answer "
                "is found by starting anywhere and following the energy downhill until it stops "
                "changing."
            ),
            html.heading("How well it adds"),
            html.paragraph(
                "Elementwise mean squared error on 1,000 fresh problems. Harder problems have "
                "entries up to 2.5, training saw entries up to 1."
            ),
            _scores(demo),
            html.heading("What happens"),
            html.grid(
                [
                    html.figure(drawn["landscape"], _LANDSCAPE),
                    html.figure(drawn["error-by-step"], _ERROR),
                    html.figure(drawn["energy-by-error"], _ENERGY),
                    html.figure(drawn["loss"], _LOSS),
                ]
            ),
            html.heading("Adding with its own sums"),
            html.paragraph(
                "The learned addition is applied to its own output, so errors may pile up and sums "
                "leave the range of training."
            ),
            _composition(demo),
            html.heading("What differs from the paper's settings"),
            html.bullets(_deviations(demo)),
            html.heading("Next"),
            html.commands(
                [
                    f"irem evaluate {out} --difficulty harder",
                    f"irem compose {out} --operations 10",
                    "irem tasks",
                    "irem train shortest-path --out runs/paths",
                ]
            ),
        ],
        f"irem {__version__}, JAX {jax.__version__}, {jax.devices()[0].device_kind}; all settings "
        "are in run.json beside this page.",
    )


def _deviations(demo: Demo) -> list[str]:
    """Where the run departs from the paper's settings."""
    settings = demo.run.settings
    batch = settings["batch_size"]
    return [
        f"{settings['iterations']:,} iterations of {batch} fresh and {batch} replayed problems; "
        "the paper has 10,000 of 128 and 128.",
        f"A learning rate that starts at {settings['learning_rate']} and falls to 0 along a "
        "cosine; the paper has 0.0001 throughout.",
    ]


def _decimal(value: float) -> str:
    """Two digits that count, without an exponent."""
    return np.format_float_positional(value, precision=2, fractional=False, trim="-")


def _scores(demo: Demo) -> str:
    rows = [
        [
            name,
            _decimal(result.mse),
            "" if result.paper_mse is None else f"{result.paper_mse:.4f}",
            f"{result.trivial_mse:.3g}",
            f"{result.oracle_mse:.3g}",
            f"{result.steps_mean:.1f}",
        ]
        for name, result in demo.evaluations.items()
    ]
    header = [
        "difficulty",
        "this run",
        "IREM in the paper",
        "answering zero",
        "best possible",
        "steps",
    ]
    return html.table(header, rows, best=1)


def _composition(demo: Demo) -> str:
    at_paper_size = demo.evaluations["same"].paper_mse is not None
    rows = [
        [str(k), _decimal(demo.composition[k - 1]), f"{paper:.4f}" if at_paper_size else ""]
        for k, paper in PAPER_COMPOSITION.items()
    ]
    return html.table(["additions in a row", "this run", "IREM in the paper"], rows, best=1)


_LANDSCAPE = (
    "A slice of the learned landscape of one harder problem: the plane through two first guesses "
    "and the answer of the first. Each star is one step."
)
_ERROR = (
    "Error against steps, mean and 5 to 95 % of 200 problems. Dashed: IREM in the paper. Dotted: "
    "the answer zero."
)
_ENERGY = (
    "Energy of perturbed answers against their distance from the truth. The lower the energy, the "
    "closer the answer: the landscape itself says how good an answer is."
)
_LOSS = "Training loss, the mean over every 100 iterations."
