"""Files of problems in a form of their own, into which answers are written."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from irem.errors import InputError


class AbstractDocument(abc.ABC):
    """The problems of a text or a picture."""

    problems: Sequence[np.ndarray]
    """The problems, each of its own size."""

    @abc.abstractmethod
    def write(self, out: Path, answers: Sequence[np.ndarray | None]) -> None:
        """Write the file with answers to its problems, whole or not at all.

        Arguments:
            out: Where it is written.
            answers: An answer to every problem; `None` where the problem stays as it was.
        """

    @abc.abstractmethod
    def about(self, problem: int, sentence: str) -> str:
        """Return a sentence about one of the problems, which says where in the file it is."""


def read_text(path: Path) -> list[str]:
    """Return the lines of a file of text."""
    if not path.is_file():
        raise InputError(f"There is no file '{path}'.")
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"'{path}' is not a file of text ({error}).") from error
