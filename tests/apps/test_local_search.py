"""Local searches: what they find obeys the rules, and is found where a SAT solver says there is."""

import itertools
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from irem.apps.puzzles import Found, min_conflicts, tabucol, walksat
from irem.apps.puzzles.local_search import _State
from irem.errors import InputError
from irem.puzzles import (
    Puzzle,
    broken_rules,
    colouring_families,
    latin_families,
    queens_families,
    sudoku_families,
)
from irem.tasks import Latin, Sudoku
from irem.tasks.exact import clauses, solve_exactly


def puzzle_of(families, variables):
    return Puzzle(jnp.zeros(variables, jnp.int8), families)


def broken(puzzle, truths):
    batch = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], puzzle)
    return broken_rules(batch, np.reshape(truths, (1, -1)))[0]


def random_graph(nodes, share, seed):
    rng = np.random.default_rng(seed)
    return [pair for pair in itertools.combinations(range(nodes), 2) if rng.random() < share]


@pytest.mark.parametrize("n", [1, 4, 5, 8, 16, 40])
def test_min_conflicts_places_queens(n):
    found = [min_conflicts(n, 2000, seed) for seed in range(5)]
    solved = [f for f in found if f.answer is not None]
    assert len(solved) >= 4  # some starts are stuck, as they are for everyone
    for f in solved:
        assert f.answer.shape == (n, n)
        assert broken(puzzle_of(queens_families(n), n**2), f.answer) == 0
    assert len({f.answer.tobytes() for f in solved}) > 1 or n < 8


@pytest.mark.parametrize("n", [2, 3])
def test_min_conflicts_gives_up_where_there_is_no_solution(n):
    assert min_conflicts(n, 50, 0) == Found(None, 50)


def test_min_conflicts_makes_as_many_moves_as_it_says():
    steps = [min_conflicts(12, 500, seed).steps for seed in range(10)]
    assert len(set(steps)) > 3
    last = max(steps)
    seed = steps.index(last)
    assert last > 1
    assert min_conflicts(12, last - 1, seed) == Found(None, last - 1)
    assert min_conflicts(12, last, seed).answer is not None or last == 500


@pytest.mark.parametrize("seed", range(12))
def test_tabucol_colours_what_a_sat_solver_colours(seed):
    nodes, k = 14, 3
    edges = random_graph(nodes, 0.34, seed)
    puzzle = puzzle_of(colouring_families(nodes, edges, k), nodes * k)
    found = tabucol(nodes, edges, k, 3000, seed)
    assert (found.answer is None) == np.isnan(solve_exactly(puzzle)).any()
    if found.answer is None:
        assert found.steps == 3000
    else:
        assert broken(puzzle, found.answer[:, None] == np.arange(k)) == 0


def test_some_of_those_graphs_have_no_colouring():
    puzzles = [
        puzzle_of(colouring_families(14, random_graph(14, 0.34, seed), 3), 42) for seed in range(12)
    ]
    without = sum(np.isnan(solve_exactly(puzzle)).any() for puzzle in puzzles)
    assert 2 < without < 10


def test_tabucol_leaves_a_colour_for_a_while():
    # Two colours of an odd circle: without a memory one node would go to and fro.
    circle = [(i, (i + 1) % 9) for i in range(9)]
    assert tabucol(9, circle, 2, 500, 0) == Found(None, 500)
    assert tabucol(10, [(i, (i + 1) % 10) for i in range(10)], 2, 500, 0).answer is not None
    assert tabucol(3, [], 1, 5, 0).steps == 0
    assert tabucol(2, [(0, 1)], 1, 5, 0).answer is None


@pytest.mark.parametrize("edge", [(0, 3), (-1, 0), (1, 1)])
def test_edges_that_are_none_are_refused(edge):
    with pytest.raises(InputError, match="expected two different nodes of 0 to 2"):
        tabucol(3, [edge], 2, 10, 0)


