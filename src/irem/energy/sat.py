"""A formula as an energy: zero exactly where it is satisfied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from irem.checks import count
from irem.energy.base import AbstractEnergy
from irem.errors import InputError
from irem.formats import AbstractFormat


class Clauses(eqx.Module):
    """Clauses as rows of literals, each with a weight.

    A literal is a variable's number from 1 on, negative where it is negated; 0 fills up rows that
    are shorter than others.
    """

    literals: Int[Array, "*batch clauses width"]
    weights: Float[Array, "*batch clauses"]

    @staticmethod
    def of(x: Clauses | ArrayLike) -> Clauses:
        """Return `x` itself if it has weights, else its rows with a weight of one each."""
        if isinstance(x, Clauses):
            return x
        literals = jnp.asarray(x)
        return Clauses(literals, jnp.ones(literals.shape[:-1]))


class Formulas(AbstractFormat):
    """Formulas over some variables: rows of literals, a stack of such tables, or `Clauses`.

    Arguments:
        variables: Number of variables.
    """

    noun: ClassVar[str] = "formulas"

    variables: int = eqx.field(static=True)

    def as_batch(self, x: Any) -> tuple[Clauses, bool]:
        """Return a stack of formulas."""
        if isinstance(x, Clauses):
            literals, weights = np.asarray(x.literals), x.weights
        else:
            literals, weights = np.asarray(x), None
        check_literals(literals, self.variables)
        clauses = (
            Clauses.of(literals) if weights is None else Clauses(jnp.asarray(literals), weights)
        )
        if literals.ndim == 3:
            return clauses, False
        return jax.tree.map(lambda leaf: leaf[None], clauses), True

    def answer_shape(self, x: Clauses | ArrayLike) -> tuple[int, ...]:
        """Return one number for each variable."""
        del x
        return (self.variables,)


class SAT(AbstractEnergy):
    r"""The verifier of a Boolean formula as an energy (Section 3.3 of the paper).

    With $s_j$ the sign of a literal and $y_j$ the number of its variable,

    $$E(x, y) = \sum_k w_k \prod_{j \in k} \left(\frac{\max(0, 1 - s_j y_j)}{2}\right)^2$$

    On assignments of -1 (false) and 1 (true) it is the weight of all unsatisfied clauses. It is
    zero exactly where every clause has a literal with $s_j y_j \ge 1$, so that the signs of `y`
    satisfy the formula, and it is evaluated in time linear in the number of literals. Nothing is
    learned.

    Arguments:
        variables: Number of variables.
    """

    variables: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        """Refuse a formula about nothing."""
        count("variables", self.variables)

    @property
    def format(self) -> Formulas:
        """Formulas over these variables."""
        return Formulas(self.variables)

    def landscape(self, x: Clauses | ArrayLike) -> Callable[[Array], Float[Array, ""]]:
        """Return the map from a relaxed assignment to its energy."""
        x = Clauses.of(x)
        signs, places = jnp.sign(x.literals), jnp.abs(x.literals) - 1

        def energy(y: Float[Array, " variables"]) -> Float[Array, ""]:
            missing = jax.nn.relu(1 - signs * y[places]) / 2
            # An empty place is never true.
            unsatisfied = jnp.prod(jnp.where(signs == 0, 1, jnp.square(missing)), axis=-1)
            return jnp.sum(x.weights * unsatisfied)

        return energy


def check_literals(literals: np.ndarray, variables: int) -> None:
    """Refuse what is not a table of literals over so many variables."""
    if literals.dtype.kind not in "iu" or literals.ndim not in (2, 3) or 0 in literals.shape:
        raise InputError(
            f"A formula is a table of whole numbers, one clause a row, or a stack of such tables; "
            f"got {literals.dtype} of shape {literals.shape}."
        )
    largest = int(np.abs(literals).max())
    if largest > variables:
        raise InputError(
            f"The formula names variable {largest}, but there are {variables}; number them from 1."
        )
    if not literals.any(-1).all():
        raise InputError("The formula has an empty clause, which nothing satisfies; remove it.")
