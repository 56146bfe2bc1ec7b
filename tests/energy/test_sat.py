import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import irem
from irem.apps.sat import random_formula
from irem.energy import SAT, Clauses

VARIABLES = 5


def literals_of(seed, clauses=12, variables=VARIABLES):
    return random_formula(jax.random.key(seed), variables, clauses).literals


def unsatisfied(literals, assignment):
    """How many clauses an assignment of -1 and 1 leaves unsatisfied, by the definition."""
    return sum(
        not any(n and (n > 0) == (assignment[abs(n) - 1] > 0) for n in clause)
        for clause in literals.tolist()
    )


def test_on_assignments_it_counts_unsatisfied_clauses():
    energy, literals = SAT(VARIABLES), literals_of(0)
    corners = np.asarray(list(itertools.product([-1.0, 1.0], repeat=VARIABLES)), np.float32)
    counted = [unsatisfied(literals, corner) for corner in corners]
    measured = jax.vmap(energy.landscape(literals))(corners)
    np.testing.assert_allclose(measured, counted, atol=1e-6)
    assert min(counted) == 0 < max(counted)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(-2, 2, width=32), min_size=VARIABLES, max_size=VARIABLES))
def test_it_is_zero_exactly_where_a_literal_of_every_clause_is_fully_true(y):
    literals = literals_of(1)
    value = float(SAT(VARIABLES)(literals, jnp.asarray(y)))
    margins = np.max(np.sign(literals) * np.asarray(y)[np.abs(literals) - 1], axis=1)
    assert value >= 0
    # A product of three squares of tiny numbers has no place among the floats.
    if margins.min() >= 1 or margins.min() < 0.99:
        assert (value == 0) == (margins.min() >= 1)
    if value == 0:
        assert unsatisfied(literals, y) == 0


def test_its_gradient_is_that_of_finite_differences():
    with jax.enable_x64(True):
        y = jnp.asarray(np.random.default_rng(0).uniform(-1, 1, VARIABLES))
        landscape = SAT(VARIABLES).landscape(literals_of(2))
        step = 1e-6 * np.eye(VARIABLES)
        central = [(landscape(y + s) - landscape(y - s)) / 2e-6 for s in step]
        np.testing.assert_allclose(jax.grad(landscape)(y), central, rtol=1e-6)


def test_empty_places_change_nothing():
    literals = literals_of(3)
    padded = np.pad(literals, ((0, 0), (1, 2)))
    y = jnp.linspace(-1.0, 1.0, VARIABLES)
    energy = SAT(VARIABLES)
    assert float(energy(padded, y)) == pytest.approx(float(energy(literals, y)), rel=1e-6)


def test_weights_weigh_clauses():
    literals = jnp.asarray([[1, 2], [-1, 2]])
    y = -jnp.ones(2)  # satisfies the second clause alone
    energy = SAT(2)
    assert float(energy(Clauses(literals, jnp.asarray([3.0, 5.0])), y)) == 3.0


def test_formulas_are_solved_like_any_problem():
    literals = np.stack([literals_of(seed) for seed in range(4)])
    solution = irem.solve(SAT(VARIABLES), literals, key=jax.random.key(0), starts=8)
    for clauses, y, energy in zip(literals, solution.y, solution.energy, strict=True):
        assert (unsatisfied(clauses, y) == 0) or energy > 1e-3


@pytest.mark.parametrize(
    ("literals", "sentence"),
    [
        ([[1.5, 2.0]], "table of whole numbers"),
        ([1, 2, 3], "table of whole numbers"),
        (np.zeros((0, 3), int), "table of whole numbers"),
        ([[1, 9]], "names variable 9, but there are 5"),
        ([[1, 2], [0, 0]], "empty clause"),
    ],
)
def test_what_is_no_formula_is_refused(literals, sentence):
    with pytest.raises(irem.InputError, match=sentence):
        irem.solve(SAT(VARIABLES), np.asarray(literals), key=jax.random.key(0))
    with pytest.raises(irem.InputError, match="`variables` must be greater than 0"):
        SAT(0)
