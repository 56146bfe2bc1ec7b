import dataclasses

import numpy as np
import pytest
from table1_cells import cell

import irem
from irem.descent import EnergyUnchanged
from irem.keys import fresh_key
from irem.paper import (
    PAPER_METHODS,
    PAPER_TABLE1,
    PAPER_TASKS,
    QUICK,
    Study,
    longer,
    printed_mse,
    reproduce,
    sums,
    table1,
)
from irem.paper.table1 import comparison, contradictions, irem_table


@pytest.fixture(scope="module")
def cells(kept_study):
    return reproduce(kept_study, "table1").cells


def test_there_is_a_cell_for_every_method_and_difficulty(cells):
    places = [(c.task, c.method, c.difficulty) for c in cells]
    assert places == [("addition", m, d) for m in PAPER_METHODS for d in ("same", "harder")]
    for found in cells:
        assert found.seeds == len(found.mse_by_seed) == 2
        assert found.mean == pytest.approx(np.mean(found.mse_by_seed))
        assert found.std == pytest.approx(np.std(found.mse_by_seed, ddof=1))
        assert found.paper is None  # of a task that the paper does not have
        assert found.iterations == 20
        assert found.method_settings["method"]["name"] == found.method


@pytest.mark.parametrize("method", PAPER_METHODS)
def test_a_cell_can_be_traced_to_its_run(cells, kept_study, method):
    found = next(c for c in cells if (c.method, c.difficulty) == (method, "harder"))
    run = irem.load(kept_study.folder / found.run)
    again = irem.evaluate(run, run.task, "harder", problems=10, key=fresh_key(0, "evaluate"))
    np.testing.assert_allclose(found.mse_by_seed, again.mse_by_model, rtol=1e-5)
    assert found.trivial == pytest.approx(again.trivial_mse)
    assert run.settings["method"]["name"] == method


def test_all_methods_answer_the_same_problems(cells):
    assert len({(c.difficulty, c.trivial, c.best) for c in cells}) == 2


def test_expected_halting_and_the_fixed_step_stand_beside_the_default(cells):
    also = {c.method: set(c.also) for c in cells}
    assert also["programmatic"] == {"expected halting"}
    assert also["irem"] == {"fixed step"}


@pytest.mark.parametrize("difficulty", ["same", "harder"])
def test_the_other_ways_to_answer_are_on_the_same_problems(
    tiny_study, cells, kept_study, monkeypatch, difficulty
):
    found = {c.method: c for c in cells if c.difficulty == difficulty}
    run = irem.load(kept_study.folder / found["programmatic"].run)
    expected = tuple(dataclasses.replace(m, halting="expected") for m in run.models)
    again = kept_study.score(dataclasses.replace(run, models=expected), difficulty)
    also = found["programmatic"].also["expected halting"]
    assert also.mse_by_seed == again.mse_by_model != found["programmatic"].mse_by_seed
    # The released program takes at most 80 steps of the trained size.
    study, asked = tiny_study(), []
    score = lambda _, *given, **walk: asked.append((given, walk)) or again  # noqa: E731
    monkeypatch.setattr(study, "score", score)
    table1.answer_otherwise(study, run, "irem", difficulty)
    walk = {"step": irem.FixedStep(), "halt": EnergyUnchanged(rtol=1e-4), "max_steps": 80}
    assert asked == [((difficulty,), walk)]
    assert table1.answer_otherwise(study, run, "recurrent", difficulty) == {}


@pytest.mark.parametrize(
    ("experiment", "task", "aggregate", "label"),
    [(longer, "addition", None, "-5-times"), (sums, "shortest-path", "sum", "-sum")],
)
def test_beside_the_table_one_thing_differs(
    tmp_path, monkeypatch, experiment, task, aggregate, label
):
    study = Study(tmp_path / "study", QUICK, tasks={task: irem.tasks.get(task)})

    def trained(task, recipe, label):
        raise InterruptedError(recipe, label)

    monkeypatch.setattr(study, "trained", trained)
    with pytest.raises(InterruptedError) as raised:
        experiment.run(study)
    recipe, found = raised.value.args
    times = 1 if aggregate else 5
    assert found == f"{task}-feedforward{label}"
    assert recipe.length("iterations") == times * QUICK.budget(study.tasks[task]).iterations
    assert recipe.settings.get("network", {}).get("aggregate") == aggregate
    assert sums.SETTINGS.methods == PAPER_METHODS
    assert set(longer.SETTINGS.methods) < set(PAPER_METHODS) - {"irem"}


