"""Pictures made clean: in tiles as whole, by networks of the right form, and measured rightly."""

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy.signal import correlate2d
from skimage.metrics import peak_signal_noise_ratio

import irem
from irem._inputs import pictures as as_pictures
from irem._pictures import read_folder
from irem.energy import AbstractEnergy, Conv
from irem.experiments import QUICK, Study, _denoising, psnr, walk_frames
from irem.experiments._scale import Layers
from irem.learning import History, Run
from irem.methods import (
    AbstractBaseline,
    _denoise,
    build_method,
    build_methods,
    describe_method,
    num_tiles,
)
from irem.methods._denoise import _cut, _join, _places
from irem.methods._image import DnCNN, UNetDenoiser

KEY = jax.random.key(0)
TASK = irem.tasks.get("denoise")
TILE, RIM, LARGEST = 16, 4, 24 * 24


def brighten(x):
    """An answer that no pixel's neighbour has a part in; twice applied it is another."""
    return 0.5 * x + 0.25 * x**2


class Pixelwise(AbstractBaseline):
    """A network that looks at one pixel at a time, in as many steps as a picture has rows."""

    def loss(self, problem, y0, *, key):
        raise NotImplementedError

    def predict(self, x, num_steps, *, key):
        raise NotImplementedError

    def answer(self, x, *, key):
        del key
        return brighten(x), jnp.asarray(x.shape[0])

    def settings(self):
        return {}

    def as_batch(self, x):
        return as_pictures(x)


class Bowl(AbstractEnergy):
    """An energy whose minimum is the answer above; every pixel goes down by itself."""

    def landscape(self, x):
        return lambda y: 0.5 * jnp.sum(jnp.square(y - brighten(x)))

    def answer_shape(self, x):
        return x.shape

    def as_batch(self, x):
        return as_pictures(x)

    def guess(self, x, shape, *, key):
        del shape, key
        return x


MODELS = {"baseline": Pixelwise(), "energy": Bowl()}


def shrink(monkeypatch):
    """Set limits so small that a picture of some hundred pixels is cut into tiles."""
    for name, value in (("_TILE", TILE), ("_RIM", RIM), ("_LARGEST", LARGEST)):
        monkeypatch.setattr(_denoise, name, value)


@pytest.fixture
def small_tiles(monkeypatch):
    shrink(monkeypatch)


def picture(*shape, seed=0):
    return np.random.default_rng(seed).random(shape, np.float32)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    ("shape", "tiles"),
    # Along a side of n pixels there are as many tiles as inner parts of 8 in n - 8.
    [((25, 24), 6), ((3, 33, 41), 3 * 20), ((7, 90), 11), ((97, 7), 12), ((24, 24), 1)],
    ids=str,
)
def test_tiles_joined_are_the_whole_and_all_are_reported(small_tiles, kind, shape, tiles):
    noisy, reports = picture(*shape), []
    found = irem.denoise(MODELS[kind], noisy, on_tiles=reports.append, key=KEY)
    assert num_tiles(noisy) == sum(reports) == len(found.steps) == tiles
    assert found.planes.shape == shape
    assert found.planes.dtype == np.float32
    # Weighted means round a few times; a descent ends near its minimum.
    atol = 1e-6 if kind == "baseline" else 1e-4
    np.testing.assert_allclose(found.planes, brighten(noisy), rtol=0, atol=atol)
    if kind == "baseline":
        assert found.converged is None
        assert set(found.steps) == {TILE if tiles > 1 else 24}
    else:
        assert found.converged == 1.0
        assert found.steps.min() >= 1


@settings(max_examples=60, deadline=None)
@given(height=st.integers(1, 70), width=st.integers(1, 70), planes=st.integers(1, 3))
def test_every_pixel_is_covered_whatever_the_shape(height, width, planes):
    with pytest.MonkeyPatch.context() as monkeypatch:
        shrink(monkeypatch)
        stack = picture(planes, height, width)
        tiles = _cut(stack)
        assert tiles.shape[1:] == (TILE, TILE)
        joined = _join(tiles, stack.shape)
        np.testing.assert_allclose(joined, stack, rtol=0, atol=1e-6)
        assert num_tiles(stack) == (len(tiles) if height * width > LARGEST else planes)


