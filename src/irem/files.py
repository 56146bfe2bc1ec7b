"""Files that are either whole or not there."""

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

_SUFFIX = ".unfinished"
# Seconds by which clocks of processes and files may differ.
_MARGIN = 1.0
_open: set[Path] = set()


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, so that no moment shows half of it under the name `path`.

    The bytes go to a neighbouring file, which takes the name once the disk has them. If the context
    ends by an exception, the neighbour is removed and what `path` held before is still there.
    Neighbours that processes left which were killed while writing `path` are removed first.
    """
    remove_unfinished(path.parent, [path.name])
    unfinished = path.with_name(f".{path.name}.{os.getpid()}{_SUFFIX}")
    _open.add(unfinished)
    try:
        with naming(path), open(unfinished, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    finally:
        _open.discard(unfinished)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Name the file in an error of writing to it, as on a full disk; Python does so on opening."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def remove_open_files() -> None:
    """Remove the files that are being written, for a process that ends at once."""
    for path in tuple(_open):
        path.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` to `path`, whole or not at all."""
    with whole_file(path) as file:
        file.write(content)


def is_unfinished(path: Path, name: str) -> bool:
    """Return whether `path` is what `whole_file` writes to before it takes the name `name`."""
    return _writer(path, name) is not None


def remove_unfinished(folder: Path, names: Iterable[str]) -> None:
    """Remove what processes that were killed while writing the files `names` left in `folder`.

    What a living process is writing stays.
    """
    names = tuple(names)
    for path in tuple(folder.iterdir()) if folder.is_dir() else ():
        writers = (_writer(path, name) for name in names)
        writer = next((w for w in writers if w is not None), None)
        if writer is not None and not _is_being_written(path, writer):
            path.unlink(missing_ok=True)


def _writer(path: Path, name: str) -> int | None:
    """The process that writes, or wrote, to the neighbour `path` of a file called `name`."""
    start = f".{name}."
    if not (path.name.startswith(start) and path.name.endswith(_SUFFIX)):
        return None
    number = path.name[len(start) : -len(_SUFFIX)]
    return int(number) if number.isascii() and number.isdecimal() else None


def _is_being_written(path: Path, writer: int) -> bool:
    """Whether the process that began to write a file is still alive."""
    if writer == os.getpid():
        return path in _open
    try:
        os.kill(writer, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # the process of another user
    return not _began_after(writer, path)


def _began_after(process: int, path: Path) -> bool:
    """Whether a process began after a file was last written: it has the number of a dead one.

    Where the system does not say when a process began, it is taken to be the one that wrote.
    """
    try:
        # The name of the program, in parentheses, may hold spaces; the time is in clock ticks.
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        after_boot = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
        return boot + after_boot > path.stat().st_mtime + _MARGIN
    except (OSError, AttributeError, ValueError, IndexError):
        return False
