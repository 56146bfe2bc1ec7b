"""3-SAT at a size that takes seconds."""

import dataclasses
import functools
import sys

import jax
import numpy as np
import pytest

import irem
from irem.apps.sat import random_formula
from irem.apps.sat import search as sat_search
from irem.paper import EXPERIMENTS, as_text, read_result, reproduce, sat

SMALL = sat.Settings(
    formulas=((8, 2),),
    ratios=(3.0,),
    ratio_formulas=1,
    timed=(10, 20),
    repetitions=3,
    network_variables=(5,),
    network_formulas=4,
    network_iterations=3,
    network_width=8,
)


@pytest.fixture(scope="module")
def result(kept_study):
    run = functools.partial(sat.run, settings=SMALL)
    return reproduce(kept_study, dataclasses.replace(EXPERIMENTS["sat"], run=run))


def test_every_part_has_its_cells(result, kept_study):
    kinds = [(type(cell), cell.part, cell.variables) for cell in result.cells]
    assert kinds == [
        (sat.SearchCell, "sizes", 8),
        (sat.SearchCell, "ratios", 100),
        (sat.EvaluationCell, "evaluations", 10),
        (sat.EvaluationCell, "evaluations", 20),
        (sat.FeedforwardCell, "feedforward", 5),
    ]
    sizes, _, timed, _, network = result.cells
    assert sizes.solved == sizes.formulas == 2
    assert sizes.descents_mean >= 32
    assert timed.clauses == 40
    assert len(timed.microseconds) == 3
    assert 0 <= network.solved <= network.formulas == 4
    assert network.method == "feedforward"
    assert read_result(kept_study.folder, "sat") == result
    assert "descent, by size" in as_text(result)


def test_formulas_are_those_that_some_assignment_satisfies():
    formulas = [random_formula(jax.random.key(k), 5, 22) for k in range(30)]
    assignments = (np.arange(32)[:, None] >> np.arange(5)) % 2 == 1
    satisfiable = [bool(f.satisfied_by(assignments).all(-1).any()) for f in formulas]
    assert [sat.is_satisfiable(f) for f in formulas] == satisfiable
    assert 0 < sum(satisfiable) < 30
    assert all(sat.is_satisfiable(f) for f in sat.satisfiable_formulas(5, 4.4, 3))


def test_a_share_is_taken_of_formulas_and_training_alone():
    small = sat.SETTINGS.scaled(0.05)
    assert small.formulas == ((20, 5), (50, 5), (100, 5), (200, 2))
    assert (small.ratio_formulas, small.network_iterations) == (2, 100)
    assert small.ratios == sat.SETTINGS.ratios
    assert sat.SETTINGS.scaled(1.0) == sat.SETTINGS


def test_without_a_solver_it_is_said_how_to_get_one(tiny_study, monkeypatch):
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    with pytest.raises(irem.InputError, match="install one with `pip install python-sat`"):
        sat.run(tiny_study())


def test_a_search_counts_what_was_found_and_when(tiny_study, monkeypatch):
    formulas = sat.satisfiable_formulas(8, 3.5, 4)
    assignments = (np.arange(256)[:, None] >> np.arange(8)) % 2 == 1
    models = [assignments[f.satisfied_by(assignments).all(-1).argmax()] for f in formulas]
    answers = iter(
        [
            sat_search.Satisfaction(models[0], 32, 1, 0),
            sat_search.Satisfaction(models[1], 64, 2, 0),
            sat_search.Satisfaction(None, 640, 20, 3),
            sat_search.Satisfaction(models[3], 32, 1, 0),
        ]
    )
    monkeypatch.setattr(sat, "satisfy", lambda *_, **__: next(answers))
    cell = sat.measure_search(tiny_study(), "sizes", 8, 3.5, 4)
    assert (cell.formulas, cell.solved, cell.in_first_round) == (4, 3, 2)
    assert cell.descents_mean == (32 + 64 + 640 + 32) / 4


def test_a_network_answers_true_where_it_is_positive(tiny_study, monkeypatch):
    settings = dataclasses.replace(SMALL, network_formulas=30)
    signs = np.array([1.0, 1.0, 1.0, -1.0, 1.0])
    monkeypatch.setattr(sat, "_trained_network", lambda *_: lambda _: jax.numpy.asarray(signs))
    formulas = sat.satisfiable_formulas(5, settings.ratio, 30)
    solved, of_opposite = (
        sum(bool(f.satisfied_by(truths).all()) for f in formulas)
        for truths in (signs > 0, signs < 0)
    )
    assert solved != of_opposite
    assert sat.measure_feedforward(tiny_study(), 5, settings).solved == solved
