"""Pictures in files beside Pillow: what is read, what is written again, and what is refused."""

import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from PIL import Image

from irem import InputError
from irem.picture_files import (
    Picture,
    photographs,
    read_folder,
    read_picture,
    resized,
    write_picture,
)

RNG = np.random.default_rng(0)
SHAPE = (12, 17)
GREY, ALPHA = (RNG.integers(0, 256, SHAPE, np.uint8) for _ in range(2))
COLOUR = RNG.integers(0, 256, (*SHAPE, 3), np.uint8)


def with_alpha(channels):
    return np.dstack([channels, ALPHA])


def palette(colours):
    """A picture of 256 colours of which every pixel names one."""
    image = Image.new("P", SHAPE[::-1])
    image.putpalette(np.asarray(colours, np.uint8).tobytes())
    image.putdata(GREY.ravel().tolist())
    return image


GREYS = np.repeat(np.arange(256)[:, None], 3, axis=1)
COLOURS = RNG.integers(0, 256, (256, 3), np.uint8)

# What Pillow writes, by the ending of the file; the channels that are to be read; opacity.
CASES = {
    "grey": (Image.fromarray(GREY), (".png", ".tif"), GREY, None),
    "colour": (Image.fromarray(COLOUR), (".png", ".tiff"), COLOUR, None),
    "grey with alpha": (Image.fromarray(with_alpha(GREY)), (".png", ".tif"), GREY, ALPHA),
    "colour with alpha": (Image.fromarray(with_alpha(COLOUR)), (".png", ".tif"), COLOUR, ALPHA),
    "grey palette": (palette(GREYS), (".png", ".tif"), GREY, None),
    "colour palette": (palette(COLOURS), (".png", ".tif"), COLOURS[GREY], None),
    "one bit": (Image.fromarray(GREY > 127), (".png", ".tif"), 255 * (GREY > 127), None),
}
cases = [(name, suffix) for name, (_, suffixes, _, _) in CASES.items() for suffix in suffixes]


def planes_of(channels):
    return np.moveaxis(np.atleast_3d(channels), -1, 0)


@pytest.mark.parametrize(("name", "suffix"), cases)
def test_what_pillow_wrote_is_read_and_written_again_the_same(name, suffix, tmp_path):
    image, _, channels, alpha = CASES[name]
    image.save(tmp_path / f"first{suffix}")
    picture = read_picture(tmp_path / f"first{suffix}")
    assert picture.planes.dtype == np.float32
    assert not picture.deep
    np.testing.assert_allclose(255 * picture.planes, planes_of(channels), rtol=1e-6)
    if alpha is None:
        assert picture.alpha is None
    else:
        np.testing.assert_array_equal(picture.alpha, alpha)
    write_picture(tmp_path / f"second{suffix}", picture)
    with Image.open(tmp_path / f"second{suffix}") as again:
        expected = channels if alpha is None else with_alpha(channels)
        np.testing.assert_array_equal(np.asarray(again), expected)


@pytest.mark.parametrize("transparent", [3, bytes(range(256))], ids=["one colour", "a table"])
@pytest.mark.parametrize("colours", [GREYS, COLOURS], ids=["grey", "colour"])
def test_transparent_colours_of_a_palette_are_kept(colours, transparent, tmp_path):
    palette(colours).save(tmp_path / "first.png", transparency=transparent)
    picture = read_picture(tmp_path / "first.png")
    table = np.array(list(transparent)) if transparent != 3 else 255 * (np.arange(256) != 3)
    np.testing.assert_array_equal(picture.alpha, table[GREY])
    channels = GREY if colours is GREYS else COLOURS[GREY]
    np.testing.assert_allclose(255 * picture.planes, planes_of(channels), rtol=1e-6)


