"""The demonstration at a size that takes seconds, and the page it makes."""

import base64
import dataclasses
from html.parser import HTMLParser

import numpy as np
import pytest

from irem.evaluation.page import png
from irem.paper import DemoSettings, demo, demo_figures, demo_page, printed_mse
from irem.tasks import MatrixInverse

SMALL = DemoSettings(
    problems=20,
    max_steps=30,
    changes={
        **DemoSettings().changes,
        "energy.width": 4,
        "energy.encoder_depth": 0,
        "energy.depth": 1,
    },
)
FIGURES = ["inverse", "loss", "error-by-step", "energy-by-error", "landscape"]


class Page(HTMLParser):
    """Collects what a browser would load, and checks that tags are closed in order."""

    void = ("meta", "img", "br", "link")

    def __init__(self):
        super().__init__()
        self.open, self.sources, self.alternatives, self.text = [], [], [], []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.sources += [attributes[name] for name in ("src", "href") if name in attributes]
        if tag == "img":
            self.alternatives.append(attributes["alt"])
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def make(out, **options):
    return demo(out, iterations=60, size=4, settings=SMALL, progress=False, **options)


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "run"


@pytest.fixture(scope="module")
def said():
    return []


@pytest.fixture(scope="module")
def made(out, said):
    return make(out, say=said.append)


@pytest.fixture(scope="module")
def drawn(made, said):
    return demo_figures(made, say=said.append)


@pytest.fixture(scope="module")
def page(made, drawn):
    page = Page()
    page.feed(demo_page(made, drawn))
    return page


def test_the_page_needs_nothing_beside_itself(page):
    assert page.open == []
    assert len(page.sources) == 5
    for source in page.sources:
        kind, data = source.split(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data).startswith(b"\x89PNG")


def test_the_page_shows_its_figures_with_captions_and_what_was_done(page):
    for words in (
        "A matrix, and its inverse",
        "slice of the learned landscape",
        "Error against steps",
        "Energy of",
        "Training loss",
    ):
        assert any(words in alternative for alternative in page.alternatives)
    text = " ".join(page.text)
    # The paper's numbers are for matrices of 20 x 20; these have 4 and 8 rows.
    assert "IREM in the paper" in text
    assert "0.0108" not in text
    assert "60 iterations of 16 fresh" in text
    assert "starts at 0.002" in text
    assert "clipped at 0.1, replayed entries at 3" in text
    assert "4 x 4, same" in text
    assert "8 x 8, harder" in text


def test_the_papers_number_is_shown_for_matrices_of_its_size(made, drawn):
    assert [row.paper for row in made.rows] == [None, None, None]
    printed = [printed_mse("irem", MatrixInverse(), d) for d in ("same", "harder")]
    assert printed == [0.0108, 0.2083]
    rows = [dataclasses.replace(made.rows[1], paper=value) for value in printed]
    text = demo_page(dataclasses.replace(made, rows=(made.rows[0], *rows)), drawn)
    assert "0.0108" in text


def test_the_rows_are_those_of_an_evaluation(made):
    sizes = [(row.size, row.difficulty, row.found.problems) for row in made.rows]
    assert sizes == [(4, "same", 20), (8, "same", 20), (8, "harder", 20)]
    for difficulty, found in made.recorded.items():
        # The errors at the end of the recorded descents are those of the table.
        row = made.larger(difficulty).found
        assert found.errors[:, -1].mean() == pytest.approx(row.mse, rel=1e-5)
        assert 0 < row.steps_mean <= 30


def test_the_inverse_of_one_matrix_forms_beside_its_product(made, drawn):
    walk = made.walk
    assert walk.x.shape == walk.y.shape == (4, 4)
    np.testing.assert_allclose(walk.x @ walk.y, np.eye(4), atol=1e-4)
    # Each of the last answers is nearer to the inverse than the first guess.
    far = np.abs(walk.answers - walk.y).max(axis=(1, 2))
    assert far[-1] < far[0]
    panels = drawn["inverse"].axes
    shown = walk.thinned(len(panels) // 2 - 1)
    product = panels[-1].images[0].get_array()
    np.testing.assert_allclose(product, walk.x @ shown.answers[-1], atol=1e-6)
    assert panels[1].get_title() == "first guess"


def test_the_figures_can_be_files(drawn):
    assert list(drawn) == FIGURES
    for figure in drawn.values():
        assert png(figure).startswith(b"\x89PNG")


def test_every_stage_is_announced(drawn, said):
    assert len(drawn) == 5
    assert said == [
        "training on matrices of 4 x 4",
        "inverting matrices of 4 x 4",
        "inverting matrices of 8 x 8, same",
        "measuring energies around inverses, same",
        "inverting matrices of 8 x 8, harder",
        "measuring energies around inverses, harder",
        "drawing",
    ]


def test_a_second_demo_takes_up_the_first(made, out):
    before = (out / "checkpoint.safetensors").stat().st_mtime_ns
    again = make(out)
    assert again.rows == made.rows
    assert all(row.found.mse > 0 for row in again.rows)
    assert (out / "checkpoint.safetensors").stat().st_mtime_ns == before
