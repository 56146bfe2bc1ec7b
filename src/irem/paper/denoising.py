"""Appendix A: pictures with noise, of strengths that training draws and of stronger ones."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from irem.apps.pictures import Frames, denoising_strip, middle, psnr, walk_frames
from irem.descent import Reason, solve
from irem.errors import InputError
from irem.evaluation.tables import Entry, Table
from irem.files import write_whole
from irem.methods import IREM, AbstractBaseline, AbstractMethod
from irem.nn import NoiseNet
from irem.paper.cells import Cell
from irem.paper.experiment import Drawing, Experiment, Result
from irem.paper.scale import PatchScale
from irem.paper.study import Study, num_parameters
from irem.picture_files import read_folder
from irem.tasks import LARGEST_SIGMA
from irem.training import Recipe, Run, is_finished
from irem.trees import map_arrays

if TYPE_CHECKING:
    import matplotlib.figure

PRINTED_DENOISING: Mapping[str, Mapping[int, float]] = MappingProxyType(
    {
        "UNLNet": {45: 26.48, 55: 25.64},
        "DnCNN": {45: 26.56, 55: 25.71, 65: 22.19, 75: 17.90},
        "DnCNN-stop": {45: 26.59, 55: 25.79, 65: 23.56, 75: 18.62},
        "IREM": {45: 26.52, 55: 25.85, 65: 23.87, 75: 23.43},
        "BM3D": {45: 25.97, 55: 25.21, 65: 24.60, 75: 24.08},
        "WNNM": {45: 26.31, 55: 25.50, 65: 24.92, 75: 24.39},
    }
)
"""Quality in dB on BSD68, by method and strength of noise.

The table of Appendix A, with DnCNN-stop at 45 as in Chen et al. (2020), where the paper has it from
(it prints 26.48), and below it two classical methods that are told the strength.
"""

# Methods of this project by the name of a row, as they are printed, in the order of the table.
_NAMES = {
    "noisy": "noisy picture",
    "non-local-means": "non-local means",
    "dncnn-bias": "DnCNN",
    "dncnn": "DnCNN without biases",
    "unet-bias": "U-Net",
    "unet": "U-Net without biases",
    "irem": "IREM",
    "unet-longer": "U-Net without biases, longer",
    "irem-longer": "IREM, longer",
}
_PRINTED_AS = {"dncnn-bias": "DnCNN", "irem": "IREM"}
_NOISE_SEED = 0
_LONGER = "-longer"

Pictures = Sequence[Float[np.ndarray, "_ _"]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class DenoisingCell(Cell):
    """Quality of the answers to one strength of noise.

    Arguments:
        sigma: Strength of the noise, of 255 levels of brightness.
        seen: Whether training draws noise of this strength.
        psnr: Peak signal to noise ratio in dB, the mean over pictures.
        psnr_by_picture: That of every picture.
        pictures: How many there are.
    """

    sigma: int
    seen: bool
    psnr: float
    psnr_by_picture: tuple[float, ...]
    pictures: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class NetworkCell(DenoisingCell):
    """Quality of a trained method.

    Arguments:
        steps_mean: Mean number of steps taken.
        parameters: How many numbers of the model are trained.
        training_seconds: `None` where training was interrupted.
    """

    steps_mean: float
    parameters: int
    training_seconds: float | None


@dataclasses.dataclass(frozen=True, kw_only=True)
class DescentCell(NetworkCell):
    """Quality of an energy.

    Arguments:
        converged: Share of descents that ended in a minimum.
        psnr_by_step: Quality after some numbers of steps.
        lost_by_more_steps: The best mean quality after any step less that at the end.
    """

    converged: float
    psnr_by_step: Mapping[str, float]
    lost_by_more_steps: float

    def __post_init__(self) -> None:
        """Refuse steps that are not counted."""
        if not all(step.isascii() and step.isdecimal() for step in self.psnr_by_step):
            raise ValueError("the steps of `psnr_by_step` are not whole numbers")


_KINDS = (DenoisingCell, NetworkCell, DescentCell)


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is measured.

    Arguments:
        sigmas: Strengths of the noise; training draws up to 55.
        max_steps: Step budget of every descent, and the end of the curves.
        shown_steps: Steps whose quality is kept.
        batch_size: Pictures of one size that are answered together.
        later_rate: Learning rate of the rows that start from a longer training.
    """

    sigmas: tuple[int, ...] = (25, 35, 45, 55, 65, 75)
    max_steps: int = 200
    shown_steps: tuple[int, ...] = (0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200)
    batch_size: int = 8
    later_rate: float = 2e-4


SETTINGS = Settings()


