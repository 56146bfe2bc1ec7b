"""The demonstration at a size that takes seconds, and the page it writes."""

import base64
import dataclasses
import json
import sys
from html.parser import HTMLParser

import pytest

from irem.cli import main
from irem.experiments import _demo


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


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "run"
    energy = {**_demo.FORMS["matrix-inverse"].energy, "width": 4, "look": 0, "depth": 1}
    form = dataclasses.replace(_demo.FORMS["matrix-inverse"], energy=energy)
    arguments = ["irem", "demo", "--out", str(out), "--iterations", "60", "--size", "4"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_demo, "FORMS", {"matrix-inverse": form})
        patch.setattr(_demo, "PROBLEMS", 20)
        patch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
        yield out


def test_the_page_needs_nothing_beside_itself(demo):
    page = Page()
    page.feed((demo / "index.html").read_text())
    assert page.open == []
    assert len(page.sources) == 4
    for source in page.sources:
        kind, data = source.split(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data).startswith(b"\x89PNG")


def test_the_page_shows_four_figures_with_captions_and_what_was_done(demo):
    page = Page()
    page.feed((demo / "index.html").read_text())
    for words in (
        "slice of the learned landscape",
        "Error against steps",
        "Energy of",
        "Training loss",
    ):
        assert any(words in alternative for alternative in page.alternatives)
    text = " ".join(page.text)
    # The paper's numbers are for matrices of 20 x 20; these have 4 rows.
    assert "IREM in the paper" in text
    assert "0.0108" not in text
    assert "60 iterations of 16 fresh" in text
    assert "6 x 6" in text


def test_the_figures_are_also_files(demo):
    for name in ("landscape", "error-by-step", "energy-by-error", "loss"):
        assert (demo / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_second_demo_takes_up_the_first(demo, monkeypatch, capsys):
    before = (demo / "checkpoint.safetensors").stat().st_mtime_ns
    arguments = ["irem", "demo", "--out", str(demo), "--iterations", "60", "--size", "4", "--json"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit):
        main()
    printed = json.loads(capsys.readouterr().out)
    assert printed["page"] == str(demo / "index.html")
    assert printed["evaluations"]["harder"]["mse"] > 0
    assert list(printed["other_sizes"]) == ["2", "6"]
    assert printed["other_sizes"]["6"]["mse"] > 0
    assert (demo / "checkpoint.safetensors").stat().st_mtime_ns == before
