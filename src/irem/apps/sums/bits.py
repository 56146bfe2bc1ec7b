"""Lines of bits as lines of text."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from irem.apps.documents import AbstractDocument, read_text
from irem.errors import InputError
from irem.files import write_whole

_NO_PARITIES = "?"


@dataclasses.dataclass(frozen=True)
class BitText(AbstractDocument):
    """A text whose lines are bits, such as `0110`; of these one is a problem.

    Arguments:
        lines: All lines of the text.
        places: The places of the lines that are problems, from 0.
        problems: The bits of each of them.
    """

    lines: Sequence[str]
    places: Sequence[int]
    problems: Sequence[np.ndarray]

    @staticmethod
    def read(path: Path) -> BitText:
        """Read a text; lines that are empty or begin with `#` are no problems."""
        return BitText.of(read_text(path), str(path))

    @staticmethod
    def of(lines: Sequence[str], source: str) -> BitText:
        """Return the bits of some lines, which errors say are of `source`."""
        places = [i for i, line in enumerate(lines) if line.strip() and line[0] != "#"]
        if not places:
            raise InputError(f"'{source}' has no bits; expected lines of 0 and 1.")
        return BitText(lines, places, [_read_bits(source, i, lines[i].strip()) for i in places])

    def write(self, out: Path, answers: Sequence[np.ndarray | None]) -> None:
        """Write the parities in place of the bits; a line without an answer is `?`."""
        lines = list(self.lines)
        for place, y in zip(self.places, answers, strict=True):
            lines[place] = _NO_PARITIES
            if y is not None:
                lines[place] = "".join("1" if bit > 0.5 else "0" for bit in y)
        write_whole(out, "".join(f"{line}\n" for line in lines).encode())

    def about(self, problem: int, sentence: str) -> str:
        """Return a sentence about a line, which says which one it is."""
        return f"Line {self.places[problem] + 1}: {sentence}"


def _read_bits(source: str, place: int, line: str) -> np.ndarray:
    wrong = next((i for i, character in enumerate(line) if character not in "01"), None)
    if wrong is not None:
        raise InputError(
            f"Line {place + 1} of '{source}' has {line[wrong]!r} at place {wrong + 1}; expected 0 "
            "or 1."
        )
    return np.array([character == "1" for character in line], np.int8)
