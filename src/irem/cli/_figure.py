"""`irem figure`."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from matplotlib.figure import Figure

import irem
from irem import experiments, report
from irem._checks import count, known
from irem._errors import InputError
from irem._files import write_whole
from irem.cli._common import (
    Json,
    RunFolder,
    Seed,
    StepName,
    about,
    check_output,
    fresh_key,
    load_energies,
    parse_step,
    print_json,
    progress_bar,
)
from irem.descent import MAX_STEPS
from irem.experiments import RECORDED_STEPS

NAME = "figure"
HELP = "Draw one figure of a trained run: errors, energies or steps."
EXAMPLE = "Example: irem figure error-by-step runs/add --out error.png"

_PROBLEMS = 100
_SUFFIXES = (".png", ".svg", ".pdf")


@dataclasses.dataclass(frozen=True)
class _Figure:
    """What is measured and how it is drawn; a figure without levels shows one problem."""

    levels: Callable[[irem.tasks.AbstractTask], tuple[Any, ...]] | None
    measure: Callable[..., Any]
    draw: Callable[[Any], Figure]
    max_steps: int = RECORDED_STEPS


_FIGURES: Mapping[str, _Figure] = {
    "error-by-size": _Figure(
        experiments.sizes,
        experiments.error_curves,
        lambda m: report.error_by_size({"IREM": m.errors}, m.trivial),
    ),
    "error-by-step": _Figure(
        experiments.difficulties,
        experiments.error_curves,
        lambda m: report.error_by_step(m.errors, m.paper, m.trivial),
    ),
    "energy-by-distance": _Figure(
        experiments.difficulties,
        experiments.heights,
        lambda m: report.energy_by_error(m.points),
        MAX_STEPS,
    ),
    "element-error": _Figure(
        None, experiments.element_errors, lambda m: report.element_error(m.errors)
    ),
    "landscape": _Figure(
        None,
        experiments.problem_plane,
        lambda m: report.landscape(m.first, m.second, m.energies, m.paths),
    ),
    "steps-spent": _Figure(
        experiments.ladder,
        experiments.steps_spent,
        lambda m: report.steps_spent(m.steps, m.max_steps),
        MAX_STEPS,
    ),
}


def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"One of {', '.join(_FIGURES)}.")],
    run: RunFolder,
    out: Annotated[Path, typer.Option(help="Where the figure goes: .png, .svg or .pdf.")],
    problems: Annotated[
        int | None,
        typer.Option(help="Number of fresh problems of each size.", show_default=str(_PROBLEMS)),
    ] = None,
    max_steps: Annotated[
        int | None,
        typer.Option(
            help="Step budget of every descent.",
            show_default=f"{RECORDED_STEPS}, or {MAX_STEPS} where only ends are looked at",
        ),
    ] = None,
    step: StepName = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Measure and draw."""
    known("figure", name, _FIGURES)
    figure = _FIGURES[name]
    check_output(out, "A figure goes", _SUFFIXES)
    options = {
        "max_steps": figure.max_steps if max_steps is None else max_steps,
        "step": parse_step(step, None),
        "key": fresh_key(seed, "figure"),
    }
    count("max_steps", options["max_steps"])
    loaded = load_energies(run)
    if figure.levels is None:
        if problems is not None:
            raise InputError(f"The figure '{name}' shows one problem; leave out --problems.")
        problems = 1
        measured = figure.measure(loaded.models[0], loaded.task, **options)
    else:
        problems = _PROBLEMS if problems is None else problems
        measured = _measure_many(figure, loaded, problems, options)
    write_whole(out, report.image(figure.draw(measured), out.suffix[1:]))
    if json:
        settings = {"problems": problems, "max_steps": options["max_steps"]}
        head = {"figure": name, "out": str(out)}
        print_json({**head, **about(loaded), **settings, **measured.as_dict()})
        return
    typer.echo(f"Drew {name} of '{loaded.task.name}'; written to '{out}'.")


def _measure_many(figure: _Figure, run: irem.Run, problems: int, options: dict[str, Any]) -> Any:
    assert figure.levels is not None
    levels = figure.levels(run.task)
    count("problems", problems)
    with progress_bar("answering", len(levels) * problems * len(run.models)) as advance:
        many = {"problems": problems, "on_batch": advance}
        return figure.measure(run.models, run.task, levels, **many, **options)