@pytest.mark.parametrize("channels", [GREY, COLOUR], ids=["grey", "colour"])
def test_a_transparent_colour_without_a_palette_is_kept(channels, tmp_path):
    one = channels[0, 0].tolist()
    transparent = one if isinstance(one, int) else tuple(one)
    Image.fromarray(channels).save(tmp_path / "first.png", transparency=transparent)
    picture = read_picture(tmp_path / "first.png")
    gone = (planes_of(channels) == planes_of(channels)[:, :1, :1]).all(axis=0)
    np.testing.assert_array_equal(picture.alpha, np.where(gone, 0, 255))


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_sixteen_bits_stay_sixteen_bits(suffix, tmp_path):
    levels = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    Image.fromarray(levels).save(tmp_path / f"first{suffix}")
    picture = read_picture(tmp_path / f"first{suffix}")
    assert picture.deep
    assert (picture.planes.min(), picture.planes.max()) == (0, 1)
    write_picture(tmp_path / f"second{suffix}", picture)
    with Image.open(tmp_path / f"second{suffix}") as again:
        assert again.mode.startswith("I;16")
        np.testing.assert_array_equal(np.asarray(again), levels)


def test_whole_numbers_of_32_bits_are_read_where_16_are_enough(tmp_path):
    levels = np.array([[0, 1], [256, 65535]], np.int32)
    Image.fromarray(levels).save(tmp_path / "small.tif")
    np.testing.assert_allclose(65535 * read_picture(tmp_path / "small.tif").planes[0], levels)
    for beyond in (-1, 65536):
        Image.fromarray(np.array([[0, beyond]], np.int32)).save(tmp_path / "large.tif")
        with pytest.raises(InputError, match=r"large\.tif' has numbers beyond 16 bits; convert"):
            read_picture(tmp_path / "large.tif")


def png_of_16_bits(channels):
    """A PNG file of 16-bit channels, which Pillow does not write (PNG specification, 5 and 11)."""
    height, width, number = channels.shape
    kind = {2: 4, 3: 2, 4: 6}[number]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in channels)

    def chunk(name, data):
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


@pytest.mark.parametrize("number", [2, 3, 4])
def test_sixteen_bits_of_colour_or_alpha_are_not_cut_to_eight_unsaid(number, tmp_path):
    channels = np.arange(16 * number).reshape(4, 4, number)  # of 65,535: black in 8 bits
    colours = channels[..., : 1 if number == 2 else 3]
    (tmp_path / "deep.png").write_bytes(png_of_16_bits(channels))
    try:
        picture = read_picture(tmp_path / "deep.png")
    except InputError as error:
        assert "16 bits" in str(error)  # noqa: PT017  (to be refused is as good as to be kept)
    else:
        np.testing.assert_allclose(picture.planes, planes_of(colours / 65535), atol=0.5 / 65535)


def test_a_jpeg_for_print_is_read_as_colour(tmp_path):
    # A broad ramp, of which a JPEG file loses next to nothing.
    ramp = np.linspace(0, 255, 32 * 32).reshape(32, 32)
    colour = np.stack([ramp, ramp.T, ramp[::-1]], axis=-1).astype(np.uint8)
    image = Image.fromarray(colour).convert("CMYK")
    image.save(tmp_path / "print.jpg", quality=100)
    with Image.open(tmp_path / "print.jpg") as written:
        assert written.mode == "CMYK"
        expected = np.asarray(written.convert("RGB"))
    picture = read_picture(tmp_path / "print.jpg")
    np.testing.assert_allclose(255 * picture.planes, planes_of(expected), rtol=1e-6)
    assert np.abs(255 * picture.planes - planes_of(colour)).max() < 10
    write_picture(tmp_path / "screen.jpg", picture)
    with Image.open(tmp_path / "screen.jpg") as again:
        assert (again.format, again.mode) == ("JPEG", "RGB")


