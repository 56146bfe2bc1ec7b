"""The drawings of the page: functions from data to SVG, run in a browser without the page."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from scipy.ndimage import map_coordinates


@pytest.fixture(scope="package")
def window(browser, stand_in):
    """An empty page that modules can be loaded in."""
    page = browser.new_page()
    page.goto(f"{stand_in.url}page/icon.svg")
    yield page
    page.close()


@pytest.fixture
def call(window):
    """Call a function of a module with arguments that are plain values."""

    def call(module, function, *arguments):
        return window.evaluate(
            "async ([module, name, given]) => (await import(`/page/${module}.js`))[name](...given)",
            [module, function, list(arguments)],
        )

    return call


def drawn(svg):
    """The texts of a drawing, which is well-formed XML."""
    return [
        text.text or "" for text in ElementTree.fromstring(svg).iter() if text.tag.endswith("text")
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (3.14159, "3.14"),
        (-0.5, "\u22120.5"),
        (1.2e-7, "1.2e\u22127"),
        (2e6, "2e6"),
        (None, "\u2013"),
        (99999, "100000"),
    ],
)
def test_numbers_are_written_shortly(call, value, text):
    assert call("lib/numbers", "short", value) == text


def test_the_product_is_that_of_numpy(call):
    a, b = np.random.default_rng(0).normal(size=(2, 4, 4))
    np.testing.assert_allclose(
        call("lib/numbers", "product", a.tolist(), b.tolist()), a @ b, rtol=1e-12
    )
    assert call("lib/numbers", "product", [[1, None]], [[1], [2]]) == [[None]]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3, 17), (1e-9, 3e-9), (-1e6, 5e6), (2, 2)])
def test_ticks_are_round_and_within_the_axis(call, low, high):
    ticks = call("draw/axes", "ticks", low, high)
    assert all(low - 1e-12 <= tick <= high + 1e-6 * max(abs(high), 1e-9) for tick in ticks)
    assert len(ticks) <= 11
    steps = np.diff(ticks)
    np.testing.assert_allclose(steps, steps[:1].repeat(len(steps)), rtol=1e-6)


@pytest.mark.parametrize(
    "energies",
    [[3.0, 1.0, 0.5], [1e4, 1.0, 1e-12], [1e4, 5.0, -20.0, -21.0, -21.0], [0.0, 0.0], [7.0]],
)
def test_lower_energies_are_drawn_lower(call, energies):
    svg = call("draw/energy", "drawEnergies", [energies], {"last": len(energies) - 1})
    root = ElementTree.fromstring(svg)
    (path,) = [e.get("d") for e in root.iter() if (e.get("class") or "").startswith("d-curve")]
    heights = [float(point.split()[1]) for point in path[1:].split("L")]
    assert np.isfinite(heights).all()
    assert (np.diff(heights) * np.diff(energies) <= 0).all()
    assert 0 < min(heights) <= max(heights) < 240


def test_energies_that_are_not_finite_leave_a_gap(call):
    svg = call("draw/energy", "drawEnergies", [[5, None, 3], [None]], {"last": 2})
    assert "NaN" not in svg
    assert "undefined" not in svg


def polygon_area(path):
    """The area inside a path of straight lines."""
    total = 0.0
    for part in path.split("z")[:-1]:
        body = part.lstrip("M")
        if "H" in body:
            (x, y), (right, rest) = body.split("H")[0].split(), body.split("H")[1].split("V")
            total += (float(right) - float(x)) * (float(rest) - float(y))
            continue
        points = np.array([[float(c) for c in p.split()] for p in body.split("L")])
        x, y = points.T
        total += abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2
    return total


@pytest.mark.parametrize("level", [-1.0, 0.0, 0.4])
def test_bands_cover_the_area_above_their_level(call, level):
    grid = np.linspace(-1.5, 1.5, 20)
    values = np.sin(2 * grid)[:, None] + np.cos(grid)[None, :]
    path = call("draw/contours", "regionAbove", values.tolist(), level)
    fine = np.stack(np.meshgrid(*[np.linspace(0, 19, 400)] * 2, indexing="ij"))
    share = (map_coordinates(values, fine, order=1) >= level).mean()
    assert polygon_area(path) == pytest.approx(share * 19**2, rel=0.02)


def test_bands_of_a_plane_are_exact(call):
    # Of x + y over one cell, all but a triangle with sides of a quarter.
    path = call("draw/contours", "regionAbove", [[0, 1], [1, 2]], 0.25)
    assert polygon_area(path) == pytest.approx(1 - 0.25**2 / 2)


def test_a_landscape_takes_places_of_columns_and_says_whose_paths_they_are(call):
    landscape = {
        "energies": [[3.0, 2.0, 1.0], [1.0, None, 0.0]],
        "axes": [[0.0, 0.5, 1.0], [10.0, 20.0]],
        "paths": [[[0, 10], [1, 20]], [[1, 10]]],
        "starts": [1, 0],
    }
    svg = call("draw/landscape", "drawLandscape", landscape, {"width": 200, "height": 100})
    assert drawn(svg) == ["2", "1"]
    assert 'class="d-curve d-series-1" stroke-dasharray="7 4" d="M0 100L200 0"' in svg
    assert "NaN" not in svg


def test_a_path_ends_where_the_landscape_says(call):
    landscape = {
        "energies": [[3.0, 2.0], [1.0, 0.0]],
        "axes": {"u": [0, 2], "v": [-1, 1]},
        "paths": [[[0, -1], [2, 1]]],
    }
    svg = call("draw/landscape", "drawLandscape", landscape, {"width": 200, "height": 100})
    (line,) = [
        e.get("d")
        for e in ElementTree.fromstring(svg).iter()
        if (e.get("class") or "") == "d-curve d-series-0" and e.get("d")
    ]
    assert line == "M0 100L200 0"


def test_a_matrix_writes_its_numbers_and_leaves_holes_empty(call):
    assert drawn(call("draw/matrix", "drawMatrix", [[1, -2.5], [None, 0.001]])) == [
        "1",
        "\u22122.5",
        "",
        "0",
    ]
    large = call("draw/matrix", "drawMatrix", np.ones((60, 60)).tolist())
    assert drawn(large) == []
    assert len(large) < 60 * 60 * 40


def test_a_sudoku_shows_candidates_until_it_is_sure(call):
    given = "1..." + "." * 12
    certainty = np.full((4, 4, 4), 0.02)
    certainty[0, 1, 1:3] = 0.5
    certainty[0, 2] = [0, 0, 0, 1]
    options = {"certainty": certainty.tolist()}
    texts = drawn(call("draw/sudoku", "drawSudoku", given, "1.4" + "." * 13, options))
    assert texts == ["1", "2", "3", "4"]


def test_a_line_of_nodes_is_laid_out_as_a_line_and_a_whole_graph_as_a_ring(call):
    line = call("draw/layout", "arranged", 6, [{"a": i, "b": i + 1} for i in range(5)])
    places = np.array([[place["x"], place["y"]] for place in line])
    far = np.linalg.norm(places[:, None] - places, axis=-1)
    assert (np.argsort(far[0]) == np.arange(6)).all()
    whole = [{"a": i, "b": j} for i in range(6) for j in range(i)]
    assert call("draw/layout", "arranged", 6, whole) == call("draw/layout", "ring", 6)
    alone = call("draw/layout", "arranged", 5, [])
    assert all(0 <= place[axis] <= 1 for place in alone for axis in "xy")


def test_names_of_nodes_never_repeat(call):
    names = [call("draw/graph", "nodeName", node) for node in range(60)]
    assert names[:2] == ["A", "B"]
    assert len(set(names)) == 60


def test_labels_cannot_break_out_of_a_drawing(call):
    svg = call("draw/maze", "drawMaze", "S E", {"label": "\"><script>alert(1)</script>'"})
    assert [e.tag.rsplit("}")[-1] for e in ElementTree.fromstring(svg).iter()].count("script") == 0


def test_a_walk_gives_the_last_answer_that_was_kept(window):
    assert window.evaluate("""async () => {
        const { Walk } = await import('/page/lib/walk.js');
        const walk = new Walk();
        const kept = {ys: ['a', 'b'], steps: [0, 2]};
        walk.add({type: 'steps', start: 1, first: 0, energies: [4, 3, 2, 1], ...kept});
        const other = walk.descents[1];
        return [[0, 1, 2, 3, 9].map(step => other.at(step).y), walk.last, walk.descents[0].at(0)];
    }""") == [["a", "a", "b", "b", "b"], 3, None]
