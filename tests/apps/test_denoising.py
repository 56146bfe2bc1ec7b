"""Pictures made clean: in tiles as whole, by networks of the right form, and measured rightly."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import correlate2d
from skimage.metrics import peak_signal_noise_ratio

import irem
from irem.apps.pictures import (
    Frames,
    Tiling,
    denoising_strip,
    middle,
    num_tiles,
    psnr,
    walk_frames,
)
from irem.apps.pictures.denoising import _cut, _join
from irem.energy import AbstractEnergy, Conv
from irem.formats import Pictures
from irem.methods import AbstractBaseline, build_method, describe_method
from irem.nn import DnCNN, UNetDenoiser

KEY = jax.random.key(0)
TASK = irem.tasks.get("denoise")
# So small that a picture of some hundred pixels is cut.
SMALL = Tiling(side=16, rim=4, largest=24 * 24)


def brighten(x):
    """An answer that no pixel's neighbour has a part in; twice applied it is another."""
    return 0.5 * x + 0.25 * x**2


class Pixelwise(AbstractBaseline):
    """A network in which pixels are independent, with as many steps as a picture has rows."""

    def loss(self, problem, y0, *, key):
        raise NotImplementedError

    def predict(self, x, num_steps, *, key):
        raise NotImplementedError

    def answer(self, x, *, key):
        del key
        return brighten(x), jnp.asarray(x.shape[0])

    @property
    def format(self):
        return Pictures()


class Bowl(AbstractEnergy):
    """An energy whose minimum is the answer above; every pixel goes down by itself."""

    def landscape(self, x):
        return lambda y: 0.5 * jnp.sum(jnp.square(y - brighten(x)))

    @property
    def format(self):
        return Pictures()

    def guess(self, x, shape, *, key):
        del shape, key
        return x


MODELS = {"baseline": Pixelwise(), "energy": Bowl()}


def picture(*shape, seed=0):
    return np.random.default_rng(seed).random(shape, np.float32)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize(
    ("shape", "tiles"),
    # Along a side of n pixels there are as many tiles as inner parts of 8 in n - 8.
    [((25, 24), 6), ((3, 33, 41), 3 * 20), ((7, 90), 11), ((97, 7), 12), ((24, 24), 1)],
    ids=str,
)
def test_tiles_joined_are_the_whole_and_all_are_reported(kind, shape, tiles):
    noisy, reports = picture(*shape), []
    options = {"on_tiles": reports.append, "tiling": SMALL, "key": KEY}
    found = irem.denoise(MODELS[kind], noisy, **options)
    assert num_tiles(noisy, SMALL) == sum(reports) == len(found.steps) == tiles
    assert found.planes.shape == shape
    assert found.planes.dtype == np.float32
    # Weighted means round a few times; a descent ends near its minimum.
    atol = 1e-6 if kind == "baseline" else 1e-4
    np.testing.assert_allclose(found.planes, brighten(noisy), rtol=0, atol=atol)
    if kind == "baseline":
        assert found.converged is None
        assert set(found.steps) == {SMALL.size(shape[-2]) if tiles > 1 else 24}
    else:
        assert found.converged == 1.0
        assert found.steps.min() >= 1


@settings(max_examples=60, deadline=None)
@given(height=st.integers(1, 70), width=st.integers(1, 70), planes=st.integers(1, 3))
def test_every_pixel_is_covered_whatever_the_shape(height, width, planes):
    stack = picture(planes, height, width)
    tiles = _cut(stack, SMALL)
    assert tiles.shape[1:] == (SMALL.size(height), SMALL.size(width))
    assert max(tiles.shape[1:]) <= SMALL.side
    joined = _join(tiles, stack.shape, SMALL)
    np.testing.assert_allclose(joined, stack, rtol=0, atol=1e-6)
    assert num_tiles(stack, SMALL) == (len(tiles) if height * width > SMALL.largest else planes)


