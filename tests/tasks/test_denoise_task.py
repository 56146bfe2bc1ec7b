"""Patches of pictures beside a search through all of them, and noise beside its own strength."""

import json
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image
from scipy import stats

import irem
from irem.formats import Pictures
from irem.picture_files import read_folder, resized
from irem.tasks import Denoise

KEY = jax.random.key(3)
# A generator that compiles fast, for what does not depend on which one draws.
FAST_KEY = jax.random.key(3, impl="unsafe_rbg")
SIZE, COUNT = 8, 4000
# Few enough places (3 x 5 and 4 x 2) that each is drawn often.
SHAPES = ((10, 12), (11, 9))
PLACES = sum((h - SIZE + 1) * (w - SIZE + 1) for h, w in SHAPES)


def write_pictures(folder, shapes=SHAPES, seed=0):
    rng = np.random.default_rng(seed)
    for i, shape in enumerate(shapes):
        Image.fromarray(rng.integers(0, 256, shape, np.uint8)).save(folder / f"{i}.png")
    return str(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_pictures(tmp_path_factory.mktemp("pictures"))


@pytest.fixture(scope="module")
def task(folder):
    return Denoise(images=folder, size=SIZE, scales=(1.0,))


@pytest.fixture(scope="module")
def batch(task):
    """Many patches, on the host."""
    return jax.device_get(task.batch(KEY, COUNT))


def chi_square_bound(freedom):
    """What chance exceeds in one of a million draws: as rare as five standard errors."""
    return stats.chi2.isf(1e-6, freedom)


def noise_of(problem):
    return 255 * (np.asarray(problem.x, np.float64) - np.asarray(problem.y))


@pytest.mark.parametrize(("difficulty", "strength"), [(40, 40), ("harder", 75)])
def test_noise_is_normal_and_as_strong_as_asked_for(task, difficulty, strength):
    noise = noise_of(task.batch(FAST_KEY, COUNT, difficulty))
    # A standard deviation that is measured on n normal numbers has an error of 1 / sqrt(2 n) of
    # itself, their mean one of 1 / sqrt(n), their excess kurtosis one of sqrt(24 / n).
    assert abs(noise.std() - strength) <= 5 * strength / (2 * noise.size) ** 0.5
    assert abs(noise.mean()) <= 5 * strength / noise.size**0.5
    assert abs(stats.kurtosis(noise.ravel())) <= 5 * (24 / noise.size) ** 0.5


def test_noise_is_neither_clipped_nor_rounded(task):
    x = np.asarray(task.batch(FAST_KEY, COUNT, 40).x)
    assert x.min() < 0
    assert x.max() > 1
    assert len(np.unique(x)) > x.size // 2


def strengths(folder, variant):
    """Those of many problems of training, estimated from noise of strength 1 of the same keys."""
    task = Denoise(images=folder, size=SIZE, scales=(1.0,), variant=variant)

    def strength(task, key):
        problem, unit = task.sample(key), task.sample(key, 1)
        noise, one = problem.x - problem.y, unit.x - unit.y
        return jnp.sum(noise * one) / jnp.sum(jnp.square(one))

    keys = jax.random.split(FAST_KEY, COUNT)
    return np.asarray(jax.jit(jax.vmap(strength, in_axes=(None, 0)))(task, keys))


# Roundings to 2^-24 of numbers up to 2 beside 64 of noise 1/255, which is 2^-8: a strength of 55
# is known to 55 * 2^-15.
ROUNDING = 0.002


def test_strengths_of_training_spread_evenly_up_to_55(folder):
    found = strengths(folder, "paper")
    assert found.min() >= -ROUNDING
    assert found.max() <= 55 + ROUNDING
    # Chance leaves a share s at either end empty in (1 - s)^COUNT of all draws: here 1e-6.
    empty = 55 * -np.log(1e-6) / COUNT
    assert found.min() < empty
    assert found.max() > 55 - empty
    assert stats.kstest(found / 55, "uniform").pvalue > 1e-6


def test_the_variant_of_the_benchmark_draws_three_strengths_equally_often(folder):
    found = strengths(folder, "released")
    assert np.abs(found - np.rint(found)).max() < ROUNDING
    kinds, counts = np.unique(np.rint(found), return_counts=True)
    assert kinds.tolist() == [35, 45, 55]
    assert ((counts - COUNT / 3) ** 2 / (COUNT / 3)).sum() < chi_square_bound(2)


@pytest.mark.parametrize("difficulty", [-1, -55])
def test_noise_of_a_negative_strength_is_refused(task, difficulty):
    for draw in (lambda d: task.batch(KEY, 3, d), lambda d: task.sample(KEY, d)):
        with pytest.raises(
            irem.InputError, match=rf"^Noise has a strength of 0 or more, got {difficulty}\.$"
        ):
            draw(difficulty)


def test_an_unknown_difficulty_is_refused_and_the_nearest_is_named(task):
    with pytest.raises(irem.InputError, match=r"Unknown difficulty 'hard'.*Did you mean 'harder'"):
        task.batch(KEY, 3, "hard")


def turned(patch):
    """The eight turns and mirror images of a square."""
    return [np.rot90(side, turn) for side in (patch, patch.T) for turn in range(4)]


def every_patch(pictures, size):
    """Each patch in each of its turns, by its pixels: which place it is and which turn."""
    found, place = {}, 0
    for picture in pictures:
        for row in range(picture.shape[0] - size + 1):
            for column in range(picture.shape[1] - size + 1):
                patch = np.rint(255 * picture[row : row + size, column : column + size])
                for turn, other in enumerate(turned(patch.astype(np.uint8))):
                    found[other.tobytes()] = (place, turn)
                place += 1
    return found


@pytest.fixture(scope="module")
def drawn(folder, batch):
    """Where each patch of the batch was cut from and how it was turned."""
    table = every_patch(pictures(folder), SIZE)
    assert len(table) == 8 * PLACES
    patches = np.rint(255 * batch.y).astype(np.uint8)
    return np.array([table[patch.tobytes()] for patch in patches])


def pictures(folder):
    return read_folder(Path(folder))


def test_every_patch_is_a_turn_or_mirror_image_of_a_place_of_a_picture(batch, drawn):
    assert drawn.shape == (COUNT, 2)  # each was found
    np.testing.assert_allclose(255 * batch.y, np.rint(255 * batch.y), rtol=1e-6)


@pytest.mark.parametrize(("column", "kinds"), [(0, PLACES), (1, 8)], ids=["places", "turns"])
def test_all_places_and_all_turns_are_equally_likely(drawn, column, kinds):
    counts = np.bincount(drawn[:, column], minlength=kinds)
    assert counts.shape == (kinds,)
    assert ((counts - COUNT / kinds) ** 2 / (COUNT / kinds)).sum() < chi_square_bound(kinds - 1)


def test_place_and_turn_are_independent(drawn):
    counts = np.bincount(8 * drawn[:, 0] + drawn[:, 1], minlength=8 * PLACES)
    expected = COUNT / (8 * PLACES)  # 22 of each, enough for the distribution below
    assert ((counts - expected) ** 2 / expected).sum() < chi_square_bound(8 * PLACES - 1)


def test_other_scales_are_cut_up_too(tmp_path):
    images = write_pictures(tmp_path, [(16, 20)])
    (whole,) = pictures(images)
    small = resized(whole, 0.75)
    assert small.shape == (12, 15)
    task = Denoise(images=images, size=8, scales=(1.0, 0.75))
    tables = [every_patch([p], 8) for p in (whole, small)]
    patches = np.rint(255 * np.asarray(task.batch(FAST_KEY, COUNT).y)).astype(np.uint8)
    found = [[p.tobytes() in table for p in patches] for table in tables]
    assert np.logical_or(*found).all()
    # 9 x 13 places at full size and 5 x 8 at the smaller one; each is as likely as any other.
    share = 40 / (117 + 40)
    error = (share * (1 - share) / COUNT) ** 0.5
    assert abs(np.mean(found[1]) - share) < 5 * error


def test_a_scale_at_which_one_picture_is_too_small_leaves_that_one_out(tmp_path):
    images = write_pictures(tmp_path, [(8, 8), (16, 16)])
    task = Denoise(images=images, size=8, scales=(1.0, 0.5))
    # One place, 9 x 9, and one.
    assert np.diff(np.asarray(task.album.ends), prepend=0).tolist() == [1, 81, 1]


@pytest.mark.parametrize("scales", [(0.5,), (), (0.0,), (-1.0,), (float("nan"),)])
def test_scales_that_leave_nothing_are_refused_in_one_sentence(scales, tmp_path):
    images = write_pictures(tmp_path, [(10, 12)])
    with pytest.raises(irem.InputError):
        Denoise(images=images, size=8, scales=scales).album  # noqa: B018


def test_the_last_pictures_by_name_are_held_out(folder):
    task = Denoise(images=folder, size=SIZE, scales=(1.0,), hold_out=1)
    first, last = pictures(folder)
    (kept_back,) = task.held_out()
    np.testing.assert_array_equal(kept_back, last)
    table = every_patch([first], SIZE)
    patches = np.rint(255 * np.asarray(task.batch(FAST_KEY, COUNT).y)).astype(np.uint8)
    assert {table[p.tobytes()][0] for p in patches} == set(range(15))


def test_nothing_is_held_out_by_default(task):
    assert task.held_out() == []


@pytest.mark.parametrize("hold_out", [2, 3, 7])
def test_to_hold_out_all_pictures_is_refused(folder, hold_out):
    task = Denoise(images=folder, size=SIZE, hold_out=hold_out)
    with pytest.raises(irem.InputError, match=rf"All pictures are held out \({hold_out}\)"):
        task.batch(KEY, 3)


def test_a_picture_smaller_than_a_patch_is_refused(folder):
    message = rf"^A picture of '{folder}' is only 9 pixels high or wide, less than a patch of 10;"
    with pytest.raises(irem.InputError, match=message):
        Denoise(images=folder, size=10).batch(KEY, 3)


def test_folders_without_pictures_are_refused_when_they_are_needed(tmp_path):
    with pytest.raises(irem.InputError, match="has no pictures; give a folder"):
        Denoise(images=str(tmp_path)).batch(KEY, 3)
    with pytest.raises(irem.InputError, match="is not a folder"):
        Denoise(images=str(tmp_path / "nowhere")).batch(KEY, 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 0}, "`size` must be greater than 0, got 0"),
        ({"hold_out": -1}, "`hold_out` must be 0 or more, got -1"),
        ({"variant": "printed"}, "Unknown variant 'printed'; known are released, paper"),
        ({"sigma": 3}, "Unknown setting of the task 'denoise' 'sigma'"),
    ],
)
def test_settings_that_make_no_problem_are_refused(settings, message):
    with pytest.raises(irem.InputError, match=message):
        irem.tasks.get("denoise", **settings)


