"""`irem denoise`."""

import dataclasses
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from irem import report
from irem._errors import InputError
from irem._files import write_whole
from irem._pictures import SUFFIXES, Picture, read_picture, write_picture
from irem.cli._common import (
    Json,
    MaxSteps,
    Seed,
    check_output,
    fresh_key,
    is_baseline,
    print_json,
    progress_bar,
    refuse_steps,
)
from irem.descent import MAX_STEPS
from irem.experiments import psnr, walk_frames
from irem.learning import Run, load
from irem.methods import denoise, num_tiles

NAME = "denoise"
HELP = "Take the noise out of a picture, grey or colour."
EXAMPLE = "Example: irem denoise noisy.png --out clean.png"

_DEFAULT_RUN = "zoo:denoise"


def command(
    context: typer.Context,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="[RUN] PICTURE",
            help="A PNG, JPEG or TIFF file; before it a folder made by `irem train denoise`, if it "
            f"is not to be {_DEFAULT_RUN}.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Where the clean picture goes: .png, .jpg or .tif.")],
    add_noise: Annotated[
        float | None,
        typer.Option(
            help="Take the picture for a clean one: add noise of this strength, of 255 levels, and "
            "measure how much of it is taken out.",
            show_default="none",
        ),
    ] = None,
    strip: Annotated[
        Path | None,
        typer.Option(
            help="Draw the middle of the picture after some of the steps into this file.",
            show_default="none",
        ),
    ] = None,
    max_steps: MaxSteps = MAX_STEPS,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Take the noise out of a picture."""
    if len(paths) > 2:
        raise InputError(f"One picture at a time, and a run before it; got {len(paths)} paths.")
    *run, path = paths
    if add_noise is not None and not (0 <= add_noise < float("inf")):
        raise InputError(f"`add-noise` is a strength of 0 or more, got {add_noise}.")
    check_output(_lower(out), "A picture goes", SUFFIXES)
    if strip is not None:
        check_output(strip, "A strip goes", (".png", ".svg", ".pdf"))
    loaded = _denoiser(run[0] if run else Path(_DEFAULT_RUN))
    refuse_steps(context, loaded)
    if strip is not None and is_baseline(loaded):
        raise InputError("A strip shows the steps of a descent, and this run's network has none.")
    picture = read_picture(path)
    if picture.deep and out.suffix.lower() in (".jpg", ".jpeg"):
        raise InputError(f"'{path}' has 16 bits, a JPEG file 8; write to a .png or .tif file.")
    planes = picture.planes
    if add_noise is not None:
        drawn = np.random.default_rng(seed).standard_normal(planes.shape, np.float32)
        planes = planes + np.float32(add_noise / 255) * drawn
    start, key = time.perf_counter(), fresh_key(seed, "denoise")
    with progress_bar("tiles", num_tiles(planes)) as advance:
        found = denoise(loaded.models[0], planes, max_steps=max_steps, on_tiles=advance, key=key)
    seconds = time.perf_counter() - start
    write_picture(out, dataclasses.replace(picture, planes=np.clip(found.planes, 0, 1)))
    if strip is not None:
        _draw(strip, loaded, picture, planes, add_noise)
    told: dict[str, Any] = {
        "out": str(out),
        "height": planes.shape[1],
        "width": planes.shape[2],
        "planes": planes.shape[0],
        "steps_mean": float(found.steps.mean()),
        "converged": found.converged,
        "seconds": seconds,
        "psnr_noisy": None if add_noise is None else _quality(planes, picture),
        "psnr": None if add_noise is None else _quality(found.planes, picture),
    }
    if json:
        print_json(told)
        return
    size = f"{told['width']} x {told['height']}"
    typer.echo(f"{size} pixels, {found.steps.mean():.1f} steps, {seconds:.1f} s; '{out}'.")
    if add_noise is not None:
        before, after = told["psnr_noisy"], told["psnr"]
        typer.echo(f"Quality: {before:.2f} dB with the noise, {after:.2f} dB without.")


def _denoiser(path: Path) -> Run:
    run = load(path)
    if run.task.kind != "images":
        raise InputError(
            f"'{path}' was trained on {run.task.name}, not on pictures; train one with `irem train "
            f"denoise`, or leave it out for {_DEFAULT_RUN}."
        )
    return run


def _lower(path: Path) -> Path:
    return path.with_suffix(path.suffix.lower())


def _quality(planes: np.ndarray, picture: Picture) -> float:
    """Of all planes together, as is usual for colour."""
    flat = lambda p: np.reshape(p, (-1, p.shape[-1]))  # noqa: E731
    return float(psnr(flat(planes), flat(picture.planes)))


def _draw(
    path: Path, run: Run, picture: Picture, planes: np.ndarray, add_noise: float | None
) -> None:
    plane = len(planes) // 2  # the only one, or green; the mean of three would be less noisy
    clean = None if add_noise is None else picture.planes[plane]
    frames = walk_frames(run.models[0], planes[plane], clean)
    figure = report.denoising_strip(frames, None if add_noise is None else f"noise {add_noise:g}")
    write_whole(path, report.image(figure, path.suffix[1:]))
