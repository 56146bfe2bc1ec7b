"""Appendix A: pictures with noise, of levels that training has seen and of others."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from irem._errors import InputError
from irem._pictures import read_folder
from irem._trees import map_arrays
from irem.descent import Reason, Walkable, solve
from irem.energy import NoiseNet
from irem.experiments._paper import PRINTED_DENOISING
from irem.experiments._study import Study, num_parameters
from irem.learning import Replay, Run, is_finished
from irem.methods import IREM, AbstractBaseline, AbstractMethod, answer
from irem.tasks import LARGEST_SIGMA

SIGMAS = (25, 35, 45, 55, 65, 75)
"""Strengths of the noise, of 255 levels of brightness; training sees up to 55."""

MAX_STEPS = 200
"""Step budget of every descent, and the end of the curves."""

SHOWN_STEPS = (0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200)
"""Steps whose quality is kept."""

# Pictures of one size that are cleaned together.
_AT_ONCE = 8
_NOISE_SEED = 0
# What goes on from the longer training of the U-Net, and at which rate.
_LONGER, _LATER_RATE = "-longer", 2e-4
_PRINTED = {"dncnn-bias": "DnCNN", "irem": "IREM"}
_FRAME, _FRAME_STEPS = 192, (0, 2, 3, 5)


def denoising(study: Study) -> list[dict[str, Any]]:
    """Quality by method and strength of noise."""
    networks = [_network(study, label) for label in _settings(study)]
    rows = [_noisy(study), _non_local_means(study), *networks]
    return [cell for row in rows for cell in row]


def psnr(y: Any, target: Any) -> Float[Array, "..."]:
    """Peak signal to noise ratio of pictures in dB, as the benchmark has it.

    Brightness goes from 0 to 1; answers are clipped to that, and not rounded. Leading axes are
    pictures.

    Example:
        >>> float(psnr(jnp.full((4, 4), 0.6), jnp.full((4, 4), 0.5)).round(2))
        20.0
    """
    y, target = jnp.clip(jnp.asarray(y), 0, 1), jnp.asarray(target)
    return -10 * jnp.log10(jnp.mean(jnp.square(y - target), axis=(-2, -1)))


def noise(picture: Float[np.ndarray, "h w"], index: int, sigma: int) -> np.ndarray:
    """A picture with the noise that every method is given; neither clipped nor rounded."""
    random = np.random.default_rng((_NOISE_SEED, index, sigma))
    drawn = random.standard_normal(picture.shape, np.float32)
    return picture + np.float32(sigma / 255) * drawn


def test_pictures(study: Study) -> list[Float[np.ndarray, "h w"]]:
    """What is scored: a folder of pictures, or those that training leaves out."""
    task = study.pictures
    if study.test_images is not None:
        found = read_folder(study.test_images)
    elif task.hold_out:
        found = task.held_out()
    else:
        raise InputError("There are no pictures to test on; give a folder with --test-images.")
    some, side = study.scale.test_pictures, study.scale.test_side
    return [p if side is None else _middle(p, side) for p in found[:some]]


@dataclasses.dataclass(frozen=True)
class Frames:
    """The middle of a picture after some of the steps of its descent.

    Arguments:
        steps: Numbers of steps.
        pictures: One for each of them.
        quality: Of each in dB, where the clean picture is known.
        clean: That, if it is known.
    """

    steps: tuple[int, ...]
    pictures: Float[np.ndarray, "frames h w"]
    quality: tuple[float, ...] | None
    clean: Float[np.ndarray, "h w"] | None


def walk_frames(
    model: Walkable, noisy: Float[np.ndarray, "h w"], clean: Float[np.ndarray, "h w"] | None = None
) -> Frames:
    """Walk the middle of a picture, and keep what it looks like on the way."""
    noisy = _middle(noisy, _FRAME)
    clean = None if clean is None else _middle(clean, _FRAME)
    key = jax.random.key(0)
    last = int(solve(model, noisy, max_steps=MAX_STEPS, key=key).steps)
    # A path is recorded to its full length, so that is not asked for blindly.
    solution = solve(model, noisy, max_steps=last, trajectory=True, key=key)
    assert solution.trajectory is not None
    steps = (*(t for t in _FRAME_STEPS if t < last), last)
    pictures = np.asarray(solution.trajectory.ys)[list(steps)]
    quality = None if clean is None else tuple(float(v) for v in psnr(pictures, clean[None]))
    return Frames(steps, pictures, quality, clean)


def strip_frames(study: Study) -> Frames | None:
    """The walk of IREM on the first test picture with the strongest noise, if IREM is trained."""
    label = "irem-longer" if study.scale.images_longer else "irem"
    if not is_finished(study.folder / "models" / f"denoise-{label}"):
        return None
    run, _ = trained(study, label)
    clean = test_pictures(study)[0]
    return walk_frames(run.model, noise(clean, 0, SIGMAS[-1]), clean)


def _settings(study: Study) -> dict[str, dict[str, Any]]:
    """Methods by the label of their rows, as `build_methods` takes them.

    Rows that end in `-longer` go on from one and the same longer training of the U-Net.
    """
    unet, dncnn = (dataclasses.asdict(s) for s in (study.scale.unet, study.scale.dncnn))
    energy = {"name": "conv", **unet, "bias": False}
    rows = {
        "dncnn-bias": {"name": "feedforward", "network": "dncnn", **dncnn, "bias": True},
        "dncnn": {"name": "feedforward", "network": "dncnn", **dncnn, "bias": False},
        "unet-bias": {"name": "feedforward", "network": "unet", **unet, "bias": True},
        "unet": {"name": "feedforward", "network": "unet", **unet, "bias": False},
        "irem": {"name": "irem", "step_size": 1.0, "gradient": "last-step", "energy": energy},
    }
    longer = ("unet", "irem") if study.scale.images_longer else ()
    return rows | {f"{label}-longer": rows[label] for label in longer}


def _network(study: Study, label: str) -> list[dict[str, Any]]:
    def make() -> list[dict[str, Any]]:
        run, seconds = trained(study, label)
        measured = {s: _measured(run, study, s) for s in SIGMAS}
        about = {"parameters": num_parameters(run.model), "training_seconds": seconds}
        return [_cell(study, label, s, **measured[s], **about) for s in SIGMAS]

    return study.cell("denoising", label, make)


def trained(study: Study, label: str) -> tuple[Run, float | None]:
    """One model; every update sees as many patches, for IREM half of them replayed."""
    budget, begin = study.scale.images, lambda untrained: untrained
    if label.endswith(_LONGER):
        budget = dataclasses.replace(budget, learning_rate=_LATER_RATE)
        begin = functools.partial(_with_network, _longer_unet(study))
    settings, replay = _settings(study)[label], None
    if settings["name"] == "irem":
        replay = Replay(study.scale.patches_replayed, clip=2.0)
        budget = dataclasses.replace(budget, batch_size=budget.batch_size // 2)
    return _train(study, settings, label, budget=budget, replay=replay, begin=begin)


def _longer_unet(study: Study) -> NoiseNet:
    """The network that the longer rows begin with."""
    budget = study.scale.images.longer(study.scale.images_longer)
    run, _ = _train(study, _settings(study)["unet"], "unet-first", budget=budget)
    return run.model.network.network


def _with_network(network: NoiseNet, untrained: AbstractMethod) -> AbstractMethod:
    """Models, stacked over seeds, with that network in place of their own."""
    part = "energy" if isinstance(untrained, IREM) else "network"
    stacked = map_arrays(lambda leaf: leaf[None], network)
    return eqx.tree_at(lambda method: getattr(method, part).network, untrained, stacked)


def _train(
    study: Study, settings: dict[str, Any], label: str, **how: Any
) -> tuple[Run, float | None]:
    return study.trained(study.pictures, settings, f"denoise-{label}", seeds=1, **how)


def _measured(run: Run, study: Study, sigma: int) -> dict[str, Any]:
    """Quality of the answers to one strength of noise, and of those on the way."""
    curves, steps, reasons = [], [], []
    for x, y in _batches(study, sigma):
        if isinstance(run.model, AbstractBaseline):
            found = answer(run.model, x, key=jax.random.key(0))
            curves.append(psnr(found.y, y)[:, None])
            steps.append(np.asarray(found.steps))
            continue
        walk = {"max_steps": MAX_STEPS, "batch_size": len(x), "key": jax.random.key(0)}
        solution = solve(run.model, x, trajectory=True, **walk)
        assert solution.trajectory is not None
        curves.append(psnr(solution.trajectory.ys, y[:, None]))
        steps.append(np.asarray(solution.steps))
        reasons.append(np.asarray(solution.reason))
    order = [i for group in _groups(test_pictures(study)) for i in group]
    curve = _unpadded(curves, study)[np.argsort(order)]
    found = {"psnr_by_picture": curve[:, -1], "steps_mean": float(_unpadded(steps, study).mean())}
    if not reasons:
        return found
    minima = [r for r in Reason if r.is_minimum]
    mean = curve.mean(0)
    return {
        **found,
        "converged": float(np.isin(_unpadded(reasons, study), minima).mean()),
        "psnr_by_step": {str(t): float(mean[t]) for t in SHOWN_STEPS},
        # What more steps cost at most: the best mean on the way less that at the end.
        "lost_by_more_steps": float(mean.max() - mean[-1]),
    }


def _groups(pictures: list[np.ndarray]) -> list[list[int]]:
    """Numbers of the pictures of one shape each, in parts that are cleaned together."""
    by_shape: dict[tuple[int, ...], list[int]] = {}
    for index, picture in enumerate(pictures):
        by_shape.setdefault(picture.shape, []).append(index)
    return [g[i : i + _AT_ONCE] for g in by_shape.values() for i in range(0, len(g), _AT_ONCE)]


def _batches(study: Study, sigma: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Noisy and clean pictures, all batches of one size: the last picture fills one up."""
    pictures = test_pictures(study)
    groups = _groups(pictures)
    width = max(map(len, groups))
    for group in groups:
        chosen = [*group, *[group[-1]] * (width - len(group))]
        yield (
            np.stack([noise(pictures[i], i, sigma) for i in chosen]),
            np.stack([pictures[i] for i in chosen]),
        )


