"""A plugin of pytest: drop compiled programs where they pile up."""

import gc
from pathlib import Path

import jax
import pytest

MAPS = Path("/proc/self/maps")
# Every program has memory maps; this is half of what Linux allows a process.
MOST_MAPS = 30_000


@pytest.fixture(scope="module", autouse=True)
def compiled_programs_are_freed():
    yield
    if MAPS.exists() and len(MAPS.read_bytes().splitlines()) > MOST_MAPS:
        jax.clear_caches()
        gc.collect()
