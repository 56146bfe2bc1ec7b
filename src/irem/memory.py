"""How much memory there is, asked before much of it is used."""

import os
import resource
from pathlib import Path

from irem.errors import InputError

# Of a container, in version 2 and 1 of control groups.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNITS = ("bytes", "KB", "MB", "GB", "TB", "PB", "EB")


def available() -> int:
    """Return how many bytes this process may still take: of the machine, its container or limit.

    Examples:
        >>> available() > 0
        True
    """
    bounds = [_of_machine(), *(_of_container(Path(path)) for path in _LIMITS)]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        bounds.append(soft)
    return min(bound for bound in bounds if bound is not None)


def check_memory(what: str, needed: float, advice: str, limit: float | None = None) -> None:
    """Refuse what needs more memory than there is.

    Arguments:
        what: What needs it, as the beginning of a sentence.
        needed: The estimate, in bytes.
        advice: What to do, as the end of a sentence.
        limit: How much it may take; by default what is available.

    Examples:
        >>> check_memory("A table of 10 x 10", 400, "ask for less", limit=1e6)
        >>> check_memory("A table", 4e12, "ask for less", limit=2e9)
        Traceback (most recent call last):
        irem.errors.InputError: A table needs about 4.0 TB of memory, and 2.0 GB is the limit; \
ask for less.
    """
    limit = available() if limit is None else limit
    if needed > limit:
        raise InputError(
            f"{what} needs about {size_text(needed)} of memory, and {size_text(limit)} is the "
            f"limit; {advice}."
        )


def size_text(size: float) -> str:
    """Return a number of bytes in a unit that people read.

    Examples:
        >>> size_text(480e12), size_text(512)
        ('480.0 TB', '512 bytes')
    """
    unit = 0
    while size >= 1000 and unit < len(_UNITS) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.0f} bytes" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


def _of_machine() -> int:
    """Memory that is free or could be freed; where Linux does not say, all there is."""
    info = Path("/proc/meminfo")
    if info.exists():
        for line in info.read_text().splitlines():
            name, _, value = line.partition(":")
            if name == "MemAvailable":
                return 1024 * int(value.split()[0])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _of_container(path: Path) -> int | None:
    """The limit of the container, if it has one."""
    if not path.exists():
        return None
    text = path.read_text().strip()
    return int(text) if text.isdecimal() else None
