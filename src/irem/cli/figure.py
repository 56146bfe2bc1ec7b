"""`irem figure`."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from matplotlib.figure import Figure

import irem
from irem import evaluation
from irem.checks import count, known
from irem.cli.common import (
    Json,
    RunFolder,
    Seed,
    StepName,
    about,
    check_output,
    fresh_key,
    load_energies,
    parse_difficulty,
    parse_step,
    print_json,
    progress_bar,
    refuse_broken,
    refuse_fitted,
)
from irem.descent import MAX_STEPS
from irem.errors import InputError
from irem.evaluation import RECORDED_STEPS, drawing
from irem.evaluation.page import animation, image
from irem.files import write_whole
from irem.paper import printed_mse
from irem.training import Run

EXAMPLE = "Example: irem figure error-by-step runs/add --out error.png"

_PROBLEMS = 100
_SUFFIXES = (".png", ".svg", ".pdf")
_MOVING = (".gif", ".webp")

Paper = Mapping[str, float | None]


@dataclasses.dataclass(frozen=True)
class _Figure:
    """What is measured and how it is drawn; a figure without levels shows one problem.

    Arguments:
        levels: The difficulties that are compared.
        measure: Measures it.
        draw: Draws it.
        max_steps: Step budget where none is given; `None` for that of the model.
        compares: Whether the paper's errors are shown beside.
        frames: Draws it as the frames of a moving picture, where it can be one.
    """

    levels: Callable[[irem.tasks.AbstractTask], tuple[Any, ...]] | None
    measure: Callable[..., Any]
    draw: Callable[[Any, Paper], Figure]
    max_steps: int | None = RECORDED_STEPS
    compares: bool = False
    frames: Callable[[Any], Iterable[Figure]] | None = None


_FIGURES: Mapping[str, _Figure] = {
    "error-by-size": _Figure(
        evaluation.sizes,
        evaluation.error_curves,
        lambda m, _: drawing.error_by_size({"IREM": m.errors}, m.trivial),
        compares=True,
    ),
    "error-by-step": _Figure(
        evaluation.difficulties,
        evaluation.error_curves,
        lambda m, paper: drawing.error_by_step(m.errors, paper, m.trivial),
        compares=True,
    ),
    "energy-by-distance": _Figure(
        evaluation.difficulties,
        evaluation.heights,
        lambda m, _: drawing.energy_by_error(m.points),
        MAX_STEPS,
    ),
    "element-error": _Figure(
        None, evaluation.element_errors, lambda m, _: drawing.element_error(m.errors)
    ),
    "landscape": _Figure(
        None,
        evaluation.problem_plane,
        lambda m, _: drawing.landscape(m.first, m.second, m.energies, m.paths),
    ),
    "steps-spent": _Figure(
        evaluation.ladder,
        evaluation.steps_spent,
        lambda m, _: drawing.steps_spent(m.steps, m.max_steps),
        MAX_STEPS,
    ),
    "walk": _Figure(
        None,
        evaluation.walk,
        lambda m, _: drawing.walk_strip(m),
        None,
        frames=drawing.walk_frames,
    ),
}


def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(_FIGURES)}.")],
    run: RunFolder,
    out: Annotated[
        Path,
        typer.Option(help="Where the figure goes: .png, .svg or .pdf; a walk also .gif, .webp."),
    ],
    problems: Annotated[
        int | None,
        typer.Option(help="Number of fresh problems of each size.", show_default=str(_PROBLEMS)),
    ] = None,
    max_steps: Annotated[
        int | None,
        typer.Option(
            help="Step budget of every descent.",
            show_default=f"{RECORDED_STEPS}, {MAX_STEPS} where only ends are measured, for a walk "
            "that of the model",
        ),
    ] = None,
    difficulty: Annotated[
        str | None,
        typer.Option(
            help="Which problem a walk is about: same, harder or a number.", show_default="same"
        ),
    ] = None,
    step: StepName = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Measure and draw."""
    known("figure", name, _FIGURES)
    figure = _FIGURES[name]
    check_output(out, "A figure goes", _SUFFIXES if figure.frames is None else _SUFFIXES + _MOVING)
    options: dict[str, Any] = {
        "max_steps": figure.max_steps if max_steps is None else max_steps,
        "step": parse_step(step),
        "key": fresh_key(seed, "figure"),
    }
    if max_steps is not None:
        count("max_steps", max_steps)
    if difficulty is not None:
        if figure.frames is None:
            raise InputError(f"The figure '{name}' chooses its problems; leave out --difficulty.")
        options["difficulty"] = parse_difficulty(difficulty)
    loaded = load_energies(run)
    refuse_broken(loaded)
    refuse_fitted(loaded, "figures are of runs of `irem train`")
    if figure.levels is None and problems is not None:
        raise InputError(f"The figure '{name}' shows one problem; leave out --problems.")
    number = 1 if figure.levels is None else _PROBLEMS if problems is None else problems
    measured, paper = _measured(figure, loaded, number, options)
    write_whole(out, _drawn(figure, measured, paper, out.suffix))
    if json:
        settings = {"problems": number, "max_steps": options["max_steps"]}
        head = {"figure": name, "out": str(out)}
        beside = {"paper_mse": paper} if figure.compares else {}
        print_json({**head, **about(loaded), **settings, **measured.as_dict(), **beside})
        return
    typer.echo(f"Drew {name} of '{loaded.task.name}'; written to '{out}'.")


def _drawn(figure: _Figure, measured: Any, paper: Paper, suffix: str) -> bytes:
    """The file with the figure."""
    if figure.frames is not None and suffix in _MOVING:
        return animation(figure.frames(measured), suffix[1:])
    return image(figure.draw(measured, paper), suffix[1:])


def _measured(
    figure: _Figure, run: Run[Any], problems: int, options: dict[str, Any]
) -> tuple[Any, Paper]:
    """What the figure shows, and the paper's errors by label."""
    if figure.levels is None:
        return figure.measure(run.models[0], run.task, **options), {}
    levels = figure.levels(run.task)
    count("problems", problems)
    method = run.settings["method"]["name"]
    paper = {evaluation.label_of(n): printed_mse(method, run.task, n) for n in levels}
    with progress_bar("answering", len(levels) * problems * len(run.models)) as advance:
        many = {"problems": problems, "on_batch": advance}
        return figure.measure(run.models, run.task, levels, **many, **options), paper
