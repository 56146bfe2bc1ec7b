"""Mazes and lines of bits in files: what is read, what is written, and what is refused."""

import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

import irem
from irem.apps.mazes import MazePicture, MazeText
from irem.apps.sums import BitText
from irem.tasks import Maze

ROWS = ["S #  ", "  # #", "#    ", "  #E#"]
GRID = np.array([[2, 1, 0, 1, 1], [1, 1, 0, 1, 0], [0, 1, 1, 1, 1], [1, 1, 0, 3, 0]])
SOLVED = ["S #  ", "..# #", "#... ", "  #E#"]
COLOURS = np.array([[0, 0, 0], [255, 255, 255], [0, 255, 0], [255, 0, 0]], np.uint8)


def text(tmp_path, *lines):
    path = tmp_path / "mazes.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def path_of(maze):
    return np.asarray(Maze().oracle(jnp.asarray(maze)))


def write(document, tmp_path, name, answers=None):
    out = tmp_path / name
    document.write(out, answers or [path_of(maze) for maze in document.problems])
    return out


def picture(tmp_path, pixels, name="maze.png"):
    path = tmp_path / name
    Image.fromarray(pixels).save(path)
    return path


def scaled(grid, size):
    return np.kron(COLOURS[grid], np.ones((size, size, 1), np.uint8))


def test_a_text_has_mazes_between_empty_lines(tmp_path):
    document = MazeText.read(text(tmp_path, "", *ROWS, "", "", "SE", ""))
    np.testing.assert_array_equal(document.problems[0], GRID)
    assert document.problems[1].tolist() == [[2, 3]]
    assert document.about(1, "Ah.") == "The maze from line 8 on: Ah."


def test_a_path_is_drawn_with_dots_and_all_else_stays(tmp_path):
    document = MazeText.read(text(tmp_path, *ROWS, "", "SE"))
    found = write(document, tmp_path, "out.txt").read_text().splitlines()
    # Of two shortest paths from the corner, either.
    assert found[4:] == ["", "SE"]
    assert found[2:4] == SOLVED[2:]
    assert "".join(found[:2]).count(".") == 2
    answers = [None, path_of(document.problems[1])]
    assert write(document, tmp_path, "out.txt", answers).read_text().splitlines()[:4] == ROWS


def test_short_lines_end_in_floor(tmp_path):
    document = MazeText.read(text(tmp_path, "S#", " # #", "   E"))
    assert document.problems[0].tolist() == [[2, 0, 1, 1], [1, 0, 1, 0], [1, 1, 1, 3]]
    assert write(document, tmp_path, "out.txt").read_text().splitlines() == ["S#", ".# #", "...E"]
    document = MazeText.read(text(tmp_path, "#####", "S", "####E"))
    assert write(document, tmp_path, "out.txt").read_text().splitlines() == [
        "#####", "S....", "####E",
    ]  # fmt: skip


def test_other_characters_are_refused_by_their_place(tmp_path):
    with pytest.raises(irem.InputError, match=r"Line 2 of .* has 'x' at place 3; expected `#`"):
        MazeText.read(text(tmp_path, "S  ", "  x"))
    with pytest.raises(irem.InputError, match="has no mazes"):
        MazeText.read(text(tmp_path, ""))


@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_picture_has_cells_of_any_size(size, tmp_path):
    document = MazePicture.read(picture(tmp_path, scaled(GRID, size)))
    assert document.cell == size
    np.testing.assert_array_equal(document.problems[0], GRID)
    out = write(document, tmp_path, "out.png")
    found = np.asarray(Image.open(out)).astype(int)
    assert found.shape == (4 * size, 5 * size, 3)
    blue = found[..., 2] - found[..., 0] > 100
    expected = (path_of(GRID) > 0) & (GRID == 1)
    np.testing.assert_array_equal(blue, np.kron(expected, np.ones((size, size))) > 0)
    np.testing.assert_array_equal(found[~blue], scaled(GRID, size)[~blue])


def test_a_picture_without_an_answer_stays_as_it_was(tmp_path):
    document = MazePicture.read(picture(tmp_path, scaled(GRID, 3)))
    out = write(document, tmp_path, "out.png", [None])
    np.testing.assert_array_equal(Image.open(out), scaled(GRID, 3))
    assert document.about(0, "Ah.") == "Ah."


def test_colours_need_not_be_exact_and_a_frame_is_walls(tmp_path):
    framed = np.pad(GRID, 1)
    noise = np.random.default_rng(0).integers(-40, 41, (24, 28, 3))
    pixels = np.clip(scaled(framed, 4).astype(int) + noise, 0, 255).astype(np.uint8)
    document = MazePicture.read(picture(tmp_path, pixels))
    assert document.cell == 4
    np.testing.assert_array_equal(document.problems[0], framed)
    dark = scaled(GRID, 2)
    dark[(dark == COLOURS[2]).all(-1)] = (0, 128, 0)
    np.testing.assert_array_equal(MazePicture.read(picture(tmp_path, dark)).problems[0], GRID)


def test_what_is_transparent_is_floor_and_a_path_on_it_is_seen(tmp_path):
    pixels = scaled(GRID, 2)
    alpha = np.where(np.kron(GRID, np.ones((2, 2))) == 1, 0, 255).astype(np.uint8)
    document = MazePicture.read(picture(tmp_path, np.dstack([pixels, alpha])))
    np.testing.assert_array_equal(document.problems[0], GRID)
    found = np.asarray(Image.open(write(document, tmp_path, "out.png")))
    assert (found[..., 3] == 255).sum() > (alpha == 255).sum()


def test_a_colour_of_its_own_is_refused_with_its_place(tmp_path):
    pixels = scaled(GRID, 2)
    pixels[5, 3] = (0, 0, 255)
    with pytest.raises(irem.InputError, match=r"row 6, column 4 of .* colour \(0, 0, 255\)"):
        MazePicture.read(picture(tmp_path, pixels))


def test_grey_pictures_are_mazes_without_ends(tmp_path):
    document = MazePicture.read(picture(tmp_path, np.array([[0, 255], [255, 0]], np.uint8)))
    assert Maze().domain.fault(document.problems[0].astype(float)).startswith("The maze has no")


def test_lines_of_bits_are_answered_in_their_places(tmp_path):
    document = BitText.read(text(tmp_path, "# two", "0110", "", "1", "11"))
    assert [bits.tolist() for bits in document.problems] == [[0, 1, 1, 0], [1], [1, 1]]
    answers = [np.array([0.1, 0.8, 0.2, -1]), None, np.array([1, 0])]
    out = tmp_path / "sums.txt"
    document.write(out, answers)
    assert out.read_text() == "# two\n0100\n\n?\n10\n"
    assert document.about(1, "Ah.") == "Line 4: Ah."


def test_lines_that_are_not_bits_are_refused(tmp_path):
    with pytest.raises(irem.InputError, match=r"Line 1 of .* has '2' at place 3; expected 0 or 1"):
        BitText.read(text(tmp_path, "012"))
    with pytest.raises(irem.InputError, match="has no bits"):
        BitText.read(text(tmp_path, "# nothing"))
