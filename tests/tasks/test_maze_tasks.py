"""Mazes and prefix sums: their answers, their checks and what they refuse."""

import itertools

import jax
import numpy as np
import pytest

import irem
from irem.mazes import dead_end_filling, is_shortest_path
from irem.tasks import Maze, PrefixSums
from irem.verdicts import Verdict

KEY = jax.random.key(3)
FEW = 6
TASKS = {
    "trees": Maze(),
    "loops": Maze(variant="loops"),
    "mixed": Maze(variant="mixed"),
    "sums": PrefixSums(),
}
every_task = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
SIZES = {"maze": (9, 59, 5), "prefix-sums": (32, 512, 5)}


@pytest.fixture(scope="module", params=itertools.product(TASKS, ("same", "harder", 5)), ids=str)
def drawn(request):
    name, difficulty = request.param
    return TASKS[name], difficulty, TASKS[name].batch(KEY, FEW, difficulty)


def test_answers_are_right_and_of_their_size(drawn):
    task, difficulty, problem = drawn
    size = dict(zip(("same", "harder", 5), SIZES[task.name], strict=True))[difficulty]
    assert problem.x.shape == problem.y.shape == (FEW, *(size,) * task.format.axes)
    assert problem.x.dtype == np.int8
    assert task.domain.faults(problem.x) == [None] * FEW
    assert (task.check(problem.x, problem.y).verdict == Verdict.VERIFIED).all()
    assert (task.check(problem.x, task.oracle(problem.x)).verdict == Verdict.VERIFIED).all()


def test_wrong_answers_fail(drawn):
    task, _, problem = drawn
    wrong = np.array(problem.y).reshape(FEW, -1)
    wrong[0, 3] = 1 - wrong[0, 3]
    wrong[1, -1] = np.nan
    verdict = task.check(problem.x, wrong.reshape(problem.y.shape)).verdict
    assert verdict.tolist() == [Verdict.FAILED] * 2 + [Verdict.VERIFIED] * (FEW - 2)


@every_task
def test_the_name_finds_the_task_and_settings_make_it_again(task):
    assert irem.tasks.get(task.name, **task.settings()) == task
    assert irem.tasks.get(task.name) == type(task)()
    with pytest.raises(irem.InputError, match="Unknown variant 'paper'; known are"):
        type(task)(variant="paper")


@every_task
def test_same_key_same_problems_and_another_key_others(task):
    first, again = (task.batch(KEY, 20) for _ in range(2))
    jax.tree.map(np.testing.assert_array_equal, first, again)
    other = task.batch(jax.random.key(1), 20)
    assert not np.array_equal(first.x, other.x)
    assert len(np.unique(np.asarray(first.y), axis=0)) > 15
    alone = jax.jit(task.sample)(jax.random.split(KEY, 20)[7])
    np.testing.assert_array_equal(alone.x, first.x[7])
    np.testing.assert_array_equal(alone.y, first.y[7])


@pytest.mark.parametrize("name", ["trees", "sums"])
@pytest.mark.parametrize(("difficulty", "count"), [("same", 1000), ("harder", 200)])
def test_the_floors_that_are_printed_are_those_of_the_problems(name, difficulty, count):
    task = TASKS[name]
    problem = task.batch(KEY, count, difficulty)
    square = np.square(np.asarray(task.trivial(problem.x)) - np.asarray(problem.y))
    error = square.reshape(count, -1).mean(axis=1)
    tolerance = 1e-4 + 4 * error.std() / count**0.5
    assert abs(error.mean() - task.trivial_mse[difficulty]) < tolerance
    few = jax.tree.map(lambda leaf: leaf[:20], problem)
    assert irem.mse(task.oracle(few.x), few.y) == task.oracle_mse[difficulty]


@pytest.mark.parametrize("name", ["trees", "loops", "mixed"])
def test_the_floor_of_mazes_is_the_best_constant_of_the_floor(name):
    task = TASKS[name]
    problem = task.batch(KEY, 2000)
    share = np.asarray(problem.y)[np.asarray(problem.x) == 1].mean()
    trivial = np.asarray(task.trivial(problem.x))
    assert abs(trivial[np.asarray(problem.x) == 1] - share).max() < 0.01
    assert (trivial[np.asarray(problem.x) > 1] == 1).all()
    assert (trivial[np.asarray(problem.x) == 0] == 0).all()


