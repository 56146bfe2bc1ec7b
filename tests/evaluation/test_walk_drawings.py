"""One descent, step by step, and its drawings."""

import io
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

import irem
from irem.evaluation import drawing, walk
from irem.evaluation.answers import draw_answer, draw_entries, draw_maze, draw_puzzle
from irem.evaluation.page import animation
from irem.evaluation.walks import Walk, moments
from irem.formats import Cells, Pictures, Puzzles, Vectors
from irem.puzzles import known_of_grid

KEY = jax.random.key(0)
TASK = irem.tasks.get("addition", size=4)
# A bowl around the sum, whose descents halve their distance at every step.
MODEL = irem.IREM(
    irem.energy.from_function(
        lambda x, y: 0.25 * ((y - x.sum(axis=0)) ** 2).sum(), answer_shape=(4,)
    ),
    step_size=1.0,
)


@pytest.fixture(scope="module")
def walked():
    return walk(MODEL, TASK, max_steps=60, step=1.0, key=KEY)


def axes():
    return Figure().add_subplot()


def test_a_walk_ends_where_nothing_moves_any_more(walked):
    np.testing.assert_allclose(walked.y, np.sum(walked.x, axis=0), rtol=1e-6)
    distance = np.abs(walked.answers - walked.y).max(axis=1)
    steps = np.asarray(walked.steps)
    np.testing.assert_allclose(distance, distance[0] * 0.5**steps, atol=1e-6)
    assert steps[0] == 0
    # Within a fiftieth of the largest entry.
    assert distance[-1] <= 0.02 * np.abs(walked.y).max() < distance[-2]
    assert (np.diff(walked.energies) < 0).all()


def test_a_thinned_walk_keeps_both_ends(walked):
    few = walked.thinned(3)
    assert (few.steps[0], few.steps[-1]) == (walked.steps[0], walked.steps[-1])
    assert len(few.steps) == len(few.answers) == len(few.energies) == 3
    for step, y in zip(few.steps, few.answers, strict=True):
        np.testing.assert_array_equal(y, walked.answers[walked.steps.index(step)])


@pytest.mark.parametrize(("count", "frames"), [(1, 5), (5, 5), (6, 5), (1000, 40)])
def test_moments_are_the_first_the_last_and_early_ones_most(count, frames):
    found = moments(count, frames)
    assert (found[0], found[-1]) == (0, count - 1)
    assert len(found) <= frames
    assert (np.diff(found) > 0).all()
    assert np.diff(found)[0] <= np.diff(found)[-1] if len(found) > 2 else True


@pytest.mark.parametrize("kind", ["gif", "webp"])
def test_a_moving_picture_has_a_frame_for_every_moment(walked, kind):
    picture = Image.open(io.BytesIO(animation(drawing.walk_frames(walked.thinned(3)), kind)))
    assert picture.format == kind.upper()
    assert picture.n_frames == 3
    frames = []
    for frame in range(3):
        picture.seek(frame)
        frames.append(np.asarray(picture.convert("RGB"), int))
    assert all(np.abs(a - b).max() > 50 for a, b in itertools.pairwise(frames))


def test_a_strip_names_its_steps(walked):
    figure = drawing.walk_strip(walked, panels=4)
    titles = [one.get_title() for one in figure.axes]
    assert titles[0] == "first guess"
    assert titles[-1] == f"{walked.steps[-1]} steps"
    assert len(titles) == 4


def test_a_vector_is_drawn_row_by_row_in_shades_of_the_right_answer():
    shown, y = axes(), np.arange(50.0)
    draw_entries(shown, y, like=-2 * y)
    picture = shown.images[0]
    assert picture.get_clim() == (-98, 98)
    np.testing.assert_array_equal(picture.get_array().compressed(), y)
    assert picture.get_array().shape == (8, 7)


def test_a_path_is_as_blue_as_it_is_certain():
    maze = np.array([[2, 1, 0], [0, 1, 3]])
    shown = axes()
    draw_maze(shown, maze, np.array([[0.0, 1.0, 1.0], [0.0, 0.5, 0.0]]))
    picture = np.asarray(shown.images[0].get_array())
    np.testing.assert_allclose(picture[0, 0], 1)
    assert picture[0, 1, 2] > picture[0, 1, 0] + 0.5
    np.testing.assert_allclose(picture[1, 1], (picture[0, 0] + picture[0, 1]) / 2)
    np.testing.assert_array_equal(picture[0, 2], picture[1, 0])
    assert len(shown.lines) == 2


def test_givens_are_bold_and_uncertain_symbols_are_pale():
    grid = np.array([[1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    entries = np.zeros((16, 4))
    entries[0, 0] = entries[1, 1] = 1
    entries[2, [2, 3]] = 0.5, 0.02
    shown = axes()
    draw_puzzle(shown, known_of_grid(grid), entries.ravel())
    found = {(t.get_text(), t.get_fontweight(), t.get_alpha()) for t in shown.texts}
    assert found == {("1", "bold", None), ("2", "normal", None), ("3", "normal", 0.5)}


@pytest.mark.parametrize(
    ("form", "x", "y"),
    [
        (Puzzles(3, "sudoku"), irem.puzzles.Puzzle(np.zeros(64), ()), np.zeros(64)),
        (Cells(2, 4), np.array([[2, 1], [3, 1]]), np.zeros((2, 2))),
        (Cells(1, 2), np.array([1, 0, 1]), np.array([1.0, 1.0, 0.0])),
        (Pictures(), np.zeros((4, 4)), np.zeros((4, 4))),
        (Vectors((2, 3), (3,)), np.zeros((2, 3)), np.ones(3)),
    ],
)
def test_answers_of_every_format_are_drawn(form, x, y):
    shown = axes()
    draw_answer(shown, form, x, y, y)
    assert shown.images or shown.texts or shown.lines
    assert not shown.axison


def test_padded_nodes_are_left_white():
    graph = irem.Graph(jnp.ones((3, 3)), jnp.array([True, True, False]))
    shown = axes()
    draw_answer(shown, irem.formats.Graphs(), graph, np.ones((3, 3)), np.ones((3, 3)))
    assert np.ma.getmaskarray(shown.images[0].get_array()).sum() == 5


def test_steps_are_told_in_words(walked):
    one = Walk(**{**vars(walked), "steps": (0, 1, 1000), "answers": walked.answers[:3]})
    one = Walk(**{**vars(one), "energies": walked.energies[:3]})
    titles = [figure.axes[0].get_title() for figure in drawing.walk_frames(one)]
    assert titles == ["first guess", "1 step", "1,000 steps"]
