"""Where a number comes from: commit, whether that is all there was, device, versions."""

import platform
import re
import subprocess
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import optax

from irem.errors import InputError
from irem.version import __version__

_HERE = Path(__file__)
_COMMIT = re.compile("[0-9a-f]{7,40}")


def provenance(commit: str | None = None) -> dict[str, Any]:
    """Return what every file of results begins with.

    Arguments:
        commit: The commit of this program, where git cannot tell it.

    Raises:
        InputError: That is no commit, or none of the source tree that this program runs from.
    """
    packages = {package.__name__: package.__version__ for package in (jax, eqx, optax, np)}
    commit = _commit() if commit is None else _checked(commit)
    return {
        "commit": commit,
        "clean": None if commit is None else _is_clean(commit),
        "device": jax.devices()[0].device_kind,
        "platform": jax.devices()[0].platform,
        "versions": {"irem": __version__, "python": platform.python_version(), **packages},
    }


def _commit() -> str | None:
    """The commit of the source tree that this program runs from, if git keeps one."""
    return _git("rev-parse", "HEAD") if _is_kept() else None


def _checked(commit: str) -> str:
    """A commit in full, or as it is given where there is no history to look it up in."""
    if not _COMMIT.fullmatch(commit):
        raise InputError(
            f"A commit has 7 to 40 hexadecimal digits, got '{commit}'; give what "
            "`git rev-parse HEAD` prints."
        )
    if not _is_kept():
        return commit
    found = _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    if not found:
        raise InputError(
            f"There is no commit '{commit}' in the source tree that irem runs from; leave "
            "--commit out, and git tells it."
        )
    return found


def _is_clean(commit: str) -> bool | None:
    """Whether the source tree has the files of a commit and no others; `None` if git is not asked.

    Files that git ignores do not count.
    """
    if not _is_kept():
        return None
    changed = _git("diff", "--name-only", commit)
    others = _git("ls-files", "--others", "--exclude-standard", "--full-name", ":/")
    return changed == others == ""


def _is_kept() -> bool:
    """Whether this very file is in a git repository: not merely below some other project's."""
    return bool(_git("ls-files", _HERE.name))


def _git(*arguments: str) -> str | None:
    """What git prints about the folder of this file; `None` where it fails or is not installed."""
    command = ["git", "-C", str(_HERE.parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # no git on this machine
        return None
    return done.stdout.strip() if done.returncode == 0 else None
