"""A browser, a stand-in for the server, and windows to look at its page in."""

import importlib.util
from pathlib import Path

import pytest
from page_visits import DESKTOP, Visit
from stand_in import StandIn

ROOT = Path(__file__).parents[3]

spec = importlib.util.spec_from_file_location("find_browser", ROOT / "tools/find_browser.py")
assert spec is not None
assert spec.loader is not None
find_browser = importlib.util.module_from_spec(spec)
spec.loader.exec_module(find_browser)


@pytest.fixture(scope="package")
def browser():
    path = find_browser.find_browser()
    if path is None:
        pytest.skip(find_browser.MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # A sandbox is not to be had by root, nor inside most containers.
        made = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture(scope="package")
def stand_in():
    server = StandIn()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def server(stand_in):
    """A server that behaves well until a test asks for something else."""
    stand_in.behave()
    return stand_in


@pytest.fixture(scope="package")
def windows(browser):
    """Windows by their settings; opening one costs more than most tests."""
    kept = {}

    def window(**settings):
        key = repr(settings)
        if key not in kept:
            kept[key] = browser.new_context(**settings).new_page()
        return kept[key]

    yield window
    for page in kept.values():
        page.context.close()


@pytest.fixture
def visit(windows, server):
    """Open the page of a model; motion is reduced unless asked for."""
    visits = []

    def new(model, *, viewport=DESKTOP, motion="reduce", scheme="light"):
        page = windows(viewport=viewport, reduced_motion=motion, color_scheme=scheme)
        visits.append(Visit(page, server.url))
        return visits[-1].open(model)

    yield new
    for one in visits:
        one.leave()
    assert [error for one in visits for error in one.exceptions] == []
