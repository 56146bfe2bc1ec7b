"""`irem denoise`."""

import dataclasses
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from irem.apps.pictures import Denoised, denoise, denoising_strip, num_tiles, psnr, walk_frames
from irem.cli.common import (
    Json,
    Seed,
    check_output,
    fresh_key,
    is_baseline,
    is_same_file,
    print_json,
    progress_bar,
)
from irem.descent import MAX_STEPS
from irem.errors import InputError
from irem.evaluation.page import image
from irem.files import write_whole
from irem.formats import Pictures
from irem.picture_files import SUFFIXES, Picture, read_picture, write_picture
from irem.training import Run, load

EXAMPLE = "Example: irem denoise noisy.png --out clean.png"

_DEFAULT_RUN = "zoo:denoise"


def command(
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
            "measure how much of it is removed.",
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
    max_steps: Annotated[
        int | None, typer.Option(help="Step budget of every descent.", show_default=str(MAX_STEPS))
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Remove the noise from a picture."""
    _check_places(paths, out, strip, add_noise)
    *run, path = paths
    loaded = _denoiser(run[0] if run else Path(_DEFAULT_RUN), max_steps, strip)
    picture = read_picture(path)
    if picture.deep and out.suffix.lower() in (".jpg", ".jpeg"):
        raise InputError(f"'{path}' has 16 bits, a JPEG file 8; write to a .png or .tif file.")
    planes = _with_noise(picture, add_noise, seed)
    start, key = time.perf_counter(), fresh_key(seed, "denoise")
    with progress_bar("tiles", num_tiles(planes)) as advance:
        found = denoise(loaded.models[0], planes, max_steps=max_steps, on_tiles=advance, key=key)
    seconds = time.perf_counter() - start
    write_picture(out, dataclasses.replace(picture, planes=np.clip(found.planes, 0, 1)))
    if strip is not None:
        _draw(strip, loaded, picture, planes, add_noise)
    quality = None
    if add_noise is not None:
        quality = _quality(planes, picture), _quality(found.planes, picture)
    _report(out, found, seconds, quality, json)


def _report(
    out: Path, found: Denoised, seconds: float, quality: tuple[float, float] | None, json: bool
) -> None:
    """Print size, steps and time and, where the clean picture is known, quality."""
    planes, height, width = found.planes.shape
    steps = float(found.steps.mean())
    before, after = quality or (None, None)
    if json:
        size = {"height": height, "width": width, "planes": planes}
        how = {"steps_mean": steps, "converged": found.converged, "seconds": seconds}
        print_json({"out": str(out), **size, **how, "psnr_noisy": before, "psnr": after})
        return
    typer.echo(f"{width} x {height} pixels, {steps:.1f} steps, {seconds:.1f} s; '{out}'.")
    if quality is not None:
        typer.echo(f"Quality: {before:.2f} dB with the noise, {after:.2f} dB without.")


def _check_places(
    paths: list[Path], out: Path, strip: Path | None, add_noise: float | None
) -> None:
    """Refuse what cannot be read or written, before any work is done."""
    if len(paths) > 2:
        raise InputError(f"One picture at a time, and a run before it; got {len(paths)} paths.")
    if add_noise is not None and not (0 <= add_noise < float("inf")):
        raise InputError(f"`add-noise` is a strength of 0 or more, got {add_noise}.")
    check_output(out.with_suffix(out.suffix.lower()), "A picture goes", SUFFIXES)
    if is_same_file(out, paths[-1]):
        raise InputError(f"'{out}' is the picture itself; choose another file for the clean one.")
    if strip is None:
        return
    check_output(strip, "A strip goes", (".png", ".svg", ".pdf"))
    if is_same_file(strip, paths[-1]) or is_same_file(strip, out):
        raise InputError(f"'{strip}' is one of the pictures; choose another file for the strip.")


def _denoiser(path: Path, max_steps: int | None, strip: Path | None) -> Run[Any]:
    """The run in `path`, which must be one on pictures."""
    run = load(path)
    if not isinstance(run.task.format, Pictures):
        raise InputError(
            f"'{path}' was trained on {run.task.name}, not on pictures; train one with `irem train "
            f"denoise`, or leave it out for {_DEFAULT_RUN}."
        )
    if is_baseline(run) and max_steps is not None:
        raise InputError(
            f"--max-steps is about descents on an energy, and '{path}' holds a "
            f"{run.settings['method']['name']} network, which has its own steps; leave it out."
        )
    if is_baseline(run) and strip is not None:
        raise InputError("A strip shows the steps of a descent, and this run's network has none.")
    return run


def _with_noise(picture: Picture, strength: float | None, seed: int) -> np.ndarray:
    if strength is None:
        return picture.planes
    drawn = np.random.default_rng(seed).standard_normal(picture.planes.shape, np.float32)
    return picture.planes + np.float32(strength / 255) * drawn


def _quality(planes: np.ndarray, picture: Picture) -> float:
    """Of all planes together, as is usual for colour."""
    flat = lambda p: np.reshape(p, (-1, p.shape[-1]))  # noqa: E731
    return float(psnr(flat(planes), flat(picture.planes)))


def _draw(
    path: Path, run: Run[Any], picture: Picture, planes: np.ndarray, add_noise: float | None
) -> None:
    plane = len(planes) // 2  # the only one, or green; the mean of three would be less noisy
    clean = None if add_noise is None else picture.planes[plane]
    frames = walk_frames(run.models[0], planes[plane], clean)
    figure = denoising_strip(frames, None if add_noise is None else f"noise {add_noise:g}")
    write_whole(path, image(figure, path.suffix[1:]))
