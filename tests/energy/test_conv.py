"""The convolutional energy: its convolutions beside SciPy's, and what follows from its form."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import correlate2d

import irem
from irem.energy import Conv
from irem.nn import Convolution
from irem.nn.image import UNetDenoiser

KEY = jax.random.key(0)
SIZES = {"width": 4, "depth": 1, "head": 1}
# The side of 16 is a multiple of 8; the others are filled up.
SHAPES = [(16, 16), (7, 13), (1, 1)]


def filled(build, seed=1):
    """What `build` makes, with weights of NumPy, which need no compilation; biases among them."""
    rng = np.random.default_rng(seed)

    def fill(leaf):
        # About as large as the weights that are drawn at first; biases start from zero.
        scale = (1 / np.prod(leaf.shape[:-1])) ** 0.5 if leaf.ndim > 1 else 0.3
        return jnp.asarray(scale * rng.normal(size=leaf.shape), leaf.dtype)

    return jax.tree.map(fill, eqx.filter_eval_shape(build))


@pytest.fixture(scope="module")
def energy():
    return filled(lambda: Conv(**SIZES, key=KEY))


def draw(*shape, seed=0, dtype=np.float32):
    """A picture with noise, and a candidate that is neither it nor clean."""
    rng = np.random.default_rng(seed)
    return (rng.normal(0.5, 0.3, shape).astype(dtype) for _ in range(2))


@eqx.filter_jit
def evaluate(energy, x, y):
    """Value and gradient of the energy, and the noise that its network estimates."""
    return *jax.value_and_grad(lambda y: energy(x, y))(y), energy.network.encode(x)(y)


def value_and_gradient(energy, x, y):
    return evaluate(energy, x, y)[:2]


def correlated(features, weight, bias):
    """The same sum by SciPy, channel by channel."""
    planes = [
        sum(
            correlate2d(features[..., i], weight[..., i, o], mode="same", boundary="fill")
            for i in range(weight.shape[2])
        )
        for o in range(weight.shape[3])
    ]
    return np.stack(planes, axis=-1) + bias


@pytest.mark.parametrize("shape", [(7, 10), (1, 5)])
def test_a_convolution_is_that_of_scipy_with_zeros_around(shape):
    layer = filled(lambda: Convolution(2, 3, bias=True, key=KEY))
    features = np.random.default_rng(2).normal(size=(*shape, 2)).astype(np.float32)
    expected = correlated(features, np.asarray(layer.weight), np.asarray(layer.bias))
    # Sums of 18 products of order one.
    np.testing.assert_allclose(layer(jnp.asarray(features)), expected, rtol=1e-5, atol=1e-5)


def test_a_shrinking_convolution_takes_every_square_once():
    layer = filled(lambda: Convolution(2, 3, size=2, shrink=True, bias=True, key=KEY))
    features = np.random.default_rng(2).normal(size=(4, 6, 2)).astype(np.float32)
    found = layer(jnp.asarray(features))
    assert found.shape == (2, 3, 3)
    for row, column in np.ndindex(2, 3):
        square = features[2 * row : 2 * row + 2, 2 * column : 2 * column + 2]
        expected = np.tensordot(square, np.asarray(layer.weight), 3) + np.asarray(layer.bias)
        np.testing.assert_allclose(found[row, column], expected, rtol=1e-5, atol=1e-5)


def test_a_convolution_is_the_sum_of_those_of_its_first_and_other_channels():
    layer = filled(lambda: Convolution(5, 3, bias=True, key=KEY))
    features = jnp.asarray(np.random.default_rng(2).normal(size=(6, 7, 5)), jnp.float32)
    first, others = layer.split(-2)
    assert (first.weight.shape[2], others.weight.shape[2]) == (3, 2)
    total = first(features[..., :3]) + others(features[..., 3:])
    np.testing.assert_allclose(total, layer(features), rtol=1e-5, atol=1e-5)


def test_initial_weights_keep_the_variance_of_rectified_inputs():
    weight = np.asarray(Convolution(16, 32, gain=0.7, key=KEY).weight, np.float64)
    expected = 0.7**2 * 2 / (9 * 16)
    # The variance of n normal numbers has a standard error of sqrt(2 / n) of itself.
    assert abs((weight**2).mean() / expected - 1) < 5 * (2 / weight.size) ** 0.5


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_energy_is_half_the_squared_distance_from_the_picture_less_its_noise(energy, shape):
    x, y = draw(*shape)
    value, gradient, noise = evaluate(energy, x, y)
    assert noise.shape == shape
    np.testing.assert_allclose(value, 0.5 * np.sum((y - (x - np.asarray(noise))) ** 2), rtol=1e-5)
    assert value > 0
    assert gradient.shape == shape
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).max() > 0


def test_energy_is_zero_where_the_network_estimates_no_noise(energy):
    zeroed = eqx.tree_at(lambda e: e.network.readout.weight, energy, replace_fn=jnp.zeros_like)
    x, y = draw(16, 16)
    assert float(value_and_gradient(zeroed, x, x)[0]) == 0
    value, gradient = value_and_gradient(zeroed, x, y)
    np.testing.assert_allclose(value, 0.5 * np.sum((y - x) ** 2), rtol=1e-5)
    np.testing.assert_allclose(gradient, y - x, rtol=1e-6)


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_energy_grows_with_the_square_of_contrast_without_biases(energy, factor):
    x, y = draw(16, 16)
    value, gradient = value_and_gradient(energy, x, y)
    scaled, slope = value_and_gradient(energy, np.float32(factor) * x, np.float32(factor) * y)
    np.testing.assert_allclose(scaled, factor**2 * value, rtol=1e-4)
    np.testing.assert_allclose(slope, factor * gradient, rtol=1e-3, atol=1e-5)


def test_energy_does_not_grow_with_the_square_of_contrast_with_biases():
    energy = filled(lambda: Conv(**SIZES, bias=True, key=KEY))
    without = jax.tree.map(lambda leaf: leaf if leaf.ndim > 1 else jnp.zeros_like(leaf), energy)
    x, y = draw(16, 16)
    ratios = []
    for some in (without, energy):
        once, thrice = (value_and_gradient(some, a * x, a * y)[0] for a in (1, 3))
        ratios.append(float(thrice / once))
    # Biases start from zero, where they change nothing.
    np.testing.assert_allclose(ratios[0], 9, rtol=1e-4)
    assert abs(ratios[1] / 9 - 1) > 0.01


@pytest.mark.parametrize("brighter", [-2.0, 0.25])
def test_brightness_that_is_added_everywhere_changes_nothing(energy, brighter):
    x, y = draw(16, 16)
    value, gradient = value_and_gradient(energy, x, y)
    same, slope = value_and_gradient(energy, x + np.float32(brighter), y + np.float32(brighter))
    np.testing.assert_allclose(same, value, rtol=1e-4)
    np.testing.assert_allclose(slope, gradient, rtol=1e-3, atol=1e-5)


def test_gradient_agrees_with_central_differences_in_64_bits(energy):
    pixels = [(0, 0), (6, 12), (3, 5), (0, 12)]
    with jax.enable_x64(True):
        wide = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), energy)
        x, y = (jnp.asarray(a) for a in draw(7, 13, dtype=np.float64))
        # Between kinks the energy is a square, of which central differences are exact; rounding
        # is of order eps / step.
        step = 1e-6
        aside = np.zeros((4, 7, 13))
        for i, pixel in enumerate(pixels):
            aside[i][pixel] = step

        @eqx.filter_jit
        def both(energy, x, y, aside):
            landscape = energy.landscape(x)
            around = jax.lax.map(jax.value_and_grad(landscape), y + aside)
            return around[0][1:5], around[0][5:], around[1][0]

        moves = jnp.concatenate([jnp.zeros((1, 7, 13)), aside, -aside])
        ahead, behind, gradient = both(wide, x, y, moves)
        assert gradient.dtype == jnp.float64
    found = [gradient[pixel] for pixel in pixels]
    differences = (np.asarray(ahead) - np.asarray(behind)) / (2 * step)
    np.testing.assert_allclose(found, differences, rtol=1e-6, atol=1e-7)


def test_padding_by_mirror_images_contributes_to_the_gradient(energy):
    # 7 x 13 becomes 8 x 16; the gradient runs through the mirror image.
    x, y = draw(7, 13)
    _, gradient, noise = evaluate(energy, x, y)
    # What the gradient would be if the network did not depend on the candidate.
    assert (np.abs(gradient - (y - x + noise)) > 1e-4).mean() > 0.9


def without_candidate(energy):
    """The energy whose head does not depend on the candidate, the last four channels."""
    return eqx.tree_at(
        lambda e: e.network.join.weight, energy, replace_fn=lambda w: w.at[:, :, -4:].set(0)
    )


def descend(energy, x, *guess, size=1.0):
    """Three steps of a fixed size, all recorded, always alike so that it compiles once."""
    step = irem.FixedStep(size)
    return irem.solve(energy, x, *guess, key=KEY, step=step, max_steps=3, trajectory=True)


def test_without_the_candidate_one_step_is_the_feedforward_network(energy):
    independent = without_candidate(energy)
    x, y0 = draw(16, 16)
    denoiser = eqx.filter_eval_shape(lambda: UNetDenoiser(width=4, depth=1, key=KEY))
    denoiser = eqx.tree_at(lambda d: d.network, denoiser, independent.network)
    answer, features = eqx.filter_jit(lambda d, x: d(x))(denoiser, jnp.asarray(x))
    assert features.shape == (0,)
    assert np.abs(np.asarray(answer) - x).max() > 1e-3
    # A step of size 1 reaches the minimum of a square, wherever it starts.
    for guess in ((), (y0,)):
        np.testing.assert_allclose(
            descend(independent, x, *guess).trajectory.ys[1], answer, rtol=1e-5, atol=1e-5
        )
    # A network that depends on the candidate gives another answer from another start.
    ends = [np.asarray(descend(energy, x, *guess).trajectory.ys[1]) for guess in ((), (y0,))]
    assert np.abs(ends[0] - ends[1]).max() > 1e-2


def test_a_descent_starts_from_the_noisy_picture_by_default(energy):
    x, y0 = draw(16, 16)
    found = descend(energy, x, size=0.01)
    np.testing.assert_array_equal(found.trajectory.ys[0], x)
    assert (np.diff(np.asarray(found.trajectory.energies)) < 0).all()
    np.testing.assert_array_equal(descend(energy, x, y0).trajectory.ys[0], y0)


def test_training_starts_from_the_noisy_picture_too(energy):
    x, _ = draw(16, 16)
    np.testing.assert_array_equal(irem.IREM(energy).start(jnp.asarray(x), x.shape, key=KEY), x)


@pytest.mark.parametrize("bias", [False, True])
def test_settings_build_an_energy_of_the_same_form(bias):
    task = irem.tasks.get("denoise")
    first = eqx.filter_eval_shape(Conv, width=6, depth=2, head=3, bias=bias, key=KEY)
    settings = json.loads(json.dumps(first.settings()))
    assert settings == {"width": 6, "depth": 2, "head": 3, "bias": bias}
    again = eqx.filter_eval_shape(lambda: Conv.for_task(task, **settings, key=KEY))
    assert jax.tree.structure(again) == jax.tree.structure(first)
    assert jax.tree.leaves(again) == jax.tree.leaves(first)


def test_without_settings_the_energy_is_that_of_the_shipped_model():
    task = irem.tasks.get("denoise")
    energy = eqx.filter_eval_shape(lambda: Conv.for_task(task, key=KEY))
    assert energy.settings() == {"width": 48, "depth": 3, "head": 2, "bias": False}


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (
            "addition",
            r"needs pictures, and 'addition' has problems of a fixed size; use the MLP energy",
        ),
        (
            "shortest-path",
            r"needs pictures, and 'shortest-path' has graphs; use the GINE or the Pair energy",
        ),
    ],
)
def test_tasks_without_pictures_are_refused(task, message):
    with pytest.raises(irem.InputError, match=message):
        Conv.for_task(irem.tasks.get(task), key=KEY)


@pytest.mark.parametrize("setting", SIZES)
def test_a_network_without_units_is_refused(setting):
    with pytest.raises(irem.InputError, match=rf"`{setting}` must be greater than 0, got 0"):
        Conv(**{**SIZES, setting: 0}, key=KEY)


def test_pictures_are_taken_alone_and_stacked(energy):
    for shape, alone in (((3, 5), True), ((4, 3, 5), False), ((1, 3, 5), False)):
        x = np.arange(np.prod(shape)).reshape(shape)
        batch, was_alone = energy.format.as_batch(x.tolist())
        assert was_alone == alone
        assert batch.dtype == np.float32
        np.testing.assert_array_equal(batch, x.reshape(-1, 3, 5))


@pytest.mark.parametrize("shape", [(), (5,), (1, 3, 4, 5), (0, 5), (2, 0, 5)])
def test_what_is_no_grey_picture_is_refused_in_one_sentence(energy, shape):
    with pytest.raises(irem.InputError) as caught:
        energy.format.as_batch(np.ones(shape))
    assert str(caught.value) == (
        f"`x` has shape {shape}; expected one grey picture of shape (height, width), or a stack "
        "of them of shape (n, height, width)."
    )
