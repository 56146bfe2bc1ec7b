"""Pictures in files: read as planes of brightness from 0 to 1, and written the way they came."""

from __future__ import annotations

import dataclasses
import io
import logging
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

import numpy as np
from jaxtyping import Float, Shaped
from PIL import Image, ImageOps

from irem.errors import InputError
from irem.files import write_whole

# What Pillow has to say of damaged files is in what it raises.
logging.getLogger("PIL").addHandler(logging.NullHandler())

SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
"""How the names of pictures end."""

# What Pillow calls a picture, and as what it is read.
_READ_AS = {"1": "L", "CMYK": "RGB", "YCbCr": "RGB", "LAB": "RGB", "HSV": "RGB", "RGBX": "RGB"}
_DEEP = ("I;16", "I;16B", "I;16L", "I")
# Photographs inside scikit-image's package; the others there are drawings or close-ups.
_PHOTOGRAPHS = (
    "astronaut.png",
    "brick.png",
    "camera.png",
    "chelsea.png",
    "coffee.png",
    "coins.png",
    "grass.png",
    "gravel.png",
    "motorcycle_left.png",
    "rocket.jpg",
)


@dataclasses.dataclass(frozen=True)
class Picture:
    """Planes of brightness from 0 to 1, and what is needed to write them again.

    Arguments:
        planes: One plane for a grey picture, three for a coloured one.
        alpha: How opaque each pixel is, as it was in the file.
        deep: Whether the file has 16 bits for each number.
    """

    planes: Float[np.ndarray, "channels height width"]
    alpha: Shaped[np.ndarray, "height width"] | None = None
    deep: bool = False

    def grey(self) -> Float[np.ndarray, "height width"]:
        """One plane: the picture's own, or the luminance of a coloured one (ITU-R 601)."""
        if len(self.planes) == 1:
            return self.planes[0]
        return np.tensordot(np.array([0.299, 0.587, 0.114], np.float32), self.planes, 1)


def read_picture(path: Path) -> Picture:
    """The picture in a file, or a sentence that says why it is none."""
    if not path.is_file():
        raise InputError(f"There is no picture at '{path}'.")
    # Of a file that it opens by name, Pillow maps the pixels as if they stood upright.
    with path.open("rb") as file:
        return parse_picture(file, path)


