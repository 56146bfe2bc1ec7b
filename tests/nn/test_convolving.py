"""Convolutions on a CPU: the same as the library's and as SciPy's, and so are their derivatives."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import correlate2d

from irem.nn.convolving import convolve, convolve_on_cpu, library_convolve


def draw(size, dtype=np.float32):
    rng = np.random.default_rng(size)
    shapes = ((6, 9, 2), (size, size, 2, 3))
    return [jnp.asarray(rng.normal(size=shape), dtype) for shape in shapes]


def slope_in_both(convolved):
    """The value, and both derivatives of the square of a map of picture and kernel."""

    def square(features, weight):
        out = convolved(features, weight)
        return 0.5 * jnp.sum(jnp.square(out)), out

    return jax.value_and_grad(square, argnums=(0, 1), has_aux=True)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_values_are_those_of_scipy(size):
    picture, kernel = draw(size)
    features, weight = np.asarray(picture), np.asarray(kernel)
    # The pixel itself lies under the middle of the kernel, or before that.
    before = (size - 1) // 2
    padded = np.pad(features, ((before, size // 2), (before, size // 2), (0, 0)))
    expected = np.stack(
        [
            sum(correlate2d(padded[..., i], weight[..., i, o], mode="valid") for i in range(2))
            for o in range(3)
        ],
        axis=-1,
    )
    np.testing.assert_allclose(convolve(picture, kernel), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_derivatives_are_those_of_the_library(size):
    features, weight = draw(size)
    before = (size - 1) // 2
    theirs = lambda f, w: library_convolve(before, f, w)  # noqa: E731
    (_, found), gradients = jax.jit(slope_in_both(convolve))(features, weight)
    (_, expected), their_gradients = jax.jit(slope_in_both(theirs))(features, weight)
    # Sums of up to 54 products of squares of order ten.
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    for one, other in zip(gradients, their_gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("size", [2, 3])
def test_derivatives_of_derivatives_are_those_of_the_library(size):
    features, weight = draw(size)
    before = (size - 1) // 2

    def second(convolved):
        """How far the slope reaches in the picture and in the kernel, differentiated again."""

        def length(features, weight):
            (_, _), slopes = slope_in_both(convolved)(features, weight)
            return sum(jnp.sum(jnp.sin(slope)) for slope in slopes)

        return jax.jit(jax.grad(length, argnums=(0, 1)))(features, weight)

    theirs = lambda f, w: library_convolve(before, f, w)  # noqa: E731
    for one, other in zip(second(convolve), second(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3 * np.abs(other).max())


def test_several_pictures_and_several_kernels_are_mapped_over():
    features, weight = draw(3)
    some = jnp.stack([features, 2 * features, -features])
    kernels = jnp.stack([weight, weight[::-1], 0.5 * weight])
    slopes = jax.jit(jax.vmap(slope_in_both(convolve)))(some, kernels)
    for i in range(3):
        alone = slope_in_both(convolve)(some[i], kernels[i])
        of_many = jax.tree.map(lambda leaf, i=i: leaf[i], slopes)
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-3), of_many, alone
        )


def test_in_64_bits_nothing_is_rounded_to_32():
    with jax.enable_x64(True):
        features, weight = draw(3, np.float64)
        found = convolve_on_cpu(1, features, weight)
        assert found.dtype == jnp.float64
        inner = np.einsum("ijc,ijco->o", np.asarray(features[2:5, 3:6]), np.asarray(weight))
        np.testing.assert_allclose(found[3, 4], inner, rtol=1e-13)


def test_within_a_loop_gradients_have_channels_in_the_order_of_the_fast_routine():
    features, weight = draw(3)
    weight = weight[..., :2]  # as many channels out as in, so that a step can be repeated

    def step(_, features):
        return jax.grad(lambda f: jnp.sum(jnp.square(convolve(f, weight))))(features)

    program = jax.jit(lambda f: jax.lax.fori_loop(0, 3, step, f)).lower(features).compile()
    orders = re.findall(r"dim_labels=(\w+)", program.as_text())
    assert len(orders) >= 2
    assert set(orders) == {"b01f_01io"}