@pytest.mark.parametrize("length", [256, 257, 447, 448, 449, 512, 1000, 4032])
def test_tiles_along_a_side_overlap_by_two_rims_and_end_with_it(length):
    places, (tile, rim) = np.array(_places(length)), (_denoise._TILE, _denoise._RIM)
    assert places[0] == 0
    assert places[-1] == length - tile
    steps = np.diff(places)
    assert (steps > 0).all()
    assert (steps[:-1] == tile - 2 * rim).all()
    assert (steps <= tile - 2 * rim).all()


def test_tiles_that_disagree_are_blended_without_a_seam(small_tiles):
    # Tiles of black and white by turns, at 0, 8, 16 and 24 of 40 pixels.
    tiles = np.stack([np.full((TILE, TILE), i % 2, np.float32) for i in range(4)])
    (row,) = np.unique(_join(tiles, (1, TILE, 40))[0], axis=0)
    # Weights rise by 1 in a rim of 4 while the other tile has 4, from 0 : 4 to 1 : 4 to 4 : 4.
    assert np.abs(np.diff(row)).max() <= 1 / (RIM + 1) + 1e-6
    np.testing.assert_allclose(row[:8], 0, atol=1e-6)
    np.testing.assert_allclose(row[8:12], np.arange(1, 5) / (np.arange(1, 5) + RIM), rtol=1e-6)


def test_a_side_shorter_than_a_tile_is_filled_up_with_its_mirror_image(small_tiles):
    stack = picture(1, 7, 90)
    first = _cut(stack)[0]
    expected = np.concatenate([stack[0, :, :16], stack[0, ::-1, :16], stack[0, :2, :16]])
    np.testing.assert_array_equal(first, expected)


@pytest.fixture(scope="module")
def filled_conv():
    return filled(lambda: irem.IREM(Conv(width=4, depth=1, head=1, key=KEY), step_size=0.1))


def filled(build):
    """What `build` makes, with weights of NumPy, which need no compilation."""
    rng = np.random.default_rng(1)

    def fill(leaf):
        scale = (1 / np.prod(leaf.shape[:-1])) ** 0.5 if leaf.ndim > 1 else 0.3
        return jnp.asarray(scale * rng.normal(size=leaf.shape), leaf.dtype)

    return jax.tree.map(fill, eqx.filter_eval_shape(build))


def test_planes_of_colour_are_cleaned_each_by_itself(filled_conv):
    colour = picture(3, 16, 16)
    together = irem.denoise(filled_conv, colour, max_steps=4, key=KEY)
    assert together.planes.shape == (3, 16, 16)
    assert together.steps.shape == (3,)
    assert np.abs(together.planes - colour).max() > 1e-3
    for plane, clean in zip(colour, together.planes, strict=True):
        alone = irem.denoise(filled_conv, plane, max_steps=4, key=KEY)
        np.testing.assert_array_equal(alone.planes, clean)
    swapped = irem.denoise(filled_conv, colour[::-1], max_steps=4, key=KEY)
    np.testing.assert_array_equal(swapped.planes, together.planes[::-1])


def test_the_budget_of_steps_is_kept_and_what_it_cut_off_has_not_converged():
    found = irem.denoise(Bowl(), picture(9, 9), max_steps=1, key=KEY)
    assert found.steps.tolist() == [1]
    assert found.converged == 0.0