def run(study: Study, settings: Settings = SETTINGS) -> list[DenoisingCell]:
    """Return the quality by method and strength of noise."""
    rows: dict[str, Callable[[], list[DenoisingCell]]] = {
        "noisy": lambda: untrained_cells(study, "noisy", lambda x, _: x, settings),
        "non-local-means": lambda: untrained_cells(
            study, "non-local-means", _non_local_means, settings
        ),
        **{
            label: functools.partial(_network_cells, study, label, settings)
            for label in recipes(study)
        },
    }
    pictures = {"pictures": study.named_pictures}
    found = [
        cell
        for label, make in rows.items()
        for cell in study.cells("denoising", label, _KINDS, make, settings=pictures)
    ]
    _keep_strip(study, settings)
    return found


def _keep_strip(study: Study, settings: Settings) -> None:
    """Draw a test picture after some of the steps beside the results."""
    from irem.evaluation.page import png  # noqa: PLC0415  (loads matplotlib)

    frames = strip_frames(study, settings)
    if frames is not None:
        path = study.folder / "denoising-strip.png"
        write_whole(path, png(denoising_strip(frames)))
        study.say(f"A picture after some of its steps is in '{path}'.")


def noise(picture: Float[np.ndarray, "h w"], index: int, sigma: int) -> np.ndarray:
    """Return a picture with the noise that every method is given; neither clipped nor rounded."""
    random = np.random.default_rng((_NOISE_SEED, index, sigma))
    drawn = random.standard_normal(picture.shape, np.float32)
    return picture + np.float32(sigma / 255) * drawn


def test_pictures(study: Study) -> Pictures:
    """Return what is scored: a folder of pictures, or those that training leaves out."""
    task = study.pictures
    if study.test_images is not None:
        found = read_folder(study.test_images)
    elif task.hold_out:
        found = task.held_out()
    else:
        raise InputError("There are no pictures to test on; give a folder with --test-images.")
    some, side = study.scale.pictures.test_pictures, study.scale.pictures.test_side
    return [p if side is None else middle(p, side) for p in found[:some]]


def strip_frames(study: Study, settings: Settings = SETTINGS) -> Frames | None:
    """Return IREM's descent on the first test picture with the strongest noise, once trained."""
    label = "irem-longer" if study.scale.pictures.longer else "irem"
    if not is_finished(study.folder / "models" / f"denoise-{label}"):
        return None
    run, _ = train_row(study, label, settings)
    clean = test_pictures(study)[0]
    return walk_frames(run.model, noise(clean, 0, settings.sigmas[-1]), clean)


def recipes(study: Study) -> dict[str, Recipe]:
    """Return the recipes of all networks by the label of their rows.

    Rows that end in `-longer` start from one and the same longer training of the U-Net. Every
    update has as many patches; half of IREM's are replayed ones.
    """
    scale, task = study.scale.pictures, study.pictures

    def network(name: str, bias: bool) -> Recipe:
        size = {f"network.{n}": v for n, v in dataclasses.asdict(getattr(scale, name)).items()}
        recipe = study.recipe(task, "feedforward")
        return recipe.override({"network.name": name, **size, "network.bias": bias})

    energy = {
        "energy.width": scale.unet.width,
        "energy.depth": scale.unet.depth,
        "replay.capacity": scale.replayed,
        "batch_size": scale.budget.batch_size // 2,
    }
    rows = {
        "dncnn-bias": network("dncnn", True),
        "dncnn": network("dncnn", False),
        "unet-bias": network("unet", True),
        "unet": network("unet", False),
        "irem": study.recipe(task).override(energy),
    }
    longer = ("unet", "irem") if scale.longer else ()
    return rows | {f"{label}{_LONGER}": rows[label] for label in longer}


def train_row(study: Study, label: str, settings: Settings) -> tuple[Run, float | None]:
    """Return the one model of a row, and the seconds of its training."""
    recipe, begin = recipes(study)[label], lambda untrained: untrained
    if label.endswith(_LONGER):
        recipe = recipe.override({"optimiser.learning_rate": settings.later_rate})
        begin = functools.partial(_with_network, longer_unet(study))
    return _train(study, recipe, label, begin)


def longer_unet(study: Study) -> NoiseNet:
    """Return the network that the longer rows start from."""
    recipe, times = recipes(study)["unet"], study.scale.pictures.longer
    longer = recipe.override({"iterations": times * recipe.length("iterations")})
    run, _ = _train(study, longer, "unet-first", lambda untrained: untrained)
    return run.model.network.network


def _with_network(network: NoiseNet, untrained: AbstractMethod) -> AbstractMethod:
    """Models, stacked over seeds, with that network in place of their own."""
    part = "energy" if isinstance(untrained, IREM) else "network"
    stacked = map_arrays(lambda leaf: leaf[None], network)
    return eqx.tree_at(lambda method: getattr(method, part).network, untrained, stacked)


