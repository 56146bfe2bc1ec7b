"""What a picture looks like on the way to a clean one, and how good it is."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from irem.descent import Energy, solve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MAX_STEPS = 200
# The side of the part that is shown, and the steps after which it is.
_FRAME, _FRAME_STEPS = 192, (0, 2, 3, 5)


def psnr(y: Any, target: Any) -> Float[Array, "..."]:
    """Return the peak signal to noise ratio of pictures in dB, as the benchmark has it.

    Brightness goes from 0 to 1; answers are clipped to that, and not rounded. Leading axes are
    pictures.

    Example:
        >>> float(psnr(jnp.full((4, 4), 0.6), jnp.full((4, 4), 0.5)).round(2))
        20.0
    """
    y, target = jnp.clip(jnp.asarray(y), 0, 1), jnp.asarray(target)
    return -10 * jnp.log10(jnp.mean(jnp.square(y - target), axis=(-2, -1)))


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
    model: Energy, noisy: Float[np.ndarray, "h w"], clean: Float[np.ndarray, "h w"] | None = None
) -> Frames:
    """Descend on the middle of a picture, and keep it after some of the steps."""
    noisy = middle(noisy, _FRAME)
    clean = None if clean is None else middle(clean, _FRAME)
    key = jax.random.key(0)
    last = int(solve(model, noisy, max_steps=_MAX_STEPS, key=key).steps)
    # A path is recorded to its full length, so that is not asked for blindly.
    solution = solve(model, noisy, max_steps=last, trajectory=True, key=key)
    assert solution.trajectory is not None
    steps = (*(t for t in _FRAME_STEPS if t < last), last)
    pictures = np.asarray(solution.trajectory.ys)[list(steps)]
    quality = None if clean is None else tuple(float(v) for v in psnr(pictures, clean[None]))
    return Frames(steps, pictures, quality, clean)


def denoising_strip(frames: Frames, what: str | None = None) -> Figure:
    """Draw a piece of a picture after some of the steps, and the clean one if it is known."""
    pictures = list(frames.pictures) + ([] if frames.clean is None else [frames.clean])
    titles = [f"{t} steps" if t else what or "noisy" for t in frames.steps]
    if frames.quality is not None:
        titles = [f"{t}\n{q:.1f} dB" for t, q in zip(titles, frames.quality, strict=True)]
        titles.append("clean\n")
    from matplotlib.figure import Figure  # noqa: PLC0415  (a second that only drawing should cost)

    figure = Figure(figsize=(2.0 * len(pictures), 2.6), layout="constrained")
    for axes, picture, title in zip(
        figure.subplots(1, len(pictures)), pictures, titles, strict=True
    ):
        axes.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axes.set_title(title, fontsize=9)
        axes.set_axis_off()
    return figure


def middle(picture: np.ndarray, side: int) -> np.ndarray:
    """Return the middle of a picture, at most `side` high and wide."""
    first = [max(0, (n - side) // 2) for n in picture.shape]
    return picture[first[0] :, first[1] :][:side, :side]