@pytest.mark.parametrize("shape", [(), (5,), (1, 2, 3, 4), (0, 5), (3, 0, 5)])
def test_what_is_no_picture_is_refused_in_one_sentence(shape):
    with pytest.raises(irem.InputError) as caught:
        irem.denoise(Pixelwise(), np.ones(shape), key=KEY)
    assert str(caught.value) == (
        f"A picture has the shape (height, width) or (planes, height, width), got {shape}."
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_picture_of_something_else_than_numbers_is_refused(bad):
    noisy = picture(4, 5)
    noisy[1, 2] = bad
    with pytest.raises(irem.InputError, match=r"`planes` must be finite, but 1 of its 20 numbers"):
        irem.denoise(Bowl(), noisy, key=KEY)
    with pytest.raises(irem.InputError, match=r"`planes` must hold numbers"):
        irem.denoise(Bowl(), np.full((4, 5), "grey"), key=KEY)


def test_a_budget_without_steps_is_refused():
    with pytest.raises(irem.InputError, match=r"`max_steps` must be greater than 0, got 0"):
        irem.denoise(Bowl(), picture(4, 5), max_steps=0, key=KEY)


NETWORKS = {
    "dncnn": lambda bias: DnCNN(width=4, depth=3, bias=bias, key=KEY),
    "unet": lambda bias: UNetDenoiser(width=4, depth=1, bias=bias, key=KEY),
}
apply = eqx.filter_jit(lambda network, x: network(x))


def cleaned(network, x):
    return np.asarray(apply(network, jnp.asarray(x))[0])


@pytest.fixture(scope="module", params=NETWORKS)
def network(request):
    """A network without biases."""
    return filled(lambda: NETWORKS[request.param](False))


def test_a_network_answers_with_a_picture_of_the_same_shape_and_no_features(network):
    x = jnp.asarray(picture(13, 9))
    answer, features = eqx.filter_eval_shape(network, x)
    assert (answer.shape, features.shape) == ((13, 9), (network.num_features,)) == ((13, 9), (0,))
    assert network.answer_shape(x) == (13, 9)
    batch, alone = network.as_batch(x)
    assert (batch.shape, alone) == ((1, 13, 9), True)


def test_a_network_without_biases_scales_with_the_contrast(network):
    x = picture(13, 9) - np.float32(0.5)
    once = cleaned(network, x)
    assert np.abs(once - x).max() > 1e-2
    np.testing.assert_allclose(cleaned(network, 3 * x), 3 * once, rtol=1e-4, atol=1e-5)


def test_dncnn_is_convolutions_in_a_row():
    network, x = filled(lambda: NETWORKS["dncnn"](True)), picture(13, 9)
    features = x[..., None]
    for i, layer in enumerate(network.layers):
        weight, bias = np.asarray(layer.weight), np.asarray(layer.bias)
        features = bias + np.stack(
            [
                sum(
                    correlate2d(features[..., i], w[..., i], mode="same") for i in range(w.shape[2])
                )
                for w in np.moveaxis(weight, -1, 0)
            ],
            axis=-1,
        )
        features = np.maximum(features, 0) if i < 2 else features
    once = cleaned(network, x)
    np.testing.assert_allclose(once, x - features[..., 0], rtol=1e-4, atol=1e-5)
    # With biases an answer does not scale with the contrast.
    assert np.abs(cleaned(network, 3 * x) - 3 * once).max() > 1e-2


def abstract(name, task=TASK, **options):
    """A method with the shapes of its weights but no values, which takes no time."""
    return eqx.filter_eval_shape(lambda: build_method(task, {"name": name, **options}, key=KEY))


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_described_denoiser_is_built_again_in_the_same_form(name, bias):
    method = abstract("feedforward", network=name, width=6, depth=2, bias=bias)
    described = json.loads(json.dumps(describe_method(method)))
    assert described == {
        "name": "feedforward",
        "network": name,
        "width": 6,
        "depth": 2,
        "bias": bias,
    }
    again = abstract(**described)
    assert jax.tree.structure(again) == jax.tree.structure(method)
    assert jax.tree.leaves(again) == jax.tree.leaves(method)


def test_an_energy_of_pictures_is_built_again_in_the_same_form():
    energy = {"name": "conv", "width": 6, "depth": 2, "head": 3, "bias": True}
    method = abstract("irem", energy=energy, gradient="last-step", step_size=0.5)
    described = json.loads(json.dumps(describe_method(method)))
    assert described["energy"] == energy
    again = abstract(**described)
    assert jax.tree.structure(again) == jax.tree.structure(method)
    assert jax.tree.leaves(again) == jax.tree.leaves(method)


def test_by_default_pictures_are_answered_by_the_network_of_the_energy_and_as_large():
    energy = {"name": "conv"}
    methods = [
        abstract("feedforward"),
        abstract("irem", energy=energy, gradient="last-step"),
    ]
    assert isinstance(methods[0].network, UNetDenoiser)
    counts = [sum(leaf.size for leaf in jax.tree.leaves(m)) for m in methods]
    assert counts[0] == counts[1]
    dncnn = abstract("feedforward", network="dncnn")
    # 20 layers (Zhang et al. 2017), of 64 channels but at the ends; biases everywhere.
    assert sum(leaf.size for leaf in jax.tree.leaves(dncnn)) == (
        9 * 64 + 64 + 18 * (9 * 64 * 64 + 64) + 9 * 64 + 1
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"network": "vit"}, r"^Unknown network 'vit'; known are unet, dncnn\.$"),
        ({"network": "dcnn"}, r"Did you mean 'dncnn'\?$"),
        ({"aggregate": "sum"}, r"^`aggregate` .*'denoise' has no graphs; leave it out\.$"),
        ({"width": 0}, r"^`width` must be greater than 0, got 0\.$"),
        ({"network": "dncnn", "depth": 0}, r"^`depth` must be greater than 0, got 0\.$"),
    ],
)
def test_networks_that_cannot_be_built_are_refused(options, message):
    with pytest.raises(irem.InputError, match=message):
        build_method(TASK, {"name": "feedforward", **options}, key=KEY)


