"""Where a number comes from: commit, device, versions."""

import platform
import subprocess
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import optax

from irem.version import __version__


def provenance(commit: str | None = None) -> dict[str, Any]:
    """Return what every file of results begins with.

    Arguments:
        commit: The commit of this program, where git cannot tell it.
    """
    packages = {package.__name__: package.__version__ for package in (jax, eqx, optax, np)}
    return {
        "commit": commit or _commit(),
        "device": jax.devices()[0].device_kind,
        "platform": jax.devices()[0].platform,
        "versions": {"irem": __version__, "python": platform.python_version(), **packages},
    }


def _commit() -> str | None:
    """The commit of the source tree that this module lies in, if it has its history with it."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # no git on this machine
        return None
    return done.stdout.strip() or None