def test_the_papers_table_is_whole():
    assert len(PAPER_TABLE1) == 60
    assert PAPER_TABLE1["connected-components", "programmatic", "harder"] == 3.1381
    assert PAPER_TABLE1["addition", "irem", "harder"] == 0.0021
    irem_wins = [
        PAPER_TABLE1[t, "irem", d] == min(PAPER_TABLE1[t, m, d] for m in PAPER_METHODS)
        for t in PAPER_TASKS
        for d in ("same", "harder")
    ]
    assert all(irem_wins)


def test_a_printed_number_belongs_to_the_papers_task_alone():
    addition = irem.tasks.get("addition")
    assert printed_mse("irem", addition, "harder") == 0.0021
    assert printed_mse("recurrent", addition, "same") == 0.3610
    assert printed_mse("mine", addition, "same") is None
    assert printed_mse("irem", irem.tasks.get("addition", size=9), "harder") is None
    assert printed_mse("irem", irem.tasks.get("shortest-path"), 15) is None
    assert printed_mse("irem", irem.tasks.get("denoise"), "same") is None


def test_irem_is_reached_within_a_tenth_of_the_papers_error():
    cells = [cell(seeds_at=[v, v]) for v in (0.0019, 0.00208, 0.0022)]
    verdicts = [row[6].text for row in comparison(cells, "f").rows]
    assert verdicts == ["reached", "reached", "not reached"]


def test_baselines_are_compared_without_favour():
    cells = [cell(method="recurrent", seeds_at=[v, v]) for v in (0.001, 0.0019, 0.0022)]
    verdicts = [row[6].text for row in comparison(cells, "f").rows]
    assert verdicts == ["better than printed", "as printed", "worse than printed"]


def test_ranks_are_among_methods_of_the_same_cell():
    cells = [
        cell(method="irem", seeds_at=[2.0, 2.0], paper=0.1),
        cell(method="recurrent", seeds_at=[1.0, 1.0], paper=0.2),
        cell(method="recurrent", task="other", seeds_at=[0.1, 0.1], paper=0.01),
    ]
    assert [row[7].text for row in comparison(cells, "f").rows] == ["2/1", "1/2", "1/1"]


def test_irem_stands_out_only_below_every_baseline():
    cells = [cell(seeds_at=[2.0, 2.0]), cell(method="feedforward", seeds_at=[3.0, 3.0])]
    (row,) = irem_table(cells, "f").rows
    assert row[2].strong
    assert row[4].text == "3.00 ± 0 (feedforward)"
    cells.append(cell(method="recurrent", seeds_at=[1.0, 1.0]))
    assert not irem_table(cells, "f").rows[0][2].strong


def test_what_is_not_finite_is_not_hidden_and_never_best():
    lost = cell(method="recurrent", mean=None, std=None, mse_by_seed=(None, 1.0))
    rows = comparison([lost, cell(seeds_at=[2.0, 2.0])], "f").rows
    assert rows[0][3].text == "not finite"
    assert rows[0][6].text == "worse than printed"
    assert [row[7].text[0] for row in rows] == ["2", "1"]


def test_pairs_in_another_order_than_the_papers_are_listed_with_their_seeds():
    cells = [
        cell(method="irem", seeds_at=[2.0, 3.0], paper=0.1),
        cell(method="recurrent", seeds_at=[1.0, 1.5], paper=0.2),
        cell(method="feedforward", seeds_at=[5.0, 6.0], paper=0.3),
    ]
    (row,) = contradictions(cells, "f").rows
    better, worse = [c.text for c in row[2:5]], [c.text for c in row[5:]]
    assert better == ["IREM", "0.1000", "2.000 to 3.000"]
    assert worse == ["recurrent (LSTM)", "0.2000", "1.000 to 1.500"]
    assert row[4].source == "f: cells[0].mse_by_seed"


def test_a_method_of_another_aggregate_and_length_is_trained_so(kept_study):
    task = irem.tasks.get("shortest-path")
    for method, part in (("irem", "energy"), ("recurrent", "cell"), ("feedforward", "network")):
        settings = kept_study.recipe(task, method, "sum").settings
        assert settings["method"]["name"] == method
        assert settings[part]["aggregate"] == "sum"
        assert settings["iterations"] == kept_study.scale.graphs.iterations