@pytest.mark.parametrize("name", ["recurrent", "programmatic", "iterative-feedforward"])
def test_other_baselines_refuse_pictures_in_one_sentence(name):
    message = r"^Of the baselines, 'denoise' has the feedforward network alone\.$"
    with pytest.raises(irem.InputError, match=message):
        build_method(TASK, {"name": name}, key=KEY)


@pytest.mark.parametrize("setting", [{"network": "unet"}, {"bias": True}], ids=str)
def test_settings_of_pictures_are_refused_elsewhere(setting):
    (name,) = setting
    with pytest.raises(irem.InputError, match=rf"`{name}` is for pictures, and 'addition' has"):
        abstract("feedforward", irem.tasks.get("addition"), **setting)


@pytest.mark.parametrize("strength", [0.02, 0.3])
def test_psnr_is_that_of_scikit_image(strength):
    clean = picture(5, 11, 12).astype(np.float32)
    noisy = clean + np.float32(strength) * np.random.default_rng(1).normal(size=clean.shape)
    expected = [
        peak_signal_noise_ratio(c, np.clip(n, 0, 1), data_range=1)
        for c, n in zip(clean, noisy.astype(np.float32), strict=True)
    ]
    np.testing.assert_allclose(psnr(noisy, clean), expected, rtol=1e-5)
    np.testing.assert_allclose(psnr(noisy[2], clean[2]), expected[2], rtol=1e-5)


def test_psnr_of_the_clean_picture_is_infinite():
    assert psnr(picture(3, 4), picture(3, 4)) == np.inf


# Two shapes by turns, of which one is not a part of the other.
SHAPES = [(10, 12), (9, 14), (10, 12), (10, 12), (9, 14), (10, 12)]
# Nothing is trained here.
SCALE = dataclasses.replace(QUICK, test_pictures=None, test_side=None)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A reproduction of which nothing is trained, with pictures to score of two shapes."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "pictures").mkdir()
    for i, shape in enumerate(SHAPES):
        levels = np.random.default_rng(i).integers(0, 256, shape, np.uint8)
        Image.fromarray(levels).save(folder / "pictures" / f"{i}.png")
    return Study(folder / "kept", SCALE, test_images=folder / "pictures", commit="none")


@pytest.fixture(scope="module")
def clean(study):
    return read_folder(study.test_images)


def run(model):
    return Run(TASK, (model,), 0, History.empty(1), {})


def quality(planes, clean):
    """Computed in the plainest way, in 64 bits."""
    error = np.mean(np.square(np.clip(np.asarray(planes, np.float64), 0, 1) - clean))
    return -10 * np.log10(error)


@pytest.mark.parametrize("at_once", [2, 3, 8])
def test_qualities_are_in_the_order_of_the_pictures_and_none_counts_twice(
    study, clean, monkeypatch, at_once
):
    monkeypatch.setattr(_denoising, "_AT_ONCE", at_once)
    groups = _denoising._groups(clean)
    assert sorted(i for group in groups for i in group) == list(range(len(SHAPES)))
    assert max(map(len, groups)) <= at_once
    assert all(len({SHAPES[i] for i in group}) == 1 for group in groups)
    found = _denoising._measured(run(Pixelwise()), study, 25)
    expected = [quality(brighten(_denoising.noise(p, i, 25)), p) for i, p in enumerate(clean)]
    assert len(np.unique(np.round(expected, 3))) == len(SHAPES)
    np.testing.assert_allclose(found["psnr_by_picture"], expected, rtol=1e-5)
    # As many steps as rows.
    assert found["steps_mean"] == pytest.approx(np.mean([s[0] for s in SHAPES]))
    assert found.keys() == {"psnr_by_picture", "steps_mean"}


