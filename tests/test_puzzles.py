"""Puzzles as variables and rules, against a SAT solver and rules written out by hand."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from irem.errors import InputError
from irem.puzzles import (
    RULES,
    Family,
    NamedRules,
    Puzzle,
    Quota,
    box_shape,
    broken_rules,
    colouring_families,
    grid_of_truths,
    known_of_grid,
    latin_families,
    queens_families,
    sudoku_families,
    violation,
    with_excluded,
    with_open,
)
from irem.tasks.exact import count_solutions, solve_exactly

EMPTY4 = np.zeros((4, 4), int)


def puzzle_of(families, variables):
    return Puzzle(jnp.zeros(variables, jnp.int8), families)


def stacked(puzzle, count=1):
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (count, *leaf.shape)), puzzle)


def is_sudoku(grid):
    """The rules of a Sudoku as people know them."""
    n = len(grid)
    rows, columns = box_shape(n)
    lines = [*grid, *grid.T]
    lines += [
        grid[r : r + rows, c : c + columns].ravel()
        for r, c in itertools.product(range(0, n, rows), range(0, n, columns))
    ]
    return all(sorted(line) == list(range(1, n + 1)) for line in lines)


@pytest.mark.parametrize(
    ("symbols", "shape"), [(4, (2, 2)), (6, (2, 3)), (9, (3, 3)), (12, (3, 4)), (7, (1, 7))]
)
def test_boxes_are_as_square_as_can_be(symbols, shape):
    assert box_shape(symbols) == shape


# 288 Sudokus of 4 x 4, 576 and 161,280 Latin squares of 4 and 5, 92 boards of eight queens: OEIS.
@pytest.mark.parametrize(
    ("families", "variables", "number"),
    [
        (sudoku_families(4), 64, 288),
        (latin_families(4), 64, 576),
        (queens_families(6), 36, 4),
        (queens_families(8), 64, 92),
        (queens_families(3), 9, 0),
    ],
)
def test_there_are_as_many_solutions_as_is_known(families, variables, number):
    assert count_solutions(puzzle_of(families, variables), most=1000) == number


def test_a_colouring_gives_no_edge_one_colour_twice():
    triangle = [(0, 1), (1, 2), (0, 2)]
    assert count_solutions(puzzle_of(colouring_families(3, triangle, 3), 9), most=100) == 6
    assert count_solutions(puzzle_of(colouring_families(3, triangle, 2), 6), most=100) == 0


@pytest.mark.parametrize("symbols", [4, 6, 9])
def test_an_exact_answer_is_a_sudoku(symbols):
    found = solve_exactly(puzzle_of(sudoku_families(symbols), symbols**3))
    assert is_sudoku(grid_of_truths(found > 0.5))


def test_an_impossible_puzzle_has_no_exact_answer():
    grid = EMPTY4.copy()
    grid[0] = [1, 2, 3, 0]
    grid[1, 3] = 4
    found = solve_exactly(Puzzle(jnp.asarray(known_of_grid(grid)), sudoku_families(4)))
    assert np.isnan(found).all()


def test_broken_rules_are_counted():
    answer = solve_exactly(puzzle_of(sudoku_families(4), 64)) > 0.5
    grid = grid_of_truths(answer)
    given = np.zeros_like(grid)
    given[0, 0] = grid[0, 0]
    puzzle = stacked(Puzzle(jnp.asarray(known_of_grid(given)), sudoku_families(4)), 4)
    swapped = grid.copy()
    swapped[0, [2, 3]] = swapped[0, [3, 2]]  # two symbols, each wrong in two columns
    missing = answer.copy()
    missing[np.flatnonzero(answer)[-1]] = False  # its cell, row, column and box have none
    other = 5 - grid  # a right grid, with other symbols: the given one is changed
    truths = np.stack([answer, known_of_grid(swapped) > 0, missing, known_of_grid(other) > 0])
    assert is_sudoku(other)
    # The given cell says of all its four symbols whether they are there: two of them are wrong.
    np.testing.assert_array_equal(broken_rules(puzzle, truths), [0, 4, 4, 2])


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        (Quota.EXACTLY_ONE, [1, 0, 1]),
        (Quota.AT_MOST_ONE, [0, 0, 1]),
        (Quota.AT_LEAST_ONE, [1, 0, 0]),
    ],
)
def test_rules_allow_so_many(rule, broken):
    puzzle = stacked(puzzle_of((Family.of([[0, 1, 2], []], rule, 3),), 3), 3)
    truths = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 0]], bool)
    np.testing.assert_array_equal(broken_rules(puzzle, truths), broken)
    alone = puzzle_of((Family.of([[0, 1, 2]], rule, 3),), 3)
    allowed = {Quota.EXACTLY_ONE: 3, Quota.AT_MOST_ONE: 4, Quota.AT_LEAST_ONE: 7}
    assert count_solutions(alone, most=10) == allowed[rule]


@pytest.mark.parametrize("name", RULES)
def test_rules_by_name_are_those_of_lists_and_have_no_arrays(name):
    listed, named = (
        Puzzle(jnp.zeros(1, int), RULES[name](4)),
        Puzzle(jnp.zeros(1, int), NamedRules(name, 4)),
    )
    assert len(jax.tree.leaves(named)) == 1
    jax.tree.map(np.testing.assert_array_equal, listed.families, named.families)
    batch = stacked(Puzzle(jnp.zeros(64, jnp.int8), NamedRules("sudoku", 4)), 3)
    truths = np.zeros((3, 64), bool)
    lists = stacked(puzzle_of(sudoku_families(4), 64), 3)
    np.testing.assert_array_equal(broken_rules(batch, truths), broken_rules(lists, truths))


def test_groups_of_variables_are_the_inverse_of_members():
    families = [*sudoku_families(6), *queens_families(5), *colouring_families(4, [(0, 3)], 2)]
    for family in families:
        members, of_variable = np.asarray(family.members), np.asarray(family.of_variable)
        pairs = {(g, v) for g, row in enumerate(members) for v in row if v < len(of_variable)}
        again = {(g, v) for v, row in enumerate(of_variable) for g in row if g < len(members)}
        assert pairs == again


def test_a_variable_that_does_not_exist_is_refused():
    with pytest.raises(InputError, match="Group 1 has variable 7; expected 0 to 2"):
        Family.of([[0], [1, 7]], Quota.EXACTLY_ONE, 3)


def test_grids_become_variables_and_back():
    grid = np.array([[1, 0], [0, 2]])
    known = known_of_grid(grid)
    assert known.tolist() == [1, -1, 0, 0, 0, 0, -1, 1]
    np.testing.assert_array_equal(grid_of_truths(known > 0), grid)
    np.testing.assert_array_equal(known_of_grid(np.stack([grid, grid]))[1], known)


@pytest.mark.parametrize("numpy", [np, jnp])
def test_variables_beside_a_known_one_are_excluded_where_only_one_may_be_true(numpy):
    rules = [[0, 1, 2], [2, 3]]
    expected = {
        Quota.EXACTLY_ONE: [1, -1, -1, 0, 0],
        Quota.AT_MOST_ONE: [1, -1, -1, 0, 0],
        Quota.AT_LEAST_ONE: [1, 0, 0, 0, 0],
    }
    known = numpy.asarray([1, 0, 0, 0, 0], numpy.int8)
    for quota, found in expected.items():
        families = (Family.of(rules, quota, 5),)
        assert with_excluded(known, families).tolist() == found
        both = with_excluded(numpy.stack([known, 0 * known]), families)
        assert both.tolist() == [found, [0] * 5]
        assert both.dtype == known.dtype


def test_open_variables_of_a_sudoku_are_those_no_given_cell_sees():
    rng = np.random.default_rng(0)
    solution = grid_of_truths(solve_exactly(puzzle_of(sudoku_families(6), 216)) > 0.5)
    grid = solution * (rng.random((6, 6)) < 0.4)
    open_ = set()
    for row, column, symbol in itertools.product(range(6), range(6), range(1, 7)):
        box = grid[row // 2 * 2 : row // 2 * 2 + 2, column // 3 * 3 : column // 3 * 3 + 3]
        seen = {*grid[row], *grid[:, column], *box.ravel()}
        if not grid[row, column] and symbol not in seen:
            open_.add((row * 6 + column) * 6 + symbol - 1)
    puzzle = with_open(known_of_grid(np.stack([grid, solution])), NamedRules("sudoku", 6))
    assert puzzle.open.shape == (2, 96)
    assert {v for v in puzzle.open[0].tolist() if v < 216} == open_
    assert (np.asarray(puzzle.open[1]) == 216).all()


def small_puzzles():
    """Puzzles small enough for all their answers, with every quota and groups of several sizes."""
    mixed = (
        Family.of([[0, 1, 2], [2, 3]], Quota.EXACTLY_ONE, 6),
        Family.of([[1, 3, 4], [0, 5]], Quota.AT_MOST_ONE, 6),
        Family.of([[3, 4, 5]], Quota.AT_LEAST_ONE, 6),
    )
    yield Puzzle(jnp.array([0, 0, 0, 0, 0, -1], jnp.int8), mixed)
    yield puzzle_of(colouring_families(3, [(0, 1), (1, 2)], 3), 9)
    yield Puzzle(jnp.zeros(9, jnp.int8).at[3].set(1), NamedRules("queens", 3))
    fillers = jnp.full((2, 2), 4), jnp.full((4, 1), 2)  # two groups that have no members
    yield Puzzle(
        jnp.zeros(4, jnp.int8),
        (Family.of([[0, 1], [2, 3]], Quota.EXACTLY_ONE, 4), *(Family(*fillers, q) for q in Quota)),
    )


SMALL = list(small_puzzles())


@pytest.mark.parametrize("puzzle", SMALL)
def test_the_violation_is_zero_for_answers_that_break_no_rule_and_no_others(puzzle):
    variables = puzzle.known.size
    answers = np.array(list(itertools.product((False, True), repeat=variables)))
    broken = broken_rules(stacked(puzzle, len(answers)), answers)
    found = jax.vmap(lambda y: violation(puzzle, y))(jnp.asarray(answers, jnp.float32))
    np.testing.assert_array_equal(np.asarray(found) == 0, broken == 0)
    assert (np.asarray(found) >= 0).all()
    # Between zero and one no answer is right.
    near = jnp.asarray(answers, jnp.float32).at[:, 0].set(0.4)
    assert (jax.vmap(lambda y: violation(puzzle, y))(near) > 0.1).all()


@pytest.mark.parametrize("puzzle", SMALL)
def test_the_violation_is_the_distance_to_what_every_group_allows(puzzle):
    y = np.random.default_rng(0).uniform(-0.5, 1.5, puzzle.known.size)
    known = np.asarray(puzzle.known)
    expected = np.square(y - (known == 1))[known != 0].sum()
    for family in puzzle.families:
        for row in np.asarray(family.members).tolist():
            entries = y[[v for v in row if v < y.size]]
            if entries.size:
                bits = np.array(list(itertools.product((0, 1), repeat=entries.size)))
                fewest = 0 if family.quota == Quota.AT_MOST_ONE else 1
                most = entries.size if family.quota == Quota.AT_LEAST_ONE else 1
                allowed = bits[(bits.sum(1) >= fewest) & (bits.sum(1) <= most)]
                expected += np.square(entries - allowed).sum(1).min()
    np.testing.assert_allclose(violation(puzzle, jnp.asarray(y, jnp.float32)), expected, rtol=1e-5)


@pytest.mark.parametrize("puzzle", SMALL)
def test_the_gradient_of_the_violation_is_that_of_finite_differences(puzzle):
    with jax.enable_x64(True):
        y = jnp.asarray(np.random.default_rng(1).uniform(-0.5, 1.5, puzzle.known.size))
        gradient = jax.grad(lambda y: violation(puzzle, y))(y)
        step = 1e-6 * jnp.eye(y.size)
        up, down = (jax.vmap(lambda d, s=s: violation(puzzle, y + s * d))(step) for s in (1, -1))
        np.testing.assert_allclose(gradient, (up - down) / 2e-6, atol=1e-6)
        assert np.isfinite(jax.grad(lambda y: violation(puzzle, y))(jnp.zeros(y.size))).all()
