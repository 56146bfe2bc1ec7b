"""Eight problems that people might bring, each with train, same and harder sets.

Everything is NumPy, apart from irem: a problem is a function of a random generator, a number of
rows and whether they are harder, and returns arrays `x` and `y`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

LINKS = np.array([0.5, 0.35, 0.15])
"""Lengths of the links of the arm; together 1."""

_SERIES = 64
_SAMPLES = 12
_POINTS = 20
_SIDE = 10

Make = Callable[[np.random.Generator, int, bool], tuple[np.ndarray, np.ndarray]]


@dataclasses.dataclass(frozen=True)
class OwnProblem:
    """A problem.

    Arguments:
        says: What is asked, and what is harder about the harder problems.
        make: Draws rows.
        several: Whether a row has several right answers, of which `y` is one at random.
    """

    says: str
    make: Make
    several: bool = False

    def sets(self, seed: int, train: int, test: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Return the rows of training, others like them, and harder ones."""
        streams = np.random.default_rng(seed).spawn(3)
        sizes = (("train", train, False), ("same", test, False), ("harder", test, True))
        return {
            name: self.make(stream, size, harder)
            for stream, (name, size, harder) in zip(streams, sizes, strict=True)
        }


def sort(size: int) -> Make:
    """Sort numbers between -1 and 1; harder: between -2 and 2."""

    def make(rng: np.random.Generator, rows: int, harder: bool) -> tuple[np.ndarray, np.ndarray]:
        x = rng.uniform(-1, 1, (rows, size)) * (2 if harder else 1)
        return x, np.sort(x, axis=1)

    return make


def systems(rng: np.random.Generator, rows: int, harder: bool) -> tuple[np.ndarray, np.ndarray]:
    """Solve A y = b for 6 x 6 matrices; harder: A further from the identity and b twice as large.

    A row of x is A and b side by side, of shape (6, 7).
    """
    spread, size = (0.3, 2.0) if harder else (0.25, 1.0)
    a = np.eye(6) + rng.normal(0, spread, (2 * rows, 6, 6))
    a = a[np.linalg.cond(a) < 20][:rows]
    b = rng.uniform(-size, size, (len(a), 6, 1))
    return np.concatenate([a, b], axis=2), np.linalg.solve(a, b)[..., 0]


def least_squares(
    rng: np.random.Generator, rows: int, harder: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Fit a line to 20 points, some of them outliers; harder: twice as many outliers.

    A row of x has the points, of shape (20, 2); y is the offset and the slope.
    """
    y = rng.uniform(-1, 1, (rows, 2))
    t = rng.uniform(-1, 1, (rows, _POINTS))
    v = y[:, :1] + y[:, 1:] * t + rng.normal(0, 0.02, t.shape)
    outlier = rng.random(t.shape) < (0.3 if harder else 0.15)
    v = np.where(outlier, v + rng.choice([-1, 1], t.shape) * rng.uniform(0.5, 2, t.shape), v)
    return np.stack([t, v], axis=2), y


def arm(elbows: int) -> Make:
    """Find the joint angles of an arm of three links from the pose of its hand.

    x has the position of the hand and the direction of the last link, as cosine and sine; y the
    three angles. With two elbows, the middle joint bends either way, at random: every pose has two
    answers, of which y is one. Harder: the arm is more stretched or more folded, and the last joint
    bends further, than in training.
    """

    def make(rng: np.random.Generator, rows: int, harder: bool) -> tuple[np.ndarray, np.ndarray]:
        bend = rng.uniform(0.6, 2.0, rows)
        if harder:
            bend = np.where(rng.random(rows) < 0.5, rng.uniform(0.3, 0.6, rows), bend + 0.6)
        last = rng.uniform(-1, 1, rows) * (1.5 if harder else 1.0)
        y = np.stack([rng.uniform(-1.2, 1.2, rows), bend, last], axis=1)
        if elbows == 2:
            y = np.where(rng.random((rows, 1)) < 0.5, y, other_elbow(y))
        return hand_pose(y), y

    return make


def other_elbow(y: np.ndarray) -> np.ndarray:
    """Return the angles with which the arm reaches the same pose by its other elbow."""
    first, bend, last = np.moveaxis(y, -1, 0)
    aside = np.arctan2(LINKS[1] * np.sin(bend), LINKS[0] + LINKS[1] * np.cos(bend))
    return np.stack([first + 2 * aside, -bend, last + 2 * bend - 2 * aside], axis=-1)


def hand_pose(y: np.ndarray) -> np.ndarray:
    """Return position and direction of the hand of an arm with these angles."""
    turned = np.cumsum(y, axis=-1)
    position = np.stack([(LINKS * np.cos(turned)).sum(-1), (LINKS * np.sin(turned)).sum(-1)], -1)
    direction = np.stack([np.cos(turned[..., -1]), np.sin(turned[..., -1])], -1)
    return np.concatenate([position, direction], axis=-1)


def signals(rng: np.random.Generator, rows: int, harder: bool) -> tuple[np.ndarray, np.ndarray]:
    """Reconstruct 64 points of a periodic signal of 4 frequencies from 12 samples of it.

    A row of x has NaN where there is no sample. Harder: signals twice as large, of which there are
    10 samples.
    """
    time = 2 * np.pi * np.arange(_SERIES) / _SERIES
    waves = np.concatenate([f(np.outer(np.arange(1, 5), time)) for f in (np.cos, np.sin)])
    y = 0.5 * rng.normal(0, 1, (rows, len(waves))) @ waves * (2 if harder else 1)
    kept = rng.random((rows, _SERIES)).argsort(axis=1) < (10 if harder else _SAMPLES)
    return np.where(kept, y, np.nan), y


def tables(rng: np.random.Generator, rows: int, harder: bool) -> tuple[np.ndarray, np.ndarray]:
    """Fill a table of 10 x 10 from the sums of its rows and columns and 30 % of its entries.

    An entry is about the product of a number of its row and one of its column. A row of x is the
    table with its sums as one more row and column, of shape (11, 11), and NaN for what is missing.
    Harder: 20 % of the entries, and numbers up to twice as large.
    """
    largest = 2.0 if harder else 1.5
    parts = rng.uniform(0.5, largest, (2, rows, _SIDE))
    y = parts[0][:, :, None] * parts[1][:, None, :] * rng.uniform(0.9, 1.1, (rows, _SIDE, _SIDE))
    kept = rng.random(y.shape) < (0.2 if harder else 0.3)
    x = np.full((rows, _SIDE + 1, _SIDE + 1), np.nan)
    x[:, :-1, :-1] = np.where(kept, y, np.nan)
    x[:, :-1, -1], x[:, -1, :-1], x[:, -1, -1] = y.sum(2), y.sum(1), y.sum((1, 2))
    return x, y


PROBLEMS = {
    "sort 8": OwnProblem("sort 8 numbers; harder: of twice the range", sort(8)),
    "sort 16": OwnProblem("sort 16 numbers; harder: of twice the range", sort(16)),
    "systems": OwnProblem("solve 6 x 6 systems; harder: worse A, b twice as large", systems),
    "outliers": OwnProblem("fit a line; harder: twice as many outliers", least_squares),
    "arm": OwnProblem("3-joint arm, one elbow; harder: poses outside training", arm(1)),
    "arm, two elbows": OwnProblem("the same, either elbow", arm(2), several=True),
    "signals": OwnProblem("64 points from 12 samples; harder: 10, twice as large", signals),
    "tables": OwnProblem("10 x 10 from sums and 30 %; harder: 20 %, larger", tables),
}
"""Every problem by name."""
