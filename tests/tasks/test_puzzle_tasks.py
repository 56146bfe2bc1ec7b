"""Queens, Latin squares and colourings: their answers, their checks and what they refuse."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.puzzles import (
    Puzzle,
    Quota,
    broken_rules,
    colouring_families,
    grid_of_truths,
    known_of_grid,
    latin_families,
    queens_families,
)
from irem.tasks import Colouring, Latin, Queens
from irem.tasks.colouring import graph_families
from irem.tasks.latin import latin_square
from irem.tasks.queens import constructed, eight_queens
from irem.verdicts import Verdict

KEY = jax.random.key(0)
FEW = 6
TASKS = {task.name: task for task in (Queens(), Latin(), Colouring())}
CASES = [
    ("queens", "training"), ("queens", "same"), ("queens", "harder"), ("queens", 11),
    ("latin", "same"), ("latin", "harder"), ("latin", 2), ("latin", 5),
    ("colouring", "same"), ("colouring", "harder"), ("colouring", 6), ("colouring", 50),
]  # fmt: skip
every_task = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def drawn(request):
    task, difficulty = TASKS[request.param[0]], request.param[1]
    return task, task.batch(KEY, FEW, difficulty)


def one_of(problem, i=0):
    return jax.tree.map(lambda leaf: leaf[i], problem)


def are_queens_at_peace(columns):
    """The rules of queens as people know them."""
    pairs = itertools.combinations(enumerate(columns), 2)
    return all(c != d and abs(c - d) != abs(r - s) for (r, c), (s, d) in pairs)


def test_steps_are_checked_by_the_same_rules_as_answers(drawn):
    task, problem = drawn
    rng = np.random.default_rng(0)
    flipped = np.asarray(problem.y).copy()
    for row in flipped[: FEW // 2]:  # one entry of every other answer is wrong
        place = rng.integers(row.size)
        row[place] = 1 - row[place]
    noisy = flipped + rng.uniform(-0.2, 0.2, flipped.shape)
    holds = jax.vmap(task.holds)(problem.x, jnp.asarray(noisy, jnp.float32))
    verdicts = task.check(problem.x, noisy).verdict
    assert holds.tolist() == (verdicts == Verdict.VERIFIED).tolist()
    assert FEW - FEW // 2 <= holds.sum() < FEW


def test_answers_are_solutions_and_so_is_what_a_sat_solver_finds(drawn):
    task, problem = drawn
    assert task.domain.faults(problem.x) == [None] * FEW
    assert (task.check(problem.x, problem.y).verdict == Verdict.VERIFIED).all()
    assert (task.check(problem.x, task.oracle(problem.x)).verdict == Verdict.VERIFIED).all()


def test_wrong_answers_fail(drawn):
    task, problem = drawn
    wrong = np.array(problem.y)
    wrong[0, np.flatnonzero(wrong[0])[1]] = 0.0
    wrong[1, np.flatnonzero(wrong[1] == 0)[1]] = 1.0
    wrong[2] = np.nan
    verdict = task.check(problem.x, wrong).verdict
    assert verdict.tolist() == [Verdict.FAILED] * 3 + [Verdict.VERIFIED] * (FEW - 3)


def test_the_floor_knows_what_is_known_and_has_one_true_variable_a_group(drawn):
    task, problem = drawn
    floor, known = np.asarray(task.trivial(problem.x)), np.asarray(problem.x.known)
    assert (floor[known == 1] == 1).all()
    assert (floor[known == -1] == 0).all()
    np.testing.assert_allclose(floor.sum(), np.sum(problem.y), rtol=1e-5)


@every_task
def test_the_name_finds_the_task_and_settings_make_it_again(task):
    assert irem.tasks.get(task.name) == task
    assert irem.tasks.get(task.name, **task.settings()) == task
    with pytest.raises(irem.InputError, match="Unknown variant 'paper'; known are any"):
        type(task)(variant="paper")


@every_task
def test_same_key_same_problems_and_another_key_others(task):
    first, again = (task.batch(KEY, 20, task.training) for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, first, again)
    other = task.batch(jax.random.key(1), 20, task.training)
    assert not np.array_equal(first.y, other.y)
    assert len(np.unique(np.asarray(first.y), axis=0)) > 10


@every_task
@pytest.mark.parametrize("difficulty", ["same", "harder"])
def test_the_floors_that_are_printed_are_those_of_the_problems(task, difficulty):
    problem = task.batch(KEY, 400, difficulty)
    error = np.square(np.asarray(task.trivial(problem.x)) - np.asarray(problem.y)).mean(axis=1)
    tolerance = 5e-5 + 4 * error.std() / 20
    assert abs(error.mean() - task.trivial_mse[difficulty]) < tolerance


@every_task
def test_unknown_difficulties_and_sizes_are_refused(task):
    with pytest.raises(irem.InputError, match=r"Unknown difficulty 'hard'.*Did you mean 'harder'"):
        task.batch(KEY, 1, "hard")
    for size in (task.smallest - 1, task.largest + 1, True):
        with pytest.raises(
            irem.InputError, match=f"of {task.smallest} to .*, got difficulty {size}"
        ):
            task.batch(KEY, 1, size)


def test_there_are_92_boards_of_eight_queens():
    boards = eight_queens()
    assert len({tuple(board) for board in boards.tolist()}) == 92
    assert all(are_queens_at_peace(board) for board in boards.tolist())


@pytest.mark.parametrize("size", range(Queens.smallest, Queens.largest + 1))
def test_queens_are_constructed_for_boards_of_every_size(size):
    columns = constructed(size).tolist()
    assert sorted(columns) == list(range(size))
    assert are_queens_at_peace(columns)


def test_boards_are_turned():
    boards = np.asarray(Queens().batch(KEY, 100, 5).y).reshape(-1, 5, 5)
    found = {bytes(board) for board in boards.astype(np.uint8)}
    first = boards[0]
    turned = {bytes(np.rot90(b, k).astype(np.uint8)) for b in (first, first.T) for k in range(4)}
    assert found == turned


def test_half_of_the_boards_of_training_have_queens_of_the_answer_and_others_none():
    problem = Queens().batch(KEY, 400, "training")
    known = np.asarray(problem.x.known)
    given = (known == 1).sum(axis=1)
    assert 0.4 < (given == 0).mean() < 0.6
    assert 0 < given.max() < 8
    assert np.median(given[given > 0]) <= 2
    assert not np.asarray(Queens().batch(KEY, 4, "same").x.known).any()


def test_queens_that_attack_each_other_are_refused():
    board = np.zeros((8, 8))
    board[0, 0] = 1
    fault = Queens().domain.fault
    assert fault(board.ravel()) is None
    for row, column in ((0, 5), (5, 0), (7, 7)):
        other = board.copy()
        other[row, column] = 1
        assert fault(other.ravel()) == (
            f"The queen in row 1, column 1 attacks that in row {row + 1}, column {column + 1}."
        )
    board[1, 2] = 1
    assert fault(board.ravel()) is None


def intercalates(square):
    """How many pairs of rows and columns have two symbols between them: equal for isotopes."""
    pairs = list(itertools.combinations(range(len(square)), 2))
    return sum(
        square[a, c] == square[b, d] and square[a, d] == square[b, c]
        for a, b in pairs
        for c, d in pairs
    )


@pytest.mark.parametrize("order", [5, 6, 7])
def test_not_all_latin_squares_are_cyclic_but_for_an_order(order):
    drawn = jax.vmap(lambda k: latin_square(k, order))(jax.random.split(KEY, 40))
    squares = np.asarray(drawn).argmax(-1)
    cyclic = np.add.outer(np.arange(order), np.arange(order)) % order
    counts = [intercalates(square) for square in squares]
    assert np.mean([count != intercalates(cyclic) for count in counts]) > 0.5
    assert len(set(counts)) > 1
    assert (np.sort(squares, axis=1) == np.arange(order)[:, None]).all()
    assert (np.sort(squares, axis=2) == np.arange(order)).all()


def test_from_two_fifths_to_all_cells_of_a_latin_square_are_empty():
    problem = Latin().batch(KEY, 300)
    known = np.asarray(problem.x.known).reshape(300, 36, 6)
    empty = (known == 0).all(axis=2)
    assert (empty | ((known == 1).sum(axis=2) == 1)).all()
    share = empty.mean(axis=1)
    assert 0.1 < share.min() < 0.45 < 0.65 < share.mean() < 0.75
    assert share.max() == 1


def test_a_symbol_that_is_given_twice_is_refused_but_not_in_a_box():
    grid = np.zeros((6, 6), int)
    grid[0, 0] = grid[1, 1] = 4
    fault = lambda grid: Latin().domain.fault(known_of_grid(grid))  # noqa: E731
    assert fault(grid) is None
    grid[3, 1] = 4
    assert fault(grid) == "The symbol 4 is given twice: in row 2, column 2, and in row 4, column 2."


def test_latin_squares_are_taken_as_grids():
    grid = np.zeros((5, 5), int)
    grid[2] = [2, 1, 5, 4, 3]
    x, alone = Latin().format.as_batch(grid)
    assert alone
    assert x.rules.name == "latin"
    answer = np.asarray(Latin().oracle(x))
    assert Latin().check(x, answer).residual == 0
    np.testing.assert_array_equal(grid_of_truths(answer[0] > 0.5)[2], grid[2])


def edges_of(x):
    """The edges of one graph, read from the groups of its first colour."""
    members = np.asarray(x.rules[1].members)[::3]
    return [(int(a) // 3, int(b) // 3) for a, b in members if a < x.known.size]


@pytest.mark.parametrize(("difficulty", "sizes"), [("same", (20, 40)), ("harder", (80, 100))])
def test_graphs_have_so_many_nodes_and_edges(difficulty, sizes):
    problem = Colouring().batch(KEY, 100, difficulty)
    nodes = (np.asarray(problem.x.known) == 0).sum(axis=1) // 3
    assert sizes[0] <= nodes.min() < nodes.max() <= sizes[1]
    edges = [edges_of(one_of(problem.x, i)) for i in range(100)]
    degrees = np.array([2 * len(e) / n for e, n in zip(edges, nodes, strict=True)])
    assert 3.9 < degrees.min() < 4.1
    assert 4.5 < degrees.max() < 4.7
    for listed, number in zip(edges, nodes, strict=True):
        assert len(set(listed)) == len(listed)
        assert all(a < b < number for a, b in listed)


def test_colours_are_as_frequent_as_each_other():
    problem = Colouring().batch(KEY, 20, 31)
    counts = np.asarray(problem.y).reshape(20, 31, 3).sum(axis=1)
    assert set(counts.ravel().tolist()) == {10, 11}


def test_rules_of_a_graph_are_those_that_are_written_out():
    problem = one_of(Colouring().batch(KEY, 1, 12))
    edges = edges_of(problem.x)
    plain = Puzzle(problem.x.known, colouring_families(12, edges, 3))
    for seed in range(20):
        truths = np.random.default_rng(seed).random((1, 36)) < 0.4
        both = [
            broken_rules(jax.tree.map(lambda a: a[None], x), truths) for x in (problem.x, plain)
        ]
        assert both[0] == both[1] > 0
    for family, other in zip(problem.x.families, plain.families, strict=True):
        assert family.quota == other.quota
        groups = [set(row) - {36} for row in np.asarray(family.members).tolist()]
        of_variable = np.asarray(family.of_variable).tolist()
        for variable in range(36):
            listed = sorted(g for g in of_variable[variable] if g < len(groups))
            assert listed == [g for g, group in enumerate(groups) if variable in group]


def test_a_node_has_no_more_edges_than_there_is_room_for():
    star = jnp.zeros((20, 20), bool).at[0, 1:].set(True)
    cells, pairs = graph_families(star | star.T, 19, 19)
    assert cells.quota == Quota.EXACTLY_ONE
    assert pairs.members.shape == (57, 2)
    assert np.asarray(pairs.of_variable)[0].tolist() == [3 * i for i in range(19)]
    degrees = [np.bincount(np.ravel(edges_of(one_of(Colouring().batch(KEY, 1, 400).x)))).max()]
    assert max(degrees) <= 16


def test_puzzles_with_no_solution_have_no_oracle():
    empty = jnp.zeros((1, 9), jnp.int8)
    found = Queens().oracle(Puzzle(empty, jax.tree.map(lambda a: a[None], queens_families(3))))
    assert np.isnan(found).all()
    known = known_of_grid(np.array([[1, 0], [0, 2]]))
    assert Latin().domain.fault(known) is None
    assert np.isnan(Latin().oracle(Puzzle(jnp.asarray(known), latin_families(2)))).all()
