import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pysat.solvers import Cadical153

import irem
from irem.apps.sat import as_literals, parse_dimacs, random_formula, satisfy


def is_satisfiable(formula, assumptions=()):
    clauses = [[int(n) for n in clause if n] for clause in formula.literals]
    with Cadical153(bootstrap_with=clauses) as solver:
        return solver.solve(assumptions=[int(n) for n in assumptions])


def formulas(variables, ratio, number):
    keys = jax.random.split(jax.random.key(7), number)
    return [random_formula(key, variables, round(ratio * variables)) for key in keys]


@pytest.mark.parametrize(("variables", "number"), [(20, 12), (50, 6)])
def test_satisfiable_formulas_are_satisfied(variables, number):
    for formula in formulas(variables, 3.5, number):
        found = satisfy(formula, key=jax.random.key(0))
        assert (found.assignment is not None) == is_satisfiable(formula)
        if found.assignment is not None:
            assert is_satisfiable(formula, as_literals(found.assignment))


def test_unsatisfiable_formulas_are_never_answered():
    unsatisfiable = [f for f in formulas(20, 7.0, 4) if not is_satisfiable(f)]
    assert unsatisfiable
    for formula in unsatisfiable:
        found = satisfy(formula, rounds=3, starts=8, key=jax.random.key(0))
        assert found.assignment is None
        assert found.unsatisfied > 0
        assert (found.rounds, found.descents) == (3, 24)


def test_weights_leave_minima_that_restarts_do_not():
    hard = [f for f in formulas(50, 4.1, 12) if is_satisfiable(f)]
    options = {"starts": 2, "key": jax.random.key(1)}
    first = [satisfy(f, rounds=1, **options).assignment is not None for f in hard]
    later = [satisfy(f, rounds=30, **options).assignment is not None for f in hard]
    assert sum(later) > sum(first)


def test_a_formula_without_clauses_is_satisfied_by_anything():
    formula = parse_dimacs("p cnf 3 0\n")
    assert satisfy(formula, key=jax.random.key(0)).assignment.shape == (3,)


def test_dimacs_in_all_its_forms():
    text = "c a comment\np cnf 4 3\n1 -2\n 0 3 4 -1 0\nc another\n-4 0\n%\n0\n"
    formula = parse_dimacs(text)
    assert formula.variables == 4
    assert formula.literals.tolist() == [[1, -2, 0], [3, 4, -1], [-4, 0, 0]]


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(3, 12), st.integers(1, 20))
def test_formulas_survive_being_written_and_read(seed, variables, clauses):
    formula = random_formula(jax.random.key(seed), variables, clauses)
    lines = [" ".join(map(str, [*clause, 0])) for clause in formula.literals.tolist()]
    again = parse_dimacs("\n".join([f"p cnf {variables} {clauses}", *lines]))
    np.testing.assert_array_equal(again.literals, formula.literals)
    assert all(len({abs(n) for n in clause}) == 3 for clause in formula.literals.tolist())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "no header"),
        ("1 2 0", "no header"),
        ("p cnf 3\n1 0", "expected 'p cnf VARIABLES CLAUSES'"),
        ("p sat 3 1\n1 0", "expected 'p cnf VARIABLES CLAUSES'"),
        ("p cnf -3 1\n1 0", "expected 'p cnf VARIABLES CLAUSES'"),
        ("p cnf 3 1\n1 x 0", "has 'x' where a literal should be"),
        ("p cnf 3 1\n1 4 0", "names variable 4, but its header announces 3"),
        ("p cnf 3 2\n1 0 0", "empty clause"),
        ("p cnf 3 1\n1 2", "ends inside a clause"),
        ("p cnf 3 2\n1 2 0", "announces 2 clauses and has 1"),
        ("p cnf 0 0\n", "no variables"),
    ],
)
def test_malformed_dimacs_is_refused(text, sentence):
    with pytest.raises(irem.InputError, match=sentence):
        parse_dimacs(text)