def _unpadded(parts: list[Any], study: Study) -> np.ndarray:
    groups = _groups(test_pictures(study))
    kept = [np.asarray(p)[: len(g)] for p, g in zip(parts, groups, strict=True)]
    return np.concatenate(kept)


def _noisy(study: Study) -> list[dict[str, Any]]:
    """The floor: the noisy picture itself."""

    def make() -> list[dict[str, Any]]:
        pictures = test_pictures(study)
        return [
            _cell(study, "noisy", s, [psnr(noise(p, i, s), p) for i, p in enumerate(pictures)])
            for s in SIGMAS
        ]

    return study.cell("denoising", "noisy", make)


def _non_local_means(study: Study) -> list[dict[str, Any]]:
    """A classical method of scikit-image, which is told the strength of the noise."""
    from skimage.restoration import denoise_nl_means  # noqa: PLC0415  (slow to import)

    def clean(x: np.ndarray, sigma: int) -> np.ndarray:
        level = sigma / 255
        return denoise_nl_means(
            x, patch_size=5, patch_distance=8, h=0.6 * level, sigma=level, fast_mode=True
        )

    def make() -> list[dict[str, Any]]:
        pictures = test_pictures(study)
        return [
            _cell(
                study,
                "non-local-means",
                s,
                [float(psnr(clean(noise(p, i, s), s), p)) for i, p in enumerate(pictures)],
            )
            for s in SIGMAS
        ]

    return study.cell("denoising", "non-local-means", make)


def _cell(
    study: Study, method: str, sigma: int, psnr_by_picture: Any, **more: Any
) -> dict[str, Any]:
    values = [float(v) for v in psnr_by_picture]
    return {
        "task": "denoise",
        "method": method,
        "sigma": sigma,
        "seen": sigma <= LARGEST_SIGMA,
        "psnr": float(np.mean(values)),
        "psnr_by_picture": values,
        "pictures": len(values),
        "paper": PRINTED_DENOISING.get(_PRINTED.get(method, ""), {}).get(sigma),
        **more,
        **study.origin(),
    }


def _middle(picture: np.ndarray, side: int) -> np.ndarray:
    """The middle of a picture, at most `side` high and wide."""
    first = [max(0, (n - side) // 2) for n in picture.shape]
    return picture[first[0] :, first[1] :][:side, :side]