def test_trees_have_one_way_and_loops_several():
    openings = {}
    for name in ("trees", "loops", "mixed"):
        x = np.asarray(TASKS[name].batch(KEY, 400).x) > 0
        openings[name] = x.sum(axis=(1, 2)) - 25
    assert (openings["trees"] == 24).all()
    assert openings["loops"].mean() == pytest.approx(24 + 0.1 * 16, abs=0.3)
    # A fifth are trees; of the two fifths with loops 1 / (0.6 * 17) have no wall opened; the others
    # have scattered walls.
    assert (openings["mixed"] == 24).mean() == pytest.approx(0.2 + 0.4 / 10.2, abs=0.07)
    assert (Maze(variant="loops", opened=1.0).batch(KEY, 3).x > 0).sum() == 3 * (81 - 16)


def test_every_shortest_path_is_verified_and_a_longer_one_is_not():
    task = Maze(variant="loops", opened=0.5)
    problem = task.batch(KEY, 200)
    other = np.asarray(task.oracle(problem.x))
    assert (other != problem.y).any()
    assert (task.check(problem.x, other).residual == 0).all()
    filled = np.asarray(jax.vmap(dead_end_filling)(problem.x))
    check = task.check(problem.x, filled)
    np.testing.assert_array_equal(
        check.residual == 0, is_shortest_path(np.asarray(problem.x), filled)
    )
    assert check.count(Verdict.FAILED) > 100


def test_prefix_sums_are_parities():
    problem = PrefixSums().batch(KEY, 3, 100)
    np.testing.assert_array_equal(problem.y, np.asarray(problem.x).cumsum(axis=1) % 2)
    wrong = np.asarray(problem.y).copy()
    wrong[1, 10:20] = 1 - wrong[1, 10:20]
    assert PrefixSums().check(problem.x, wrong).residual.tolist() == [0, 10, 0]


@every_task
def test_problems_of_several_sizes_share_a_batch_and_padding_has_no_answer(task):
    drawn = [task.batch(KEY, 2, size) for size in (5, 7)]
    problems = [np.asarray(x) for batch in drawn for x in batch.x]
    x, alone = task.format.as_batch(problems)
    assert not alone
    assert task.domain.faults(x) == [None] * 4
    for answer in (task.oracle(x), task.trivial(x)):
        assert not np.asarray(answer)[:2, ..., 5:].any()
    y = np.asarray(task.oracle(x))
    assert (task.check(x, y).residual == 0).all()
    padded = y.copy()
    padded[:2, ..., 5:] = 1  # padding is not looked at
    assert (task.check(x, padded).residual == 0).all()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[2, 1], [0, 0]], "The maze has no end; mark one cell as such."),
        ([[1, 1], [0, 3]], "The maze has no start; mark one cell as such."),
        ([[2, 2], [0, 3]], "The maze has 2 cells that are its start; mark one alone."),
        ([[2, 0], [0, 3]], "There is no way from the start to the end."),
        ([[2, 5], [0, 3]], "The cell in row 1, column 2 is 5; cells are 0"),
        ([[2, 1], [0, 3]], None),
    ],
)
def test_mazes_are_refused_with_a_sentence(rows, said):
    found = Maze().domain.fault(np.array(rows, float))
    assert found is None if said is None else found.startswith(said)


@pytest.mark.parametrize(
    ("bits", "said"),
    [
        ([0, 1, 2], "Entry 3 is 2; every entry is 0 or 1."),
        ([0, -1, 1], "Entry 2 is -1; every entry is 0 or 1."),
        ([-1, -1], "The line has no bits."),
        ([0, 1, -1], None),
    ],
)
def test_lines_that_are_not_bits_are_refused(bits, said):
    assert PrefixSums().domain.fault(np.array(bits, float)) == said


def test_unknown_difficulties_and_sizes_are_refused():
    for task in (Maze(), PrefixSums()):
        with pytest.raises(irem.InputError, match=r"Unknown difficulty 'hard'.*Did you mean"):
            task.batch(KEY, 1, "hard")
    for size in (1, 8, 1003, True):
        with pytest.raises(irem.InputError, match=f"odd number of rows from 3 to .*{size}"):
            Maze().batch(KEY, 1, size)
    for size in (0, 1_000_001, True):
        with pytest.raises(irem.InputError, match=f"lines of 1 to 1,000,000 bits.*{size}"):
            PrefixSums().batch(KEY, 1, size)
    with pytest.raises(irem.InputError, match=r"`opened` must be from 0 to 1, got 1\.5"):
        Maze(opened=1.5)
    with pytest.raises(irem.InputError, match="needs about"):
        Maze().batch(KEY, 10**9, 1001)
