"""Folders that one process at a time writes to."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from irem.errors import InputError


@contextlib.contextmanager
def locked(folder: Path, refusal: str) -> Iterator[None]:
    """Keep other processes that ask out of a folder until the context ends.

    A process that is killed lets go of it.

    Arguments:
        folder: The folder, which exists.
        refusal: The sentence for those who come while another process has it.

    Raises:
        InputError: Another process has the folder.
    """
    opened = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(refusal) from error
        yield
    finally:
        os.close(opened)