def _train(
    study: Study, recipe: Recipe, label: str, begin: Callable[[AbstractMethod], AbstractMethod]
) -> tuple[Run, float | None]:
    return study.trained(study.pictures, recipe, f"denoise-{label}", seeds=1, begin=begin)


def _network_cells(study: Study, label: str, settings: Settings) -> list[DenoisingCell]:
    run, seconds = train_row(study, label, settings)
    about = {"parameters": num_parameters(run.model), "training_seconds": seconds}
    pictures = test_pictures(study)
    return [
        measure(run.model, pictures, s, settings, {**about, **_about(study, label, s)})
        for s in settings.sigmas
    ]


def measure(
    model: Any, pictures: Pictures, sigma: int, settings: Settings, about: Mapping[str, Any]
) -> NetworkCell:
    """Return the quality of a model's answers to one strength of noise.

    Arguments:
        model: An energy or a baseline.
        pictures: Clean pictures.
        sigma: Strength of the noise.
        settings: Of the experiment.
        about: The other fields of the cell.
    """
    groups = group_by_shape(pictures, settings.batch_size)
    is_baseline = isinstance(model, AbstractBaseline)
    options = {} if is_baseline else {"max_steps": settings.max_steps, "trajectory": True}
    curves, steps, reasons = [], [], []
    for group, (x, y) in zip(groups, _batches(pictures, groups, sigma), strict=True):
        solution = solve(model, x, key=jax.random.key(0), **options)
        path = solution.trajectory
        quality = psnr(solution.y, y)[:, None] if path is None else psnr(path.ys, y[:, None])
        curves.append(np.asarray(quality)[: len(group)])
        steps.append(np.asarray(solution.steps)[: len(group)])
        if solution.reason is not None:
            reasons.append(np.asarray(solution.reason)[: len(group)])
    order = np.argsort([index for group in groups for index in group])
    curve = np.concatenate(curves)[order]
    found = {
        **_quality(curve[:, -1]),
        "steps_mean": float(np.concatenate(steps).mean()),
        **about,
    }
    if is_baseline:
        return NetworkCell(**found)
    mean, minima = curve.mean(0), [r for r in Reason if r.is_minimum]
    return DescentCell(
        **found,
        converged=float(np.isin(np.concatenate(reasons), minima).mean()),
        psnr_by_step={str(t): float(mean[t]) for t in settings.shown_steps},
        lost_by_more_steps=float(mean.max() - mean[-1]),
    )


def group_by_shape(pictures: Pictures, batch_size: int) -> list[list[int]]:
    """Return the indices of pictures of one shape each, at most so many together."""
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for index, picture in enumerate(pictures):
        by_shape.setdefault(picture.shape, []).append(index)
    return [
        group[i : i + batch_size]
        for group in by_shape.values()
        for i in range(0, len(group), batch_size)
    ]