def test_a_compiled_function_takes_the_task_as_an_argument_and_other_pictures_need_no_other(
    folder, tmp_path
):
    traces = []

    @jax.jit
    def draw(task, key):
        traces.append(None)
        return task.sample(key, 0).y

    one = Denoise(images=folder, size=SIZE, scales=(1.0,))
    leaves = jax.tree.leaves(one)
    assert all(eqx.is_array(leaf) for leaf in leaves)
    assert sum(leaf.dtype == np.uint8 for leaf in leaves) == 1
    again = Denoise(images=folder, size=SIZE, scales=(1.0,))
    np.testing.assert_array_equal(draw(again, KEY), draw(one, KEY))
    assert len(traces) == 1
    # The pictures are no part of the program.
    darker = jax.tree.map(lambda leaf: leaf // 2 if leaf.dtype == np.uint8 else leaf, one)
    assert darker == one
    expected = np.rint(255 * np.asarray(draw(one, KEY))) // 2
    np.testing.assert_allclose(255 * draw(darker, KEY), expected, rtol=1e-6)
    assert len(traces) == 1


def test_a_task_is_of_use_again_after_it_was_first_drawn_from_inside_a_compiled_function(
    folder, batch
):
    task = Denoise(images=folder, size=SIZE, scales=(1.0,))
    assert jax.eval_shape(lambda: task.sample(KEY)).x.shape == (SIZE, SIZE)
    np.testing.assert_array_equal(task.batch(KEY, COUNT).x, batch.x)


def test_tasks_of_the_same_settings_are_equal_and_others_are_not(folder, task):
    same = irem.tasks.get("denoise", images=folder, size=SIZE, scales=(1.0,))
    assert same == task
    assert hash(same) == hash(task)
    for other in ({"size": 9}, {"scales": (1.0, 0.9)}, {"hold_out": 1}, {"variant": "released"}):
        assert irem.tasks.get("denoise", **{**task.settings(), **other}) != task


def test_settings_make_the_task_again_when_they_come_out_of_a_file(folder):
    task = Denoise(images=folder, size=SIZE, scales=(1.0, 0.9), hold_out=1, variant="released")
    settings = json.loads(json.dumps(task.settings()))
    assert settings["scales"] == [1.0, 0.9]
    again = irem.tasks.get("denoise", **settings)
    assert again == task
    assert again.scales == (1.0, 0.9)


def test_the_task_says_what_it_is(task):
    assert isinstance(irem.tasks.get("denoise"), Denoise)
    assert task.format == Pictures()


def test_same_key_same_problems_and_another_key_others(task, batch):
    again = jax.device_get(task.batch(KEY, COUNT))
    jax.tree.map(np.testing.assert_array_equal, again, batch)
    other = task.batch(jax.random.key(4), COUNT)
    assert not np.array_equal(other.x, batch.x)


def test_floors_are_the_noisy_picture_and_unknown(task, batch):
    x = jnp.asarray(batch.x[:2])
    np.testing.assert_array_equal(task.trivial(x), x)
    assert np.isnan(task.oracle(x)).all()


def test_photographs_are_there_without_a_folder():
    task = Denoise(size=32, scales=(1.0,), hold_out=2)
    assert task.album.first.shape[0] == len(task._pictures()) - 2
    problem = jax.eval_shape(lambda: task.batch(KEY, 3, 25))
    assert problem.x.shape == problem.y.shape == (3, 32, 32)
