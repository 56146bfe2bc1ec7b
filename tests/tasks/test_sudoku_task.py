"""The Sudoku task: its lists, its check and what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.puzzles import NamedRules, Puzzle, grid_of_truths, known_of_grid, sudoku_families
from irem.tasks import Sudoku
from irem.verdicts import Verdict

KEY = jax.random.key(0)
TASK = Sudoku()
HARD = "8..........36......7..9.2...5...7.......457.....1...3...1....68..85...1..9....4.."
FEW = 6


def grid_of(text):
    return np.array([0 if c == "." else int(c) for c in text]).reshape(9, 9)


def puzzle_of(grid):
    return Puzzle(jnp.asarray(known_of_grid(np.asarray(grid))), sudoku_families(len(grid)))


@pytest.fixture(scope="module", params=["easy", "same", "harder", "training"])
def batch(request):
    return TASK.batch(KEY, FEW, request.param)


def test_answers_are_the_only_solutions_by_a_sat_solver(batch):
    np.testing.assert_array_equal(TASK.oracle(batch.x), batch.y)
    assert TASK.domain.faults(batch.x) == [None] * FEW
    assert (TASK.check(batch.x, batch.y).verdict == Verdict.VERIFIED).all()


def test_difficulties_have_so_many_givens():
    givens = {
        d: (np.asarray(TASK.batch(KEY, 50, d).x.known) == 1).sum(1) for d in TASK.difficulties
    }
    assert givens["easy"].min() >= 31
    assert givens["easy"].max() <= 42
    assert 22 < givens["same"].mean() < 26
    assert 20 < givens["harder"].mean() < 26


def test_half_of_the_puzzles_of_training_have_further_givens():
    bank = TASK.banks["training"]
    fewest = (np.asarray(bank.puzzles) > 0).sum(1)
    drawn = (np.asarray(TASK.batch(KEY, 300, "training").x.known) == 1).sum(1)
    assert fewest.max() < 32
    assert 0.3 < (drawn > fewest.max()).mean() + (drawn > fewest.mean() + 3).mean() < 1.0


def test_lists_for_tests_share_no_puzzle_and_no_solution_with_training():
    training = {bytes(row) for row in np.asarray(TASK.banks["training"].solutions)}
    for name in TASK.difficulties:
        assert not training & {bytes(row) for row in np.asarray(TASK.banks[name].solutions)}


def test_a_wrong_answer_fails_its_check(batch):
    wrong = np.array(batch.y)
    wrong[0, np.flatnonzero(wrong[0])[5]] = 0.0
    wrong[1] = np.roll(wrong[1], 1)
    wrong[2] = np.nan
    verdict = TASK.check(batch.x, wrong).verdict
    assert verdict.tolist() == [Verdict.FAILED] * 3 + [Verdict.VERIFIED] * (FEW - 3)


def test_an_answer_that_changes_a_given_fails():
    problem = TASK.batch(KEY, 1, "same")
    grid = grid_of_truths(np.asarray(problem.y[0]) > 0.5)
    other = 10 - grid  # keeps all rules, and has other symbols
    assert TASK.check(problem.x, known_of_grid(other)[None] > 0).verdict[0] == Verdict.FAILED


def faults(grid):
    return TASK.domain.fault(np.asarray(puzzle_of(grid).known))


def test_contradictions_and_ambiguous_puzzles_are_refused():
    grid = grid_of(HARD)
    assert faults(grid) is None
    twice = grid.copy()
    twice[0, 8] = 8
    assert faults(twice) == (
        "The symbol 8 is given twice: in row 1, column 1, and in row 1, column 9."
    )
    wrong = grid.copy()
    wrong[0, 1] = 2  # no rule is broken yet, but the solution has another symbol there
    assert "no solution" in faults(wrong)
    fewer = grid.copy()
    fewer[0, 0] = 0
    assert "more than one solution" in faults(fewer)


def test_large_grids_are_checked_as_well():
    answer = np.asarray(TASK.oracle(puzzle_of(np.zeros((16, 16), int))))
    grid = grid_of_truths(answer > 0.5)
    assert faults(grid) is None
    assert TASK.check(jax.tree.map(lambda a: a[None], puzzle_of(grid)), answer[None]).residual == 0


def test_the_floor_knows_the_givens():
    problem = TASK.batch(KEY, FEW, "same")
    floor = np.asarray(TASK.trivial(problem.x))
    known = np.asarray(problem.x.known)
    assert (floor[known == 1] == 1).all()
    assert (floor[known == -1] == 0).all()
    np.testing.assert_allclose(floor[known == 0], 1 / 9)


@pytest.mark.parametrize("name", TASK.difficulties)
def test_the_floors_that_are_printed_are_those_of_the_lists(name):
    bank = TASK.banks[name]
    puzzles, solutions = (np.asarray(a).reshape(-1, 9, 9) for a in (bank.puzzles, bank.solutions))
    x = Puzzle(jnp.asarray(known_of_grid(puzzles)), NamedRules("sudoku", 9))
    error = np.mean((np.asarray(TASK.trivial(x)) - (known_of_grid(solutions) > 0)) ** 2)
    np.testing.assert_allclose(error, TASK.trivial_mse[name], atol=5e-5)
    assert TASK.oracle_mse[name] == 0


def test_puzzles_of_a_file_are_trained_on(tmp_path):
    solution = np.asarray(TASK.banks["same"].solutions)[:1]
    np.savez(tmp_path / "few.npz", puzzles=np.zeros_like(solution), solutions=solution)
    task = Sudoku(puzzles=str(tmp_path / "few.npz"))
    batch = task.batch(KEY, 3, "training")
    np.testing.assert_array_equal(
        batch.y, np.broadcast_to(known_of_grid(solution.reshape(9, 9)) > 0, (3, 729))
    )
    assert irem.tasks.get("sudoku", **task.settings()) == task


@pytest.mark.parametrize(
    "content",
    [
        {"puzzles": np.zeros((2, 81), np.uint8)},
        {"puzzles": np.zeros((2, 80), np.uint8), "solutions": np.ones((2, 80), np.uint8)},
        {"puzzles": np.zeros((2, 81), np.uint8), "solutions": np.zeros((2, 81), np.uint8)},
        {"puzzles": np.zeros((0, 81), np.uint8), "solutions": np.ones((0, 81), np.uint8)},
        {"puzzles": np.zeros((2, 81)), "solutions": np.ones((2, 81))},
        None,
    ],
)
def test_other_files_are_refused(content, tmp_path):
    path = tmp_path / "puzzles.npz"
    if content is not None:
        np.savez(path, **content)
    with pytest.raises(irem.InputError, match=r"puzzles\.npz"):
        Sudoku(puzzles=str(path)).batch(KEY, 1, "training")


def test_unknown_difficulties_are_refused():
    with pytest.raises(irem.InputError, match="difficulty"):
        TASK.batch(KEY, 1, "hardest")
    with pytest.raises(irem.InputError, match="no sizes"):
        TASK.batch(KEY, 1, 16)


@pytest.mark.parametrize(
    ("shape", "expected", "alone"),
    [((9, 9), 1, True), ((81,), 1, True), ((5, 81), 5, False), ((2, 9, 9), 2, False)],
)
def test_grids_are_taken_as_people_have_them(shape, expected, alone):
    x, one = TASK.format.as_batch(np.zeros(shape, int))
    assert x.known.shape == (expected, 729)
    assert one == alone
    assert x.families[0].members.shape == (81, 9)


@pytest.mark.parametrize(
    ("x", "says"),
    [
        (np.full((9, 9), 10), "holds 10"),
        (np.full((9, 9), 1.5), "holds 1.5"),
        (np.full((9, 9), -1), "holds -1"),
        (np.zeros((9, 8)), "shape"),
        (np.zeros((16, 16)), "may be one problem"),
        ("8..", "x"),
    ],
)
def test_what_is_no_grid_is_refused(x, says):
    with pytest.raises(irem.InputError, match=says):
        TASK.format.as_batch(x)


def test_a_large_grid_is_told_by_its_symbols():
    grid = np.zeros((16, 16), int)
    grid[0, 0] = 16
    assert TASK.format.as_batch(grid)[1]