def test_every_method_is_given_the_same_noise_and_a_descent_starts_from_it(study, clean):
    still = _denoising._measured(run(Pixelwise()), study, 55)
    noisy = [_denoising.noise(p, i, 55) for i, p in enumerate(clean)]
    walked = _denoising._measured(run(Bowl()), study, 55)
    # Both end at the same answer, one of them near it.
    np.testing.assert_allclose(walked["psnr_by_picture"], still["psnr_by_picture"], rtol=1e-3)
    by_step = walked["psnr_by_step"]
    first = np.mean([quality(x, p) for x, p in zip(noisy, clean, strict=True)])
    assert by_step["0"] == pytest.approx(first, rel=1e-5)
    assert by_step["200"] == pytest.approx(np.mean(walked["psnr_by_picture"]), rel=1e-6)
    assert list(by_step) == [str(t) for t in _denoising.SHOWN_STEPS]
    best = max(by_step.values())
    assert walked["lost_by_more_steps"] >= best - by_step["200"] >= 0
    assert walked["converged"] == 1.0
    # What is told of the noisy pictures is told of the same ones.
    rows = {row["sigma"]: row for row in _denoising._noisy(study)}
    np.testing.assert_allclose(
        rows[55]["psnr_by_picture"],
        [quality(x, p) for x, p in zip(noisy, clean, strict=True)],
        rtol=1e-5,
    )


def test_noise_is_drawn_for_each_picture_and_strength_and_for_no_one_else(clean):
    one = clean[0]
    drawn = {
        (i, s): (_denoising.noise(one, i, s) - one) / np.float32(s / 255)
        for i in (0, 1)
        for s in (25, 75)
    }
    np.testing.assert_array_equal(_denoising.noise(one, 0, 25), _denoising.noise(one, 0, 25))
    values = list(drawn.values())
    assert all(
        np.abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 5 / one.size**0.5
        for i, a in enumerate(values)
        for b in values[:i]
    )
    large = np.zeros((200, 200), np.float32)
    deviation = 255 * _denoising.noise(large, 3, 25).std()
    assert abs(deviation - 25) < 5 * 25 / (2 * large.size) ** 0.5


def test_the_middles_of_the_first_pictures_are_scored_where_a_scale_asks_for_that(
    study, clean, tmp_path
):
    scale = dataclasses.replace(SCALE, test_pictures=2, test_side=10)
    other = Study(tmp_path / "kept", scale, test_images=study.test_images, commit="none")
    found = _denoising.test_pictures(other)
    assert [p.shape for p in found] == [(10, 10), (9, 10)]
    np.testing.assert_array_equal(found[0], clean[0][:, 1:11])
    np.testing.assert_array_equal(found[1], clean[1][:, 2:12])


def test_frames_show_the_descent_from_the_noisy_picture_to_its_answer(clean):
    noisy = _denoising.noise(clean[0], 0, 25)
    frames = walk_frames(Bowl(), noisy, clean[0])
    assert frames.steps[0] == 0
    assert (np.diff(frames.steps) > 0).all()
    np.testing.assert_array_equal(frames.pictures[0], noisy)
    np.testing.assert_allclose(frames.pictures[-1], brighten(noisy), atol=1e-4)
    expected = [quality(p, clean[0]) for p in frames.pictures]
    np.testing.assert_allclose(frames.quality, expected, rtol=1e-4)
    assert walk_frames(Bowl(), noisy).quality is None


def test_the_longer_rows_begin_with_one_and_the_same_network(study, monkeypatch):
    scale = dataclasses.replace(SCALE, images_longer=3, unet=Layers(8, 1))
    monkeypatch.setattr(study, "scale", scale)
    runs = {}

    def trained(task, settings, label, *, budget, begin=lambda m: m, seeds, replay=None):
        methods = begin(build_methods(task, settings, keys=jax.random.split(jax.random.key(0), 1)))
        runs[label] = (budget, replay)
        return run(jax.tree.map(lambda a: a[0] + 1 if eqx.is_array(a) else a, methods)), 1.0

    monkeypatch.setattr(study, "trained", trained)
    first = _denoising._longer_unet(study)
    unet, energy = (_denoising.trained(study, f"{n}-longer")[0].model for n in ("unet", "irem"))
    for found in (unet.network.network, energy.energy.network):
        # Training adds 1 to every number here.
        assert eqx.tree_equal(found, jax.tree.map(lambda a: a + 1, first))
    iterations = {label: budget.iterations for label, (budget, _) in runs.items()}
    short = scale.images.iterations
    assert iterations == {
        "denoise-unet-first": 3 * short,
        "denoise-unet-longer": short,
        "denoise-irem-longer": short,
    }
    assert [replay is not None for _, replay in runs.values()] == [False, False, True]
