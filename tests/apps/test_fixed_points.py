"""Fixed-point steps of the convolutional energy: they end where the gradient would, or give way."""

import dataclasses

import equinox as eqx
import jax
import numpy as np
import pytest
from skimage import data

import irem
from irem.apps.pictures import fixed_points, psnr
from irem.descent import GradientSmall, Reason
from irem.energy import Conv

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def model():
    return irem.load("zoo:denoise").model


@pytest.fixture(scope="module")
def photograph():
    """A piece of a photograph that comes with scikit-image, and the same with noise."""
    clean = data.camera()[100:132, 200:240].astype(np.float32) / 255
    noise = np.random.default_rng(0).standard_normal(clean.shape, np.float32)
    return clean, clean + np.float32(50 / 255) * noise


@pytest.fixture(scope="module")
def by_fixed_points(model, photograph):
    return fixed_points.clean(model, photograph[1][None], max_steps=None, key=KEY)


@pytest.fixture(scope="module")
def by_gradient(model, photograph):
    """Descended for so long that the minimum is reached, far beyond the usual halting rule."""
    halt = GradientSmall(rtol=1e-5)
    return irem.solve(model, photograph[1][None], halt=halt, max_steps=200, key=KEY)


def test_the_answer_is_the_minimum_that_the_gradient_leads_to(by_fixed_points, by_gradient):
    assert by_gradient.reason[0] == Reason.GRADIENT_SMALL
    assert by_fixed_points.reason[0] == Reason.GRADIENT_SMALL
    np.testing.assert_allclose(by_fixed_points.y, by_gradient.y, rtol=0, atol=1e-4)


def test_it_is_as_good_as_that_of_the_default_descent_in_fewer_steps(
    model, photograph, by_fixed_points
):
    clean, noisy = photograph
    usual = irem.solve(model, noisy[None], key=KEY)
    assert abs(float(psnr(by_fixed_points.y[0], clean) - psnr(usual.y[0], clean))) < 0.01
    assert by_fixed_points.steps[0] < usual.steps[0]


def test_a_step_differentiates_nothing_of_the_network_and_goes_to_its_clean_picture():
    conv = Conv(width=4, depth=1, head=1, key=KEY)
    x, y = (np.random.default_rng(i).random((16, 16), np.float32) for i in range(2))
    evaluations = [
        jax.jit(lambda x, y: conv.landscape(x)(y)).lower(x, y).compile(),
        *(
            jax.jit(lambda x, y, e=energy: jax.value_and_grad(e.landscape(x))(y))
            .lower(x, y)
            .compile()
            for energy in (fixed_points.TargetHeld(conv), conv)
        ),
    ]
    once, held, whole = (e.as_text().count("convolution(") for e in evaluations)
    assert whole > held == once > 0
    energy, (value, step) = evaluations[0](x, y), evaluations[1](x, y)
    np.testing.assert_allclose(value, energy, rtol=1e-6)
    # Half the square of the distance from the clean picture.
    np.testing.assert_allclose(0.5 * np.sum(np.square(step)), energy, rtol=1e-5)


@pytest.mark.parametrize("size", [30.0, -30.0])
def test_where_steps_do_not_reach_a_minimum_the_gradient_is_followed(model, photograph, size):
    # A network that depends much on the candidate: fixed-point steps go ever farther away.
    def louder(weight):
        return weight.at[:, :, -4:].multiply(size)

    loud = eqx.tree_at(lambda m: m.energy.network.join.weight, model, replace_fn=louder)
    x = photograph[1][None]
    found = fixed_points.clean(loud, x, max_steps=None, key=KEY)
    expected = irem.solve(loud, x, key=KEY)
    np.testing.assert_array_equal(found.y, expected.y)
    assert found.steps[0] == expected.steps[0]


def test_a_budget_ends_a_descent_that_is_not_there_yet(model, photograph):
    found = fixed_points.clean(model, photograph[1][None], max_steps=2, key=KEY)
    assert (found.steps[0], found.reason[0]) == (2, Reason.BUDGET)
    assert not found.converged[0]
    # Two steps along the gradient come less far.
    by_gradient = irem.solve(model, photograph[1][None], max_steps=2, key=KEY)
    assert found.energy[0] < 0.1 * by_gradient.energy[0]


def test_a_picture_without_anything_on_it_stays_as_it_is(model):
    grey = np.full((1, 32, 40), 0.25, np.float32)
    found = fixed_points.clean(model, grey, max_steps=None, key=KEY)
    np.testing.assert_allclose(found.y, grey, atol=1e-6)
    assert found.steps[0] <= 3


@pytest.mark.parametrize("step_size", [0.3, 2.0])
def test_the_step_size_of_training_plays_no_part(model, photograph, by_fixed_points, step_size):
    other = dataclasses.replace(model, step_size=step_size)
    found = fixed_points.clean(other, photograph[1][None], max_steps=None, key=KEY)
    np.testing.assert_array_equal(found.y, by_fixed_points.y)
