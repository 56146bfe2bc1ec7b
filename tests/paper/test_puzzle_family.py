"""Queens, Latin squares and colourings beside local search, at a size that takes seconds."""

import dataclasses
import functools
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import irem
from irem.paper import EXPERIMENTS, as_text, puzzle_family, read_result, reproduce
from irem.puzzles import NamedRules, Puzzle

SMALL = puzzle_family.Settings(
    tasks=("queens",),
    iterations=1,
    problems=2,
    restarts=2,
    moves=500,
    flips=3000,
    changes={
        "energy.width": 4,
        "energy.layers": 1,
        "energy.scratch": 1,
        "batch_size": 2,
        "gradient.name": "last-steps",
        "replay.name": "none",
    },
)


def test_an_energy_is_trained_and_measured_beside_local_search(tiny_study, monkeypatch):
    monkeypatch.setattr(puzzle_family, "TESTED", {"queens": {"tiny": 4, "small": 5}})
    run = functools.partial(puzzle_family.run, settings=SMALL)
    study = tiny_study()
    experiment = dataclasses.replace(EXPERIMENTS["puzzle-family"], run=run)
    result = reproduce(study, experiment)
    assert [(cell.size, cell.trained) for cell in result.cells] == [
        ("tiny", True),
        ("small", False),
    ]
    for cell in result.cells:
        assert cell.solved <= cell.solved_again <= cell.problems == 2
        assert 0 < cell.seconds < cell.seconds_again
        searches = [(found.name, found.steps, found.solved) for found in cell.searches]
        assert searches == [("min-conflicts", 500, 2), ("WalkSAT", 3000, 2)]
    assert read_result(study.folder, "puzzle-family") == result
    assert "min-conflicts 500, WalkSAT 3,000" in as_text(result)
    with pytest.raises(irem.InputError, match="other settings"):
        puzzle_family.run(study, dataclasses.replace(SMALL, problems=3))


@pytest.mark.parametrize(
    ("task", "difficulty", "name"),
    [
        ("queens", 8, "min-conflicts"),
        ("queens", 6, "WalkSAT"),
        ("colouring", "same", "Tabucol"),
        ("colouring", 20, "WalkSAT"),
        ("latin", 8, "WalkSAT"),
    ],
)
def test_local_searches_solve_small_problems_and_give_up_without_steps(task, difficulty, name):
    x = irem.tasks.get(task).batch(jax.random.key(0), 2, difficulty).x
    found = puzzle_family.measure_search(x, name, SMALL)
    assert (found.name, found.solved) == (name, 2)
    assert found.seconds > 0
    none = dataclasses.replace(SMALL, moves=0, flips=0)
    assert puzzle_family.measure_search(x, name, none).solved == 0


def test_an_answer_of_a_search_that_breaks_a_rule_does_not_count(monkeypatch):
    x = irem.tasks.get("queens").batch(jax.random.key(0), 1, 4).x
    wrong = {"min-conflicts": lambda *_: np.ones(16, bool)}
    monkeypatch.setattr(puzzle_family, "_SEARCHES", wrong)
    assert puzzle_family.measure_search(x, "min-conflicts", SMALL).solved == 0


def solved_at(starts):
    """Stand in for `solve_checked`: a problem is solved from one of its first guesses alone.

    Arguments:
        starts: For every problem which one: 0 for the first descent, 1 for the first restart.
    """
    keys = jax.random.split(jax.random.key(7), len(starts))
    right, tried = [], []
    for key, start in zip(keys, starts, strict=True):
        right.append(key if start == 0 else jax.random.fold_in(key, start))
    right = np.asarray(jax.random.key_data(jnp.stack(right)))

    def solve(_, x, *, key, retries):
        assert retries == 0
        data = np.asarray(jax.random.key_data(key))
        rows = np.asarray(x.known)[:, 0]
        tried.append(rows)
        return types.SimpleNamespace(verified=(data == right[rows]).all(axis=1))

    return keys, tried, solve


@pytest.mark.parametrize("restarts", [0, 1, 2, 5, 40])
def test_restarts_are_those_of_solving_one_by_one_within_their_number(monkeypatch, restarts):
    starts = [0, 1, 2, 3, 6, 30, 0, 5]
    keys, tried, solve = solved_at(starts)
    monkeypatch.setattr(puzzle_family, "solve_checked", solve)
    numbered = Puzzle(jnp.arange(8, dtype=jnp.int8)[:, None], NamedRules("queens", 1))
    descents = puzzle_family.Descents(None, numbered, keys)
    first = descents.first()
    assert first.tolist() == [start == 0 for start in starts]
    again = descents.again(first, restarts)
    assert again.tolist() == [start <= restarts for start in starts]
    assert first.tolist() == [start == 0 for start in starts]
    assert {len(rows) for rows in tried} == {8}  # one size, one compiled program
    if restarts == 40:
        assert len(tried) < 14  # of a single problem, eight restarts are taken together


def cell(task, size, searches):
    about = {"commit": "c0ffee", "task": task, "method": "irem", "paper": None}
    measured = {"iterations": 20_000, "problems": 50, "solved": 25, "seconds": 0.5}
    again = {"restarts": 63, "solved_again": 50, "seconds_again": 2.0, "run": "models/run"}
    return puzzle_family.FamilyCell(
        **about, size=size, trained=size == "8 x 8", **measured, **again, searches=searches
    )


def test_the_table_has_shares_and_times():
    own = puzzle_family.LocalSearch(name="min-conflicts", steps=100, solved=49, seconds=0.11)
    every = puzzle_family.LocalSearch(name="WalkSAT", steps=100, solved=10, seconds=100.0)
    cells = [cell("queens", "8 x 8", (own, every)), cell("latin", "9 symbols", (every,))]
    found = puzzle_family.table(cells, "x.json")
    texts = [[entry.text for entry in row] for row in found.rows]
    energy = ["50", "50 % (10 ms)", "100 % (40 ms)"]
    walksat = "20 % (2,000 ms)"
    assert texts == [
        ["queens", "8 x 8, as in training", *energy, "min-conflicts 98 % (2.2 ms)", walksat],
        ["latin", "9 symbols", *energy, "", walksat],
    ]
    assert {len(row) for row in texts} == {len(found.header)}


def test_a_share_has_fewer_iterations_and_problems_and_small_networks():
    share = puzzle_family.SETTINGS.scaled(0.02, 0.05)
    assert (share.iterations, share.problems, share.changes["energy.width"]) == (60, 5, 16)
    assert puzzle_family.SETTINGS.scaled(1.0, 1.0) == puzzle_family.SETTINGS
