"""What all tests share."""

import gc

import jax
import pytest


@pytest.fixture(scope="module", autouse=True)
def compiled_programs_are_freed():
    """Drop the programs of a file after it: thousands of them exhaust a process."""
    yield
    jax.clear_caches()
    gc.collect()