@pytest.mark.parametrize(("planes", "mode"), [(1, "L"), (3, "RGB")])
def test_a_jpeg_has_no_alpha(planes, mode, tmp_path):
    write_picture(tmp_path / "a.JPG", Picture(np.full((planes, *SHAPE), 0.5, np.float32), ALPHA))
    with Image.open(tmp_path / "a.JPG") as image:
        assert image.mode == mode
        assert np.abs(np.asarray(image, int) - 128).max() <= 1


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_a_photograph_taken_sideways_is_turned_upright(suffix, tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # Orientation: the first row is the right side (Exif 2.3, table 6).
    Image.fromarray(GREY).save(tmp_path / f"sideways{suffix}", exif=exif)
    picture = read_picture(tmp_path / f"sideways{suffix}")
    np.testing.assert_allclose(255 * picture.planes[0], np.rot90(GREY, -1), rtol=1e-6)


@pytest.mark.parametrize(("deep", "levels"), [(False, 255), (True, 65535)])
def test_values_are_clipped_and_rounded_to_the_nearest_level(deep, levels, tmp_path):
    values = np.array([[-0.3, 0, 0.4 / levels, 0.6 / levels, 1 - 0.4 / levels, 1, 1.7]], np.float32)
    write_picture(tmp_path / "a.png", Picture(values[None], deep=deep))
    with Image.open(tmp_path / "a.png") as image:
        assert np.asarray(image).tolist() == [[0, 0, 0, 1, levels, levels, levels]]


def refused(function, *arguments):
    """The one sentence that says no."""
    with pytest.raises(InputError) as caught:
        function(*arguments)
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    assert ". " not in message
    return message


def test_a_file_that_is_not_there_or_a_folder_is_refused(tmp_path):
    (tmp_path / "folder.png").mkdir()
    for path in (tmp_path / "a.png", tmp_path / "folder.png"):
        assert refused(read_picture, path) == f"There is no picture at '{path}'."


@pytest.mark.parametrize("content", [b"", b"not a picture", b"\x89PNG\r\n\x1a\n"])
def test_a_file_that_is_no_picture_is_refused(content, tmp_path):
    (tmp_path / "a.png").write_bytes(content)
    message = refused(read_picture, tmp_path / "a.png")
    assert message.startswith(f"'{tmp_path / 'a.png'}' is not a picture that can be read (")
    assert message.endswith("); give a PNG, JPEG or TIFF file.")


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif"])
def test_half_a_picture_is_refused(suffix, share, tmp_path):
    path = tmp_path / f"a{suffix}"
    Image.fromarray(np.kron(GREY, np.ones((4, 4), np.uint8))).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    assert "is not a picture that can be read" in refused(read_picture, path)


# Pillow's own words on what it can still read.
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_damaged_pictures_are_read_or_refused_and_nothing_else(tmp_path):
    wholes = []
    for name, (image, suffixes, _, _) in CASES.items():
        for suffix in suffixes:
            path = tmp_path / f"{name}{suffix}"
            image.save(path)
            wholes.append((suffix, path.read_bytes()))
    several = tmp_path / "several.tif"
    Image.fromarray(GREY).save(several, save_all=True, append_images=[Image.fromarray(ALPHA)])
    wholes.append((".tif", several.read_bytes()))
    random, others = np.random.default_rng(1), {}
    for i in range(600):
        suffix, whole = wholes[i % len(wholes)]
        damaged = np.frombuffer(whole, np.uint8).copy()
        # Heads and the directories at the ends of TIFF files, where damage is not one of pixels.
        ends = np.r_[:64, len(damaged) - 128 : len(damaged)]
        damaged[random.choice(ends, 3)] = random.integers(0, 256, 3)
        path = tmp_path / f"damaged{suffix}"
        path.write_bytes(damaged.tobytes())
        try:
            read_picture(path)
        except InputError:
            pass
        except Exception as error:
            others[f"{suffix}: {error!r}"] = i
    assert not others


def test_numbers_that_are_not_whole_are_refused(tmp_path):
    Image.fromarray(np.full(SHAPE, 0.5, np.float32)).save(tmp_path / "a.tif")
    message = refused(read_picture, tmp_path / "a.tif")
    assert "a.tif' has pixels of the kind 'F'; convert it to 8 or 16 bits" in message


def test_a_file_of_several_pictures_is_refused(tmp_path):
    image = Image.fromarray(GREY)
    image.save(tmp_path / "a.tif", save_all=True, append_images=[image])
    assert "a.tif' holds several pictures; give each one" in refused(
        read_picture, tmp_path / "a.tif"
    )


def test_a_picture_of_too_many_pixels_is_refused(tmp_path, monkeypatch):
    Image.fromarray(GREY).save(tmp_path / "a.png")
    for most in (GREY.size - 1, GREY.size // 2 - 1):  # Pillow warns, and refuses twice as many.
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", most)
        assert "has too many pixels to be read; cut it" in refused(read_picture, tmp_path / "a.png")


def test_a_refused_write_leaves_what_was_there_and_nothing_else(tmp_path):
    path = tmp_path / "a.jpg"
    path.write_bytes(b"before")
    deep = Picture(np.zeros((1, *SHAPE), np.float32), deep=True)
    assert refused(write_picture, path, deep) == "A JPEG file has 8 bits; write 'a.png' instead."
    assert [p.name for p in tmp_path.iterdir()] == ["a.jpg"]
    assert path.read_bytes() == b"before"


def test_a_folder_is_read_in_the_order_of_names_and_other_files_are_left_alone(tmp_path):
    # Written in another order than read; the number of rows tells them apart.
    for name, rows in (("b.TIF", 3), ("a.jpeg", 2), ("c.png", 4), ("Z.PNG", 1)):
        Image.fromarray(GREY[:rows]).save(tmp_path / name)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "a.gif").write_bytes(b"neither")
    (tmp_path / "more").mkdir()
    found = read_folder(tmp_path)
    assert [p.shape for p in found] == [(rows, SHAPE[1]) for rows in (1, 2, 3, 4)]
    np.testing.assert_allclose(255 * found[3], GREY[:4], rtol=1e-6)


def test_a_folder_without_pictures_and_a_file_are_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert f"'{tmp_path}' has no pictures; give a folder" in refused(read_folder, tmp_path)
    assert "notes.txt' is not a folder; give one" in refused(read_folder, tmp_path / "notes.txt")
    assert "nowhere' is not a folder; give one" in refused(read_folder, tmp_path / "nowhere")


def test_grey_of_a_coloured_picture_is_the_luminance_of_pillow(tmp_path):
    Image.fromarray(COLOUR).save(tmp_path / "a.png")
    grey = read_picture(tmp_path / "a.png").grey()
    assert (grey.shape, grey.dtype) == (SHAPE, np.float32)
    # Pillow rounds to whole levels, from weights in units of 2^-16.
    expected = np.asarray(Image.fromarray(COLOUR).convert("L"))
    assert np.abs(255 * grey - expected).max() < 0.5 + 0.02


def test_grey_of_a_grey_picture_is_itself():
    plane = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(Picture(plane[None]).grey(), plane)


def test_photographs_are_several_grey_pictures():
    found = photographs()
    assert len(found) >= 5
    for picture in found:
        assert picture.ndim == 2
        assert picture.dtype == np.float32
        assert min(picture.shape) >= 64
        assert picture.min() >= 0
        assert picture.max() <= 1
        assert picture.std() > 0.05
    assert len({p.tobytes() for p in found}) == len(found)


def test_a_smaller_picture_has_the_same_mean_and_stays_in_range():
    plane = np.kron(np.float32(GREY[:8, :8] > 127), np.ones((8, 8), np.float32))
    small = resized(plane, 0.5)
    assert small.shape == (32, 32)
    assert small.min() >= 0
    assert small.max() <= 1
    # Bicubic weights overshoot at edges and are cut off there, evenly on both sides but for chance.
    assert abs(small.mean() - plane.mean()) < 0.01
    assert resized(plane, 0.001).shape == (1, 1)


def test_pillow_says_nothing_of_a_damaged_file_beside_the_sentence(tmp_path):
    path = tmp_path / "a.tif"
    Image.fromarray(COLOUR).save(path)
    # Ten thousand numbers for each pixel: tag 277, a number of 16 bits.
    tag = struct.pack("<HHI", 277, 3, 1)
    content = path.read_bytes()
    assert content.count(tag) == 1
    at = content.index(tag) + len(tag)
    path.write_bytes(content[:at] + struct.pack("<H", 10_000) + content[at + 2 :])
    # Under pytest there are handlers; without any, Python prints what is logged.
    code = f"from irem.picture_files import *\ntry: read_picture(Path({str(path)!r}))\n"
    code += "except InputError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "is not a picture that can be read" in done.stdout
    assert done.stderr == ""
