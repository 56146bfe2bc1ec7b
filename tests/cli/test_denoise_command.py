"""`irem denoise`: pictures of every kind in, the same kind out, and what is no picture refused."""

import json

import numpy as np
import pytest
from PIL import Image

SHAPE = (24, 40)
# Grey, then colour: a slope with an edge, in 8 bits.
GREY = np.clip(np.add.outer(4 * np.arange(24), 3 * np.arange(40)), 0, 255).astype(np.uint8)
COLOUR = np.stack([GREY, GREY[::-1], GREY[:, ::-1]], -1)


def picture(kind):
    """A noisy picture of one kind, as Pillow has it."""
    random = np.random.default_rng(0)
    noise = random.normal(0, 40, (*SHAPE, 3))
    colour = np.clip(COLOUR + noise, 0, 255).astype(np.uint8)
    if kind == "RGB":
        return Image.fromarray(colour)
    if kind == "RGBA":
        alpha = random.integers(0, 256, (*SHAPE, 1), np.uint8)
        return Image.fromarray(np.concatenate([colour, alpha], -1))
    if kind == "P":
        return Image.fromarray(colour).convert("P", palette=Image.Palette.ADAPTIVE, colors=64)
    if kind == "I;16":
        return Image.fromarray(colour[..., 0].astype(np.uint16) * 257)
    return Image.fromarray(colour[..., 0])


@pytest.fixture
def denoise(irem_cli, tmp_path):
    """Denoise a picture; return the result of the command and the picture it wrote."""

    def run(image, name="noisy.png", out="clean.png", *options):
        image.save(tmp_path / name)
        result = irem_cli("denoise", tmp_path / name, "--out", tmp_path / out, *options)
        with Image.open(tmp_path / out) as written:
            written.load()
        return result, written

    return run


@pytest.mark.parametrize(
    ("kind", "suffix", "mode"),
    [
        ("L", "png", "L"),
        ("RGB", "jpg", "RGB"),
        ("RGBA", "png", "RGBA"),
        ("P", "png", "RGB"),
        ("I;16", "tif", "I;16"),
    ],
)
def test_a_picture_comes_back_in_its_own_kind_with_less_noise(denoise, kind, suffix, mode):
    noisy = picture(kind)
    result, clean = denoise(noisy, f"noisy.{'tif' if kind == 'I;16' else 'png'}", f"clean.{suffix}")
    assert result.code == 0, result.err
    assert clean.mode == mode
    assert clean.size == noisy.size
    if kind == "RGBA":
        np.testing.assert_array_equal(np.asarray(clean)[..., 3], np.asarray(noisy)[..., 3])
    levels = 257 if kind == "I;16" else 1
    first = lambda p: np.atleast_3d(np.asarray(p))[..., 0] / levels  # noqa: E731
    before = first(noisy.convert("RGB") if kind == "P" else noisy)
    assert np.mean((first(clean) - GREY) ** 2) < 0.3 * np.mean((before - GREY) ** 2)


def test_what_it_prints_is_what_it_did(denoise):
    result, clean = denoise(
        Image.fromarray(GREY), "photo.png", "clean.png", "--add-noise", 40, "--json"
    )
    told = json.loads(result.out)
    assert (told["height"], told["width"], told["planes"]) == (*SHAPE, 1)
    assert told["converged"] == 1.0
    # PSNR of Gaussian noise of this strength, before it is clipped to the range of brightness.
    assert told["psnr_noisy"] > -20 * np.log10(40 / 255)
    error = np.mean((np.asarray(clean) / 255 - GREY / 255) ** 2)
    # Rounding to 8 bits moves a pixel by at most 1/510.
    assert told["psnr"] == pytest.approx(-10 * np.log10(error), abs=0.2)


def test_a_strip_of_the_steps_is_drawn(denoise, tmp_path):
    strip = tmp_path / "strip.png"
    result, _ = denoise(picture("L"), "noisy.png", "clean.png", "--strip", strip)
    assert result.code == 0, result.err
    with Image.open(strip) as drawn:
        assert drawn.size[0] > 500


def test_one_pixel_is_a_picture(denoise):
    result, clean = denoise(Image.fromarray(np.full((1, 1), 100, np.uint8)))
    assert result.code == 0, result.err
    assert clean.size == (1, 1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["text.png"], "not a picture"),
        (["none.png"], "no picture at"),
        (["float.tif"], "kind 'F'"),
        (["many.tif"], "several pictures"),
        (["grey.png", "--add-noise", "-1"], "0 or more"),
        (["grey.png", "--max-steps", "0"], "max_steps"),
        (["nowhere", "grey.png"], "no run at"),
        (["zoo:nothing", "grey.png"], "Unknown model 'nothing'"),
        (["deep.png", "--out", "clean.jpg"], "16 bits"),
        (["grey.png", "--out", "clean.gif"], "ending in"),
        (["grey.png", "--out", "none/clean.png"], "cannot be written"),
        (["grey.png", "grey.png", "grey.png"], "One picture at a time"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence(
    irem_cli, tmp_path, monkeypatch, arguments, sentence
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.png").write_text("not a picture")
    Image.fromarray(GREY).save("grey.png")
    Image.fromarray(GREY.astype(np.uint16) * 257).save("deep.png")
    Image.fromarray(GREY.astype(np.float32)).save("float.tif")
    one = Image.fromarray(GREY)
    one.save("many.tif", save_all=True, append_images=[one])
    before = sorted(p.name for p in tmp_path.iterdir())
    out = [] if "--out" in arguments else ["--out", "clean.png"]
    result = irem_cli("denoise", *arguments, *out)
    assert result.code == 2
    assert sentence in result.err
    assert result.err.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_a_run_on_other_problems_is_refused(irem_cli, runs, tmp_path):
    Image.fromarray(GREY).save(tmp_path / "grey.png")
    run, noisy, clean = runs["matrix-inverse"], tmp_path / "grey.png", tmp_path / "clean.png"
    result = irem_cli("denoise", run, noisy, "--out", clean)
    assert (result.code, clean.exists()) == (2, False)
    assert "trained on matrix-inverse" in result.err


@pytest.mark.parametrize(
    ("out", "strip", "sentence"),
    [
        ("grey.png", None, "'grey.png' is the picture itself"),
        ("link.png", None, "'link.png' is the picture itself"),
        ("hard.png", None, "'hard.png' is the picture itself"),
        ("clean.png", "clean.png", "'clean.png' is one of the pictures"),
        ("clean.png", "./clean.png", "'clean.png' is one of the pictures"),
        ("clean.png", "grey.png", "'grey.png' is one of the pictures"),
        ("clean.png", "link.png", "'link.png' is one of the pictures"),
    ],
)
def test_no_picture_is_written_over_another(irem_cli, tmp_path, monkeypatch, out, strip, sentence):
    monkeypatch.chdir(tmp_path)
    Image.fromarray(GREY).save("grey.png")
    (tmp_path / "link.png").symlink_to("grey.png")
    (tmp_path / "hard.png").hardlink_to("grey.png")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    options = () if strip is None else ("--strip", strip)
    result = irem_cli("denoise", "grey.png", "--out", out, *options)
    assert result.code == 2
    assert sentence in result.err
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before
