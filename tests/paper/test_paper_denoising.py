"""Pictures with noise: measured rightly, on the same noise for every method."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from irem.energy import AbstractEnergy
from irem.formats import Pictures
from irem.methods import AbstractBaseline, build_methods
from irem.paper import QUICK, Study, denoising
from irem.paper.scale import Layers
from irem.picture_files import read_folder
from irem.training import History, Run

# Two shapes in turn, of which one is not a part of the other.
SHAPES = [(10, 12), (9, 14), (10, 12), (10, 12), (9, 14), (10, 12)]
ABOUT = {
    "task": "denoise",
    "method": "irem",
    "sigma": 25,
    "seen": True,
    "paper": None,
    "commit": None,
    "parameters": 1,
    "training_seconds": None,
}


def brighten(x):
    """An answer that no pixel's neighbour has a part in; twice applied it is another."""
    return 0.5 * x + 0.25 * x**2


class Pixelwise(AbstractBaseline):
    """A network that takes one pixel at a time, in as many steps as a picture has rows."""

    @property
    def format(self):
        return Pictures()

    def loss(self, problem, y0, *, key):
        raise NotImplementedError

    def predict(self, x, num_steps, *, key):
        raise NotImplementedError

    def answer(self, x, *, key):
        del key
        return brighten(x), jnp.asarray(x.shape[0])


class Quadratic(AbstractEnergy):
    """An energy whose minimum is the answer above; every pixel descends by itself."""

    @property
    def format(self):
        return Pictures()

    def landscape(self, x):
        return lambda y: 0.5 * jnp.sum(jnp.square(y - brighten(x)))

    def guess(self, x, shape, *, key):
        del shape, key
        return x


def with_pictures(scale, **changes):
    return dataclasses.replace(scale, pictures=dataclasses.replace(scale.pictures, **changes))


# Nothing is trained here.
SCALE = with_pictures(QUICK, test_pictures=None, test_side=None)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A reproduction of which nothing is trained, with pictures to score of two shapes."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "pictures").mkdir()
    for i, shape in enumerate(SHAPES):
        levels = np.random.default_rng(i).integers(0, 256, shape, np.uint8)
        Image.fromarray(levels).save(folder / "pictures" / f"{i}.png")
    return Study(folder / "kept", SCALE, test_images=folder / "pictures")


@pytest.fixture(scope="module")
def clean(study):
    return read_folder(study.test_images)


def quality(planes, clean):
    """Computed in the plainest way, in 64 bits."""
    error = np.mean(np.square(np.clip(np.asarray(planes, np.float64), 0, 1) - clean))
    return -10 * np.log10(error)


@pytest.mark.parametrize("batch_size", [2, 3, 8])
def test_qualities_are_in_the_order_of_the_pictures_and_none_counts_twice(clean, batch_size):
    settings = dataclasses.replace(denoising.SETTINGS, batch_size=batch_size)
    groups = denoising.group_by_shape(clean, batch_size)
    assert sorted(i for group in groups for i in group) == list(range(len(SHAPES)))
    assert max(map(len, groups)) <= batch_size
    assert all(len({SHAPES[i] for i in group}) == 1 for group in groups)
    found = denoising.measure(Pixelwise(), clean, 25, settings, ABOUT)
    expected = [quality(brighten(denoising.noise(p, i, 25)), p) for i, p in enumerate(clean)]
    assert len(np.unique(np.round(expected, 3))) == len(SHAPES)
    np.testing.assert_allclose(found.psnr_by_picture, expected, rtol=1e-5)
    # As many steps as rows.
    assert found.steps_mean == pytest.approx(np.mean([s[0] for s in SHAPES]))
    assert type(found) is denoising.NetworkCell


def test_every_method_is_given_the_same_noise_and_a_descent_starts_from_it(study, clean):
    settings = denoising.SETTINGS
    still = denoising.measure(Pixelwise(), clean, 55, settings, ABOUT)
    noisy = [denoising.noise(p, i, 55) for i, p in enumerate(clean)]
    descended = denoising.measure(Quadratic(), clean, 55, settings, ABOUT)
    # Both end at the same answer, one of them near it.
    np.testing.assert_allclose(descended.psnr_by_picture, still.psnr_by_picture, rtol=1e-3)
    by_step = descended.psnr_by_step
    first = np.mean([quality(x, p) for x, p in zip(noisy, clean, strict=True)])
    assert by_step["0"] == pytest.approx(first, rel=1e-5)
    assert by_step["200"] == pytest.approx(np.mean(descended.psnr_by_picture), rel=1e-6)
    assert list(by_step) == [str(t) for t in settings.shown_steps]
    best = max(by_step.values())
    assert descended.lost_by_more_steps >= best - by_step["200"] >= 0
    assert descended.converged == 1.0
    # What is told of the noisy pictures is told of the same ones.
    cells = denoising.untrained_cells(study, "noisy", lambda x, _: x)
    np.testing.assert_allclose(
        next(cell for cell in cells if cell.sigma == 55).psnr_by_picture,
        [quality(x, p) for x, p in zip(noisy, clean, strict=True)],
        rtol=1e-5,
    )