def parse_picture(file: BinaryIO, path: Path) -> Picture:
    """The picture in an open file, or a sentence that says why it is none.

    Arguments:
        file: The file.
        path: What errors call it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what matters of a damaged file is raised
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(file) as image:
                return _planes(image, path)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise InputError(f"'{path}' has too many pixels to be read; cut it into parts.") from error
    except InputError:
        raise
    except Exception as error:  # Pillow raises errors of any kind on damaged files
        raise InputError(
            f"'{path}' is not a picture that can be read ({error}); give a PNG, JPEG or TIFF file."
        ) from error


def write_picture(path: Path, picture: Picture) -> None:
    """Write a picture whole or not at all, in the form that the ending of `path` names."""
    kind = Image.registered_extensions()[path.suffix.lower()]
    if kind == "JPEG" and picture.deep:
        raise InputError(f"A JPEG file has 8 bits; write '{path.stem}.png' instead.")
    write_whole(path, picture_bytes(picture, kind))


def picture_bytes(picture: Picture, kind: str = "PNG") -> bytes:
    """A picture as the bytes of a file of a kind that Pillow knows."""
    levels = 65535 if picture.deep else 255
    planes = np.rint(np.clip(picture.planes, 0, 1) * levels)
    if picture.deep:
        image = Image.fromarray(planes[0].astype(np.uint16))
    else:
        planes = planes.astype(np.uint8)
        alpha = [] if picture.alpha is None else [picture.alpha]
        image = Image.merge(
            _mode(len(planes), bool(alpha)), [Image.fromarray(p) for p in (*planes, *alpha)]
        )
    if kind == "JPEG":
        image = image.convert("L" if len(planes) == 1 else "RGB")
    file = io.BytesIO()
    image.save(file, kind, **({"quality": 95} if kind == "JPEG" else {}))
    return file.getvalue()


def read_folder(folder: Path) -> list[Float[np.ndarray, "height width"]]:
    """All pictures of a folder, grey, in the order of their names."""
    return _grey(list_folder(folder))


def list_folder(folder: Path) -> list[Path]:
    """The pictures of a folder in the order of their names, or a sentence that there are none."""
    if not folder.is_dir():
        raise InputError(f"'{folder}' is not a folder; give one with PNG, JPEG or TIFF pictures.")
    visible = (p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    paths = sorted(p for p in visible if p.suffix.lower() in SUFFIXES)
    if not paths:
        raise InputError(f"'{folder}' has no pictures; give a folder with PNG, JPEG or TIFF files.")
    return paths


def photographs() -> list[Float[np.ndarray, "height width"]]:
    """The photographs that come inside scikit-image, grey."""
    import skimage  # noqa: PLC0415  (half a second that only training on them should cost)

    folder = Path(skimage.__file__).parent / "data"
    return _grey(folder / name for name in _PHOTOGRAPHS)


def resized(plane: Float[np.ndarray, "h w"], scale: float) -> Float[np.ndarray, "height width"]:
    """A plane at another scale (bicubic)."""
    height, width = (max(1, round(scale * n)) for n in plane.shape)
    image = Image.fromarray(np.asarray(plane, np.float32))
    return np.clip(np.asarray(image.resize((width, height), Image.Resampling.BICUBIC)), 0, 1)


def _grey(paths: Iterable[Path]) -> list[Float[np.ndarray, "height width"]]:
    return [read_picture(path).grey() for path in paths]


def _planes(image: Image.Image, path: Path) -> Picture:
    # Some cameras put a second, smaller picture into their JPEG files (MPO).
    if getattr(image, "n_frames", 1) > 1 and image.format != "MPO":
        raise InputError(f"'{path}' holds several pictures; give each one as a file of its own.")
    if image.mode not in _DEEP and any(
        ";16" in str(tile.args) for tile in getattr(image, "tile", ())
    ):
        raise InputError(
            f"'{path}' has 16 bits for each of several colours; convert it to 8 bits, or to grey."
        )
    image = ImageOps.exif_transpose(image)
    if image.mode in _DEEP:
        numbers = np.asarray(image).astype(np.float32)
        if numbers.min() < 0 or numbers.max() > 65535:
            raise InputError(f"'{path}' has numbers beyond 16 bits; convert it to 8 or 16 bits.")
        return Picture(numbers[None] / 65535, deep=True)
    if image.mode in ("P", "PA"):
        alpha = "A" if "transparency" in image.info or image.mode == "PA" else ""
        image = image.convert(f"RGB{alpha}")
        grey = all(len(set(c)) == 1 for _, c in _colours(image.convert("RGB")))
        image = image.convert(f"L{alpha}") if grey else image
    elif "transparency" in image.info and image.mode in ("1", "L", "RGB"):
        image = image.convert("RGBA" if image.mode == "RGB" else "LA")
    image = image.convert(_READ_AS.get(image.mode, image.mode))
    if image.mode not in ("L", "LA", "RGB", "RGBA"):
        raise InputError(
            f"'{path}' has pixels of the kind '{image.mode}'; convert it to 8 or 16 bits, grey or "
            "colour."
        )
    channels = np.moveaxis(np.atleast_3d(np.asarray(image)), -1, 0)
    alpha = channels[-1] if image.mode in ("LA", "RGBA") else None
    colours = channels if alpha is None else channels[:-1]
    return Picture(colours.astype(np.float32) / 255, alpha)


def _colours(image: Image.Image) -> list[tuple[int, tuple[int, ...]]]:
    return image.getcolors(256) or []  # pyright: ignore[reportReturnType]


def _mode(channels: int, alpha: bool) -> str:
    return ("L" if channels == 1 else "RGB") + ("A" if alpha else "")
