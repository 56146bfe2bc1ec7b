"""Compiled programs on the disk, so that the next process need not compile them again.

JAX reads where they are kept from environment variables when it is imported; nothing here imports
it. A folder serves one version of JAX on one kind of processor: programs of another processor may
use instructions that this one does not have.
"""

import hashlib
import os
import platform
import re
import shutil
import warnings
import zlib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from irem.errors import InputError

FOLDER = "IREM_CACHE_DIR"
"""The environment variable with the folder for compiled programs; empty for none."""

LIMIT = "IREM_CACHE_SIZE"
"""The environment variable with how many megabytes they may take."""

_DEFAULT_LIMIT = 1000
_MEGABYTE = 10**6
# A file whose time says when programs were last looked at, and by how much times may differ.
_CHECKED, _MARGIN = ".checked", 2.0
_ZLIB = b"\x78"
_OF_JAX = "JAX_COMPILATION_CACHE_DIR"
# Programs of any size and of any time to compile are kept: a first answer has many small ones.
_SETTINGS = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}


class Kept(NamedTuple):
    """What a folder of compiled programs holds.

    Arguments:
        folder: The folder, which need not exist yet.
        programs: How many programs there are.
        size: How many bytes they take.
    """

    folder: Path
    programs: int
    size: int


def keep_programs() -> None:
    """Let JAX keep compiled programs, unless its user has chosen where, or that none are kept.

    Programs that were not used for longest are removed first where there are more than the limit
    allows. A folder that cannot be written to is left out: then nothing is kept.
    """
    folder = folder_of_programs()
    if folder is None or os.environ.get(_OF_JAX, str(folder)) != str(folder):
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_damaged(folder)
        trim(folder.parent, limit())
    except OSError:
        return  # a home that is full or read-only is no reason to refuse work
    if not os.access(folder, os.W_OK):
        return
    # Another process may be writing what this one reads: it is then compiled here as well.
    warnings.filterwarnings("ignore", "Error reading persistent compilation cache entry")
    os.environ[_OF_JAX] = str(folder)
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)


def folder_of_programs() -> Path | None:
    """Return where this version of JAX keeps programs of this processor; `None` for nowhere."""
    base = os.environ.get(FOLDER)
    if base == "":
        return None
    if base is None:
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        base = Path(caches) / "irem"
    return Path(base) / "compiled" / f"jax-{metadata.version('jaxlib')}-{_processor()}"


def limit() -> int:
    """Return how many bytes compiled programs may take.

    Raises:
        InputError: The environment variable is no number.
    """
    given = os.environ.get(LIMIT, str(_DEFAULT_LIMIT))
    if not re.fullmatch(r"[0-9]{1,9}", given):
        raise InputError(
            f"The environment variable {LIMIT} is '{given}'; expected how many megabytes compiled "
            "programs may take, as a whole number."
        )
    return int(given) * _MEGABYTE


def remove_damaged(folder: Path) -> None:
    """Remove programs that were not written whole, because a process was killed on the way.

    JAX would fail to read them at every start, and never write them again. Only those that were
    written since this was last done are looked at.
    """
    stamp = folder / _CHECKED
    since = stamp.stat().st_mtime - _MARGIN if stamp.exists() else 0.0
    stamp.touch()
    for path, status in _files(folder):
        if status.st_mtime >= since and not _is_whole(path):
            path.unlink(missing_ok=True)


def _is_whole(path: Path) -> bool:
    """Whether a program that JAX compressed by zlib has its end; of others it is not known."""
    content = path.read_bytes()
    if content[:1] != _ZLIB:
        return bool(content)
    stream = zlib.decompressobj()
    try:
        stream.decompress(content)
    except zlib.error:
        return False
    return stream.eof


def trim(folder: Path, most: int) -> None:
    """Remove the programs in a folder that were not used for longest, down to `most` bytes."""
    files = sorted(_files(folder), key=lambda found: max(found[1].st_atime, found[1].st_mtime))
    total = sum(status.st_size for _, status in files)
    for path, status in files:
        if total <= most:
            return
        path.unlink(missing_ok=True)
        total -= status.st_size


def kept() -> Kept | None:
    """Return what is kept for all versions and processors; `None` where nothing is."""
    folder = folder_of_programs()
    if folder is None:
        return None
    sizes = [status.st_size for _, status in _files(folder.parent)]
    return Kept(folder.parent, len(sizes), sum(sizes))


def clear() -> Kept | None:
    """Remove all compiled programs, and return what there was."""
    before = kept()
    if before is not None and before.folder.exists():
        shutil.rmtree(before.folder)
    return before


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The files in a folder and those within, with their sizes and times."""
    for place, _, names in os.walk(folder):
        for name in names:
            if name == _CHECKED:
                continue
            path = Path(place) / name
            try:
                yield path, path.stat()
            except FileNotFoundError:
                continue  # another process removed it


def _processor() -> str:
    """A short name for processors with the same instructions."""
    known = f"{platform.machine()} {platform.processor()}"
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", info.read_text(), re.MULTILINE)
        known += "" if found is None else found[1]
    return f"{platform.machine()}-{hashlib.sha256(known.encode()).hexdigest()[:12]}"
