"""Boolean formulas: made at random, read from files."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from pathlib import Path

import jax
import numpy as np
from jaxtyping import Bool, Int, PRNGKeyArray

from irem.errors import InputError
from irem.memory import check_memory

# Python also takes underscores and digits of other alphabets for parts of a number.
_INTEGER = re.compile(r"-?[0-9]{1,10}")
_LARGEST = 2**31 - 1
_LONGEST_SHOWN = 40
# Of a formula in text, for each byte of it, while it is read.
_BYTES_PER_BYTE = 60


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


def read_dimacs(path: Path) -> Formula:
    """A formula in a file in the DIMACS format; its comments may be UTF-8 or Latin-1."""
    if not path.is_file():
        raise InputError(f"There is no file '{path}'.")
    check_memory(
        f"The formula in '{path}'", _BYTES_PER_BYTE * path.stat().st_size, "give a smaller one"
    )
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    return parse_dimacs(text, str(path))


def parse_dimacs(text: str, name: str = "formula") -> Formula:
    """A formula in the DIMACS format.

    Arguments:
        text: Comments (`c ...`), a header `p cnf VARIABLES CLAUSES`, and clauses that end in 0.
        name: What messages call it.
    """
    # Comments may hold characters that Python takes for ends of lines, and others do not.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n%", maxsplit=1)[0].split("\n")
    rows = [line.split() for line in lines if not line.lstrip().startswith("c")]
    rows = [words for words in rows if words]
    if not rows or rows[0][0] != "p":
        raise InputError(f"'{name}' is not DIMACS: it has no header 'p cnf VARIABLES CLAUSES'.")
    variables, expected = _header(rows[0], name)
    clauses = _clauses((word for words in rows[1:] for word in words), variables, name)
    if len(clauses) != expected:
        raise InputError(
            f"'{name}' announces {expected} clauses and has {len(clauses)}; it is cut off, or its "
            "header is wrong."
        )
    if variables == 0:
        raise InputError(f"'{name}' has no variables; there is nothing to assign.")
    width = max((len(clause) for clause in clauses), default=1)
    check_memory(
        f"'{name}' has {len(clauses):,} clauses, the longest of {width:,} literals, which",
        4 * len(clauses) * width,
        "split the longest clauses into shorter ones",
    )
    literals = np.zeros((len(clauses), width), np.int32)
    for row, clause in zip(literals, clauses, strict=True):
        row[: len(clause)] = clause
    return Formula(literals, variables)


def _header(words: list[str], name: str) -> tuple[int, int]:
    """The numbers of variables and of clauses."""
    numbers = [_integer(word) for word in words[2:]]
    if words[:2] != ["p", "cnf"] or len(numbers) != 2 or any(n is None or n < 0 for n in numbers):
        raise InputError(
            f"'{name}' has the header '{_shown(' '.join(words))}'; expected 'p cnf VARIABLES "
            f"CLAUSES', both at most {_LARGEST:,}."
        )
    variables, clauses = (int(n or 0) for n in numbers)
    return variables, clauses


def _clauses(words: Iterable[str], variables: int, name: str) -> list[list[int]]:
    """Clauses of a list of literals in which each ends in 0."""
    clauses: list[list[int]] = []
    current: list[int] = []
    for word in words:
        literal = _integer(word)
        if literal is None:
            raise InputError(
                f"'{name}' has '{_shown(word)}' where a literal should be: a whole number of at "
                f"most {_LARGEST:,}, 0 at the end of a clause."
            )
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


def _integer(word: str) -> int | None:
    """A whole number in plain digits, if it fits into 32 bits."""
    if not _INTEGER.fullmatch(word):
        return None
    number = int(word)
    return number if abs(number) <= _LARGEST else None


def _shown(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


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