def _batches(
    pictures: Pictures, groups: list[list[int]], sigma: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Noisy and clean pictures, all batches of one size: the last picture fills one up."""
    size = max(map(len, groups))
    for group in groups:
        chosen = [*group, *[group[-1]] * (size - len(group))]
        yield (
            np.stack([noise(pictures[i], i, sigma) for i in chosen]),
            np.stack([pictures[i] for i in chosen]),
        )


def untrained_cells(
    study: Study,
    label: str,
    clean: Callable[[np.ndarray, int], np.ndarray],
    settings: Settings = SETTINGS,
) -> list[DenoisingCell]:
    """Return the quality of a function from a noisy picture and its strength to a clean one."""
    pictures = test_pictures(study)
    found = []
    for s in settings.sigmas:
        values = [psnr(clean(noise(p, i, s), s), p) for i, p in enumerate(pictures)]
        found.append(DenoisingCell(**_quality(values), **_about(study, label, s)))
    return found


def _non_local_means(x: np.ndarray, sigma: int) -> np.ndarray:
    """A classical method of scikit-image, which is told the strength of the noise."""
    from skimage.restoration import denoise_nl_means  # noqa: PLC0415  (slow to import)

    level = sigma / 255
    return denoise_nl_means(
        x, patch_size=5, patch_distance=8, h=0.6 * level, sigma=level, fast_mode=True
    )


def _quality(psnr_by_picture: Sequence[Any] | np.ndarray) -> dict[str, Any]:
    values = tuple(float(v) for v in psnr_by_picture)
    return {"psnr": float(np.mean(values)), "psnr_by_picture": values, "pictures": len(values)}


def _about(study: Study, label: str, sigma: int) -> dict[str, Any]:
    return {
        "task": "denoise",
        "method": label,
        "sigma": sigma,
        "seen": sigma <= LARGEST_SIGMA,
        "paper": PRINTED_DENOISING.get(_PRINTED_AS.get(label, ""), {}).get(sigma),
        **study.origin(),
    }


def table(cells: Sequence[DenoisingCell], file: str) -> Table:
    """Methods down, strengths of noise across; the best of what was measured here is strong."""
    sigmas = list(dict.fromkeys(cell.sigma for cell in cells))
    best = {s: max(c.psnr for c in cells if c.sigma == s) for s in sigmas}
    by_method: dict[str, dict[int, tuple[int, DenoisingCell]]] = {}
    for index, cell in enumerate(cells):
        by_method.setdefault(cell.method, {})[cell.sigma] = (index, cell)
    rows = []
    for method, found in by_method.items():
        row = [Entry(_NAMES.get(method, method))]
        for sigma in sigmas:
            if sigma not in found:
                row.append(Entry(""))
                continue
            index, cell = found[sigma]
            source = f"{file}: cells[{index}]"
            row.append(Entry(f"{cell.psnr:.2f}", source, cell.psnr == best[sigma]))
        _, first = next(iter(found.values()))
        trained = isinstance(first, NetworkCell)
        row.append(Entry(f"{first.parameters:,}" if trained else ""))
        row.append(Entry(f"{first.steps_mean:.0f}" if trained else ""))
        rows.append(tuple(row))
    for name, values in PRINTED_DENOISING.items():
        numbers = (Entry(f"{values[s]:.2f}" if s in values else "") for s in sigmas)
        rows.append((Entry(f"{name}, printed"), *numbers, Entry(""), Entry("")))
    marks = [f"{s}" if s <= LARGEST_SIGMA else f"{s} (not seen)" for s in sigmas]
    return Table(("method", *marks, "parameters", "steps"), tuple(rows), labels=1)


def draw_steps(result: Result) -> matplotlib.figure.Figure:
    """Draw the quality against steps, a line for each strength; those beyond training are dashed.

    Of the energies there are, the last one is shown.
    """
    from matplotlib import colormaps  # noqa: PLC0415  (only drawing loads matplotlib)

    from irem.paper import drawing  # noqa: PLC0415

    cells = [cell for cell in result.cells if isinstance(cell, DescentCell)]
    cells = [cell for cell in cells if cell.method == cells[-1].method]
    last = max((int(t) for cell in cells for t in cell.psnr_by_step), default=1)
    figure, ((axes,),) = drawing.grid(1, 1, 5.6, 3.6)
    colours = colormaps["viridis"](np.linspace(0, 0.85, len(cells)))
    for cell, colour in zip(cells, colours, strict=True):
        steps = [int(t) for t in cell.psnr_by_step]
        label = f"noise {cell.sigma}" + ("" if cell.seen else ", not seen in training")
        style = "-" if cell.seen else "--"
        axes.plot(steps, list(cell.psnr_by_step.values()), style, color=colour, label=label)
    axes.axvline(5, color="#9ca3af", linewidth=0.8)
    axes.set_xscale("symlog", linthresh=10)
    axes.set_xlim(0, max(last, 1))
    axes.set_xticks([0, 2, 5, 10, 50, 200], ["0", "2", "5", "10", "50", "200"])
    axes.set_xlabel("steps tried")
    axes.set_ylabel("quality (PSNR, dB)")
    axes.legend(fontsize=8, frameon=False)
    return figure


def _describe(result: Result) -> str:
    images, first = result.settings(PatchScale).images, cast("DenoisingCell", result.cells[0])
    return (
        f"{result.file}: one model each, {first.pictures} test pictures; {images.iterations} "
        f"iterations of {images.batch_size} patches, learning rate {images.learning_rate} "
        f"({images.decay}), gradients clipped at {images.clip_norm}; {result.origin}"
    )


EXPERIMENT = Experiment(
    name="denoising",
    title="Appendix A: pictures with noise",
    explanation=(
        "Peak signal to noise ratio in dB on pictures that training has not seen, the mean over "
        "pictures; larger is better. Brightness is clipped and not rounded. Training draws noise "
        "from 0 to 55 for each patch and is not told how much; 65 and 75 are beyond it. Printed "
        "rows are the paper's own, on the same pictures if those are BSD68; BM3D, WNNM and "
        "non-local means are told the strength of the noise. The U-Net is the network inside the "
        "energy, in one pass; every update of every method has as many patches, half of IREM's "
        "are replayed ones. The two longer rows begin with one and the same U-Net, trained three "
        "times as long in one pass, and go on for as many updates as the other rows have, at a "
        "lower rate: one in one pass, the other as the network of an energy."
    ),
    run=run,
    kinds=_KINDS,
    table=table,
    drawings={
        "denoising-steps": Drawing(
            "Quality of BSD68 or other test pictures against the steps of the descent that was "
            "trained with 5; once the energy stops falling, nothing changes any more.",
            draw_steps,
        )
    },
    describe=_describe,
)
