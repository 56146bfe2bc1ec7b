"""Boolean formulas: made at random, read from files."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
from jaxtyping import Bool, Int, PRNGKeyArray

from irem.errors import InputError


@dataclasses.dataclass(frozen=True)
class Formula:
    """A formula in conjunctive normal form.

    Arguments:
        literals: One clause a row, filled up with 0; see `irem.energy.Clauses`.
        variables: Number of variables.
    """

    literals: Int[np.ndarray, "clauses width"]
    variables: int

    def satisfied_by(self, assignment: Bool[np.ndarray, "*starts variables"]) -> np.ndarray:
        """For each assignment and clause, whether the one satisfies the other."""
        values = assignment[..., np.abs(self.literals) - 1]
        true = np.where(self.literals > 0, values, ~values) & (self.literals != 0)
        return true.any(-1)


def parse_dimacs(text: str, name: str = "formula") -> Formula:
    """A formula in the DIMACS format.

    Arguments:
        text: Comments (`c ...`), a header `p cnf VARIABLES CLAUSES`, and clauses that end in 0.
        name: What messages call it.
    """
    lines = [line.split() for line in text.split("\n%", maxsplit=1)[0].splitlines()]
    lines = [words for words in lines if words and not words[0].startswith("c")]
    if not lines or lines[0][0] != "p":
        raise InputError(f"'{name}' is not DIMACS: it has no header 'p cnf VARIABLES CLAUSES'.")
    header = lines[0]
    if len(header) != 4 or header[1] != "cnf" or not all(w.isdecimal() for w in header[2:]):
        raise InputError(
            f"'{name}' has the header '{' '.join(header)}'; expected 'p cnf VARIABLES CLAUSES'."
        )
    variables, expected = int(header[2]), int(header[3])
    clauses = _clauses([word for words in lines[1:] for word in words], variables, name)
    if len(clauses) != expected:
        raise InputError(
            f"'{name}' announces {expected} clauses and has {len(clauses)}; it is cut off, or its "
            "header is wrong."
        )
    if variables == 0:
        raise InputError(f"'{name}' has no variables; there is nothing to assign.")
    width = max((len(clause) for clause in clauses), default=1)
    literals = np.zeros((len(clauses), width), np.int32)
    for row, clause in zip(literals, clauses, strict=True):
        row[: len(clause)] = clause
    return Formula(literals, variables)


def _clauses(words: list[str], variables: int, name: str) -> list[list[int]]:
    """Clauses of a list of literals in which each ends in 0."""
    clauses: list[list[int]] = []
    current: list[int] = []
    for word in words:
        try:
            literal = int(word)
        except ValueError as error:
            raise InputError(
                f"'{name}' has '{word}' where a literal should be: a whole number, 0 at the end "
                "of a clause."
            ) from error
        if abs(literal) > variables:
            raise InputError(
                f"'{name}' names variable {abs(literal)}, but its header announces {variables}."
            )
        if literal:
            current.append(literal)
            continue
        if not current:
            raise InputError(f"'{name}' has an empty clause, which nothing satisfies; remove it.")
        clauses.append(current)
        current = []
    if current:
        raise InputError(f"'{name}' ends inside a clause; every clause ends in 0.")
    return clauses


def as_literals(assignment: Bool[np.ndarray, " variables"]) -> Int[np.ndarray, " variables"]:
    """An assignment as DIMACS prints it: every variable, negative where it is false."""
    numbers = np.arange(1, len(assignment) + 1)
    return np.where(assignment, numbers, -numbers)


def random_formula(key: PRNGKeyArray, variables: int, clauses: int, width: int = 3) -> Formula:
    """A random formula: distinct variables in every clause, each negated by a coin."""
    if variables < width:
        raise InputError(f"Clauses of {width} literals need as many variables, got {variables}.")
    # NumPy draws without compiling anew for every size.
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    places = np.arange(variables)[None].repeat(clauses, axis=0)
    chosen = rng.permuted(places, axis=1)[:, :width] + 1
    signs = rng.choice([-1, 1], size=chosen.shape)
    return Formula((chosen * signs).astype(np.int32), variables)