@pytest.mark.parametrize("seed", range(12))
def test_walksat_satisfies_what_a_sat_solver_satisfies(seed):
    nodes, k = 12, 3
    puzzle = puzzle_of(colouring_families(nodes, random_graph(nodes, 0.4, seed), k), nodes * k)
    found = walksat(clauses(puzzle), nodes * k, 4000, seed=seed)
    assert (found.answer is None) == np.isnan(solve_exactly(puzzle)).any()
    if found.answer is not None:
        assert broken(puzzle, found.answer) == 0


@pytest.mark.parametrize(
    ("families", "variables"),
    [(queens_families(10), 100), (latin_families(6), 216), (sudoku_families(4), 64)],
)
def test_walksat_takes_any_puzzle(families, variables):
    puzzle = puzzle_of(families, variables)
    found = walksat(clauses(puzzle), variables, 100_000, seed=0)
    assert broken(puzzle, found.answer) == 0
    assert 0 < found.steps <= 100_000


def test_walksat_keeps_what_is_given():
    problem = Latin().batch(jax.random.key(0), 4, 5)
    for i in range(4):
        x = jax.tree.map(lambda leaf, i=i: leaf[i], problem.x)
        found = walksat(clauses(x), 125, 100_000, seed=i)
        assert broken(x, found.answer) == 0
    easy = jax.tree.map(lambda leaf: leaf[0], Sudoku().batch(jax.random.key(0), 1, "easy"))
    answered = Puzzle((2 * easy.y - 1).astype(jnp.int8), easy.x.families)
    # What follows from givens needs no flips.
    assert walksat(clauses(answered), 729, 0, seed=0).steps == 0
    np.testing.assert_array_equal(walksat(clauses(answered), 729, 0, seed=0).answer, easy.y > 0.5)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], True),
        ([[1], [-1]], False),
        ([[1], [-1, 2], [-2]], False),
        ([[]], False),
        ([[1, -1], [2, 2], [-2, 3]], True),
    ],
)
def test_walksat_reads_clauses_of_every_kind(given, expected):
    answer, flips = walksat(given, 3, 10, seed=0)
    assert (answer is not None) == expected
    assert flips == 0
    if expected:
        assert all(any(answer[abs(v) - 1] == (v > 0) for v in clause) for clause in given)


def test_walksat_refuses_variables_that_do_not_exist():
    for clause in ([4], [0], [-5, 1]):
        with pytest.raises(InputError, match="beyond 1 to 3"):
            walksat([clause], 3, 10, seed=0)


def test_walksat_gives_up_after_so_many_flips_and_they_are_fast():
    cannot = [[s * a, t * b] for a, b in ((1, 2), (3, 4)) for s in (1, -1) for t in (1, -1)]
    assert walksat(cannot, 4, 7, seed=0) == Found(None, 7)
    puzzle = puzzle_of(colouring_families(5, itertools.combinations(range(5), 2), 4), 20)
    begin = time.perf_counter()
    assert walksat(clauses(puzzle), 20, 100_000, seed=0) == Found(None, 100_000)
    assert time.perf_counter() - begin < 20  # one second on an idle core


def test_break_counts_are_kept():

    rng = np.random.default_rng(0)
    listed = [
        [int(v) * int(rng.choice((-1, 1))) for v in 1 + rng.choice(8, 3, replace=False)]
        for _ in range(30)
    ]
    state = _State(listed, [False, *(rng.random(8) < 0.5).tolist()])
    for _ in range(60):
        state.flip(int(rng.integers(1, 9)))
        holds = lambda truths: [any(truths[abs(v)] == (v > 0) for v in c) for c in listed]  # noqa: E731
        now = holds(state.truths)
        assert sorted(state.unsatisfied) == [i for i, held in enumerate(now) if not held]
        for variable in range(1, 9):
            flipped = list(state.truths)
            flipped[variable] = not flipped[variable]
            pairs = zip(now, holds(flipped), strict=True)
            assert state.breaks[variable] == sum(before and not after for before, after in pairs)
