"""The page in front of the server itself, with models that come along."""

import os
import re
import subprocess
import sys

import pytest
from page_visits import DESKTOP, Visit

NAMES = ("matrix-inverse", "prefix-sums")
CHECKS = {
    "matrix-inverse": "The product of the answer and the matrix is the identity",
    "prefix-sums": "Every bit is the parity of all bits up to it",
}


@pytest.fixture(scope="module")
def address(browser):
    """A server as a process of its own, which ends in order."""
    command = [sys.executable, "-m", "irem", "serve", *(f"zoo:{name}" for name in NAMES)]
    command += ["--port", "0", "--no-warm"]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        try:
            found = re.search(r"http://[\d.]+:\d+", server.stderr.readline())
            assert found is not None
            yield found[0]
        finally:
            server.terminate()
            server.stderr.read()
    assert server.returncode in (0, 143)


@pytest.mark.parametrize("name", NAMES)
def test_a_fresh_problem_is_solved_and_its_check_is_green(windows, address, name):
    page = windows(viewport=DESKTOP, reduced_motion="reduce")
    seen = Visit(page, address)
    page.set_default_timeout(60_000)
    try:
        seen.open(name, seconds=60)
        seen.solve()
        verdict = " ".join(seen.text("#verdict").split())
        assert verdict.startswith("✓ Verified")
        assert CHECKS[name] in verdict
        assert page.locator("#panels svg").count() >= 1
        assert int(page.locator("#player input").get_attribute("max")) > 0
        assert seen.complaints == []
        assert seen.exceptions == []
    finally:
        seen.leave()
