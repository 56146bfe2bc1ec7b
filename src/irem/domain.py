"""Which problems a task answers: rules that cards print and that every problem is held to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import PyTree

from irem.problem import Graph


class Rule(NamedTuple):
    """Something that holds for every problem that is answered.

    Arguments:
        says: What holds, as a card says it: "the matrix is symmetric".
        fault: Given one problem as an array, a sentence that names the entry at fault and the cure;
            `None` where the rule holds.
    """

    says: str
    fault: Callable[[np.ndarray], str | None]


class Domain:
    """The problems for which every rule holds.

    Arguments:
        rules: The rules; the first one that a problem breaks says why it is refused.

    Examples:
        >>> import numpy as np
        >>> rule = Rule("entries are positive", lambda x: None if (x > 0).all() else "One is not.")
        >>> Domain(rule).fault(np.array([1.0, -1.0]))
        'One is not.'
    """

    def __init__(self, *rules: Rule) -> None:
        self.rules = rules

    def fault(self, x: np.ndarray) -> str | None:
        """Return why one problem is refused, or `None`."""
        return next((said for rule in self.rules if (said := rule.fault(x)) is not None), None)

    def faults(self, x: PyTree) -> list[str | None]:
        """Return for every problem of a batch why it is refused, or `None`."""
        if not self.rules:
            return [None] * jax.tree.leaves(x)[0].shape[0]
        return [self.fault(problem) for problem in as_arrays(x)]


def as_arrays(x: PyTree) -> Iterator[np.ndarray]:
    """Yield the problems of a batch as arrays of float64; of a graph, the pairs of real nodes."""
    if isinstance(x, Graph):
        for edges, nodes in zip(np.asarray(x.edges, np.float64), np.asarray(x.nodes), strict=True):
            yield edges[np.ix_(nodes, nodes)]
        return
    yield from np.asarray(x, np.float64)