@pytest.mark.parametrize("length", [5, 512, 513, 600, 959, 960, 961, 1000, 2048, 4032])
def test_tiles_along_a_side_overlap_by_two_rims_at_least_and_end_with_it(length):
    tiling = Tiling()
    places, size = np.array(tiling.places(length)), tiling.size(length)
    assert places[0] == 0
    assert places[-1] == length - size
    assert (np.diff(places) > 0).all()
    assert (np.diff(places) <= size - 2 * tiling.rim).all()
    # With tiles of full size there would be as many.
    assert size <= tiling.side
    assert len(places) == max(1, -(-(length - 64) // (512 - 64)))


@pytest.mark.parametrize(("length", "size"), [(2048, 464), (600, 336), (513, 296), (960, 512)])
def test_tiles_are_no_larger_than_their_number_asks_for(length, size):
    # n tiles that overlap by 64 cover n size - 64 (n - 1) pixels; sizes are multiples of 8.
    assert Tiling().size(length) == size
    number = Tiling().number(length)
    assert number * (size - 8) - 64 * (number - 1) < length <= number * size - 64 * (number - 1)


def test_tiles_that_disagree_are_blended_without_a_seam():
    # Tiles of black and white by turns, at 0, 8, 16 and 24 of 40 pixels.
    tiles = np.stack([np.full((SMALL.side, SMALL.side), i % 2, np.float32) for i in range(4)])
    (row,) = np.unique(_join(tiles, (1, SMALL.side, 40), SMALL)[0], axis=0)
    # Weights rise by 1 in a rim of 4 while the other tile has 4, from 0 : 4 to 1 : 4 to 4 : 4.
    assert np.abs(np.diff(row)).max() <= 1 / (SMALL.rim + 1) + 1e-6
    np.testing.assert_allclose(row[:8], 0, atol=1e-6)
    np.testing.assert_allclose(
        row[8:12], np.arange(1, 5) / (np.arange(1, 5) + SMALL.rim), rtol=1e-6
    )


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
    assert network.format.answer_shape(x) == (13, 9)
    batch, alone = network.format.as_batch(x)
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


def abstract(settings, task=TASK):
    """A method with the shapes of its weights but no values, which takes no time."""
    return eqx.filter_eval_shape(lambda: build_method(task, settings, key=KEY))


def feedforward(**network):
    return {"method": {"name": "feedforward"}, "network": network}


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_described_denoiser_is_built_again_in_the_same_form(name, bias):
    settings = feedforward(name=name, width=6, depth=2, bias=bias)
    method = abstract(settings)
    described = json.loads(json.dumps(describe_method(method)))
    assert described == settings
    again = abstract(described)
    assert jax.tree.structure(again) == jax.tree.structure(method)
    assert jax.tree.leaves(again) == jax.tree.leaves(method)


def test_an_energy_of_pictures_is_built_again_in_the_same_form():
    energy = {"name": "conv", "width": 6, "depth": 2, "head": 3, "bias": True}
    method = abstract({"method": {"name": "irem", "step_size": 0.5}, "energy": energy})
    described = json.loads(json.dumps(describe_method(method)))
    assert described["energy"] == energy
    assert described["method"]["step_size"] == 0.5
    again = abstract(described)
    assert jax.tree.structure(again) == jax.tree.structure(method)
    assert jax.tree.leaves(again) == jax.tree.leaves(method)


def test_by_default_pictures_are_answered_by_the_network_of_the_energy_and_as_large():
    methods = [abstract({"method": {"name": name}}) for name in ("feedforward", "irem")]
    assert isinstance(methods[1].energy, Conv)
    assert isinstance(methods[0].network, UNetDenoiser)
    counts = [sum(leaf.size for leaf in jax.tree.leaves(m)) for m in methods]
    assert counts[0] == counts[1]
    dncnn = abstract(feedforward(name="dncnn"))
    # 20 layers (Zhang et al. 2017), of 64 channels but at the ends; biases everywhere.
    assert sum(leaf.size for leaf in jax.tree.leaves(dncnn)) == (
        9 * 64 + 64 + 18 * (9 * 64 * 64 + 64) + 9 * 64 + 1
    )


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({"name": "vit"}, r"^Unknown network 'vit'; known are dense, graph, unet, dncnn\.$"),
        ({"name": "dcnn"}, r"Did you mean 'dncnn'\?$"),
        (
            {"aggregate": "sum"},
            r"^Unknown setting of the unet network 'aggregate'; known are width, depth, bias\.$",
        ),
        ({"name": "graph"}, r"needs graphs, and 'denoise' has pictures; leave its name out"),
        ({"width": 0}, r"^`width` must be greater than 0, got 0\.$"),
        ({"name": "dncnn", "depth": 0}, r"^`depth` must be greater than 0, got 0\.$"),
    ],
)
def test_networks_that_cannot_be_built_are_refused(network, message):
    with pytest.raises(irem.InputError, match=message):
        build_method(TASK, feedforward(**network), key=KEY)


