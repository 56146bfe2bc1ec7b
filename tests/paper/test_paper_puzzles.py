"""The experiment on puzzles at a size that takes seconds, with a model that is not trained."""

import dataclasses
import functools
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.energy import Groups
from irem.methods import IREM, RandomSteps
from irem.paper import EXPERIMENTS, as_text, puzzles, read_result, reproduce
from irem.puzzles import known_of_grid
from irem.tasks.exact import count_solutions

SMALL = puzzles.Settings(puzzles=2, restarts=2, steps=(1, 2), long=2, starts=2, walk=(0, 1))
OF_17 = "..............3.85..1.2.......5.7.....4...1...9.......5......73..2.1........4...9"


@functools.cache
def untrained():
    energy = Groups(families=3, puzzle="sudoku", width=4, layers=1, key=jax.random.key(0))
    method = IREM(energy, gradient=RandomSteps(1), num_steps=1, step_size=1.0)
    return method.bound_to(irem.tasks.Sudoku())


@pytest.fixture
def small_model(monkeypatch):
    monkeypatch.setattr(puzzles, "load", lambda _: types.SimpleNamespace(model=untrained()))


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "seventeen.txt"
    path.write_text(f"# one puzzle\n{OF_17}\n")
    return path


@pytest.mark.usefixtures("small_model")
def test_every_part_has_its_cells_and_is_drawn(tiny_study, lines):
    study = tiny_study(puzzles=lines)
    run = functools.partial(puzzles.run, settings=SMALL)
    experiment = dataclasses.replace(EXPERIMENTS["puzzles"], run=run)
    result = reproduce(study, experiment)
    parts = [(cell.part, cell.name, cell.puzzles) for cell in result.cells]
    sets = [("sets", name, 2) for name in ("easy", "minimal", "hard", "large", "17 to 34 givens")]
    assert parts == [
        *sets,
        ("sets", "17 givens", 1),
        *((part, name, 2) for name in ("minimal", "hard") for part in ("steps", "starts")),
        ("walk", "hard", 1),
    ]
    assert [len(cell.solved_by) for cell in result.cells[:6]] == [3] * 6
    assert read_result(study.folder, "puzzles") == result
    assert "16 x 16, 60 % given" in as_text(result)
    walk = result.cells[-1]
    first, second = np.array(walk.entries)
    known = known_of_grid(np.array(walk.givens).reshape(9, 9))
    assert (first[known == 1] == 100).all()
    assert (first != second).any()
    for drawing in experiment.drawings.values():
        assert drawing.draw(result).axes


def test_sets_are_counted_by_restart_and_answers_looked_at_once_more(
    tiny_study, small_model, monkeypatch
):
    del small_model
    with np.load(irem.tasks.sudoku.LISTS) as lists:
        grids = lists["easy_puzzles"][:3].reshape(-1, 9, 9).astype(int)
        truths = known_of_grid(lists["easy_solutions"][:3].reshape(-1, 9, 9).astype(int)) > 0
    # The first puzzle is solved at once, the second by the second restart, with a wrong answer that
    # is called verified, the third never.
    verified = iter([[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0], [1, 0]])

    def tries(model, x, **_):
        del model
        answers = np.zeros(x.known.shape)
        places = [
            int(np.argmax([(np.asarray(k) == known_of_grid(g)).all() for g in grids]))
            for k in np.asarray(x.known)
        ]
        for row, place in zip(answers, places, strict=True):
            row[:] = truths[place] if place == 0 else np.roll(truths[place], 1)
        holds = np.array(next(verified), bool)
        return types.SimpleNamespace(y=jnp.asarray(answers), verified=jnp.asarray(holds))

    monkeypatch.setattr(puzzles, "solve_checked", tries)
    cell = puzzles.measure_set(tiny_study(), untrained(), "easy", grids, SMALL)
    assert cell.solved_by == (1, 1, 2)
    assert cell.wrong == 1


def test_a_solution_keeps_givens_and_all_rules():
    with np.load(irem.tasks.sudoku.LISTS) as lists:
        grid, answer = lists["easy_puzzles"][0].reshape(9, 9), lists["easy_solutions"][0]
    answer = answer.reshape(9, 9)
    assert puzzles.is_solution(grid, answer)
    assert not puzzles.is_solution(grid, 10 - answer)
    assert puzzles.is_solution(0 * grid, 10 - answer)
    for wrong in (answer[[3, 1, 2, 0, 4, 5, 6, 7, 8]], answer.copy()):
        wrong[0, 0] = wrong[0, 1] if wrong[0, 0] == answer[0, 0] else wrong[0, 0]
        assert not puzzles.is_solution(0 * grid, wrong)


@pytest.mark.usefixtures("small_model")
def test_puzzles_with_more_givens_have_17_to_34_and_the_same_solution_in_other_symbols(lines):
    grids = puzzles.seventeen_givens(lines)
    more = puzzles.more_givens(grids, 40)
    givens = (more > 0).sum(axis=(1, 2))
    assert givens.min() >= 17
    assert givens.max() <= 34
    assert len(set(givens.tolist())) > 8
    for grid in more[:3]:
        x, _ = untrained().format.as_batch(grid)
        assert count_solutions(jax.tree.map(lambda leaf: leaf[0], x)) == 1
        pairs = {(a, b) for a, b in zip(grids[0].ravel(), grid.ravel(), strict=True) if a}
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert len({grid.tobytes() for grid in more}) == 40


def test_other_puzzles_than_those_of_17_givens_are_refused(tmp_path):
    path = tmp_path / "others.txt"
    path.write_text(f"{OF_17}\n1{OF_17[1:]}\n")
    with pytest.raises(irem.InputError, match="with 18 givens; expected 9 x 9 with 17"):
        puzzles.seventeen_givens(path)
