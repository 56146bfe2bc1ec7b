"""Exact answers to puzzles, by a SAT solver."""

import itertools

import jax
import numpy as np
from pysat.solvers import Cadical153

from irem.puzzles import Puzzle, Quota


def solve_exactly(x: Puzzle) -> np.ndarray:
    """Return which variables are true in a solution; NaN where there is none.

    Takes leading axes of problems.
    """
    known = np.asarray(x.known)
    batch = known.shape[:-1]
    flat = jax.tree.map(lambda leaf: np.reshape(leaf, (-1, *np.shape(leaf)[len(batch) :])), x)
    found = [_first(jax.tree.map(lambda leaf, i=i: leaf[i], flat)) for i in range(len(flat.known))]
    return np.reshape(found, known.shape)


def count_solutions(x: Puzzle, most: int = 2) -> int:
    """Return how many solutions one puzzle has, counted up to `most`."""
    variables = np.size(x.known)
    with Cadical153(clauses(x)) as solver:
        found = 0
        while found < most and solver.solve():
            found += 1
            truths = _truths(solver.get_model(), variables)
            solver.add_clause([-v if true else v for v, true in enumerate(truths.tolist(), 1)])
        return found


def _first(x: Puzzle) -> np.ndarray:
    with Cadical153(clauses(x)) as solver:
        if not solver.solve():
            return np.full(x.known.shape, np.nan)
        return _truths(solver.get_model(), x.known.size).astype(float)


def _truths(model: list[int] | None, variables: int) -> np.ndarray:
    truths = np.zeros(variables, bool)
    truths[[v - 1 for v in model or () if 0 < v <= variables]] = True
    return truths


def clauses(x: Puzzle) -> list[list[int]]:
    """Return known variables and rules as clauses of variables that count from 1."""
    known = np.asarray(x.known)
    found = [[int(v + 1)] for v in np.flatnonzero(known > 0)]
    found += [[-int(v + 1)] for v in np.flatnonzero(known < 0)]
    for family in x.families:
        for members in np.asarray(family.members).tolist():
            group = [v + 1 for v in members if v < known.size]
            if group and family.quota != Quota.AT_MOST_ONE:
                found.append(group)
            if family.quota != Quota.AT_LEAST_ONE:
                found += [[-a, -b] for a, b in itertools.combinations(group, 2)]
    return found
