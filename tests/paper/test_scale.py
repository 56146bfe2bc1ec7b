import dataclasses
import json

import irem
from irem.paper import FULL, QUICK, committed_results


def test_a_scale_has_the_names_that_committed_results_have():
    for name in ("denoising", "stability", "table1"):
        kept = json.loads((committed_results() / f"{name}.json").read_text())["scale"]
        assert set(kept) <= set(FULL.as_dict())
    assert json.loads(json.dumps(QUICK.as_dict())) == QUICK.as_dict()
    assert QUICK.as_dict()["images"]["iterations"] == QUICK.pictures.budget.iterations


def test_the_budget_is_that_of_the_format_of_a_task():
    budgets = {name: FULL.budget(irem.tasks.get(name)) for name in irem.tasks.TASKS}
    assert budgets.pop("denoise") == FULL.pictures.budget
    graphs = {name for name, budget in budgets.items() if budget == FULL.graphs}
    assert graphs == {"edge-copy", "connected-components", "shortest-path"}
    assert {budgets[name] for name in set(budgets) - graphs} == {FULL.vectors}


def test_a_longer_budget_differs_in_its_iterations_alone():
    longer = FULL.graphs.longer(5)
    assert longer.iterations == 5 * FULL.graphs.iterations
    assert dataclasses.replace(longer, iterations=FULL.graphs.iterations) == FULL.graphs