@pytest.mark.parametrize("name", ["recurrent", "programmatic", "iterative-feedforward"])
def test_other_baselines_refuse_pictures_in_one_sentence(name):
    message = (
        r"^No cell takes pictures, as 'denoise' has them\.$"
        if name == "recurrent"
        else r"^Of the baselines, pictures have the feedforward network alone\.$"
    )
    with pytest.raises(irem.InputError, match=message):
        build_method(TASK, {"method": {"name": name}}, key=KEY)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"name": "unet"}, r"^This network needs pictures, and 'addition' has problems of a fixed"),
        ({"bias": True}, r"^Unknown setting of the dense network 'bias'; known are width, depth"),
    ],
    ids=str,
)
def test_settings_of_pictures_are_refused_elsewhere(setting, message):
    with pytest.raises(irem.InputError, match=message):
        abstract(feedforward(**setting), irem.tasks.get("addition"))


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


def quality(planes, clean):
    """Computed in the plainest way, in 64 bits."""
    error = np.mean(np.square(np.clip(np.asarray(planes, np.float64), 0, 1) - clean))
    return -10 * np.log10(error)


def test_frames_show_the_descent_from_the_noisy_picture_to_its_answer():
    levels = np.random.default_rng(0).integers(0, 256, (10, 12), np.uint8)
    clean = levels.astype(np.float32) / 255
    noise = np.random.default_rng(1).normal(size=clean.shape).astype(np.float32)
    noisy = clean + np.float32(25 / 255) * noise
    frames = walk_frames(Bowl(), noisy, clean)
    assert frames.steps[0] == 0
    assert (np.diff(frames.steps) > 0).all()
    np.testing.assert_array_equal(frames.pictures[0], noisy)
    np.testing.assert_allclose(frames.pictures[-1], brighten(noisy), atol=1e-4)
    expected = [quality(p, clean) for p in frames.pictures]
    np.testing.assert_allclose(frames.quality, expected, rtol=1e-4)
    assert walk_frames(Bowl(), noisy).quality is None


@pytest.mark.parametrize(
    ("side", "rows", "columns"),
    [(10, slice(0, 9), slice(2, 12)), (4, slice(2, 6), slice(5, 9)), (20, slice(9), slice(14))],
)
def test_the_middle_of_a_picture_is_at_most_as_large_as_asked(side, rows, columns):
    whole = picture(9, 14)
    np.testing.assert_array_equal(middle(whole, side), whole[rows, columns])


@pytest.mark.parametrize("known", [False, True])
def test_a_strip_has_a_panel_for_every_frame_and_one_for_the_clean_picture(known):
    frames = Frames(
        steps=(0, 2, 7),
        pictures=picture(3, 6, 5),
        quality=(20.0, 25.25, 30.0) if known else None,
        clean=picture(6, 5, seed=1) if known else None,
    )
    panels = denoising_strip(frames).axes
    titles = [axes.get_title() for axes in panels]
    shown = [np.asarray(axes.images[0].get_array()) for axes in panels]
    np.testing.assert_array_equal(np.stack(shown[:3]), frames.pictures)
    if known:
        assert titles == ["noisy\n20.0 dB", "2 steps\n25.2 dB", "7 steps\n30.0 dB", "clean\n"]
        np.testing.assert_array_equal(shown[3], frames.clean)
    else:
        assert titles == ["noisy", "2 steps", "7 steps"]
    assert denoising_strip(frames, "old").axes[0].get_title().startswith("old")
