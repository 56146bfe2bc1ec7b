"""A plugin of pytest: drop compiled programs where they pile up."""

import gc
from pathlib import Path

import jax
import pytest

MAPS = Path("/proc/self/maps")
# Every program has memory maps, of which Linux allows a process 65,530.
MOST_MAPS = 10_000


@pytest.fixture(scope="module", autouse=True)
def compiled_programs_are_freed():
    yield
    if MAPS.exists() and len(MAPS.read_bytes().splitlines()) > MOST_MAPS:
        jax.clear_caches()
        gc.collect()
