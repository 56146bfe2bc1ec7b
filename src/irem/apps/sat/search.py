"""Satisfying assignments by descent: many starts, and weights on what stays unsatisfied."""

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, PRNGKeyArray

from irem.apps.sat.formula import Formula
from irem.checks import count
from irem.descent import DEFAULT_STEP, MAX_STEPS, solve
from irem.energy import SAT, Clauses
from irem.memory import check_memory

# Bytes that a descent takes: for each variable the point, its gradient and what is tried next, for
# each literal its sign, its place and the factors of its clause.
_PER_VARIABLE, _PER_LITERAL = 48, 32


@dataclasses.dataclass(frozen=True)
class Satisfaction:
    """The result of a search.

    Arguments:
        assignment: Truth of every variable, or `None` where none was found. It was checked.
        descents: How many descents were made.
        rounds: Number of rounds.
        unsatisfied: Clauses that the best assignment leaves unsatisfied.
    """

    assignment: Bool[np.ndarray, " variables"] | None
    descents: int
    rounds: int
    unsatisfied: int


def satisfy(
    formula: Formula,
    *,
    starts: int = 32,
    rounds: int = 20,
    max_steps: int = MAX_STEPS,
    on_round: Callable[[int], None] | None = None,
    key: PRNGKeyArray,
) -> Satisfaction:
    """Look for an assignment that satisfies `formula`.

    Every round descends from all starts at once. Where a minimum leaves clauses unsatisfied, their
    weights are raised: the landscape changes, its zeros do not.

    Arguments:
        formula: What is to be satisfied.
        starts: Number of descents side by side.
        rounds: Most rounds.
        max_steps: Step budget of every descent.
        on_round: Called with 1 after every round, for a progress bar.
        key: Source of first guesses.
    """
    count("starts", starts)
    count("rounds", rounds)
    if len(formula.literals) == 0:
        return Satisfaction(np.ones(formula.variables, bool), 0, 0, 0)
    check_memory(
        f"A search over {formula.variables:,} variables from {starts:,} starts",
        starts * (_PER_VARIABLE * formula.variables + _PER_LITERAL * formula.literals.size),
        "give a smaller formula or fewer starts",
    )
    energy = SAT(formula.variables)
    literals = jnp.asarray(np.repeat(formula.literals[None], starts, axis=0))
    weights = np.ones(literals.shape[:2], np.float32)
    y, fewest = None, len(formula.literals)
    for number in range(1, rounds + 1):
        x = Clauses(literals, jnp.asarray(weights))
        y = solve(energy, x, y, key=key, step=DEFAULT_STEP, max_steps=max_steps).y
        assignments = np.asarray(y) > 0
        satisfied = formula.satisfied_by(assignments)
        missing = (~satisfied).sum(1)
        fewest = min(fewest, int(missing.min()))
        if fewest == 0:
            found = assignments[int(missing.argmin())]
            return Satisfaction(found, number * starts, number, 0)
        weights = weights + ~satisfied * weights.mean(1, keepdims=True)
        y = jnp.clip(y, -1.0, 1.0)
        if on_round is not None:
            on_round(1)
    return Satisfaction(None, rounds * starts, rounds, fewest)
