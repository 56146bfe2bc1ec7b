"""What a check says of an answer."""

import enum
from typing import NamedTuple

import numpy as np


class Verdict(enum.IntEnum):
    """What is known of an answer from the problem alone, whatever found it."""

    VERIFIED = 0
    """The answer was checked, and it holds."""
    FAILED = 1
    """The answer was checked, and it does not hold."""
    UNCHECKED = 2
    """The answer cannot be checked: the problem does not say what would be right."""

    @property
    def label(self) -> str:
        """The verdict as it is printed."""
        return self.name.lower()


class Check(NamedTuple):
    """The verdicts on a batch of answers.

    Arguments:
        verdict: A number of `Verdict` for each.
        residual: By how much each misses what it should satisfy, in relative terms: a bound of its
            relative error where the verdict is about the whole answer. NaN where nothing can be
            said.
    """

    verdict: np.ndarray
    residual: np.ndarray

    def count(self, verdict: Verdict) -> int:
        """Return how many answers have this verdict."""
        return int((self.verdict == verdict).sum())
