"""Files that are either whole or not there."""

import os
from collections.abc import Iterable
from pathlib import Path

_SUFFIX = ".unfinished"


def write_whole(path: Path, content: bytes) -> None:
    """Write `content` to `path` so that no moment shows half of it.

    The bytes go to a neighbouring file, which takes the name once the disk has them. If that
    fails, the neighbour is removed and what `path` held before is still there.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}{_SUFFIX}")
    try:
        with open(unfinished, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def remove_unfinished(folder: Path, names: Iterable[str]) -> None:
    """Remove what a process that was killed while writing the files `names` left in `folder`."""
    for name in names:
        for path in folder.glob(f".{name}.*{_SUFFIX}"):
            path.unlink(missing_ok=True)
