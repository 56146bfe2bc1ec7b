"""Rules that problems are held to."""

import jax.numpy as jnp
import numpy as np

from irem.domain import Domain, Rule, as_arrays
from irem.problem import Graph

POSITIVE = Rule("positive", lambda x: None if (x > 0).all() else f"{x.min()} is not positive.")
SMALL = Rule("small", lambda x: None if (x < 10).all() else f"{x.max()} is not small.")


def test_the_first_rule_that_is_broken_says_why():
    domain = Domain(POSITIVE, SMALL)
    assert domain.fault(np.array([1.0, 2.0])) is None
    assert domain.fault(np.array([11.0, 2.0])) == "11.0 is not small."
    assert domain.fault(np.array([11.0, -2.0])) == "-2.0 is not positive."


def test_every_problem_of_a_batch_has_its_own_fault():
    faults = Domain(POSITIVE, SMALL).faults(jnp.array([[1.0, 2.0], [3.0, -1.0], [20.0, 1.0]]))
    assert faults == [None, "-1.0 is not positive.", "20.0 is not small."]


def test_without_rules_nothing_is_refused():
    assert Domain().faults(jnp.ones((3, 2))) == [None] * 3


def test_padded_nodes_of_a_graph_are_no_part_of_it():
    edges = jnp.array([[1.0, 2.0, -9.0], [3.0, 4.0, -9.0], [-9.0, -9.0, -9.0]])
    graph = Graph(edges[None], jnp.array([[True, True, False]]))
    np.testing.assert_array_equal(next(as_arrays(graph)), [[1, 2], [3, 4]])
    assert Domain(POSITIVE).faults(graph) == [None]
