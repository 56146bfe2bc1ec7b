"""Files that are either whole or not there."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

_SUFFIX = ".unfinished"
_open: set[Path] = set()


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to, so that no moment shows half of it under the name `path`.

    The bytes go to a neighbouring file, which takes the name once the disk has them. If the context
    ends by an exception, the neighbour is removed and what `path` held before is still there.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}{_SUFFIX}")
    _open.add(unfinished)
    try:
        with open(unfinished, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    finally:
        _open.discard(unfinished)


def remove_open_files() -> None:
    """Remove the files that are being written, for a process that ends at once."""
    for path in tuple(_open):
        path.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` to `path`, whole or not at all."""
    with whole_file(path) as file:
        file.write(content)


def remove_unfinished(folder: Path, names: Iterable[str]) -> None:
    """Remove what a process that was killed while writing the files `names` left in `folder`."""
    for name in names:
        for path in folder.glob(f".{name}.*{_SUFFIX}"):
            path.unlink(missing_ok=True)