def test_noise_is_drawn_for_each_picture_and_strength_and_for_no_one_else(clean):
    one = clean[0]
    drawn = {
        (i, s): (denoising.noise(one, i, s) - one) / np.float32(s / 255)
        for i in (0, 1)
        for s in (25, 75)
    }
    np.testing.assert_array_equal(denoising.noise(one, 0, 25), denoising.noise(one, 0, 25))
    values = list(drawn.values())
    assert all(
        np.abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 5 / one.size**0.5
        for i, a in enumerate(values)
        for b in values[:i]
    )
    large = np.zeros((200, 200), np.float32)
    deviation = 255 * denoising.noise(large, 3, 25).std()
    assert abs(deviation - 25) < 5 * 25 / (2 * large.size) ** 0.5


def test_the_middles_of_the_first_pictures_are_scored_where_a_scale_asks_for_that(
    study, clean, tmp_path
):
    scale = with_pictures(SCALE, test_pictures=2, test_side=10)
    other = Study(tmp_path / "kept", scale, test_images=study.test_images)
    found = denoising.test_pictures(other)
    assert [p.shape for p in found] == [(10, 10), (9, 10)]
    np.testing.assert_array_equal(found[0], clean[0][:, 1:11])
    np.testing.assert_array_equal(found[1], clean[1][:, 2:12])


def test_the_longer_rows_begin_with_one_and_the_same_network(study, monkeypatch):
    scale = with_pictures(SCALE, longer=3, unet=Layers(8, 1))
    monkeypatch.setattr(study, "scale", scale)
    recipes = {}

    def trained(task, recipe, label, *, seeds, begin):
        keys = jax.random.split(jax.random.key(0), seeds)
        methods = begin(build_methods(task, recipe.method_settings(), keys=keys))
        recipes[label] = recipe
        model = jax.tree.map(lambda a: a[0] + 1 if eqx.is_array(a) else a, methods)
        return Run(task, (model,), 0, History.empty(1), {}), 1.0

    monkeypatch.setattr(study, "trained", trained)
    first = denoising.longer_unet(study)
    unet, energy = (
        denoising.train_row(study, f"{n}-longer", denoising.SETTINGS)[0].model
        for n in ("unet", "irem")
    )
    for found in (unet.network.network, energy.energy.network):
        # Training adds 1 to every number here.
        assert eqx.tree_equal(found, jax.tree.map(lambda a: a + 1, first))
    iterations = {label: recipe.length("iterations") for label, recipe in recipes.items()}
    short = scale.pictures.budget.iterations
    assert iterations == {
        "denoise-unet-first": 3 * short,
        "denoise-unet-longer": short,
        "denoise-irem-longer": short,
    }
    replays = [recipe.component("replay") for recipe in recipes.values()]
    assert [type(replay).__name__ for replay in replays] == ["NoReplay", "NoReplay", "Replay"]
    assert (replays[-1].capacity, replays[-1].clip) == (256, 2.0)
    rates = [recipe.component("optimiser").learning_rate for recipe in recipes.values()]
    assert rates == [2e-3, 2e-4, 2e-4]


def test_every_update_of_every_row_has_as_many_patches(study):
    recipes = denoising.recipes(study)
    assert list(recipes) == ["dncnn-bias", "dncnn", "unet-bias", "unet", "irem"]
    patches = SCALE.pictures.budget.batch_size
    for label, recipe in recipes.items():
        replayed = 2 if label == "irem" else 1
        assert replayed * recipe.length("batch_size") == patches
        part = recipe.settings["energy" if label == "irem" else "network"]
        assert part["bias"] == label.endswith("bias")
    assert recipes["irem"].settings["method"]["step_size"] == 1.0


def test_a_cell_is_the_mean_over_pictures_and_says_what_training_has_seen(study):
    cells = denoising.untrained_cells(study, "noisy", lambda x, _: x)
    assert [(c.sigma, c.seen) for c in cells] == [
        (25, True), (35, True), (45, True), (55, True), (65, False), (75, False)
    ]  # fmt: skip
    for cell in cells:
        assert cell.psnr == pytest.approx(np.mean(cell.psnr_by_picture))
        assert cell.pictures == len(SHAPES)


def test_without_a_folder_of_test_pictures_those_held_out_are_scored(tmp_path):
    alone = Study(tmp_path / "kept", SCALE)
    found = denoising.test_pictures(alone)
    held_out = alone.pictures.held_out()
    assert len(found) == len(held_out) == 2
    assert all(np.array_equal(one, other) for one, other in zip(found, held_out, strict=True))
