"""A plugin of pytest: keep compiled programs on disk during one run of the tests.

JAX compiles a program again for every new function, and after `free_programs` dropped it. Every
process has a folder of its own: JAX does not expect two to write one.
"""

import gc
import os

import jax
import pytest


@pytest.fixture(scope="session", autouse=True)
def compiled_programs_are_kept(tmp_path_factory):
    jax.config.update("jax_compilation_cache_dir", str(tmp_path_factory.mktemp("compiled")))
    # Programs that tests start keep theirs here, and leave the cache of the user as it is.
    os.environ["IREM_CACHE_DIR"] = str(tmp_path_factory.mktemp("kept"))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def pytest_configure():
    # Tracing makes so many objects that Python would look for garbage every few milliseconds.
    gc.set_threshold(20_000, 20, 10)
