"""Remove Gaussian noise from pictures."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt8

from irem.checks import count, count_or_zero, positive
from irem.errors import InputError
from irem.formats import Pictures
from irem.problem import Problem
from irem.tasks.base import AbstractTask, Difficulty

LARGEST_SIGMA = 55
"""Noise of the training pictures is at most this strong, of 255 levels of brightness."""

# The benchmark's program draws its training noise from these alone (Chen et al. 2020).
_BENCHMARK_SIGMAS = (35, 45, 55)
_SCALES = (1.0, 0.9, 0.8, 0.7)


class Album(eqx.Module):
    """Pictures of any sizes in one row of pixels, from which patches are cut on the device.

    Arguments:
        pixels: All pixels, picture after picture.
        first: Where each picture begins.
        widths: Width of each picture.
        across: How many patches fit beside each other in each picture.
        ends: How many patches there are up to and including each picture.
    """

    pixels: UInt8[Array, " pixels"]
    first: Int[Array, " pictures"]
    widths: Int[Array, " pictures"]
    across: Int[Array, " pictures"]
    ends: Int[Array, " pictures"]

    @staticmethod
    def of(pictures: Sequence[Float[np.ndarray, "_ _"]], patch: int) -> Album:
        """All patches of `patch` x `patch` pixels of some pictures, none of which is smaller."""
        shapes = np.array([p.shape for p in pictures], np.int64)
        room = shapes - patch + 1
        ends, pixels = np.cumsum(room.prod(1)), np.cumsum(shapes.prod(1))
        if pixels[-1] > np.iinfo(np.int32).max:
            raise InputError(
                f"The pictures have {pixels[-1]:,} pixels at all scales, more than can be indexed; "
                "give fewer or smaller ones."
            )
        flat = [np.rint(255 * p).astype(np.uint8).ravel() for p in pictures]
        first = np.concatenate([[0], pixels[:-1]])
        table = (jnp.asarray(a, jnp.int32) for a in (first, shapes[:, 1], room[:, 1], ends))
        return Album(jnp.asarray(np.concatenate(flat)), *table)

    def cut(self, key: PRNGKeyArray, patch: int) -> Float[Array, "patch patch"]:
        """A patch, each as likely as any other, as one of its eight turns and mirror images."""
        key_place, key_turn = jax.random.split(key)
        place = jax.random.randint(key_place, (), 0, self.ends[-1])
        picture = jnp.searchsorted(self.ends, place, side="right")
        place = place - jnp.where(picture > 0, self.ends[picture - 1], 0)
        row, column = place // self.across[picture], place % self.across[picture]
        corner = self.first[picture] + row * self.widths[picture] + column
        inside = jnp.arange(patch)
        cut = self.pixels[corner + inside[:, None] * self.widths[picture] + inside]
        turn = jax.random.bernoulli(key_turn, shape=(3,))
        cut = jnp.where(turn[0], cut[::-1], cut)
        cut = jnp.where(turn[1], cut[:, ::-1], cut)
        return jnp.where(turn[2], cut.T, cut) / 255.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Denoise(AbstractTask):
    """`x` is a patch of a picture with Gaussian noise, `y` the patch without; both from 0 to 1.

    The noise is as strong as the difficulty says, of 255 levels: a number, `same` (drawn for each
    patch from 0 to 55) or `harder` (75). It is neither rounded nor clipped. The variant `released`
    draws from 35, 45 and 55 alone, as the program of the benchmark does (Chen et al. 2020).

    Arguments:
        images: A folder of pictures; by default the photographs that come with scikit-image.
        size: Height and width of a patch.
        scales: Sizes at which every picture is cut up.
        hold_out: How many pictures, the last ones by name, are left out.
    """

    name: ClassVar[str] = "denoise"
    summary: ClassVar[str] = "remove Gaussian noise from pictures"

    variant: str = "paper"
    images: str | None = None
    size: int = 64
    scales: Sequence[float] = _SCALES
    hold_out: int = 0

    def __post_init__(self) -> None:
        """Refuse settings that make no problem."""
        super().__post_init__()
        count("size", self.size)
        count_or_zero("hold_out", self.hold_out)
        object.__setattr__(self, "scales", tuple(self.scales))
        for scale in self.scales:
            positive("scales", scale)

    @functools.cached_property
    def album(self) -> Album:
        """All patches; the pictures are read when they are first needed."""
        pictures = self._pictures()
        pictures = pictures[: max(0, len(pictures) - self.hold_out)]
        if not pictures:
            raise InputError(f"All pictures are held out ({self.hold_out}); hold out fewer.")
        smallest = min(min(p.shape) for p in pictures)
        if smallest < self.size:
            folder = "scikit-image" if self.images is None else self.images
            raise InputError(
                f"A picture of '{folder}' is only {smallest} pixels high or wide, less than a "
                f"patch of {self.size}; take it out, or ask for smaller patches."
            )
        from irem.picture_files import resized  # noqa: PLC0415  (loads Pillow)

        scaled = [p if s == 1 else resized(p, s) for p in pictures for s in self.scales]
        fitting = [p for p in scaled if min(p.shape) >= self.size]
        if not fitting:
            raise InputError(
                f"At the scales {self.scales} no picture is as large as a patch of {self.size}; "
                "ask for larger scales or smaller patches."
            )
        with jax.ensure_compile_time_eval():  # the caller may be traced, the pictures are not
            return Album.of(fitting, self.size)

    def held_out(self) -> list[np.ndarray]:
        """The pictures that are left out."""
        pictures = self._pictures()
        return pictures[max(0, len(pictures) - self.hold_out) :]

    def _pictures(self) -> list[np.ndarray]:
        from irem.picture_files import photographs, read_folder  # noqa: PLC0415  (loads Pillow)

        return photographs() if self.images is None else read_folder(Path(self.images))

    @property
    def format(self) -> Pictures:
        """Pictures of any size."""
        return Pictures()

    def leaves(self) -> dict[str, Any]:
        """Return the pictures, so that compiled programs take them as an argument."""
        return {"album": self.album}

    def sample(self, key: PRNGKeyArray, difficulty: Difficulty = "same") -> Problem:
        """Draw one problem."""
        self.check_difficulty(difficulty)
        key_cut, key_sigma, key_noise = jax.random.split(key, 3)
        y = self.album.cut(key_cut, self.size)
        if not isinstance(difficulty, str):
            sigma = jnp.asarray(difficulty, y.dtype)
        elif difficulty == "harder":
            sigma = jnp.asarray(75.0)
        elif self.variant == "released":
            sigma = jax.random.choice(key_sigma, jnp.asarray(_BENCHMARK_SIGMAS, y.dtype))
        else:
            sigma = jax.random.uniform(key_sigma, maxval=float(LARGEST_SIGMA))
        return Problem(y + sigma / 255 * jax.random.normal(key_noise, y.shape), y)

    def check_difficulty(self, difficulty: Difficulty) -> None:
        """Refuse a difficulty that is neither a name nor a strength of noise."""
        if isinstance(difficulty, str):
            super().check_difficulty(difficulty)
        elif difficulty < 0:
            raise InputError(f"Noise has a strength of 0 or more, got {difficulty}.")

    def trivial(self, x: Float[Array, "*batch h w"]) -> Float[Array, "*batch h w"]:
        """The noisy picture."""
        return x

    def oracle(self, x: Float[Array, "*batch h w"]) -> Float[Array, "*batch h w"]:
        """Return NaN: the best answer is not known."""
        return jnp.full_like(x, jnp.nan)
