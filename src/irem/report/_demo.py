"""The page of the demonstration."""

import jax
import numpy as np
from matplotlib.figure import Figure

from irem._version import __version__
from irem.experiments import Demo
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
    rows = demo.run.task.shapes[1][0]
    out = demo.run.path
    return html.page(
        "A network that inverts matrices by walking downhill",
        [
            html.paragraph(
                f"A small network has learned an energy E(x, y) for matrices x of {rows} x {rows} "
                "and candidates y for their inverse. It is never told how to invert a matrix: an "
                "answer is found by starting anywhere and following the energy downhill until it "
                "stops changing."
            ),
            html.heading("How well it inverts"),
            html.paragraph(
                f"Elementwise mean squared error on {_evaluated(demo)} fresh symmetric matrices. "
                "Harder ones have eigenvalues down to 0.1, training saw none below 0.5; they take "
                "more steps. The trivial answer is the mean inverse of many matrices of 20 x 20."
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
            html.heading("Matrices of other sizes"),
            html.paragraph(
                f"Training saw matrices of {rows} x {rows} alone. The energy is the same for every "
                "pair of a row and a column, so it takes any number of them."
            ),
            _other_sizes(demo),
            html.heading("What differs from the paper's settings"),
            html.bullets(_deviations(demo)),
            html.heading("Next"),
            html.commands(
                [
                    f"irem evaluate {out} --difficulty harder",
                    f"irem solve {out} matrices.npy --out inverses.npy",
                    "irem zoo",
                    "irem evaluate zoo:connected-components --difficulty 30",
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
        "An energy on pairs, which sees that a matrix has rows and columns; the paper's is a fully "
        "connected network.",
        "Steps of size 1 in training; the paper has 100.",
        f"{settings['iterations']:,} iterations of {batch} fresh and {batch} replayed problems; "
        "the paper has 10,000 of 128 and 128.",
        f"A learning rate that starts at {settings['learning_rate']} and falls to 0 along a "
        f"cosine, gradients clipped at {settings['clip_norm']}, replayed entries at "
        f"{settings['replay']['clip']:g}; the paper has 0.0001 throughout and clips nothing.",
    ]


def _evaluated(demo: Demo) -> int:
    return demo.evaluations["same"].problems


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
        "trivial",
        "best possible",
        "steps",
    ]
    return html.table(header, rows, best=1)


def _other_sizes(demo: Demo) -> str:
    rows = [
        [f"{n} x {n}", _decimal(e.mse), f"{e.trivial_mse:.3g}", f"{e.steps_mean:.1f}"]
        for n, e in demo.other_sizes.items()
    ]
    return html.table(["size", "this run", "trivial", "steps"], rows, best=1)


_LANDSCAPE = (
    "A slice of the learned landscape of one harder problem: the plane through two first guesses "
    "and the answer of the first. Each star is one step."
)
_ERROR = (
    "Error against steps, mean and 5 to 95 % of 100 problems; training has 5. Dashed: IREM in the "
    "paper. Dotted: the trivial answer."
)
_ENERGY = (
    "Energy of perturbed answers against their distance from the truth. The lower the energy, the "
    "closer the answer: the landscape itself says how good an answer is, on harder problems down "
    "to the error that is left."
)
_LOSS = "Training loss, the mean over every 100 iterations."
